"""The orchestrator's own test runs, in the sandbox, before and after Dev, compared case by case."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import BaseModel, ConfigDict

from transom.errors import InputError, ProgramHidden
from transom.formats.failed_checks import is_failed_check
from transom.formats.junit import CaseStatus, JUnitCase, read_junit
from transom.formats.test_output import read_test_output
from transom.formats.yaml_files import read_bytes
from transom.sandbox import (
    CommandLimits,
    Done,
    Level,
    run_command,
    run_openly,
)
from transom.sandbox.levels import require
from transom.stories.dependencies import Dependencies, linked

_GRAVITY: tuple[CaseStatus, ...] = ("passed", "skipped", "failed", "error")
_TAIL = 4_000
_REPORT_BYTES = 64 << 20
_NAMED = 20
_PLUGIN = Path(__file__).with_name("plugins") / "pytest_order.py.in"


@dataclass(frozen=True)
class TestCommand:
    """The command of a project's tests, and the level of the sandbox that it runs in.

    Level L3 is for code of others. `Level.NONE` runs the tests with the user's own rights; L2 is
    for the shipped example, where a machine has no namespaces.

    In `argv`, `{junit}` is replaced by the report's path, `{python}` by this program's interpreter,
    `{project}` by the project's folder, which has the `.venv` that a worktree lacks. Without
    `{junit}`, what the command prints is read.
    """

    __test__ = False  # not a test class of pytest

    argv: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    seconds: float = 300
    environment: Mapping[str, str] = field(default_factory=dict)
    level: Level = Level.L3
    dependencies: Dependencies | None = None

    @property
    def has_report(self) -> bool:
        """Whether the command writes a JUnit report; else its output and exit code are read."""
        return any("{junit}" in word for word in self.argv)


class TestRun(BaseModel):
    """A test run: status and message per case; `problem`: why the run is invalid, "" if it is
    valid; `left`: paths that it left in the worktree, see `Git.leftovers`; `only_code`: the command
    printed no cases, so its only case is the command itself; `raised`: the cases that failed by an
    error of the code, and by no check.
    """

    __test__ = False
    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: dict[str, CaseStatus] = {}
    messages: dict[str, str] = {}
    code: int = 0
    problem: str = ""
    output: str = ""
    left: tuple[str, ...] = ()
    only_code: bool = False
    raised: tuple[str, ...] = ()

    def ids(self, *statuses: CaseStatus) -> frozenset[str]:
        return frozenset(case for case, status in self.cases.items() if status in statuses)

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
class RunComparison:
    """A test run after Dev, compared with the run before; no `problems` means that the tests
    pass.
    """

    after: TestRun
    old_failures: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def compare(before: TestRun, after: TestRun) -> RunComparison:
    """Compare two runs: only new failures count, at least one test ran, none is lost, exit code
    and report agree.
    """
    # Failures of before are not Dev's. A test that is gone shows nothing any more, but a runner may
    # list the tests of a single file alone: of several files only its exit code is left.
    new, missing = sorted(after.bad - before.bad), sorted(set(before.cases) - set(after.cases))
    skipped = sorted(after.ids("skipped") & before.ids("passed", "failed", "error"))
    problems = []
    if after.problem:
        problems.append(after.problem)
    elif not after.ids("passed", "failed", "error"):
        problems.append("no test was executed")
    # A runner says the same twice; if the two differ, one was tampered with.
    elif after.code == 0 and after.bad:
        problems.append(f"the tests' exit code is 0, and the report has {len(after.bad)} failures")
    elif after.code and not after.bad:
        problems.append(
            f"the tests' exit code is {after.code}, and the report has no failure:"
            f" {after.output[-300:]}"
        )
    failures = [f"{name}: {after.messages.get(name, '')[:300]}".rstrip(": ") for name in new]
    for problem, names, between in (
        ("tests fail that did not fail before", failures, "; "),
        ("tests are gone", [] if after.problem or after.only_code else missing, ", "),
        ("tests are skipped now", skipped, ", "),
    ):
        problems += [f"{len(names)} {problem}: {between.join(names[:_NAMED])}"] if names else []
    return RunComparison(after, tuple(sorted(after.bad & before.bad)), tuple(problems))


def check_command(command: TestCommand) -> None:
    """Check that the tests can be run, before any model is paid for.

    Raises:
        SandboxUnavailable: this machine has no sandbox for commands.
        InputError: no command is set.
    """
    if not command.argv:
        hint = (
            'e.g. stories: {tests: ["{project}/.venv/bin/python", "-m", "pytest",'
            ' "--junitxml={junit}"]}, or [cargo, test, --no-fail-fast]'
        )
        raise InputError("no command for the tests is set", place="stories.tests", hint=hint)
    if command.level is not Level.NONE:
        require(command.level)


async def run_tests(
    command: TestCommand, worktree: Path, project: Path, *, order: str = ""
) -> TestRun:
    """Run the tests in a worktree, with the packages that its lock files name.

    Args:
        order: a seed: pytest runs the tests in another order, and counts the results a second time
            by a plug-in. Other runners keep their order.
    """
    check_command(command)
    if command.dependencies is None:
        return await _run(command, worktree, project, order)
    try:
        # Only this step has network, and it runs no code of the story's tests.
        packages = await command.dependencies.install(worktree, command.level)
    except InputError as error:
        return TestRun(problem=error.problem)
    command = replace(command, readable=(*command.readable, packages))
    with linked(packages, worktree):
        return await _run(command, worktree, project, order)


async def _run(command: TestCommand, worktree: Path, project: Path, order: str) -> TestRun:
    """Run the tests; the report gets a random name, so that no older file is taken for it."""
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
    plugin = _OrderPlugin.write(worktree, order) if order else None
    try:
        if plugin is not None:
            environment = plugin.loaded(environment)
        result = _read(
            command, report, await _executed(command, argv, worktree, project, environment)
        )
        if plugin is None:
            return result
        # A command that sets its own PYTHONPATH does not find the plug-in.
        if result.problem and not plugin.counts.exists():
            return await _run(command, worktree, project, "")
        return plugin.compared(result)
    except ProgramHidden as error:
        return TestRun(problem=str(error))
    finally:
        # The report is no file of the story, and would count as left by the tests.
        report.unlink(missing_ok=True)
        if plugin is not None:
            shutil.rmtree(plugin.folder, ignore_errors=True)


@dataclass(frozen=True)
class _OrderPlugin:
    """A copy of the plug-in of pytest, under a random name that tested code cannot know."""

    folder: Path
    module: str

    @staticmethod
    def write(worktree: Path, seed: str) -> _OrderPlugin:
        plugin = _OrderPlugin(worktree / f".transom-{token_hex(8)}", f"order_{token_hex(6)}")
        plugin.folder.mkdir()
        text = _PLUGIN.read_text(encoding="utf-8")
        text = text.replace("$SEED", seed).replace("$PATH", str(plugin.counts))
        (plugin.folder / f"{plugin.module}.py").write_text(text, encoding="utf-8")
        return plugin

    @property
    def counts(self) -> Path:
        return self.folder / "counts.json"

    def loaded(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with which pytest loads the plug-in; other runners ignore it."""
        path = f"{self.folder}{os.pathsep}{environment.get('PYTHONPATH', '')}"
        options = f"{environment.get('PYTEST_ADDOPTS', '')} -p {self.module}".strip()
        return {**environment, "PYTHONPATH": path, "PYTEST_ADDOPTS": options}

    def compared(self, run: TestRun) -> TestRun:
        """Return the run with a problem if the plug-in counted other results than the report."""
        if run.problem or self.counts.is_symlink() or not self.counts.is_file():
            return run
        try:
            data: Any = json.loads(read_bytes(self.counts, _REPORT_BYTES))
            outcomes = [*data["results"].values()]
            raised = len(data["raised"])
        except (ValueError, KeyError, TypeError, AttributeError, InputError):
            return run.model_copy(update={"problem": "the plug-in's count of results was changed"})
        # The plug-in sees outcomes inside of pytest, before any report is written.
        failed = outcomes.count("failed")
        # Two cases of one name are one in the report, and a failed set-up may be a case of its own.
        if bool(failed) != bool(run.bad) or (raised and not run.bad and not run.ids("skipped")):
            problem = (
                f"pytest counted {failed} failed tests and {raised} failed assertions,"
                f" and its report has {len(run.bad)} failures"
            )
            return run.model_copy(update={"problem": problem})
        return run


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


def environments_of(paths: Sequence[Path], project: Path) -> list[Path]:
    """Return the paths that a person named, and the environments in the project's folder."""
    # Their usual names; others are named in `stories.readable`.
    own = [path for name in (".venv", "venv", "node_modules") if (path := project / name).is_dir()]
    return [*paths, *own]


def _read(command: TestCommand, report: Path, process: Done) -> TestRun:
    result: dict[str, Any] = {
        "code": process.code,
        "output": f"{process.stdout}\n{process.stderr}".strip()[-_TAIL:],
    }
    # A run that was cut off may have written a report of what it had.
    if process.ended != "itself":
        return TestRun(**result, problem=f"the tests were ended by the limit on {process.ended}")
    if not command.has_report:
        return _read_printed(command, process, result)
    # A link would let the tests choose which file is read.
    if report.is_symlink() or not report.exists():
        return TestRun(
            **result,
            problem=f"the tests left no report (exit {process.code}): {result['output'][-300:]}",
        )
    try:
        listed = read_junit(read_bytes(report, _REPORT_BYTES), "the tests' report").cases
    except InputError as error:
        return TestRun(**result, problem=str(error))
    return TestRun(**result, **_by_name(listed))


def _read_printed(command: TestCommand, process: Done, result: Mapping[str, Any]) -> TestRun:
    """Read what a runner without a report printed; if that is unknown, its exit code is the one
    case.
    """
    if listed := read_test_output(f"{process.stdout}\n{process.stderr}"):
        return TestRun(**result, **_by_name(listed))
    # Without names the command is the one case, and its exit code the result.
    name = " ".join(command.argv)
    if process.code == 0:
        return TestRun(**result, cases={name: "passed"}, only_code=True)
    messages = {name: result["output"][-1_000:]}
    return TestRun(**result, cases={name: "failed"}, messages=messages, only_code=True)


def _by_name(listed: Sequence[JUnitCase]) -> dict[str, Any]:
    """Return status and message by name; of two cases with one name the worse one counts."""
    cases: dict[str, CaseStatus] = {}
    messages: dict[str, str] = {}
    raised = set[str]()
    for case in listed:
        if _GRAVITY.index(case.status) >= _GRAVITY.index(cases.get(case.name, "passed")):
            cases[case.name] = case.status
            if case.status in ("failed", "error"):
                messages[case.name] = case.message[:1_000]
                if not is_failed_check(case.details or case.message):
                    raised.add(case.name)
    return {"cases": cases, "messages": messages, "raised": tuple(sorted(raised))}
