"""Evidence: the real changes and tests of a story's worktree, checked against the story and
Dev's claims.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from transom.formats.test_files import fewer_by_lines, is_test_file, read_checks
from transom.stories.decisions import Read
from transom.stories.git import Change, Git
from transom.stories.handoff import claims_against
from transom.stories.story import Story
from transom.stories.testrun import Comparison

PROTECTED = (
    ".git*",
    ".github/**",
    ".gitlab-ci*",
    ".ci/**",
    "Jenkinsfile",
    "**/conftest.py",
    "pytest.ini",
    "tox.ini",
    "noxfile.py",
    "setup.cfg",
    "run_tests*",
    "jest.config.*",
    "vitest.config.*",
    ".transom*",
    ".transom/**",
    "**/sitecustomize.py",
)
"""Files that control test runs and git: a story must name such a file to change it."""

_TEST_SETTINGS = {
    "pyproject.toml": ("pytest", "tox", "nox", "hatch", "coverage"),
    "package.json": ("test", "pretest", "posttest", "jest", "vitest", "mocha", "ava"),
}
"""File -> its keys that control test runs; any story may change the rest of the file."""


@dataclass(frozen=True)
class Rules:
    """Globs of files: those that every story may change, further protected ones, and the
    backlog's.
    """

    also_allowed: tuple[str, ...] = ("tests/**", "test/**")
    protected: tuple[str, ...] = ()
    backlog: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The evaluation of a Dev attempt; no `findings` means that the evidence supports it.

    `covered`: number of a criterion -> tests that ran and are claimed to cover it.
    """

    findings: tuple[str, ...]
    changes: tuple[Change, ...]
    covered: dict[int, tuple[str, ...]]
    uncovered: tuple[int, ...]


async def judge(
    git: Git,
    story: Story,
    rules: Rules,
    commits: tuple[str, str, str],
    read: Read,
    tests: Comparison,
) -> Evidence:
    """Judge an attempt by Dev's reply and the orchestrator's own test run.

    `commits`: the baseline, the attempt's start, and its end.
    """
    base, start, head = commits
    changes, attempt = await git.changes(base, head), await git.changes(start, head)
    named = frozenset((*story.creates, *story.changes, *story.allowed))
    findings = [
        f"{one.path}: {why}" for one in changes if (why := _refused(one, story, rules, named))
    ]
    findings += [
        f"{path}: {why}" for path, why in await _loosened(git, base, head, changes, story, named)
    ]
    real, whole = ({one.path: one.action for one in some} for some in (attempt, changes))
    claims = [f"reply: {one}" for one in claims_against(read, real, whole)]
    findings += claims if changes else ["worktree: Dev changed no file"]
    covered, problems = _coverage(read, story, tests)
    findings += [
        *(f"reply: {one}" for one in problems),
        *(f"tests: {one}" for one in tests.problems),
    ]
    uncovered = tuple(number for number, _ in enumerate(story.criteria, 1) if number not in covered)
    return Evidence(tuple(findings), changes, covered, uncovered)


def _refused(change: Change, story: Story, rules: Rules, named: frozenset[str]) -> str:
    """Return why a change is not allowed: not in the story's files, or it affects test runs; ""
    if allowed.
    """
    if change.mode == "120000":
        return "it is a link; a diff does not show its contents"
    if change.mode == "160000":
        return "it is a git repository; a diff does not show its contents"
    if _fits(change.path, rules.backlog):
        return "it belongs to the backlog, which only the orchestrator writes"
    if change.path not in named and _fits(change.path, (*PROTECTED, *rules.protected)):
        return "it decides how tests are run or what git sees, and the story does not name it"
    if story.allowed and not _fits(change.path, (*story.allowed, *rules.also_allowed)):
        return "the story does not allow this file to change"
    return ""


def _fits(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches one of the globs; `**/x` also matches `x`, and `folder/**` all
    files below.
    """
    return any(
        fnmatchcase(path, one) or (one.startswith("**/") and fnmatchcase(path, one[3:]))
        for one in globs
    )


async def _loosened(
    git: Git, base: str, head: str, changes: Sequence[Change], story: Story, named: frozenset[str]
) -> list[tuple[str, str]]:
    """Return `(path, finding)` for weakened tests and for changed test settings in shared files."""
    found, before, after = list[tuple[str, str]](), dict[str, str](), dict[str, str | None]()
    for path in (change.path for change in changes):
        name = path.rpartition("/")[2]
        settings = name in _TEST_SETTINGS and path not in named
        if not settings and not is_test_file(path):
            continue
        was, now = await git.text(base, path), await git.text(head, path)
        if settings and _test_settings(name, was or "") != _test_settings(name, now or ""):
            found.append(
                (path, "what it says of how tests are run changed, and the story does not name it")
            )
        if is_test_file(path):
            after[path] = now
            before |= {path: was} if was is not None else {}
    return found + weakened(before, after, story.touches)


def _test_settings(name: str, text: str) -> object:
    """Return the test settings of `pyproject.toml` or `package.json`; the whole text if it
    cannot be parsed.
    """
    try:
        data = tomllib.loads(text) if name == "pyproject.toml" else json.loads(text or "{}")
        rows = (
            data.get("tool", {})
            if name == "pyproject.toml"
            else {**data, **data.get("scripts", {})}
        )
        return {key: value for key, value in rows.items() if key in _TEST_SETTINGS[name]}
    except (ValueError, AttributeError, RecursionError):
        return text


def _coverage(
    read: Read, story: Story, tests: Comparison
) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """Return criterion -> tests that ran and are claimed to cover it; and the claims that are
    wrong.
    """
    ran = sorted(tests.after.ids("passed", "failed", "error"))
    covered: dict[int, tuple[str, ...]] = {}
    problems: list[str] = []
    for number, names in read.tests.items():
        if not 1 <= number <= len(story.criteria):
            problems.append(f"unknown criterion {number}; known: 1 to {len(story.criteria)}")
            continue
        for name in names:
            if hits := [one for one in ran if _same_test(one, name)]:
                covered[number] = (*covered.get(number, ()), *hits)
            else:
                problems.append(f"{name} is claimed to cover criterion {number}, but did not run")
    return covered, problems


def _same_test(case: str, name: str) -> bool:
    """Whether a name means a case: `test_x`, `T.test_x`, `tests/test_a.py::T::test_x` mean
    `tests.test_a.T.test_x`.
    """
    plain = name.replace(".py", "").replace("::", ".").replace("/", ".").strip(".")
    case = case.replace("::", ".")
    return (
        case == plain or case.endswith(f".{plain}") or case.partition("[")[0].endswith(f".{plain}")
    )


def weakened(
    before: Mapping[str, str], after: Mapping[str, str | None], may_change: frozenset[str]
) -> list[tuple[str, str]]:
    """Return `(path, finding)` for tests with fewer checks than before; a skipped test has no
    checks.

    Args:
        before: path -> old text of the changed test files.
        after: path -> new text, None for a deleted file; new files included.
        may_change: files whose checks the story may change; fewer checks are findings there too.
    """
    parsed = {
        path: read_checks(path, text) or {} for path, text in after.items() if text is not None
    }
    moved = {
        name.rpartition(".")[2]: checks
        for tests in parsed.values()
        for name, checks in tests.items()
    }
    found: list[tuple[str, str]] = []
    for path, old in before.items():
        if (tests := read_checks(path, old)) is None:
            found += [(path, what) for what in fewer_by_lines(old, after[path])]
        for name, checks in (tests or {}).items():  # a test may move to another file or class
            now = parsed.get(path, {}).get(name, moved.get(name.rpartition(".")[2]))
            if now is None:
                found.append((path, f"{name} is gone"))
            elif now.total() < checks.total():
                found.append(
                    (path, f"{name} makes {now.total()} checks, and made {checks.total()}")
                )
            elif (lost := checks - now) and path not in may_change:
                found.append((path, f"{name} no longer checks: {next(iter(lost))[:120]}"))
    return found
