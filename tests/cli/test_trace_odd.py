"""Files that another writer, a full disk or a hand left among the traces: passed over and named,
and hiding nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.cli import main
from transom.telemetry import Telemetry
from transom.telemetry.read import read_trace

GOOD = "a" * 32
COMMANDS = (("list",), *(("stats", "--by", by) for by in ("provider", "tool", "role")))


def span(**more: Any) -> dict[str, Any]:
    return {"name": "n", "spanId": "1", "startTimeUnixNano": "1", "endTimeUnixNano": "5", **more}


def line(*spans: Any) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}) + "\n"


ODD = {
    "a time that is none": line(span(startTimeUnixNano="soon")),
    "no time": line({"name": "n", "spanId": "1"}),
    "a status that is none": line(span(status=7)),
    "attributes that are none": line(span(attributes=[5])),
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
    with (
        Telemetry.open(folder, GOOD) as telemetry,
        telemetry.span("chat", **told),
        telemetry.span("look", **tool),
    ):
        pass
    return folder


def test_odd_lines_hide_no_other(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, beside = traces / ("b" * 32 + ".jsonl"), traces / f"{GOOD}.jsonl"
    for what, text in ODD.items():
        alone.write_text(text.rstrip("\n") + "\n" + line(span(spanId="9")), encoding="utf-8")
        odd: list[str] = []
        assert ([row.span_id for row in read_trace(alone, odd.append)], len(odd)) == (
            ["9"],
            1,
        ), what
    every = "".join(text.rstrip("\n") + "\n" for text in ODD.values())
    alone.write_text(every, encoding="utf-8")
    beside.write_bytes(every.encode() + beside.read_bytes())
    lines = f"skipped {len(ODD)} lines that are not a span"
    named = [f"transom: {path}: {lines}" for path in (beside, alone)]
    shown = {"list": GOOD, "provider": "far", "tool": "look", "role": "clerk"}
    for command in COMMANDS:
        code, out, err = run(capsys, *command)
        assert (code, err.splitlines()) == (0, named)
        assert shown[command[-1]] in out and "bbbb" not in out
    code, out, err = run(capsys, "show", GOOD, "--format", "json")
    assert (code, err.splitlines(), "look" in out) == (0, named[:1], True)
    code, _, err = run(capsys, "show", "b" * 32)
    assert code == 2 and err.endswith("the file contains no span; pass a file of OTLP JSON lines\n")


def test_what_is_no_file_is_named(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (traces / "dir.jsonl").mkdir()
    (traces / "gone.jsonl").symlink_to(traces / "nowhere")
    (traces / "empty.jsonl").touch()
    for command in COMMANDS:
        code, out, err = run(capsys, *command)
        assert code == 0 and len(out.splitlines()) >= 2
        assert err.splitlines() == [
            (
                f"transom: {traces / 'dir.jsonl'}: skipped: the trace cannot be read (Is a"
                " directory)"
            ),
            (
                f"transom: {traces / 'gone.jsonl'}: skipped: the trace cannot be read (No such"
                " file or directory)"
            ),
        ]


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
