"""The work of each command grows no faster than the number of runs in the workspace.

Counted are the statements and the steps of the database, and the calls of Python: they do not
depend on how busy the machine is. Every command of the command line stands in one of the two tables
below, so a new command cannot be forgotten.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.cli.many_runs import age_runs, multiply_runs
from tests.cli.test_runs import both_changed
from transom.cli import main
from transom.cli.app import TREE, load

pytestmark = pytest.mark.sqlite  # rows are multiplied in the file

SIZES = (24, 48, 96)
MOST = 2.3
"""Twice as many runs cost twice as much more; quadratic work costs four times as much more."""
STEPS = 100
"""Steps of SQLite between two counts."""

MEASURED = {
    "runs list": ("",),
    "story watch": ("RUN",),
    "runs show": ("NAME", "RUN"),
    "runs record": ("NAME calls.json", "RUN calls.json"),
    "runs clean": ("--older-than 7d",),
    "waiting": ("-o answers.yaml",),
    "answer": ("NAME keep", "RUN keep"),
    "resume": ("RUN",),
    "window show": ("NAME", "RUN"),
    "trace list": ("",),
    "trace show": ("NAME", "RUN"),
    "trace stats": ("--by tool",),
    "check explain": ("NAME item", "RUN item"),
    "check confirm": ("RUN item --by ann",),
    "check overturn": ("RUN item --by ann --reason wrong",),
    "learning report": ("",),
    "cache stats": ("",),
    "session show": ("",),
    "session context": ("",),
    "doctor": ("",),
}
"""Arguments of the commands that look at runs; NAME is what all runs are called, RUN is an id."""

OF_ITS_OWN_RUN = "begins or continues one run, which is looked up by its inputs"
OF_FILES = "reads the files that it names"
OF_INSIGHTS = "reads the insights of the playbook, no runs"
OF_MEMORY = "reads the texts of the memory, no runs"
NOT_MEASURED = {
    "demo": "works in workspaces of its own",
    **dict.fromkeys(
        ("check spec", "check build", "check run", "check all", "check batch", "check teach"),
        OF_ITS_OWN_RUN,
    ),
    **dict.fromkeys(("investigate", "story run", "study run", "eval run"), OF_ITS_OWN_RUN),
    **dict.fromkeys(
        (
            "check lint",
            "check approve",
            "check import",
            "check waiver lint",
            "story status",
            "files",
            "investigate policy show",
            "investigate policy lint",
        ),
        OF_FILES,
    ),
    **dict.fromkeys(("check formats list", "check formats lint", "check formats test"), OF_FILES),
    **dict.fromkeys(("study report", "study export"), OF_FILES),
    **dict.fromkeys(
        ("eval compare", "eval export", "eval history"), "reads saved results of evaluations"
    ),
    **dict.fromkeys(
        (
            *(f"playbook {name}" for name in ("list", "show", "add", "feedback", "search")),
            *(f"playbook {name}" for name in ("context", "prune", "stats", "export", "import")),
            *(f"playbook {name}" for name in ("review", "edit", "retire", "bootstrap", "merge")),
            "playbook forget",
        ),
        OF_INSIGHTS,
    ),
    **dict.fromkeys(
        ("memory add", "memory search", "memory relate", "memory neighbours"), OF_MEMORY
    ),
    **dict.fromkeys(
        ("session open", "session note", "session close"), "writes the record of one session"
    ),
    "migrate": "copies all rows once",
    "backup": "copies all rows and files once",
    "runs fetch": OF_ITS_OWN_RUN,
    "restore": "unpacks all files once",
    "chat": OF_ITS_OWN_RUN,
    "release": "reads the files that it names, and the history of one release",
    "mcp": "runs until it is stopped",
    "schema": "prints a file of the package",
    "agent show": "reads the module that it names, no runs",
    "study forget": "reads the trials of one run",
    "study import": "reads one table, or one study of a storage",
    "serve": "runs until it is stopped",
    "init": "writes a settings file",
    "view": "writes one run as a file, and reads no other",
    "worker": "runs until it is stopped",
    "workers": "reads the workers that live and the jobs that are not done, no runs",
}


@dataclass
class Work:
    """What a command did, in numbers."""

    statements: int = 0
    steps: int = 0
    calls: int = 0


def commands(path: str, command: Any) -> Iterator[str]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path
        return
    for name, child in children.items():
        yield from commands(f"{path} {name}", child)


def test_every_command_is_measured_or_reads_no_runs() -> None:
    known = {path for name in TREE for path in commands(name, load(name))}
    assert known == MEASURED.keys() | NOT_MEASURED.keys()
    assert not MEASURED.keys() & NOT_MEASURED.keys()


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], tuple[Path, str]]:
    """Folders with a workspace of so many runs that wait for a person, and the id of the first."""

    @cache
    def workspace(runs: int) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp(f"runs{runs}")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            run = both_changed(folder)
            asyncio.run(multiply_runs(folder, runs))
            age_runs(folder, 30)
        return folder, run

    return workspace


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    """Count the work of all connections and of all threads that are opened within."""
    work = Work()
    connect = sqlite3.connect

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(add_statement)
        connection.set_progress_handler(add_steps, STEPS)
        return connection

    def add_statement(_: str) -> None:
        work.statements += 1

    def add_steps() -> int:
        work.steps += STEPS
        return 0

    def add_call(_: FrameType, event: str, __: object) -> None:
        work.calls += event in ("call", "c_call")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", counted)
        threading.setprofile(add_call)
        sys.setprofile(add_call)
        try:
            yield work
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def rows() -> list[Any]:
    """Each measured command with its arguments; a few of them belong to `make test`."""
    found = []
    for name, lines in MEASURED.items():
        marks = () if name in ("runs list", "runs clean") else (pytest.mark.slow,)
        found += [pytest.param(f"{name} {arguments}", marks=marks) for arguments in lines]
    return found


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("line", rows())
def test_the_work_of_a_command_grows_no_faster_than_the_number_of_runs(
    line: str,
    here: Path,
    workspaces: Callable[[int], tuple[Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    works = []
    # What is imported and compiled once is not counted: the smallest workspace comes twice.
    for number, size in enumerate((SIZES[0], *SIZES)):
        source, run = workspaces(size)
        folder = here / str(number)
        shutil.copytree(source, folder)
        monkeypatch.chdir(folder)
        with counting(monkeypatch) as work:
            main(shlex.split(line.replace("NAME", "x").replace("RUN", run)))
        output, errors = capfd.readouterr()
        assert "Traceback" not in errors
        assert output or errors
        works.append(work)
    _, small, middle, large = works
    for field in fields(Work):
        counts = [getattr(work, field.name) for work in (small, middle, large)]
        first, second = counts[1] - counts[0], counts[2] - counts[1]
        allowed = MOST * max(first, 0) + 2 * STEPS
        assert second <= allowed, f"{field.name} for {SIZES} runs: {counts}"
