"""Evidence: the real changes and tests of a story's worktree, checked against the story and
Dev's claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from transom.formats.source_functions import has_rust_tests, without_rust_tests
from transom.formats.test_files import is_test_file, read_checks
from transom.stories.criteria import Covering, claimed_tests, is_same_test
from transom.stories.decisions import Read
from transom.stories.git import Change, Git
from transom.stories.handoff import claims_against
from transom.stories.harness import (
    PROTECTED,
    additions_to_conftest,
    always_equal,
    hides_a_module,
    is_test_settings,
    looks_at_callers,
    runner_words,
    test_settings,
)
from transom.stories.story import Story
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import RunComparison
from transom.stories.weakening import weakened

# Endings decide here: a document that tests read is rare, and then one yes settles it.
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".pdf")
"""Files that no test runs. A story that changes nothing else cannot be shown by tests."""

_NO_CHANGE = "Dev changed no file"


@dataclass(frozen=True)
class Rules:
    """What a story may change.

    Attributes:
        also_allowed: globs of files that every story may change.
        protected: globs of further files that a story must name.
        backlog: files of the backlog.
        harness: files that the test command names, and the scripts that these name.
        importable: modules of the tests' interpreter.
    """

    also_allowed: tuple[str, ...] = ("tests/**", "test/**")
    protected: tuple[str, ...] = ()
    backlog: tuple[str, ...] = ()
    harness: frozenset[str] = frozenset()
    importable: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AttemptEvidence:
    """The evaluation of a Dev attempt; no `findings` means that nothing speaks against it.

    Attributes:
        denied: what speaks against the reply's word: tests that did not run, and work that is not
            there.
        claimed: number of a criterion -> tests of the report that are claimed to cover it.
        changed_tests: old tests whose checks the story changed, and was allowed to change.
        doubts: what a person has to look at, one sentence each.
        coverage: each criterion with the tests that cover it; empty before the proof.
        is_shown_by_tests: whether the story changes code that a test can run.
    """

    findings: tuple[str, ...]
    changes: tuple[Change, ...]
    denied: tuple[str, ...] = ()
    claimed: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    changed_tests: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    coverage: tuple[Covering, ...] = ()
    is_shown_by_tests: bool = True

    @property
    def uncovered(self) -> tuple[int, ...]:
        """The numbers of the criteria that nothing covers."""
        return tuple(row.number for row in self.coverage if not row.is_covered)


@dataclass(frozen=True)
class ChangedText:
    """A changed file with its texts before and after; None for no file, or one that is no text."""

    change: Change
    old: str | None
    new: str | None

    @property
    def path(self) -> str:
        return self.change.path


async def changed_texts(git: Git, base: str, head: str) -> list[ChangedText]:
    """Return the changed files between two commits with their texts."""
    rows = []
    for change in await git.changes(base, head):
        old, new = await git.text(base, change.path), await git.text(head, change.path)
        rows.append(ChangedText(change, old, new))
    return rows


def changed_harness(texts: Iterable[ChangedText], rules: Rules) -> tuple[str, ...]:
    """Return the changed files that decide a test run, so that those of the baseline are used.

    A conftest.py that only adds plain fixtures is used as it is now.
    """
    paths = []
    for text in texts:
        if _is_conftest(text.path):
            if text.new is None or additions_to_conftest(text.old, text.new):
                paths.append(text.path)
        elif _is_harness(text, rules):
            paths.append(text.path)
    return tuple(paths)


def files_of(texts: Sequence[ChangedText], other_tests: Mapping[str, str]) -> StoryFiles:
    """Return the files of a story for its proof."""
    code: dict[str, tuple[str | None, str | None]] = {}
    tests: dict[str, str] = {}
    for text in texts:
        # In Rust one file is both: its functions are code, and its test modules tests.
        if text.new is not None and has_rust_tests(text.path, text.new):
            tests[text.path] = text.new
        if is_test_file(text.path):
            if text.new is not None and has_tests(text.path, text.new):
                tests[text.path] = text.new
        elif not text.path.endswith(_DOCUMENTS) and not _is_conftest(text.path):
            code[text.path] = (text.old, text.new)
    return StoryFiles(code, tests, other_tests)


async def judge(
    git: Git,
    story: Story,
    rules: Rules,
    commits: tuple[str, str, str],
    read: Read,
    tests: RunComparison,
) -> AttemptEvidence:
    """Judge an attempt by Dev's reply and the orchestrator's own test run.

    `commits`: the baseline, the attempt's start, and its end.
    """
    base, start, head = commits
    texts, attempt = await changed_texts(git, base, head), await git.changes(start, head)
    named_files = frozenset((*story.creates, *story.changes, *story.allowed))
    findings: list[str] = []
    doubts: list[str] = []
    for text in texts:
        # Each file is looked at by itself, so that Dev hears of all of them at once.
        if why := _refused(text, story, rules, named_files):
            findings.append(f"{text.path}: {why}")
        else:
            doubts += [f"{text.path} {doubt}" for doubt in _doubts(text, rules)]
    old_tests = {text.path: text.old for text in texts if _is_old_test(text) and text.old}
    new_tests = {
        text.path: text.new
        for text in texts
        if is_test_file(text.path) or has_rust_tests(text.path, text.new or "")
    }
    # A deleted test file is one whose tests are all gone.
    new_tests |= {path: None for path in old_tests if path not in new_tests}
    checked = weakened(old_tests, new_tests, story.touches)
    findings += [f"{path}: {finding}" for path, finding in checked.findings]
    changes = tuple(text.change for text in texts)
    done_now = {change.path: change.action for change in attempt}
    done_in_all = {change.path: change.action for change in changes}
    if changes:
        findings += [f"reply: {claim}" for claim in claims_against(read, done_now, done_in_all)]
    else:
        findings.append(f"worktree: {_NO_CHANGE}")
    claimed, problems = claimed_tests(read.tests, story, tests.after)
    findings += [f"reply: {problem}" for problem in problems]
    findings += [f"tests: {problem}" for problem in tests.problems]
    # Old tests whose checks changed must prove themselves like new ones.
    cases = sorted(tests.after.ids("passed"))
    changed_tests = [
        case
        for path, name in checked.changed
        for case in cases
        if is_same_test(case, f"{path}::{name.replace('.', '::')}")
    ]
    return AttemptEvidence(
        tuple(findings),
        changes,
        denied=tuple(problems if changes else [*problems, _NO_CHANGE]),
        claimed=claimed,
        changed_tests=tuple(changed_tests),
        doubts=tuple(doubts),
    )


def is_backlog_or_page(path: str, backlog: Sequence[str]) -> bool:
    """Whether a file is one of the backlog, or a page for people."""
    is_page = path.endswith(_DOCUMENTS) and not is_test_file(path)
    return is_page or _fits(path, backlog)


def has_tests(path: str, text: str) -> bool:
    """Whether a test file holds tests, and no helpers alone. Only Python is looked into."""
    checks = read_checks(path, text)
    return bool(checks) if path.endswith(".py") else is_test_file(path)


def _refused(text: ChangedText, story: Story, rules: Rules, named_files: frozenset[str]) -> str:
    """Return why a change is not allowed: not in the story's files, or it affects test runs; ""
    if allowed.
    """
    path, mode = text.path, text.change.mode
    # A link and a submodule hide what they lead to; naming them allows neither.
    if mode == "120000":
        return "it is a link; a diff does not show its contents"
    if mode == "160000":
        return "it is a git repository; a diff does not show its contents"
    if _fits(path, rules.backlog):
        return "it belongs to the backlog, which only the orchestrator writes"
    if text.old is None and (module := hides_a_module(path, rules.importable)):
        return f"it hides the module {module} from the tests' interpreter"
    # A person who names the file in the story means it to change.
    if path not in named_files and path in rules.harness:
        return "the test command runs it, and the story does not name it"
    if path not in named_files and _fits(path, (*PROTECTED, *rules.protected)):
        return "it decides how tests are run or what git sees, and the story does not name it"
    if path not in named_files and _has_new_settings(text):
        return "what it says of how tests are run changed, and the story does not name it"
    if _is_conftest(path) and text.new is not None:
        additions = additions_to_conftest(text.old, text.new)
        if additions:
            return f"it {additions[0]}, which decides how tests are run"
    if story.allowed and not _fits(path, (*story.allowed, *rules.also_allowed)):
        return "the story does not allow this file to change"
    return ""


def _doubts(text: ChangedText, rules: Rules) -> list[str]:
    """Return what a person has to look at in an allowed change."""
    if _is_harness(text, rules) and not _is_conftest(text.path):
        return ["decides how tests are run; they ran with the file of the baseline"]
    if is_test_file(text.path) or text.new is None or text.path.endswith(_DOCUMENTS):
        return []
    # Only what the story added: a word that was there before is nobody's trick.
    old_lines = set((text.old or "").splitlines())
    # Tests may speak of their runner; only product code may not.
    product = without_rust_tests(text.path, text.new)
    added = [line for line in product.splitlines() if line not in old_lines]
    if words := runner_words("\n".join(added)):
        return [f"is no test, and speaks of the test runner: {words[0]}"]
    if caller := looks_at_callers("\n".join(added)):
        return [f"is no test, and looks at the code that calls it: {caller}"]
    if text.path.endswith(".py") and (name := always_equal(text.new)):
        return [f"has a class whose objects are equal to everything: {name}"]
    return []


def _is_harness(text: ChangedText, rules: Rules) -> bool:
    decides = text.path in rules.harness or _fits(text.path, (*PROTECTED, *rules.protected))
    return decides or _has_new_settings(text)


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def _is_old_test(text: ChangedText) -> bool:
    has_own = has_rust_tests(text.path, text.old or "")
    return text.old is not None and (is_test_file(text.path) or has_own)


def _has_new_settings(text: ChangedText) -> bool:
    """Whether the settings of test runs changed in a file that has others, too."""
    if not is_test_settings(text.path):
        return False
    return test_settings(text.path, text.old or "") != test_settings(text.path, text.new or "")


def _fits(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches one of the globs; `**/x` also matches `x`, and `folder/**` all
    files below.
    """
    for glob in globs:
        # `**/` means "in any folder", the top one included.
        if fnmatchcase(path, glob) or (glob.startswith("**/") and fnmatchcase(path, glob[3:])):
            return True
    return False
