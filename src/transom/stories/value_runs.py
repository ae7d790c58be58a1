"""Runs of the proof that change values instead of results: constants, fields and settings, the
numbers that criteria state, and functions that criteria name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from transom.formats.declared_values import (
    DeclaredKind,
    with_other_number,
    with_other_values,
)
from transom.formats.failed_checks import is_failed_check, rust_place
from transom.formats.source_functions import rust_test_lines
from transom.stories.canaries import CanaryWords
from transom.stories.loose_tests import NamedInCriteria, with_new_bodies
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import TestRun
from transom.stories.usual_arguments import with_usual_arguments

RunWith = Callable[[str, Mapping[str, str | None]], Awaitable[TestRun]]
"""Runs the tests on the story's commit with some files changed: path -> text, None for no file. The
first argument names the run.
"""
_MOST_NUMBERS = 6
"""Runs with other numbers of criteria, at most."""


async def noticing_values(
    files: StoryFiles, doubtful: frozenset[str], words: CanaryWords, run: RunWith
) -> frozenset[str]:
    """Return the tests, of some that run no changed function, that notice other values of
    constants, fields and settings.
    """
    mark = words.next()
    noticing = set[str]()
    kinds: tuple[DeclaredKind, ...] = ("lower", "higher")
    for kind in kinds:
        texts: dict[str, str | None] = {}
        for path, (old, new) in files.code.items():
            text = None if new is None else with_other_values(path, old, new, kind, mark)
            if text is not None:
                texts[path] = text
        if texts and doubtful - noticing:
            # A test that is absent could not be loaded, which says nothing of its checks.
            noticing |= doubtful & _failed_checks(await run(f"values-{kind}", texts), files)
    return frozenset(noticing)


async def missed_functions(
    files: StoryFiles,
    reached: Mapping[str, str],
    named: NamedInCriteria,
    words: CanaryWords,
    run: RunWith,
) -> dict[str, str]:
    """Return test -> a changed function that its criterion names, if the test runs others alone."""
    missed = {}
    mark = words.next()
    passed: dict[frozenset[str], frozenset[str]] = {}
    for case, names in sorted(named.functions.items()):
        first = reached.get(case, "").rpartition(" ")[2].rpartition(".")[2]
        # Usually the first function that a test runs is the one that its criterion names.
        if not first or first in names:
            continue
        if names not in passed:
            texts = with_new_bodies(files.code, "raise", mark, names)
            label = f"bodies-named-{len(passed) + 1}"
            passed[names] = (await run(label, texts)).ids("passed") if texts else frozenset()
        if case in passed[names]:
            missed[case] = min(names)
    return missed


async def unnoticed_numbers(
    files: StoryFiles, green: TestRun, named: NamedInCriteria, run: RunWith
) -> dict[int, str]:
    """Return criterion -> a number that it states and the code holds, if its tests pass with
    another one.
    """
    unnoticed: dict[int, str] = {}
    tried = 0
    for rule in named.rules:
        tests = rule.tests & green.ids("passed")
        kinds: tuple[DeclaredKind, ...] = ("higher", "lower")
        # A test beyond a limit notices one of both.
        for kind in kinds:
            texts: dict[str, str | None] = {}
            for path, (old, new) in files.code.items():
                text = None
                if new is not None:
                    text = with_other_number(path, old, new, rule.values, kind)
                if text is not None:
                    texts[path] = text
            if not texts or not tests or tried == _MOST_NUMBERS:
                break
            tried += 1
            if not tests <= (await run(f"other-number-{tried}", texts)).ids("passed"):
                break
        else:
            unnoticed.setdefault(rule.criterion, rule.text)
    return unnoticed


async def errors_of_others(
    files: StoryFiles, green: TestRun, named: NamedInCriteria, run: RunWith
) -> dict[str, str]:
    """Return test -> an argument that its criterion does not name, if the error that it expects is
    missing where that argument has a usual value.
    """
    causes: dict[str, str] = {}
    count = 0
    for rule in named.error_rules:
        texts = with_usual_arguments(files.tests, rule)
        tests = rule.tests & green.ids("passed")
        if texts and tests and count < _MOST_NUMBERS:
            count += 1
            result = await run(f"usual-arguments-{count}", texts)
            causes |= dict.fromkeys(sorted(tests & result.ids("failed", "error")), rule.unnamed[0])
    return causes


async def replaced_work(
    files: StoryFiles, green: TestRun, named: NamedInCriteria, words: CanaryWords, run: RunWith
) -> dict[str, str]:
    """Return test -> a function of the story that it replaces, if no test runs that function."""
    replaced: dict[str, str] = {}
    names_replaced = frozenset[str]().union(*named.replaced.values())
    for number, name in enumerate(sorted(names_replaced), 1):
        texts = with_new_bodies(files.code, "raise", words.next(), frozenset((name,)))
        if not texts:
            continue
        result = await run(f"without-function-{number}", texts)
        if green.ids("passed") <= result.ids("passed"):
            replaced |= {case: name for case, names in named.replaced.items() if name in names}
    return replaced


def _failed_checks(run: TestRun, files: StoryFiles) -> frozenset[str]:
    """Return the tests that failed by a check of their own.

    Another value may also break the code: that the code raises then is no merit of the test.
    """
    noticing = set[str]()
    for case in sorted(run.ids("failed") - {*run.raised}):
        message = run.messages.get(case, "")
        if is_failed_check(message) and not _is_of_code(message, files):
            noticing.add(case)
    return frozenset(noticing)


def _is_of_code(message: str, files: StoryFiles) -> bool:
    """Whether a panic of Rust lies outside of tests, in a changed file."""
    place = rust_place(message)
    if place is None:
        return False
    for path, (_, new) in files.code.items():
        if new is not None and f"/{path}".endswith(f"/{place[0]}"):
            return place[1] not in rust_test_lines(path, new)
    return False
