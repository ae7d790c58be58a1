"""What happened when."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import walked
from tests.cli.test_check_json import holds
from tests.telemetry.walked import walk
from transom.cli import main
from transom.runs import trace_id
from transom.telemetry import Telemetry


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
    holds(document)
    assert document["trace_id"] == trace
    names = [span["name"] for span in document["spans"]]
    assert names.count("stage one") == 1
    assert all(span["status"] == "ok" for span in document["spans"])


def test_the_list(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    assert main(["trace", "list"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["TRACE", "RUN", "STARTED", "SPANS", "ERRORS", "OPEN"]
    assert line.split()[:2] == [trace_id(run), run]
    assert main(["trace", "list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    holds(document)
    (row,) = document["traces"]
    assert (row["trace_id"], row["run_id"], row["errors"], row["open"]) == (
        trace_id(run),
        run,
        0,
        0,
    )
    assert row["spans"] == 5


def test_an_unknown_or_unclear_trace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / ".transom" / "traces"
    for command in ("list", "stats"):
        assert said(capsys, command) == (0, f"no traces in {folder}\n", "")
    assert said(capsys, "stats", "--since", "7d") == (
        0,
        f"no traces of the last 7d in {folder}\n",
        "",
    )
    hint = "no trace found here yet; give --workspace, or change to the folder of its start"
    assert said(capsys, "show", "abc") == (2, "", f"transom: {folder}: no trace 'abc'; {hint}\n")
    assert not folder.parent.exists(), "looking makes nothing"
    _, run = walked(here)
    assert main(["trace", "show", f"{run}x"]) == 2
    assert f"no trace '{run}x'; near: {run}" in capsys.readouterr().err
    assert main(["trace", "show", "nope"]) == 2
    assert "no trace 'nope'; see: transom trace list" in capsys.readouterr().err, (
        "nothing is near it"
    )
    traces = here / ".transom" / "traces"
    (traces / "00aa.jsonl").write_text("")
    (traces / "00ab.jsonl").write_text("")
    assert main(["trace", "show", "00a"]) == 2
    assert "2 traces begin with '00a'; give more of it" in capsys.readouterr().err


def test_what_failed_stands_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(walk(here))
    with Telemetry.open(here / ".transom" / "traces", "c" * 32) as killed:
        cut = copy_context()
        for name in ("stage cut", "chat cut"):
            cut.run(killed.span(name).__enter__)
    assert main(["trace", "list", "--format", "json"]) == 0
    (row,) = [one for one in json.loads(capsys.readouterr().out)["traces"] if one["run_id"]]
    assert main(["trace", "show", row["run_id"]]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"trace {row['trace_id']}"
    failed = [line for line in lines if line.startswith("failed: ")]
    assert lines[: len(failed)] == failed
    assert sorted(failed) == [
        "failed: attempt scripted:model-1: ProviderError",
        "failed: attempt scripted:model-1: RateLimited",
        "failed: execute_tool look: ToolExecutionError",
        "failed: execute_tool unknown: ToolNotFoundError",
    ]
    assert main(["trace", "show", "c" * 32]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "never ended: chat cut"


def stats(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main(["trace", "stats", "--format", "json", *more]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    holds(document)
    return document


def test_what_traces_add_up_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stats(capsys)["rows"] == []
    asyncio.run(walk(here))
    found = stats(capsys)
    (row,) = found["rows"]
    assert (row["name"], row["calls"], row["retries"]) == ("scripted", 10, 2)
    assert row["errors"] == {"ProviderError": 1, "RateLimited": 1}
    assert (row["error_rate"], row["retry_rate"]) == (pytest.approx(2 / 12), pytest.approx(2 / 10))
    assert 0 < row["seconds"]["p50"] <= row["seconds"]["p95"] <= row["seconds"]["max"]
    assert row["input_tokens"] >= 700 and row["cached_tokens"] == 210
    assert (row["cost_usd"], row["unpriced"]) == (None, 10)
    assert (found["traces"], found["sub_conversations"]) == (1, 1)
    folds = found["compression"]
    assert folds["count"] >= 1 and folds["ratio"] == folds["tokens_after"] / folds["tokens_before"]
    asyncio.run(walk(here))
    assert stats(capsys)["rows"] == found["rows"], "what came from the journal is no call"
    rows = {row["name"]: row for row in stats(capsys, "--by", "tool")["rows"]}
    assert {
        name: (row["calls"], row["errors"], row["error_rate"]) for name, row in rows.items()
    } == {
        "look": (2, {"ToolExecutionError": 1}, 0.5),
        "unknown": (1, {"ToolNotFoundError": 1}, 1.0),
    }
    roles = {row["name"]: row for row in stats(capsys, "--by", "role")["rows"]}
    assert {name: (row["calls"], row["retries"]) for name, row in roles.items()} == {
        "t.seat": (6, 2),
        "t.seat.sub": (2, 0),
        "t.checked": (2, 0),
    }
    assert main(["trace", "stats"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split()[:2] == ["PROVIDER", "CALLS"]
    assert "RateLimited 1" in text


def test_only_what_began_lately(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(walk(here))
    (path,) = (here / ".transom" / "traces").iterdir()
    old = path.with_name("d" * 32 + ".jsonl")
    old.write_text(re.sub(r'UnixNano":"1\d', 'UnixNano":"10', path.read_text()))
    assert [stats(capsys, *since)["traces"] for since in ((), ("--since", "7d"))] == [2, 1]
    assert main(["trace", "stats", "--since", "soon"]) == 2
    assert "--since: 'soon' is no age" in capsys.readouterr().err


def test_what_a_long_conversation_did_lately(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "far",
        "transom.role": "t.seat",
    }
    attempt = {
        "gen_ai.operation.name": "attempt",
        "gen_ai.provider.name": "far",
        "transom.attempt": 1,
    }
    with Telemetry.open(here / ".transom" / "traces") as telemetry:
        for hours in (48, 0):
            with telemetry.span("chat", **chat) as span:
                span.set_start(time.time_ns() - hours * 3_600 * 10**9)
                with telemetry.span("attempt", **attempt) as inner:
                    inner.fail("RateLimited")
    for by in ("provider", "role"):
        rows = [stats(capsys, "--by", by, *since)["rows"] for since in ((), ("--since", "12h"))]
        told = [(row["name"], row["calls"], row["errors"]) for (row,) in rows]
        name = "far" if by == "provider" else "t.seat"
        assert told == [(name, 2, {"RateLimited": 2}), (name, 1, {"RateLimited": 1})]


MINE = """\
schema: transom.prices/1
as_of: 2026-01-31
models:
  "anthropic:unheard-of": {input: 2.0, output: 1.0, cached: 0.5, cache_write: 4.0}
"""


def test_what_a_call_cost(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Telemetry.open(here / ".transom" / "traces") as telemetry:
        told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic"}
        told |= {"gen_ai.request.model": "claude-sonnet-4-5"}
        usage = {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 100_000}
        with telemetry.span("chat", **told, **usage):
            pass
        cached = {
            "gen_ai.usage.cache_read.input_tokens": 500_000,
            "gen_ai.usage.cache_creation.input_tokens": 250_000,
        }
        with telemetry.span(
            "chat", **{**told, "gen_ai.request.model": "unheard-of"}, **usage, **cached
        ):
            pass
    (row,) = stats(capsys)["rows"]
    assert (row["cost_usd"], row["unpriced"]) == (pytest.approx(3.0 + 1.5), 1)
    _, out, _ = said(capsys, "stats")
    assert out.splitlines()[1].split()[-1] == "4.5000+?", (
        "there is one more, whose price nobody knows"
    )
    (here / "mine.yaml").write_text(MINE)
    monkeypatch.setenv("TRANSOM_PATHS__PRICES", "mine.yaml")
    (row,) = stats(capsys)["rows"]
    assert (row["cost_usd"], row["unpriced"]) == (
        pytest.approx(3.0 + 1.5 + 0.25 * 2.0 + 0.5 * 0.5 + 0.25 * 4.0 + 0.1),
        0,
    )
    _, out, _ = said(capsys, "stats")
    assert out.splitlines()[1].split()[-1] == "6.3500"


KILLED = """
import os, signal, sys
from pathlib import Path
from transom.telemetry import Telemetry
told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "p", "gen_ai.request.model": "m"}
with Telemetry.open(Path(".transom/traces"), "e" * 32) as telemetry, telemetry.span("stage one"):
    with telemetry.span("chat seat", **told):
        pass
    with telemetry.span("execute_tool look"):
        os.kill(os.getpid(), signal.SIGKILL)
"""
FORMS = ((), ("--format", "json"))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["trace", *words])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


def test_a_killed_run_and_files_that_a_full_disk_or_somebody_else_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    (path,) = (here / ".transom" / "traces").iterdir()
    whole = path.read_bytes()
    for torn in (b"", b'{"resourceSpans":[{"resou', b"\xff\x00\n", b"{}\nnull\n[]\n"):
        path.write_bytes(whole + torn)
        path.with_name("f" * 32 + ".jsonl").write_bytes(torn)
        code, out, _ = said(capsys, "list")
        (line,) = [line for line in out.splitlines() if line.startswith("e" * 32)]
        assert (code, line.split()[-3:]) == (0, ["3", "0", "2"])
        code, out, _ = said(capsys, "show", "ee")
        assert code == 0
        assert out.splitlines()[1] == "never ended: execute_tool look"
        assert [line.split()[-2:] for line in out.splitlines()[3:]] == [
            ["stage", "one"],
            ["chat", "seat"],
            ["execute_tool", "look"],
        ]
        code, out, _ = said(capsys, "stats")
        assert code == 0 and out.splitlines()[1].split()[:2] == ["p", "1"]
        for form in FORMS:
            code, _, err = said(capsys, "show", "ffff", *form)
            assert code == 2 and "the file contains no span; pass a file of OTLP JSON lines" in err
