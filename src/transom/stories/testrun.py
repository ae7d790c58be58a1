"""Test runs that the orchestrator makes itself: in the sandbox, before and after Dev, compared by their cases."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from pydantic import BaseModel, ConfigDict

from transom.errors import InputError
from transom.formats.junit import CaseStatus, read_junit
from transom.formats.yaml_files import read_bytes
from transom.sandbox import CommandLimits, Done, Level, run_command
from transom.sandbox.levels import require
from transom.stories.process import run_openly

_GRAVITY: tuple[CaseStatus, ...] = ("passed", "skipped", "failed", "error")
_TAIL = 4_000
_REPORT_BYTES = 64 << 20
_NAMED = 20


@dataclass(frozen=True)
class TestCommand:
    """How a project's tests are run.

    Attributes:
        argv: the command; `{junit}` stands for the report's path, `{python}` for this program's interpreter, and
            `{project}` for the project's own folder (its `.venv` lies there, and not in a worktree).
        readable: what it may read beside the worktree and the system.
        seconds: it may take.
        environment: beside the sandbox's own, and a `PYTHONPATH` of the worktree and its `src`.
        sandbox: False runs it with a person's own rights.
    """

    __test__ = False  # it is no test of pytest's

    argv: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    seconds: float = 300
    environment: Mapping[str, str] = field(default_factory=dict)
    sandbox: bool = True


class TestRun(BaseModel):
    """What came of one run.

    Attributes:
        cases: id -> status; equal ids are one case, with the gravest.
        messages: id -> what a failed case says.
        code: the command's exit code.
        problem: why the run says nothing, "" where it does.
        output: the end of what it printed.
    """

    __test__ = False
    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: dict[str, CaseStatus] = {}
    messages: dict[str, str] = {}
    code: int = 0
    problem: str = ""
    output: str = ""

    def ids(self, *statuses: CaseStatus) -> frozenset[str]:
        return frozenset(one for one, status in self.cases.items() if status in statuses)

    @property
    def bad(self) -> frozenset[str]:
        return self.ids("failed", "error")

    @property
    def executed(self) -> int:
        """Cases that ran: neither skipped nor expected to fail."""
        return len(self.cases) - len(self.ids("skipped"))

    @property
    def counts(self) -> dict[str, int]:
        passed, skipped = len(self.ids("passed")), len(self.ids("skipped"))
        return {"passed": passed, "failed": len(self.bad), "skipped": skipped}


@dataclass(frozen=True)
class Comparison:
    """A run after Dev against the run before it; `problems` is empty where the tests speak for the work."""

    after: TestRun
    old_failures: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def compare(before: TestRun, after: TestRun) -> Comparison:
    """Judge a run: new failures only, at least one test executed, none lost, exit code and report agreeing."""
    new = sorted(after.bad - before.bad)
    gone = sorted(set(before.cases) - set(after.cases))
    skipped = sorted(after.ids("skipped") & before.ids("passed", "failed", "error"))
    problems = []
    if after.problem:
        problems.append(after.problem)
    elif not after.executed:
        problems.append("no test was executed")
    elif after.code == 0 and after.bad:
        problems.append(f"the tests' exit code is 0, and the report has {len(after.bad)} failures")
    elif after.code and not after.bad:
        problems.append(f"the tests' exit code is {after.code}, and the report has no failure: {after.output[-300:]}")
    told = [f"{name}: {after.messages.get(name, '')[:300]}".rstrip(": ") for name in new[:_NAMED]]
    problems += [f"{len(new)} tests fail that did not fail before: " + "; ".join(told)] if new else []
    lost = [] if after.problem else gone
    problems += [f"{len(lost)} tests are gone: {', '.join(lost[:_NAMED])}"] if lost else []
    problems += [f"{len(skipped)} tests are skipped now: {', '.join(skipped[:_NAMED])}"] if skipped else []
    old = tuple(sorted(after.bad & before.bad))
    return Comparison(after, old, tuple(problems))


def check_command(command: TestCommand) -> None:
    """Whether tests can be run at all, before anybody is paid.

    Raises:
        SandboxUnavailable: this machine has no sandbox for commands.
        InputError: no command is set.
    """
    if not command.argv:
        hint = 'e.g. stories: {tests: ["{project}/.venv/bin/python", "-m", "pytest", "--junitxml={junit}"]}'
        raise InputError("no command for the tests is set", where="stories.tests", hint=hint)
    if command.sandbox:
        require(Level.L3)


async def run_tests(command: TestCommand, worktree: Path, project: Path) -> TestRun:
    """Run the tests in a worktree; the report's name is a fresh one, so that none of before can be taken for it.

    Raises:
        SandboxUnavailable, InputError: see `check_command`.
    """
    check_command(command)
    report = worktree / f".transom-junit-{token_hex(8)}.xml"
    values = {"junit": str(report), "python": str(Path(sys.executable).resolve()), "project": str(project)}
    argv = [_filled(word, values) for word in command.argv]
    # An environment with an editable install would else test the project's checkout in the worktree's place.
    environment = {"PYTHONPATH": f"{worktree / 'src'}{os.pathsep}{worktree}", **command.environment}
    try:
        if command.sandbox:
            readable = [*command.readable, Path(sys.prefix), Path(sys.base_prefix), *environments(project)]
            limits = CommandLimits(wall_seconds=command.seconds)
            done = await run_command(argv, worktree, limits=limits, readable=readable, environment=environment)
        else:
            done = await run_openly(argv, worktree, environment, seconds=command.seconds, setting="stories.tests")
        return _read(report, done)
    finally:
        report.unlink(missing_ok=True)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def environments(project: Path) -> Sequence[Path]:
    """Environments that lie in the project's folder and not in git: without them its tests find no package."""
    return [path for name in (".venv", "venv", "node_modules") if (path := project / name).is_dir()]


def _read(report: Path, done: Done) -> TestRun:
    output = f"{done.stdout}\n{done.stderr}".strip()[-_TAIL:]
    if done.ended != "itself":
        return TestRun(code=done.code, output=output, problem=f"the tests were ended by the limit on {done.ended}")
    if report.is_symlink() or not report.exists():
        return TestRun(
            code=done.code, output=output, problem=f"the tests left no report (exit {done.code}): {output[-300:]}"
        )
    try:
        cases: dict[str, CaseStatus] = {}
        messages: dict[str, str] = {}
        for case in read_junit(read_bytes(report, _REPORT_BYTES), "the tests' report").cases:
            if _GRAVITY.index(case.status) >= _GRAVITY.index(cases.get(case.name, "passed")):
                cases[case.name] = case.status
                if case.status in ("failed", "error"):
                    messages[case.name] = case.message[:1_000]
    except InputError as error:
        return TestRun(code=done.code, output=output, problem=str(error))
    return TestRun(cases=cases, messages=messages, code=done.code, output=output)
