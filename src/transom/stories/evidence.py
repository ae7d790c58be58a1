"""Evidence: what really happened in a story's worktree, held against what the story allows and Dev claims."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from transom.gates import Finding
from transom.stories.decisions import Read
from transom.stories.git import Change, Git
from transom.stories.handoff import Action
from transom.stories.story import Story
from transom.stories.testrun import Comparison
from transom.stories.validators import claims_against
from transom.stories.weakened import is_test_file, weakened

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
    """What a project allows.

    Attributes:
        also_allowed: globs of files that every story may change beside its own.
        protected: globs of files that only a story that names them may change.
        backlog: the backlog's own files; only the orchestrator writes them.
    """

    also_allowed: tuple[str, ...] = ("tests/**", "test/**")
    protected: tuple[str, ...] = PROTECTED
    backlog: tuple[str, ...] = ()


class FileChange(BaseModel):
    """A changed file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    action: Action


class Evidence(BaseModel):
    """What an attempt of Dev is worth.

    Attributes:
        findings: why it is not good enough; empty where it is.
        changes: all that the story changed so far.
        covered: number of a criterion -> tests that ran and are said to cover it.
        uncovered: numbers of the criteria for which no such test is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    findings: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    covered: dict[int, tuple[str, ...]] = {}
    uncovered: tuple[int, ...] = ()


def fits(path: str, globs: Iterable[str]) -> bool:
    """Whether a path fits one of the globs; `**/x` fits `x`, too, and `folder/**` all below it."""
    return any(fnmatchcase(path, one) or (one.startswith("**/") and fnmatchcase(path, one[3:])) for one in globs)


def judge_paths(changes: Sequence[Change], story: Story, rules: Rules) -> list[Finding]:
    """Nothing may change but what the story allows, and nothing that decides how tests are run."""
    own = frozenset((*story.creates, *story.changes, *story.allowed))
    found = []
    for change in changes:
        named = change.path in own
        if change.mode in ("120000", "160000"):
            kind = "a link" if change.mode == "120000" else "a repository of its own"
            found.append(
                Finding("story.paths", change.path, None, f"it is {kind}, which no diff shows the contents of")
            )
        elif fits(change.path, rules.backlog):
            found.append(
                Finding("story.paths", change.path, None, "it is the backlog's, which the orchestrator writes")
            )
        elif not named and fits(change.path, rules.protected):
            what = "it decides how tests are run or what git sees, and the story does not name it"
            found.append(Finding("story.paths", change.path, None, what))
        elif story.allowed and not fits(change.path, (*story.allowed, *rules.also_allowed)):
            found.append(Finding("story.paths", change.path, None, "the story does not allow this file to change"))
    return found


async def judge_settings(git: Git, base: str, head: str, changes: Sequence[Change], story: Story) -> list[Finding]:
    """What files that hold much else say of tests stays as it was, unless the story names the file."""
    found = []
    for change in changes:
        name = change.path.rpartition("/")[2]
        if name not in _TEST_SETTINGS or change.path in (*story.creates, *story.changes, *story.allowed):
            continue
        was, now = [_test_settings(name, await git.text(commit, change.path) or "") for commit in (base, head)]
        if was != now:
            what = "what it says of how tests are run changed, and the story does not name it"
            found.append(Finding("story.paths", change.path, None, what))
    return found


def _test_settings(name: str, text: str) -> object:
    """What `pyproject.toml` or `package.json` says of tests; the whole text where it cannot be read."""
    try:
        data = tomllib.loads(text) if name == "pyproject.toml" else json.loads(text or "{}")
        rows = data.get("tool", {}) if name == "pyproject.toml" else {**data, **data.get("scripts", {})}
        return {key: value for key, value in rows.items() if key in _TEST_SETTINGS[name]}
    except (ValueError, AttributeError, RecursionError):
        return text


def judge_claims(read: Read, attempt: Mapping[str, Action], whole: Mapping[str, Action]) -> list[Finding]:
    """Dev's list of files against git, both ways: of this attempt, or of the whole story."""
    if not read.files:
        why = read.problem or "FILES: with one line `- created|modified|deleted: PATH` each is missing"
        return [Finding("story.claims", "reply", None, f"Dev lists no files: {why}")]
    claims = read.files
    known = {**{path: whole[path] for path in claims if path in whole}, **attempt}
    known |= {
        path: claims[path] for path in claims if path in attempt and path in whole and claims[path] == whole[path]
    }
    return [Finding("story.claims", "reply", None, one) for one in claims_against(claims, known)]


async def judge_tests(git: Git, base: str, head: str, changes: Sequence[Change], story: Story) -> list[Finding]:
    """Tests that were there before check no less than they did."""
    paths = [change for change in changes if is_test_file(change.path)]
    before: dict[str, str] = {}
    after: dict[str, str | None] = {}
    for change in paths:
        after[change.path] = await git.text(head, change.path)
        old = await git.text(base, change.path)
        if old is not None:
            before[change.path] = old
    found = weakened(before, after, story.touches)
    return [Finding("story.tests", path, None, what) for path, what in found]


def judge_coverage(read: Read, story: Story, tests: Comparison) -> tuple[list[Finding], dict[int, tuple[str, ...]]]:
    """Tests that are said to cover a criterion must have run."""
    ran = tests.after.ids("passed", "failed", "error")
    found: list[Finding] = []
    covered: dict[int, tuple[str, ...]] = {}
    for number, names in read.tests.items():
        if not 1 <= number <= len(story.criteria):
            found.append(Finding("story.coverage", "reply", None, f"there is no criterion {number}"))
            continue
        for name in names:
            hits = tuple(sorted(one for one in ran if _same_test(one, name)))
            if hits:
                covered[number] = (*covered.get(number, ()), *hits)
            else:
                what = f"{name} is said to cover criterion {number}, and did not run"
                found.append(Finding("story.coverage", "reply", None, what))
    return found, covered


def _same_test(case: str, name: str) -> bool:
    """`tests.test_a.T.test_x` is meant by `test_x`, `T.test_x` and `tests/test_a.py::T::test_x`."""
    plain = name.replace(".py", "").replace("::", ".").replace("/", ".").strip(".")
    case = case.replace("::", ".")
    return case == plain or case.endswith(f".{plain}") or case.partition("[")[0].endswith(f".{plain}")


async def judge(
    git: Git, story: Story, rules: Rules, commits: tuple[str, str, str], read: Read, tests: Comparison
) -> Evidence:
    """Judge an attempt.

    Args:
        git: in the story's worktree.
        story: what was to be done.
        rules: what the project allows.
        commits: the baseline, where the attempt began, and where it ended.
        read: Dev's reply.
        tests: the orchestrator's own run, against the one at the baseline.
    """
    base, start, head = commits
    changes, attempt = await git.changes(base, head), await git.changes(start, head)
    findings = [*judge_paths(changes, story, rules), *await judge_settings(git, base, head, changes, story)]
    if not changes:
        findings.append(Finding("story.diff", "worktree", None, "Dev changed no file"))
    findings += judge_claims(read, {one.path: one.action for one in attempt}, {one.path: one.action for one in changes})
    findings += await judge_tests(git, base, head, changes, story)
    found, covered = judge_coverage(read, story, tests)
    findings += [*found, *(Finding("story.run", "tests", None, one) for one in tests.problems)]
    return Evidence(
        findings=tuple(f"{one.artifact}: {one.message}" for one in findings),
        changes=tuple(FileChange(path=one.path, action=one.action) for one in changes),
        covered=covered,
        uncovered=tuple(one.number for one in story.criteria if one.number not in covered),
    )
