"""Evidence: what really happened in a story's worktree, held against what the story allows and Dev claims."""

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
    ".git*", ".github/**", ".gitlab-ci*", ".ci/**", "Jenkinsfile", "**/conftest.py", "pytest.ini", "tox.ini",
    "noxfile.py", "setup.cfg", "run_tests*", "jest.config.*", "vitest.config.*", ".transom*", ".transom/**",
    "**/sitecustomize.py",
)  # fmt: skip
"""What decides how tests are run and what git sees: only a story that names such a file may change it."""

_TEST_SETTINGS = {
    "pyproject.toml": ("pytest", "tox", "nox", "hatch", "coverage"),
    "package.json": ("test", "pretest", "posttest", "jest", "vitest", "mocha", "ava"),
}
"""File -> its parts that decide how tests are run; the rest of it any story may change."""


@dataclass(frozen=True)
class Rules:
    """Globs of what every story may change, of what beside `PROTECTED` only one that names it, and of what none."""

    also_allowed: tuple[str, ...] = ("tests/**", "test/**")
    protected: tuple[str, ...] = ()
    backlog: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What an attempt of Dev is worth: nothing that speaks against it where `findings` is empty.

    `covered`: number of a criterion -> tests that ran and are said to cover it.
    """

    findings: tuple[str, ...]
    changes: tuple[Change, ...]
    covered: dict[int, tuple[str, ...]]
    uncovered: tuple[int, ...]


async def judge(
    git: Git, story: Story, rules: Rules, commits: tuple[str, str, str], read: Read, tests: Comparison
) -> Evidence:
    """Judge an attempt by Dev's reply and the orchestrator's own test run.

    `commits`: the baseline, where the attempt began, and where it ended.
    """
    base, start, head = commits
    changes, attempt = await git.changes(base, head), await git.changes(start, head)
    named = frozenset((*story.creates, *story.changes, *story.allowed))
    findings = [f"{one.path}: {why}" for one in changes if (why := _refused(one, story, rules, named))]
    findings += [f"{path}: {why}" for path, why in await _loosened(git, base, head, changes, story, named)]
    real, whole = ({one.path: one.action for one in some} for some in (attempt, changes))
    claims = [f"reply: {one}" for one in claims_against(read, real, whole)]
    findings += claims if changes else ["worktree: Dev changed no file"]
    covered, problems = _coverage(read, story, tests)
    findings += [*(f"reply: {one}" for one in problems), *(f"tests: {one}" for one in tests.problems)]
    uncovered = tuple(number for number, _ in enumerate(story.criteria, 1) if number not in covered)
    return Evidence(tuple(findings), changes, covered, uncovered)


def _refused(change: Change, story: Story, rules: Rules, named: frozenset[str]) -> str:
    """Nothing may change but what the story allows, and nothing that decides how tests are run."""
    if change.mode == "120000":
        return "it is a link, which no diff shows the contents of"
    if change.mode == "160000":
        return "it is a repository of its own, which no diff shows the contents of"
    if _fits(change.path, rules.backlog):
        return "it is the backlog's, which the orchestrator writes"
    if change.path not in named and _fits(change.path, (*PROTECTED, *rules.protected)):
        return "it decides how tests are run or what git sees, and the story does not name it"
    if story.allowed and not _fits(change.path, (*story.allowed, *rules.also_allowed)):
        return "the story does not allow this file to change"
    return ""


def _fits(path: str, globs: Iterable[str]) -> bool:
    """Whether a path fits one of the globs; `**/x` fits `x`, too, and `folder/**` all below it."""
    return any(fnmatchcase(path, one) or (one.startswith("**/") and fnmatchcase(path, one[3:])) for one in globs)


async def _loosened(
    git: Git, base: str, head: str, changes: Sequence[Change], story: Story, named: frozenset[str]
) -> list[tuple[str, str]]:
    """Tests that check less than they did, and what files that hold much else say of how tests are run."""
    found, before, after = list[tuple[str, str]](), dict[str, str](), dict[str, str | None]()
    for path in (change.path for change in changes):
        name = path.rpartition("/")[2]
        settings = name in _TEST_SETTINGS and path not in named
        if not settings and not is_test_file(path):
            continue
        was, now = await git.text(base, path), await git.text(head, path)
        if settings and _test_settings(name, was or "") != _test_settings(name, now or ""):
            found.append((path, "what it says of how tests are run changed, and the story does not name it"))
        if is_test_file(path):
            after[path] = now
            before |= {path: was} if was is not None else {}
    return found + weakened(before, after, story.touches)


def _test_settings(name: str, text: str) -> object:
    """What `pyproject.toml` or `package.json` says of tests; the whole text where it cannot be read."""
    try:
        data = tomllib.loads(text) if name == "pyproject.toml" else json.loads(text or "{}")
        rows = data.get("tool", {}) if name == "pyproject.toml" else {**data, **data.get("scripts", {})}
        return {key: value for key, value in rows.items() if key in _TEST_SETTINGS[name]}
    except (ValueError, AttributeError, RecursionError):
        return text


def _coverage(read: Read, story: Story, tests: Comparison) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """Criterion -> tests that ran and are said to cover it; and what is said and is not so."""
    ran = sorted(tests.after.ids("passed", "failed", "error"))
    covered: dict[int, tuple[str, ...]] = {}
    problems: list[str] = []
    for number, names in read.tests.items():
        if not 1 <= number <= len(story.criteria):
            problems.append(f"there is no criterion {number}")
            continue
        for name in names:
            if hits := [one for one in ran if _same_test(one, name)]:
                covered[number] = (*covered.get(number, ()), *hits)
            else:
                problems.append(f"{name} is said to cover criterion {number}, and did not run")
    return covered, problems


def _same_test(case: str, name: str) -> bool:
    """`tests.test_a.T.test_x` is meant by `test_x`, `T.test_x` and `tests/test_a.py::T::test_x`."""
    plain = name.replace(".py", "").replace("::", ".").replace("/", ".").strip(".")
    case = case.replace("::", ".")
    return case == plain or case.endswith(f".{plain}") or case.partition("[")[0].endswith(f".{plain}")


def weakened(
    before: Mapping[str, str], after: Mapping[str, str | None], may_change: frozenset[str]
) -> list[tuple[str, str]]:
    """`(path, what is wrong)` for tests that check less than they did; what is skipped checks nothing.

    Args:
        before: path -> text of the test files that changed, as they were.
        after: path -> text now, None where it is gone; files that are new included.
        may_change: files whose checks the story says may change; fewer checks are wrong there, too.
    """
    parsed = {path: read_checks(path, text) or {} for path, text in after.items() if text is not None}
    moved = {name.rpartition(".")[2]: checks for tests in parsed.values() for name, checks in tests.items()}
    found: list[tuple[str, str]] = []
    for path, old in before.items():
        if (tests := read_checks(path, old)) is None:
            found += [(path, what) for what in fewer_by_lines(old, after[path])]
        for name, checks in (tests or {}).items():  # a test may move to another file or class
            now = parsed.get(path, {}).get(name, moved.get(name.rpartition(".")[2]))
            if now is None:
                found.append((path, f"{name} is gone"))
            elif now.total() < checks.total():
                found.append((path, f"{name} makes {now.total()} checks, and made {checks.total()}"))
            elif (lost := checks - now) and path not in may_change:
                found.append((path, f"{name} no longer checks: {next(iter(lost))[:120]}"))
    return found
