from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from transom.errors import InputError, TransomError
from transom.telemetry import Telemetry, current_span, keys, read_trace

SPAN: dict[str, Any] = {
    "type": "object",
    "required": ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
    "properties": {
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "spanId": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "parentSpanId": {"type": "string", "pattern": "^([0-9a-f]{16})?$"},
        "kind": {"type": "integer", "minimum": 1, "maximum": 5},
        "startTimeUnixNano": {"type": "string", "pattern": "^[0-9]+$"},
        "endTimeUnixNano": {"type": "string", "pattern": "^[0-9]+$"},
        "status": {"type": "object", "properties": {"code": {"type": "integer"}}},
    },
}


def some(key: str, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [key],
        "properties": {key: {"type": "array", "minItems": 1, "items": item}},
    }


OTLP_LINE: dict[str, Any] = {
    "type": "object",
    "required": ["resourceSpans"],
    "properties": {
        "resourceSpans": {"type": "array", "items": some("scopeSpans", some("spans", SPAN))}
    },
    "additionalProperties": False,
}
OPEN = {"key": keys.OPEN, "value": {"boolValue": True}}


def all_spans(path: Path) -> list[dict[str, Any]]:
    """The raw spans of a trace file, each line of which must be one OTLP export request."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        jsonschema.validate(line, OTLP_LINE)
    return [
        span
        for line in lines
        for each in line["resourceSpans"]
        for span in each["scopeSpans"][0]["spans"]
    ]


def spans(path: Path) -> list[dict[str, Any]]:
    """Those that ended."""
    return [span for span in all_spans(path) if OPEN not in span.get("attributes", [])]


def test_one_otlp_line_for_each_ended_span(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path / "traces") as telemetry:
        with telemetry.span("check all", **{keys.RUN_ID: "r1"}) as outer:
            with telemetry.span("chat rules", "client") as inner:
                inner.set(keys.INPUT_TOKENS, 120)
                inner.event("retry", attempt=2)
                assert current_span() is inner
            assert current_span() is outer
        assert current_span() is None
    assert re.fullmatch(r"[0-9a-f]{32}", telemetry.trace_id)
    assert [p.name for p in (tmp_path / "traces").iterdir()] == [f"{telemetry.trace_id}.jsonl"]
    chat, check = spans(tmp_path / "traces" / f"{telemetry.trace_id}.jsonl")
    assert (check["name"], check["kind"], check.get("parentSpanId", "")) == ("check all", 1, "")
    assert (chat["name"], chat["kind"], chat["parentSpanId"]) == ("chat rules", 3, check["spanId"])
    assert {chat["traceId"], check["traceId"]} == {telemetry.trace_id}
    assert check["attributes"] == [{"key": "transom.run.id", "value": {"stringValue": "r1"}}]
    assert chat["attributes"] == [
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "120"}}
    ]
    assert chat["events"][0]["name"] == "retry"
    assert inner.span_id == chat["spanId"]


def test_an_ended_span_is_in_the_file_at_once(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("outer"):
        with telemetry.span("inner"):
            pass
        assert [span["name"] for span in spans(tmp_path / f"{telemetry.trace_id}.jsonl")] == [
            "inner"
        ]


def test_concurrent_tasks_nest_each_under_their_own(tmp_path: Path) -> None:
    async def task(telemetry: Telemetry, name: str) -> None:
        with telemetry.span(name):
            await asyncio.sleep(0)
            with telemetry.span(f"{name}.inner"):
                await asyncio.sleep(0)

    async def main(telemetry: Telemetry) -> None:
        with telemetry.span("root"):
            await asyncio.gather(*(task(telemetry, name) for name in "abc"))

    with Telemetry.open(tmp_path) as telemetry:
        asyncio.run(main(telemetry))
    rows = read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")
    names = {row.span_id: row.name for row in rows}
    parents = {row.name: names.get(row.parent_id or "") for row in rows}
    assert parents == {
        "root": None,
        **dict.fromkeys("abc", "root"),
        **{f"{name}.inner": name for name in "abc"},
    }


def test_two_traces_at_once_do_not_mix(tmp_path: Path) -> None:
    one, two = Telemetry.open(tmp_path), Telemetry.open(tmp_path)
    with one, two, one.span("one"), two.span("two"), one.span("inside"):
        pass
    (row,) = read_trace(tmp_path / f"{two.trace_id}.jsonl")
    assert (row.name, row.parent_id) == ("two", None)
    assert len(read_trace(tmp_path / f"{one.trace_id}.jsonl")) == 2


def test_the_spans_of_an_application_around_us_are_not_ours(tmp_path: Path) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    theirs = TracerProvider(shutdown_on_exit=False).get_tracer("application")
    telemetry = Telemetry.open(tmp_path)
    with telemetry, theirs.start_as_current_span("theirs") as around, telemetry.span("ours"):
        assert trace.get_current_span() is around
    (row,) = read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")
    assert row.parent_id is None


def test_an_error_is_recorded_and_goes_on(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry:
        with (
            pytest.raises(InputError, match="item is empty"),
            telemetry.span("outer"),
            telemetry.span("stage"),
        ):
            raise InputError("item is empty", place="item.yaml:1")
        with pytest.raises(KeyboardInterrupt), telemetry.span("interrupted"):
            raise KeyboardInterrupt
    stage, outer, interrupted = spans(tmp_path / f"{telemetry.trace_id}.jsonl")
    for span in (stage, outer):
        assert span["status"] == {"code": 2, "message": "InputError: item.yaml:1: item is empty"}
        assert {"key": "error.type", "value": {"stringValue": "InputError"}} in span["attributes"]
        assert span["events"][0]["name"] == "exception"
    assert interrupted["status"] == {"code": 2, "message": "KeyboardInterrupt"}


def test_values_of_every_kind(tmp_path: Path) -> None:
    values = {
        "n": 3,
        "f": 0.5,
        "b": True,
        "s": "text",
        "ints": [1, 2],
        "texts": ("a", "b"),
        "empty": [],
    }
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("s", **values) as span:
        span.set("none", None)
        span.set("n", None)  # which takes nothing away
        span.set("path", Path("a/b"))
        span.set("dict", {"k": [1, Path("x")], (1, 2): 3})
        span.set("mixed", [1, "a"])
        span.set("long", "x" * 100_000)
        span.set("odd", "\0 \udc80 漢")
    (row,) = read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")
    assert row.attributes == {
        **values,
        "texts": ["a", "b"],
        "path": "a/b",
        "dict": '{"k": [1, "x"]}',
        "mixed": ["1", "a"],
        "long": "x" * 100_000,
        "odd": "\0 \udc80 漢",
    }


NAMES = ["x", "漢", "😀", "null 😀", "\0", "\udc80", "null \udc80😀\0", '"\\']


def test_whatever_a_span_is_called_it_takes_its_own_place_and_no_other(tmp_path: Path) -> None:
    """What is open stands between others, and in a place that was used before."""
    with Telemetry.open(tmp_path) as telemetry:
        for name in [one * 200 for one in NAMES]:
            with telemetry.span("outer"), telemetry.span(name), telemetry.span("inner"):
                path = tmp_path / f"{telemetry.trace_id}.jsonl"
                under_way = [row.name for row in read_trace(path) if row.status == "open"]
                assert [under_way[0], under_way[2]] == ["outer", "inner"]
                assert under_way[1] and name.startswith(under_way[1])
                assert len(all_spans(path)) == len(read_trace(path))
    assert {row.name for row in read_trace(path)} >= {one * 200 for one in NAMES}


def test_secrets_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "hunter2-hunter2")
    telemetry = Telemetry.open(tmp_path)
    with (
        telemetry,
        pytest.raises(ValueError),
        telemetry.span("call", url="https://x/?k=hunter2-hunter2") as span,
    ):
        span.set("headers", {"auth": "sk-abcdefghijklmnop1234"})
        raise ValueError("401 for hunter2-hunter2")
    text = (tmp_path / f"{telemetry.trace_id}.jsonl").read_text()
    assert "hunter2" not in text
    assert "sk-abc" not in text
    assert text.count("[redacted]") == 4  # url, headers, event, status


def test_a_resumed_trace_goes_on_in_the_same_file(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as first, first.span("first"):
        pass
    with Telemetry.open(tmp_path, first.trace_id) as second, second.span("second"):
        pass
    assert second.trace_id == first.trace_id
    one, two = spans(tmp_path / f"{first.trace_id}.jsonl")
    assert one["traceId"] == two["traceId"] == first.trace_id
    assert not one.get("parentSpanId") and not two.get("parentSpanId")


KILLED = """
import os, signal, sys
from pathlib import Path
from transom.telemetry import Telemetry
telemetry = Telemetry.open(Path(sys.argv[1]))
print(telemetry.trace_id, flush=True)
with telemetry.span("check all"):
    with telemetry.span("spec"):
        pass
    with telemetry.span("build"), telemetry.span("parser"):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_a_readable_file_and_its_whole_tree(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == -9, done.stderr
    path = tmp_path / f"{done.stdout.strip()}.jsonl"
    assert [span["name"] for span in spans(path)] == ["spec"]
    names = {row.span_id: row.name for row in read_trace(path)}
    assert [(row.name, row.status, names.get(row.parent_id or "")) for row in read_trace(path)] == [
        ("check all", "open", None),
        ("spec", "ok", "check all"),
        ("build", "open", "check all"),
        ("parser", "open", "build"),
    ]
    with Telemetry.open(tmp_path, path.stem) as resumed, resumed.span("check all"):
        pass
    assert [row.status for row in read_trace(path)] == ["open", "ok", "open", "open", "ok"]


def test_a_line_cut_short_swallows_no_other(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as first, first.span("first"):
        pass
    path = tmp_path / f"{first.trace_id}.jsonl"
    with path.open("a") as file:
        file.write('{"resourceSpans": [{"resour')
    with Telemetry.open(tmp_path, first.trace_id) as second, second.span("second"):
        found = [(row.name, row.status) for row in read_trace(path)]
        assert found == [
            ("first", "ok"),
            ("second", "open"),
        ], "what is open is there if the process is killed now"
    odd: list[str] = []
    assert [row.name for row in read_trace(path, odd.append)] == ["first", "second"]
    assert odd == [f"{path}: skipped 1 line that is not a span"], "the piece, and nothing besides"


def test_a_full_disk_does_not_stop_the_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Telemetry.open(tmp_path) as telemetry:
        path = tmp_path / f"{telemetry.trace_id}.jsonl"
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            for name in ("one", "two"):
                with telemetry.span(name):
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b""
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: the trace has gaps from here on (File too large)"
    ]


def test_a_disk_that_takes_half_a_line_loses_nothing_that_was_there(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("around"):
        path = tmp_path / f"{telemetry.trace_id}.jsonl"
        with telemetry.span("kept"):
            pass
        with telemetry.span("in its place"):
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
            try:
                with telemetry.span("cut"):
                    pass
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert {row.name for row in read_trace(path)} >= {"around", "kept"}


def test_switched_off_it_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    telemetry = Telemetry()
    with telemetry.span("outer", x=1) as outer, telemetry.span("inner") as inner:
        inner.set("k", 1)
        inner.event("e", a=1)
        assert (telemetry.trace_id, outer.trace_id, outer.span_id) == ("", "", "")
        assert current_span() is None
    with pytest.raises(KeyError), telemetry.span("error"):
        raise KeyError("x")
    telemetry.close()
    assert list(tmp_path.iterdir()) == []


def test_after_closing_spans_go_nowhere(tmp_path: Path) -> None:
    telemetry = Telemetry.open(tmp_path)
    telemetry.close()
    telemetry.close()
    with telemetry.span("late"):
        pass
    assert (tmp_path / f"{telemetry.trace_id}.jsonl").read_bytes() == b""


@pytest.mark.parametrize("trace_id", ["", "xyz", "0" * 32, "A" * 32, "a" * 31, "../" + "a" * 29])
def test_what_is_no_trace_id_is_refused(tmp_path: Path, trace_id: str) -> None:
    with pytest.raises(InputError, match="is not a trace id"):
        Telemetry.open(tmp_path, trace_id)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TransomError, match="the trace cannot be written") as caught:
        Telemetry.open(tmp_path / "file" / "traces")
    assert caught.value.place == str(tmp_path / "file" / "traces")


def test_the_import_is_light_and_nothing_global_is_set(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nimport transom.telemetry as t\nwith"
        " t.Telemetry().span('x'): pass\nassert not [m for m in sys.modules if"
        " m.startswith('opentelemetry')], 'imported too early'\nwith"
        " t.Telemetry.open(Path(sys.argv[1])).span('x'): pass\nfrom opentelemetry import"
        " trace\nassert type(trace.get_tracer_provider()).__name__ == 'ProxyTracerProvider'\nassert"
        " not [m for m in sys.modules if m.split('.')[0] in ('requests', 'grpc', 'urllib3',"
        " 'httpx')]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_environment_of_an_application_does_not_thin_out_our_traces(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom transom.telemetry import Telemetry\n"
        "with Telemetry.open(Path(sys.argv[1]), 'a' * 32) as t, t.span('x', long='y' * 100): pass\n"
    )
    environ = {
        **os.environ,
        "OTEL_TRACES_SAMPLER": "always_off",
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "5",
    }
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environ)
    (row,) = read_trace(tmp_path / f"{'a' * 32}.jsonl")
    assert row.attributes == {"long": "y" * 100}


def test_an_error_of_ours_is_told_without_its_hint(tmp_path: Path) -> None:
    with (
        Telemetry.open(tmp_path) as telemetry,
        pytest.raises(TransomError),
        telemetry.span("chat rules"),
    ):
        raise TransomError("it waits", place="here", hint="its arguments are HUSH")
    (span,) = spans(tmp_path / f"{telemetry.trace_id}.jsonl")
    (event,) = span["events"]
    told = {one["key"]: one["value"]["stringValue"] for one in event["attributes"]}
    assert told == {"exception.type": "TransomError", "exception.message": "here: it waits"}
    assert "HUSH" not in json.dumps(span)
