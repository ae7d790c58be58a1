"""Files that another writer, a full disk or a hand left among the traces: passed over and named, and hiding nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_trace import FORMS
from transom.cli import main
from transom.telemetry import SpanRow, Telemetry, failures, waterfall
from transom.telemetry.read import Odd, read_trace

GOOD = "a" * 32
COMMANDS = (("list",), *(("stats", "--by", by) for by in ("provider", "tool", "role")))


def span(**more: Any) -> dict[str, Any]:
    return {"name": "n", "spanId": "1", "startTimeUnixNano": "1", "endTimeUnixNano": "5", **more}


def line(*spans: Any) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}) + "\n"


def said_of(key: str, value: dict[str, Any], operation: str = "chat") -> str:
    told = {"key": "gen_ai.operation.name", "value": {"stringValue": operation}}
    return line(span(attributes=[told, {"key": key, "value": value}]))


DEEP: dict[str, Any] = {"stringValue": "x"}
for _ in range(200):
    DEEP = {"arrayValue": {"values": [DEEP]}}

ODD = {
    "a year of seven digits": line(span(startTimeUnixNano="99999999999999999999999")),
    "an end without end": line(span(endTimeUnixNano=1e300)),
    "an infinite time": '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"n","spanId":"1",'
    '"startTimeUnixNano":1e999,"endTimeUnixNano":1}]}]}]}\n',
    "before all times": line(span(startTimeUnixNano="-5")),
    "a time of many digits": line(span(startTimeUnixNano="9" * 5_000)),
    "a word for a count": said_of("gen_ai.usage.input_tokens", {"stringValue": "many"}),
    "a list for a count": said_of("gen_ai.usage.output_tokens", {"arrayValue": {"values": [{"intValue": "1"}]}}),
    "a count below zero": said_of("gen_ai.usage.input_tokens", {"intValue": "-1"}),
    "a flag for a count": said_of("gen_ai.usage.input_tokens", {"boolValue": True}),
    "a count of many digits": said_of("gen_ai.usage.input_tokens", {"intValue": "9" * 400}),
    "no number for a count": said_of("gen_ai.usage.input_tokens", {"doubleValue": float("nan")}),
    "a word for an attempt": said_of("transom.attempt", {"stringValue": "x"}, "attempt"),
    "a word for what was folded": said_of("transom.compaction.tokens_before", {"stringValue": "x"}, "compact"),
    "a list for a name": said_of("gen_ai.conversation.id", {"arrayValue": {"values": []}}),
    "a number for a provider": said_of("gen_ai.provider.name", {"intValue": "5"}),
    "a name that is none": line(span(name=1)),
    "an id that is none": line(span(spanId={"x": 1})),
    "a parent that is none": line(span(parentSpanId=[1])),
    "a message that is none": line(span(status={"code": 2, "message": 5})),
    "a status that is none": line(span(status=7)),
    "a key that is none": line(span(attributes=[{"key": 5, "value": {}}])),
    "a value of no type": line(span(attributes=[{"key": "k", "value": {"whatever": {"x": [1]}}}])),
    "a value far down": line(span(attributes=[{"key": "k", "value": DEEP}])),
    "a line far down": "[" * 100_000 + "\n",
    "a cut line": '{"resourceSpans":[{"resou',
    "no text": "\x00\ufffd\n",
}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["trace", *words])
    out, err = capsys.readouterr()
    assert "defect" not in err and "Traceback" not in out + err
    return code, out, err


@pytest.fixture
def traces(here: Path) -> Path:
    """A folder with a good trace."""
    folder = here / ".transom" / "traces"
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "far", "transom.role": "clerk"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    with Telemetry.open(folder, GOOD) as telemetry, telemetry.span("chat", **told), telemetry.span("look", **tool):
        pass
    return folder


def test_odd_lines_hide_no_other(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, beside = traces / ("b" * 32 + ".jsonl"), traces / f"{GOOD}.jsonl"
    for what, text in ODD.items():
        alone.write_text(text.rstrip("\n") + "\n" + line(span(spanId="9")), encoding="utf-8")
        odd: list[Odd] = []
        assert ([row.span_id for row in read_trace(alone, odd)], len(odd)) == (["9"], 1), what
    every = "".join(text.rstrip("\n") + "\n" for text in ODD.values())
    alone.write_text(every, encoding="utf-8")
    beside.write_bytes(every.encode() + beside.read_bytes())
    lines = f"{len(ODD)} lines hold something that is no span, which is passed over"
    named = [f"transom: {path}: {lines}" for path in (beside, alone)]
    shown = {"list": GOOD, "provider": "far", "tool": "look", "role": "clerk"}
    for command in COMMANDS:
        code, out, err = run(capsys, *command)
        assert (code, err.splitlines()) == (0, named)
        assert shown[command[-1]] in out and "bbbb" not in out
    code, out, err = run(capsys, "show", GOOD, "--format", "json")
    assert (code, err.splitlines(), "look" in out) == (0, named[:1], True)
    code, _, err = run(capsys, "show", "b" * 32)
    assert code == 2 and err.endswith("there is no span in this file; give a file of OTLP JSON lines\n")


def test_traces_are_shown_where_the_database_is_none(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (traces.parent / "state.db").write_bytes(b"no database at all" * 400)
    for command in (("list",), ("list", "--format", "json"), ("show", GOOD[:4])):
        code, out, err = run(capsys, *command)
        assert (code, GOOD in out) == (0, True)
        assert "state.db" in err and "so that no trace is told by its run here" in err
    code, _, err = run(capsys, "show", "20261121")
    assert code == 2 and "no trace '20261121'" in err


def test_what_is_null_is_what_is_not_there(tmp_path: Path) -> None:
    """As JSON of protocol buffers has it."""
    path = tmp_path / "x.jsonl"
    none = {"key": "k", "value": None}
    empty = {"key": "all", "value": {"arrayValue": {"values": None}}}
    path.write_text(
        line(
            span(status=None, attributes=None, parentSpanId=None),
            span(spanId="2", status={"code": 2, "message": None}, attributes=[none, empty]),
        )
    )
    odd: list[Odd] = []
    first, second = read_trace(path, odd)
    assert (first.status, first.attributes, first.parent_id, odd) == ("ok", {}, None, [])
    assert (second.status, second.message, second.attributes) == ("error", "", {"k": None, "all": []})


def test_what_is_no_file_is_named_and_waited_for_by_nobody(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (traces / "dir.jsonl").mkdir()
    (traces / "gone.jsonl").symlink_to(traces / "nowhere")
    os.mkfifo(traces / "pipe.jsonl")
    (traces / "empty.jsonl").touch()
    for command in COMMANDS:
        code, out, err = run(capsys, *command)
        assert code == 0 and len(out.splitlines()) >= 2
        assert err.splitlines() == [
            f"transom: {traces / 'dir.jsonl'}: passed over: the trace cannot be read (Is a directory)",
            f"transom: {traces / 'gone.jsonl'}: passed over: the trace cannot be read (No such file or directory)",
            f"transom: {traces / 'pipe.jsonl'}: passed over: the trace cannot be read (it is no file)",
        ]
    code, _, err = run(capsys, "show", "pipe")
    assert code == 2 and "the trace cannot be read (it is no file)" in err


def test_what_other_writers_may_say_is_shown(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values: dict[str, dict[str, Any]] = {
        "half": {"stringValue": "\ud800"},
        "nan": {"doubleValue": float("nan")},
        "map": {"kvlistValue": {"values": [{"key": "in", "value": {"intValue": 7}}, {"key": "no"}]}},
        "gen_ai.usage.input_tokens": {"doubleValue": 12.0},
        "gen_ai.operation.name": {"stringValue": "chat"},
    }
    told = [{"key": key, "value": value} for key, value in values.items()]
    backwards = {"startTimeUnixNano": 9_000_000_000, "endTimeUnixNano": 1}
    (traces / "other.jsonl").write_text(line(span(name="\ud800\x1b[31m", attributes=told, **backwards)))
    for command in COMMANDS:
        for form in FORMS:
            assert run(capsys, *command, *form)[::2] == (0, "")
    code, out, err = run(capsys, "show", "other")
    assert (code, err) == (0, "") and "\x1b[31m" not in out
    code, out, _ = run(capsys, "show", "other", "--format", "json")
    (found,) = json.loads(out)["spans"]
    assert found["attributes"]["map"] == {"in": 7, "no": None}
    _, out, _ = run(capsys, "stats", "--format", "json")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert (rows["?"]["input_tokens"], rows["?"]["seconds"]["max"]) == (12, 0), "a clock that went back is no time"


RING = [
    SpanRow("below", "e", "c", 5, 6),
    SpanRow("first", "b", "d", 2, 9, status="error", message="bad"),
    SpanRow("second", "c", "b", 3, 8, status="error", message="bad"),
    SpanRow("third", "d", "c", 4, 7, status="error", message="bad"),
    SpanRow("itself", "a", "a", 1, None, status="open"),
    SpanRow("alone", "f", "nowhere", 7, 8),
]


def test_spans_in_a_circle_are_shown_from_the_earliest_on(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = waterfall(RING)
    depth = {text.split()[-1] if "ERROR" not in text else text.split()[-3]: text for text in lines}
    indent = {name: len(text.partition(name)[0]) - head.index("span") for name, text in depth.items()}
    assert indent == {"itself": 0, "first": 0, "second": 2, "third": 4, "below": 4, "alone": 0}
    assert failures(RING) == ["failed: third: bad", "never ended: itself"]
    assert len(waterfall(RING)) == len(RING) + 1
    (traces / "self.jsonl").write_text(line(span(parentSpanId="1", status={"code": 2})))
    code, out, _ = run(capsys, "show", "self")
    assert code == 0 and [text.split()[-1] for text in out.splitlines()[1:]][::2] == ["why", "ERROR"]


def test_a_long_circle_and_what_hangs_on_it_is_no_problem() -> None:
    rows = [SpanRow(f"s{n}", str(n), str((n - 1) % 3000), n, 10_000) for n in range(3000)]
    rows += [SpanRow(f"t{n}", f"t{n}", f"t{n - 1}" if n else "2999", n, 10_000) for n in range(3000)]
    shown = waterfall(rows)
    assert len(shown) == 6001 and shown[1].endswith("  s0")


def test_the_end_and_the_status_that_other_writers_give(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    begun = line(span(attributes=[{"key": "transom.open", "value": {"boolValue": True}}]))
    for text in (begun + line(span()), line(span()) + begun):
        path.write_text(text)
        assert [(row.status, row.end) for row in read_trace(path)] == [("ok", 5)]
    for code, status in ((0, "ok"), (1, "ok"), (2, "error")):
        path.write_text(line(span(status={"code": code})))
        assert [row.status for row in read_trace(path)] == [status]


def test_what_the_list_names_is_shown(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("00aa", "00aab", "a copy.of"):
        (traces / f"{name}.jsonl").write_text(line(span()))
    _, out, _ = run(capsys, "list", "--format", "json")
    for one in json.loads(out)["traces"]:
        code, out, _ = run(capsys, "show", one["trace_id"])
        assert (code, out.splitlines()[0]) == (0, f"trace {one['trace_id']}")
    code, _, err = run(capsys, "show", "00a")
    assert code == 2 and "2 traces begin with '00a'" in err
