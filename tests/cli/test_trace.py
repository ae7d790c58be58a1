"""What happened when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import walked
from transom.cli import main
from transom.runs import trace_id


def test_a_trace_by_its_run_or_its_own_id(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    trace = trace_id(run)
    for name in (run, run[:12], trace, trace[:6]):
        assert main(["trace", "show", name]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"trace {trace}\n")
        assert "stage one" in text
        assert "chat test.first" in text
    assert main(["trace", "show", run, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["trace_id"] == trace
    names = [span["name"] for span in document["spans"]]
    assert names.count("stage one") == 1
    assert all(span["status"] == "ok" for span in document["spans"])


def test_the_list(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    assert main(["trace", "list"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["TRACE", "RUN", "STARTED", "SPANS", "ERRORS"]
    assert line.split()[:2] == [trace_id(run), run]
    assert main(["trace", "list", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["traces"]
    assert (row["trace_id"], row["run_id"], row["errors"], row["open"]) == (trace_id(run), run, 0, 0)
    assert row["spans"] == 5


def test_an_unknown_or_unclear_trace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "show", "abc"]) == 2
    assert "no trace 'abc'; no run has left one here yet" in capsys.readouterr().err
    _, run = walked(here)
    assert main(["trace", "show", f"{run}x"]) == 2
    assert f"no trace '{run}x'; near: {run}" in capsys.readouterr().err
    traces = here / ".transom" / "traces"
    (traces / "00aa.jsonl").write_text("")
    (traces / "00ab.jsonl").write_text("")
    assert main(["trace", "show", "00a"]) == 2
    assert "2 traces begin with '00a'; give more of it" in capsys.readouterr().err
