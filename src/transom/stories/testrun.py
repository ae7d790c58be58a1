"""The orchestrator's own test runs, in the sandbox, before and after Dev, compared case by case."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import BaseModel, ConfigDict

from transom.errors import InputError, ProgramHidden
from transom.formats.junit import CaseStatus, read_junit
from transom.formats.yaml_files import read_bytes
from transom.sandbox import (
    CommandLimits,
    Done,
    Level,
    run_command,
    run_openly,
)
from transom.sandbox.levels import require

_GRAVITY: tuple[CaseStatus, ...] = ("passed", "skipped", "failed", "error")
_TAIL = 4_000
_REPORT_BYTES = 64 << 20
_NAMED = 20


@dataclass(frozen=True)
class TestCommand:
    """The command of a project's tests, and the level of the sandbox that it runs in.

    Level L3 is for code of others. `Level.NONE` runs the tests with the user's own rights; L2 is
    for the shipped example, where a machine has no namespaces.

    In `argv`, `{junit}` is replaced by the report's path, `{python}` by this program's interpreter,
    `{project}` by the project's folder, which has the `.venv` that a worktree lacks.
    """

    __test__ = False  # not a test class of pytest

    argv: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    seconds: float = 300
    environment: Mapping[str, str] = field(default_factory=dict)
    level: Level = Level.L3


class TestRun(BaseModel):
    """A test run: status and message per case; `problem`: why the run is invalid, "" if it is
    valid; `left`: paths that it left in the worktree, see `Git.leftovers`.
    """

    __test__ = False
    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: dict[str, CaseStatus] = {}
    messages: dict[str, str] = {}
    code: int = 0
    problem: str = ""
    output: str = ""
    left: tuple[str, ...] = ()

    def ids(self, *statuses: CaseStatus) -> frozenset[str]:
        return frozenset(one for one, status in self.cases.items() if status in statuses)

    @property
    def bad(self) -> frozenset[str]:
        return self.ids("failed", "error")

    @property
    def counts(self) -> dict[str, int]:
        return {
            "passed": len(self.ids("passed")),
            "failed": len(self.bad),
            "skipped": len(self.ids("skipped")),
        }


@dataclass(frozen=True)
class Comparison:
    """A test run after Dev, compared with the run before; no `problems` means that the tests
    pass.
    """

    after: TestRun
    old_failures: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def compare(before: TestRun, after: TestRun) -> Comparison:
    """Compare two runs: only new failures count, at least one test ran, none is lost, exit code
    and report agree.
    """
    new, gone = sorted(after.bad - before.bad), sorted(set(before.cases) - set(after.cases))
    skipped = sorted(after.ids("skipped") & before.ids("passed", "failed", "error"))
    problems = []
    if after.problem:
        problems.append(after.problem)
    elif not after.ids("passed", "failed", "error"):
        problems.append("no test was executed")
    elif after.code == 0 and after.bad:
        problems.append(f"the tests' exit code is 0, and the report has {len(after.bad)} failures")
    elif after.code and not after.bad:
        problems.append(
            f"the tests' exit code is {after.code}, and the report has no failure:"
            f" {after.output[-300:]}"
        )
    failures = [f"{name}: {after.messages.get(name, '')[:300]}".rstrip(": ") for name in new]
    for what, names, between in (
        ("tests fail that did not fail before", failures, "; "),
        ("tests are gone", [] if after.problem else gone, ", "),
        ("tests are skipped now", skipped, ", "),
    ):
        problems += [f"{len(names)} {what}: {between.join(names[:_NAMED])}"] if names else []
    return Comparison(after, tuple(sorted(after.bad & before.bad)), tuple(problems))


def check_command(command: TestCommand) -> None:
    """Check that the tests can be run, before any model is paid for.

    Raises:
        SandboxUnavailable: this machine has no sandbox for commands.
        InputError: no command is set.
    """
    if not command.argv:
        hint = (
            'e.g. stories: {tests: ["{project}/.venv/bin/python", "-m", "pytest",'
            ' "--junitxml={junit}"]}'
        )
        raise InputError("no command for the tests is set", where="stories.tests", hint=hint)
    if command.level is not Level.NONE:
        require(command.level)


async def run_tests(command: TestCommand, worktree: Path, project: Path) -> TestRun:
    """Run the tests in a worktree; the report gets a random name, so that no older file is taken
    for it.
    """
    check_command(command)
    report = worktree / f".transom-junit-{token_hex(8)}.xml"
    values = {
        "junit": str(report),
        "python": str(Path(sys.executable).resolve()),
        "project": str(project),
    }
    argv = [
        re.sub(r"\{(junit|python|project)\}", lambda match: values[match[1]], word)
        for word in command.argv
    ]
    # Without this, an editable install would test the project's checkout instead of the worktree.
    environment = {"PYTHONPATH": f"{worktree / 'src'}{os.pathsep}{worktree}", **command.environment}
    try:
        return _read(report, await _executed(command, argv, worktree, project, environment))
    except ProgramHidden as error:
        return TestRun(problem=str(error))
    finally:
        report.unlink(missing_ok=True)


async def _executed(
    command: TestCommand,
    argv: Sequence[str],
    worktree: Path,
    project: Path,
    environment: Mapping[str, str],
) -> Done:
    if command.level is Level.NONE:
        return await run_openly(
            argv, worktree, environment, seconds=command.seconds, setting="stories.tests"
        )
    return await run_command(
        argv,
        worktree,
        limits=CommandLimits(wall_seconds=command.seconds),
        readable=readable(command, project),
        environment=environment,
        level=command.level,
        setting="stories.readable",
    )


def readable(command: TestCommand, project: Path) -> list[Path]:
    """Return what sandboxed commands may read beside the worktree: this interpreter, the project's
    environments.

    Environments are in the project's folder, not in git; without them the tests find no package.
    """
    return [*environments_of(command.readable, project), Path(sys.prefix), Path(sys.base_prefix)]


def environments_of(named: Sequence[Path], project: Path) -> list[Path]:
    """Return the paths that a person named, and the environments in the project's folder."""
    own = [path for name in (".venv", "venv", "node_modules") if (path := project / name).is_dir()]
    return [*named, *own]


def _read(report: Path, done: Done) -> TestRun:
    result: dict[str, Any] = {
        "code": done.code,
        "output": f"{done.stdout}\n{done.stderr}".strip()[-_TAIL:],
    }
    if done.ended != "itself":
        return TestRun(**result, problem=f"the tests were ended by the limit on {done.ended}")
    if report.is_symlink() or not report.exists():
        return TestRun(
            **result,
            problem=f"the tests left no report (exit {done.code}): {result['output'][-300:]}",
        )
    cases: dict[str, CaseStatus] = {}
    messages: dict[str, str] = {}
    try:
        for case in read_junit(read_bytes(report, _REPORT_BYTES), "the tests' report").cases:
            if _GRAVITY.index(case.status) >= _GRAVITY.index(cases.get(case.name, "passed")):
                cases[case.name] = case.status
                if case.status in ("failed", "error"):
                    messages[case.name] = case.message[:1_000]
    except InputError as error:
        return TestRun(**result, problem=str(error))
    return TestRun(**result, cases=cases, messages=messages)
