"""Looking at runs, going on with them, answering them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import clean_environment, walked
from tests.runs.helpers import desk
from transom.canonical import Json
from transom.cli import main
from transom.cli import runs as runs_module
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import Paused, ProviderError
from transom.llm import Chain, ScriptedProvider
from transom.runs import trace_id


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert main([*args, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


async def opened(
    folder: Path, inputs: dict[str, Json], entry: dict[str, Json] | None = None
) -> str:
    """Open a run that does nothing, and return its id."""
    session = replace(Session.start(CommonOptions(), cwd=folder, environ={}), entry=entry or {})
    async with session.open_store() as store:
        chain = Chain((ScriptedProvider({}),))
        async with session.open_run("test", inputs, name="x", store=store, chain=chain) as run:
            return run.id


def test_an_empty_folder_has_no_runs_and_stays_empty(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == f"no runs in {here}/.transom\n"
    assert shown(capsys, "runs", "list") == {"schema": "transom.runs/1", "runs": []}
    assert main(["trace", "list"]) == 0
    assert capsys.readouterr().out == f"no traces in {here}/.transom/traces\n"
    assert list(here.iterdir()) == []


def test_list_and_show(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, run = walked(here)
    (row,) = shown(capsys, "runs", "list")["runs"]
    assert (row["run_id"], row["kind"], row["name"], row["status"]) == (run, "test", "x", "done")
    assert row["started_at"] <= row["last_at"]
    found = shown(capsys, "runs", "show", run[:17])
    assert (found["inputs"], found["trace_id"]) == ({"file": "x"}, trace_id(run))
    assert Path(found["folder"]).is_dir()
    assert found["usage"]["calls"] == 2
    assert found["usage"]["input_tokens"] > 0
    stages = [
        (one["stage"], one["status"], one["attempts"], one["answered_by"])
        for one in found["stages"]
    ]
    assert stages == [
        ("one", "done", 1, ["scripted"]),
        ("two", "done", 1, ["scripted"]),
        ("both", "done", 1, []),
    ]
    assert main(["runs", "list"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["RUN", "KIND", "NAME", "STATUS", "LAST"]
    assert line.split()[:4] == [run, "test", "x", "done"]
    assert main(["runs", "show", run]) == 0
    text = capsys.readouterr().out
    assert "status      done" in text
    assert ["one", "done", "1", "1", "scripted", "-"] in [
        line.split() for line in text.splitlines()
    ]
    assert "resume" not in text and "\x1b" not in text


def test_a_failed_run_says_why_and_how_to_go_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ProviderError):
        walked(
            here, script={"test.first": ["a"], "test.second": [ProviderError("it is out of order")]}
        )
    (row,) = shown(capsys, "runs", "list")["runs"]
    assert row["status"] == "failed"
    found = shown(capsys, "runs", "show", row["run_id"])
    assert [(one["stage"], one["error"]) for one in found["stages"]] == [
        ("one", None),
        ("two", "it is out of order"),
    ]
    main(["runs", "show", row["run_id"]])
    assert "to continue, start the program that began it again" in capsys.readouterr().out


def test_a_run_whose_process_is_gone_was_interrupted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(asyncio.CancelledError):
        walked(
            here,
            script={
                "test.first": [lambda request: (_ for _ in ()).throw(asyncio.CancelledError())]
            },
        )
    (row,) = shown(capsys, "runs", "list")["runs"]
    # The process that held it is this very one: it still lives, but let the run go.
    assert row["status"] == "interrupted"
    (lock,) = (here / ".transom" / "locks").glob("*.lock")
    assert lock.read_text() == ""
    lock.write_text(f"{os.getpid()}\n")
    assert shown(capsys, "runs", "list")["runs"][0]["status"] == "running"
    for text in ("999999999\n", "", "no number", "9" * 40):
        lock.write_text(text)
        assert shown(capsys, "runs", "list")["runs"][0]["status"] == "interrupted"
    lock.write_text(f"{os.getppid()}\n")
    assert shown(capsys, "runs", "list")["runs"][0]["status"] == "running"


def test_a_run_is_found_by_its_id_its_beginning_or_its_name(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*args: str) -> str:
        assert main([*args]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    assert "no run '2026'; no run found here yet; give --workspace" in said("runs", "show", "2026")
    _, run = walked(here)
    for command in (["runs", "show"], ["window", "show"]):
        assert shown(capsys, *command, "x")["run_id"] == run
    assert shown(capsys, "trace", "show", "x")["trace_id"] == trace_id(run)
    wrong = run[:-1] + ("0" if run[-1] != "0" else "1")
    for command in (["runs", "show"], ["window", "show"], ["resume"]):
        assert said(*command, wrong) == f"transom: {here}/.transom: no run '{wrong}'; near: {run}\n"
    assert "no run ''" in said("runs", "show", "")
    asyncio.run(opened(here, {"file": "y"}))
    ids = [row["run_id"] for row in shown(capsys, "runs", "list")["runs"]]
    assert ids == sorted(ids, reverse=True)
    assert f"2 runs begin with '2'; give more of it: {ids[0]}, " in said("runs", "show", "2")
    assert f"2 runs are called 'x'; name one by its id: {ids[0]}, {ids[1]}" in said(
        "window", "show", "x"
    )


def test_resume_hands_the_journal_entry_to_its_kind(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = walked(here)
    assert main(["resume", run]) == 2
    assert (
        f"{run}: the run has ended (done), so there is nothing to resume; see: transom runs show"
        f" {run}\n"
    ) in capsys.readouterr().err

    run = asyncio.run(opened(here, {"file": "y"}))
    assert main(["resume", run]) == 2
    said = "to continue, start the program that began it again; it resumes at the same point"
    assert f"{run}: no command of transom started this run; {said}" in capsys.readouterr().err

    started = asyncio.run(opened(here, {"file": "z"}, entry={"target": "z.yaml"}))
    assert main(["resume", started]) == 2
    assert (
        f"{started}: a run of kind test cannot be resumed here; to continue, start the command that"
        in capsys.readouterr().err
    )

    async def again(session: Session, entry: Any, run_id: str) -> int:
        session.progress(f"entry {entry}")
        return 3

    monkeypatch.setattr(runs_module, "can_resume", lambda entry: True)
    monkeypatch.setattr(runs_module, "resume_command", again)
    assert main(["resume", started]) == 3
    assert (
        capsys.readouterr().err
        == f"resuming run {started} (test x)\nentry {{'target': 'z.yaml'}}\n"
    )


def both_changed(folder: Path) -> str:
    """A run that waits: a stage's file was edited, and so was what the stage is made from."""
    table, run = walked(folder)
    table.file("one.md").write_text("by hand")
    with pytest.raises(Paused):
        asyncio.run(table.walk("another source"))
    return run


@pytest.mark.parametrize(("choice", "kept"), [("keep", True), ("redo", False)])
def test_answering_a_paused_run(
    choice: str, kept: bool, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = both_changed(here)
    assert main(["runs", "show", run]) == 0
    text = capsys.readouterr().out
    assert "status      paused\nreason      both " in text
    assert f"answer with: transom answer {run} --question one keep (or: redo)" in text
    assert main(shlex.split(re.findall("answer with: transom (.*)", text)[0])) == 2, (
        "pasted it decides nothing"
    )
    assert "unexpected extra argument" in capsys.readouterr().err
    assert main(["answer", run]) == 2
    assert "no answer is given; see: transom waiting" in capsys.readouterr().err
    if kept:
        told = shown(capsys, "answer", run, choice)
        assert told == {
            "schema": "transom.answer/1",
            "run_id": run,
            "stage": "one",
            "answer": choice,
        }
    else:
        assert main(["answer", run, choice]) == 0
        again = "to continue, start the program that began it again; it resumes at the same point"
        assert capsys.readouterr().out == f"{choice} one; {again}\n"
    table, _ = desk(here)
    one, _, _ = asyncio.run(table.walk("another source"))
    assert (one.value == "by hand") is kept
    assert main(["answer", run, choice]) == 2
    assert (
        f"{run}: this run waits for no answer; see: transom runs show {run}"
        in capsys.readouterr().err
    )


def test_on_a_terminal_what_waits_is_asked_until_the_input_ends(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    both_changed(here)
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    assert main(["answer"]) == 0
    assert "1: keep" in capsys.readouterr().out
    assert len(shown(capsys, "waiting")["questions"]) == 1, "it is left open"
    monkeypatch.setattr(sys, "stdin", Terminal("perhaps\n2\n"))
    assert main(["answer"]) == 0
    assert "redo one; " in capsys.readouterr().out
    assert shown(capsys, "waiting")["questions"] == []


def test_several_choices_are_answered_by_name(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = walked(here)
    table, _ = desk(here)
    for name in ("one", "two"):
        table.file(f"{name}.md").write_text("by hand")
    with pytest.raises(Paused):
        asyncio.run(table.walk("another source"))
    assert main(["answer", run, "keep", "--question", "two"]) == 2
    assert f"question two of run {run} waits for no answer" in capsys.readouterr().err
    assert shown(capsys, "answer", run, "keep", "--question", "one")["stage"] == "one"


@pytest.mark.slow
def test_a_run_that_was_killed_before_its_first_record_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = """
import asyncio, os, signal, sys
from pathlib import Path
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Workspace
from transom.store import SqliteStore

class Killed(SqliteStore):
    async def append(self, *_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    at = Workspace.at(Path(".transom"))
    async with Killed.open(at.database) as store:
        await Run.open("check", {}, name="x", workspace=at, store=store, chain=Chain((ScriptedProvider({}),)))

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=here, env=clean_environment(), check=False
    )
    assert done.returncode == -signal.SIGKILL
    (listed,) = shown(capsys, "runs", "list")["runs"]
    assert (listed["status"], listed["started_at"], listed["last_at"]) == ("new", None, None)
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("new     -")
    assert shown(capsys, "runs", "show", listed["run_id"])["stages"] == []
    assert main(["resume", listed["run_id"]]) == 2
    assert "no command of transom started this run" in capsys.readouterr().err
