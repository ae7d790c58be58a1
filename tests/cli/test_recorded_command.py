"""Runs that another version began: the options that they were begun with are never dropped."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from tests.cli.helpers import clean_environment
from tests.old_workspaces.restoring import archives_of, restore
from transom.cli import main
from transom.cli.command import line_of
from transom.cli.command_session import Session
from transom.cli.recorded_command import command_line, recorded_arguments
from transom.errors import InputError, RunError

Capture = pytest.CaptureFixture[str]
Change = Callable[[dict[str, Any]], None]

LINES = (
    ["check", "all", "a.yaml"],
    ["check", "all", "a b.yaml", "ü'\".yaml", "--var", "A=1", "--var", "B=2 3", "--strict"],
    ["check", "all", "--out", "my folder", "--as-of", "2026-01-31", "--", "-odd.yaml"],
    ["check", "run", "folder", "--root", "one", "--root", "two", "--report", "html:a b.html"],
    ["investigate", "Is it ready?", "--data", "d", "--target", "UAT", "--no-memory"],
    ["investigate", "--data", "d", "--", "--what is this?"],
    ["story", "run", "--project", "p", "--epic", "epic-1", "--unsafe-no-sandbox"],
    ["study", "run", "beam.yaml", "--trials", "7"],
    ["study", "run", "beam.yaml", "--model", "openai:x", "--max-cost", "2.5"],
)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_the_line_of_a_recorded_command_means_the_same_as_the_command(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entries: list[dict[str, Any]] = []
    record = Session.record_command

    def record_and_stop(session: Session, command: str, given: Mapping[str, Any]) -> None:
        record(session, command, given)
        entries.append(json.loads(json.dumps(session.entry)))
        raise InputError("recorded")

    monkeypatch.setattr(Session, "record_command", record_and_stop)
    assert main(words) == 2
    line = line_of(entries[0])
    assert main(shlex.split(line)[1:]) == 2
    assert entries[1] == entries[0]
    assert len(entries[0]["given"]) > 0


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose workspace holds an interrupted check of an earlier version."""
    archive = archives_of("check")[0]
    restore(archive, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change_record(folder: Path, change: Change) -> None:
    """Change the record with which the run begins."""
    with closing(sqlite3.connect(folder / ".transom" / "state.db")) as database, database:
        ((number, text),) = database.execute(
            "SELECT seq, data FROM records WHERE kind = 'opened'"
        ).fetchall()
        record = json.loads(text)
        change(record)
        database.execute("UPDATE records SET data = ? WHERE seq = ?", (json.dumps(record), number))


def set_option(name: str, value: object) -> Change:
    return lambda record: record["entry"]["given"].update({name: value})


def rename_option(old: str, new: str) -> Change:
    def change(record: dict[str, Any]) -> None:
        given = record["entry"]["given"]
        given[new] = given.pop(old)

    return change


LINE = "transom check all --var CHECKLIST_ROOT=data --as-of 2026-11-28 VER-02.yaml"


@pytest.mark.parametrize(
    ("change", "problem", "line"),
    [
        (
            set_option("only_lines", ["a"]),
            "an option --only-lines, which this version does not have",
            LINE,
        ),
        (set_option("depth", 3), "an option --depth, which this version does not have", LINE),
        (
            set_option("strict", "perhaps"),
            "--strict 'perhaps', which this version does not take",
            LINE,
        ),
        (
            lambda record: record["entry"]["settings"].update({"execution.most": 3}),
            "execution.most 3, which this version does not take",
            LINE,
        ),
        (
            rename_option("items", "sheets"),
            "an option --sheets, which this version does not have",
            LINE.replace("VER-02.yaml", "ITEMS"),
        ),
    ],
)
def test_an_option_that_this_version_does_not_take_is_named_with_the_command_to_begin_anew(
    interrupted: Path, capsys: Capture, change: Change, problem: str, line: str
) -> None:
    change_record(interrupted, change)
    assert main(["resume", "VER-02"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and errors[0].startswith("resuming run ")
    assert errors[1].endswith(f"the run was begun with {problem}; begin it anew with: {line}")


def test_the_command_to_begin_anew_changes_to_the_folder_of_the_run(
    interrupted: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    change_record(interrupted, set_option("depth", 3))
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["resume", "VER-02", "--workspace", str(interrupted / ".transom")]) == 2
    assert f"begin it anew with: cd {interrupted} && {LINE}\n" in capsys.readouterr().err


def test_a_command_that_this_version_does_not_have_is_named(
    interrupted: Path, capsys: Capture
) -> None:
    change_record(interrupted, lambda record: record["entry"].update(command="check everything"))
    assert main(["resume", "VER-02"]) == 2
    error = capsys.readouterr().err
    assert "this version has no command `transom check everything`, which began the run" in error
    assert error.endswith("begin it anew with the command that replaces it; see: transom --help\n")


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 4])
def test_a_journal_of_another_version_is_one_line_whose_command_begins_anew(
    interrupted: Path, capsys: Capture, version: int
) -> None:
    change_record(interrupted, lambda record: record.update(journal=version))
    assert main(["resume", "VER-02"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "another version of transom made the run" in error
    line = error.partition("begin it anew with: ")[2]
    program = shlex.join([sys.executable, "-m", "transom"])
    shell = line.replace("transom ", f"{program} ", 1)
    begun = subprocess.run(
        shell, shell=True, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert begun.returncode == 1, begun.stderr
    assert begun.stdout.startswith("FAIL  VER-02  3 found, 1 missing")


Ignored = Annotated[list[str] | None, typer.Option("--ignore", "--beside", metavar="GLOB")]


def test_an_option_that_keeps_its_old_name_as_an_alias_takes_the_recorded_value() -> None:
    parameter = inspect.Parameter(
        "ignored", inspect.Parameter.KEYWORD_ONLY, annotation=Ignored, default=None
    )
    for value in (["*.bak"], "*.bak"):
        entry = {"command": "check all", "given": {"beside": value}}
        assert recorded_arguments(entry, [parameter], "run") == {"ignored": ["*.bak"]}
        assert command_line(entry, [parameter]) == "transom check all --ignore '*.bak'"


def test_an_option_that_was_dropped_and_had_not_been_given_is_no_problem() -> None:
    given: dict[str, Any] = {"text": None, "flag": False, "word": "", "list": []}
    assert recorded_arguments({"command": "x", "given": given}, [], "run") == {}
    with pytest.raises(RunError, match="--gone, which this version does not have"):
        recorded_arguments({"command": "x", "given": {"gone": "y"}}, [], "run")
