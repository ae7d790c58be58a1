from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import InputError
from transom.telemetry import SpanRow, Telemetry, failures, list_traces, read_trace, waterfall

MS = 1_000_000

ROWS = [
    SpanRow("check all", "a", None, 0, 1000 * MS),
    SpanRow(
        "run",
        "d",
        "a",
        600 * MS,
        1000 * MS,
        status="error",
        message="AtomFailed: a.py:3: \x1b[31mcrash\nTrace",
    ),
    SpanRow("spec", "b", "a", 0, int(500.25 * MS)),
    SpanRow("round 1", "c", "b", 100 * MS, 200 * MS),
    SpanRow("build", "e", "a", 500 * MS, 600 * MS),
    SpanRow("resumed", "f", "gone", 1100 * MS, None, status="open"),
    SpanRow("quick", "g", "f", 1200 * MS, 1200 * MS),
]

EXPECTED = """\
    at ms   took ms                            span
      0.0    1000.0  ████████████████████      check all
      0.0     500.2  ███████████                 spec
    100.0     100.0    ██                          round 1
    500.0     100.0            ██                build
    600.0     400.0              ████████        run  ERROR AtomFailed: a.py:3: [31mcrash Trace
   1100.0      open                        ··  resumed
   1200.0       0.0                         █    quick
"""


def test_a_waterfall_shows_tree_times_and_errors() -> None:
    assert [line.rstrip() for line in waterfall(ROWS)] == EXPECTED.splitlines()
    assert waterfall([]) == []


def test_an_error_that_goes_on_through_the_spans_around_it_is_told_where_it_began() -> None:
    rows = [
        SpanRow("check all", "a", None, 0, 9, status="error", message="AtomFailed: away"),
        SpanRow("run", "b", "a", 1, 9, status="error", message="AtomFailed: away"),
        SpanRow("atom", "c", "b", 2, 8, status="error", message="away\nTrace"),
        SpanRow("tidy", "d", "a", 3, 4, status="error"),
        SpanRow("resumed", "e", None, 5, None, status="open"),
        SpanRow("stage cut", "f", "e", 6, None, status="open"),
        SpanRow("whole", "g", "f", 6, 7),
    ]
    assert failures(rows) == [
        "failed: atom: away Trace",
        "failed: tidy: no error message",
        "never ended: stage cut",
    ]


def test_a_deep_trace_is_no_problem() -> None:
    rows = [SpanRow(f"s{n}", str(n), str(n - 1) if n else None, n, 10_000) for n in range(3000)]
    assert waterfall(rows)[-1].endswith("s2999")


def test_each_span_of_a_wide_trace_stands_in_it_once() -> None:
    rows = [
        SpanRow("look", str(number), "0" if number else None, number, None)
        for number in range(3000)
    ]
    assert len(waterfall(rows)) == 3001, "and the heading"
    assert failures(rows) == []


def test_traces_are_listed_newest_first_and_other_files_passed_over(tmp_path: Path) -> None:
    assert list_traces(tmp_path / "none yet") == []
    ids = []
    for name in ("old", "new"):
        with Telemetry.open(tmp_path) as telemetry:
            with telemetry.span(name), pytest.raises(KeyError), telemetry.span("inner"):
                raise KeyError("x")
            ids.append(telemetry.trace_id)
    under_way = Telemetry.open(tmp_path)
    span = under_way.span("under way").__enter__()
    (tmp_path / "notes.jsonl").write_text('{"a": 1}\n[]\n"text"\n')
    (tmp_path / "empty.jsonl").touch()
    listed = list_traces(tmp_path)
    assert [(t.trace_id, t.spans, t.errors, t.open) for t in listed] == [
        (under_way.trace_id, 1, 0, 1),
        (ids[1], 2, 1, 0),
        (ids[0], 2, 1, 0),
    ]
    assert listed[0].started_at > listed[1].started_at > listed[2].started_at
    span.__exit__(None, None, None)
    under_way.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json\n",
        b'{"resourceSpans": 5}\n',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}\n',
        b"\xff\xfe\n",
        b"null\n",
    ],
)
def test_a_file_without_spans_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="the file contains no span") as caught:
        read_trace(path)
    assert caught.value.place == str(path)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: the trace cannot be read \(No such file"):
        read_trace(tmp_path / "none.jsonl")


def test_files_of_other_writers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    span = (
        '{"spanId":"%s","name":"s","startTimeUnixNano":"1","endTimeUnixNano":2,'
        '"attributes":[{"key":"k","value":{}},{"key":"l","value":{"arrayValue":{}}}]}'
    )
    path.write_text(
        '{"resourceSpans":[{"scopeSpans":[{"spans":[' + span % "a" + "," + span % "b" + "]}]}]}\n"
    )
    assert read_trace(path) == [
        SpanRow("s", "a", None, 1, 2, {"k": None, "l": []}),
        SpanRow("s", "b", None, 1, 2, {"k": None, "l": []}),
    ]
