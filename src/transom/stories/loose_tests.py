"""Which tests look at no result of the changed code: each pass although the changed functions work
and give other results.

    near values               a test that does not notice them is looked into
    other values inside       a test that still passes may ask for the shape alone
    useless results           a test that still passes does not look at them at all
    a tenth more, or less     a test that passes with one is no test for a certain number
    lower, and higher values  a test that passes with both checks no value
    another result each time  a test that notices this alone compares the code with itself
    lists in reverse order    a test that passes is no test for an order, or for a whole text
    longer lists              a test that passes is no test for a whole list
    other arguments           what a function does is checked by no test of the project

Most tests notice the first, so the others are rarely run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from transom.formats.source_functions import (
    BodyKind,
    changed_functions,
    files_beside,
    with_bodies,
)
from transom.stories.usual_arguments import ErrorRule

CodeTexts = Mapping[str, tuple[str | None, str | None]]
"""Path -> (text before, text after) of files that are no tests; None for no file."""
PassedWith = Callable[[BodyKind], Awaitable[frozenset[str] | None]]
"""Returns the tests that pass with new bodies; None if no function can have them."""


@dataclass(frozen=True)
class StatedNumber:
    """A number that a criterion states in its own words.

    Attributes:
        criterion: the number of the criterion.
        text: the number as it is written.
        values: what a program may hold for it.
        tests: the tests that are claimed for the criterion.
    """

    criterion: int
    text: str
    values: frozenset[Decimal]
    tests: frozenset[str]


@dataclass(frozen=True)
class NamedInCriteria:
    """What the criteria name that tests are claimed for.

    Attributes:
        errors: tests for a certain error, which neither they nor the code name, or for what an
            error tells.
        functions: test -> the changed functions that its criterion names, and it, too.
        numbers: tests for a certain number.
        orders: tests for the order of something, or for a whole list or text.
        lists: tests for a whole list.
        values: the texts and numbers that the criteria state.
        rules: numbers of criteria that no test of them holds.
        error_rules: errors that criteria state of some arguments of a function.
        replaced: test -> the changed functions that it replaces by others.
    """

    errors: frozenset[str] = frozenset()
    functions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    rules: tuple[StatedNumber, ...] = ()
    error_rules: tuple[ErrorRule, ...] = ()
    replaced: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LooseTests:
    """Tests that notice no other result.

    Attributes:
        loose: they pass with any value, or look at its shape, and no other test looks inside.
        mirrors: they compare the changed code with itself.
        any_error: they pass with any error.
        unordered: they are for an order, and pass with lists in the reverse order.
        unended: they are for a whole list, and pass with a longer one.
        ranged: they pass with a value near the one that they get, and not with a useless one.
        wide: those of them for a certain number that pass with a tenth more, or less of it.
        judged: those of them that ask the changed code itself whether the value is right.
    """

    loose: frozenset[str] = frozenset()
    mirrors: frozenset[str] = frozenset()
    any_error: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()
    unended: frozenset[str] = frozenset()
    ranged: frozenset[str] = frozenset()
    wide: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()


def with_new_bodies(
    code: CodeTexts, kind: BodyKind, mark: str, names: frozenset[str] | None = None
) -> dict[str, str | None]:
    """Return path -> text of the changed code with new bodies for its changed functions.

    Args:
        names: only functions of these names.
    """
    texts: dict[str, str | None] = {}
    for path, (old, new) in code.items():
        # A deleted file has no body to replace.
        functions = changed_functions(path, old, new) if new is not None else ()
        if names is not None:
            functions = tuple(row for row in functions if row.name.rpartition(".")[2] in names)
        if functions and new is not None:
            text = with_bodies(path, new, functions, kind, mark)
            if text is not None:
                texts[path] = text
                texts |= files_beside(path, new, kind, mark)
    return texts


async def find_loose_tests(
    tests: frozenset[str],
    unchecked: frozenset[str],
    named: NamedInCriteria,
    green: frozenset[str],
    passed_with: PassedWith,
    noticing: frozenset[str] = frozenset(),
) -> LooseTests:
    """Find the tests that notice no other result.

    Args:
        tests: tests that run changed code, and notice if it returns nothing.
        unchecked: tests that do not notice it. They may compare the code with itself.
        named: what the criteria of the tests name.
        green: all tests that pass on the story's work.
        noticing: tests that notice each value of the type of a result. One that notices no change
            of a right result looks for an error.
    """
    near = await passed_with("near") if tests else None
    loose = ranged = wide = judged = frozenset[str]()
    # A test that notices a value near the right one checks it exactly: this is the usual end.
    if near is not None and tests & near:
        candidates = tests & near
        looking = candidates - (await passed_with("inert") or frozenset())
        steady = await _steady(looking, passed_with)
        errors = steady & noticing
        loose = steady - errors
        loose |= await _of_values(candidates - errors, looking - errors, loose, green, passed_with)
        ranged = looking - loose - errors
        wide = await _of_numbers(ranged & named.numbers, passed_with)
        # Otherwise the test has a check of its own.
        judged = await _failing(ranged, "turned", passed_with)
    mirrors = frozenset[str]()
    if suspects := loose | unchecked:
        # Each value is equal to itself, so only a value that varies is noticed.
        constant = await passed_with("lower") or frozenset()
        varying = await passed_with("varying") if suspects & constant else None
        if varying is not None:
            mirrors = (suspects & constant) - varying
    any_error = named.errors & (tests - loose)
    if any_error:
        any_error &= await passed_with("other-error") or frozenset()
    any_error = await _failing(any_error, "no-error", passed_with)
    unordered = named.orders & tests
    if unordered:
        unordered &= await passed_with("reversed") or frozenset()
    unordered = await _failing(unordered, "no-order", passed_with)
    unended = named.lists & tests
    if unended:
        unended &= await passed_with("shape") or frozenset()
    unended = await _failing(unended, "no-list", passed_with)
    return LooseTests(loose - mirrors, mirrors, any_error, unordered, unended, ranged, wide, judged)


async def _of_numbers(tests: frozenset[str], passed_with: PassedWith) -> frozenset[str]:
    """Return the tests that pass with a tenth more, or with a tenth less of each number."""
    kinds: tuple[BodyKind, ...] = ("above", "below")
    passed = frozenset[str]()
    for kind in kinds:
        if tests - passed:
            passed |= tests & (await passed_with(kind) or frozenset())
    # A test of a text gets no number at all.
    return await _failing(passed, "no-number", passed_with)


async def _failing(
    tests: frozenset[str], kind: BodyKind, passed_with: PassedWith
) -> frozenset[str]:
    """Return the tests that do not pass with new bodies; none if no function can have them.

    A panic of Go ends all tests of a package, so none of them may have passed.
    """
    passed = await passed_with(kind) if tests else None
    return frozenset() if passed is None else tests - passed


async def _steady(tests: frozenset[str], passed_with: PassedWith) -> frozenset[str]:
    """Return the tests that pass with other values inside, lower and higher ones.

    A test for a bound notices one of them, and checks something.
    """
    kinds: tuple[BodyKind, ...] = ("inner", "lower", "higher")
    for kind in kinds:
        if tests:
            tests &= await passed_with(kind) or frozenset()
    return tests


async def _of_values(
    tests: frozenset[str],
    looking: frozenset[str],
    steady: frozenset[str],
    green: frozenset[str],
    passed_with: PassedWith,
) -> frozenset[str]:
    """Return further tests that any value satisfies.

    Args:
        tests: tests that pass with near values.
        looking: those that do not pass with useless ones.
        steady: those of them that pass with lower and higher values, too.
    """
    # A test for the size of a list is right if another test of the project looks at its rows.
    shaped = looking - steady
    if shaped:
        inner = await passed_with("inner") or frozenset()
        shaped = shaped & inner if green <= inner else frozenset()
    loose = await _failing(shaped, "shape", passed_with)
    blind = tests - looking
    if blind:
        turned = blind & (await passed_with("turned") or frozenset())
        loose |= await _failing(turned, "no-truth", passed_with)
        loose |= await _of_deeds(blind - loose, green, passed_with)
    return loose


async def _of_deeds(
    tests: frozenset[str], green: frozenset[str], passed_with: PassedWith
) -> frozenset[str]:
    """Return the tests that call functions for what they do, if no test of the project notices
    that they do it with other arguments.
    """
    other = await passed_with("arguments") if tests else None
    if other is None or not green <= other:
        return frozenset()
    return await _failing(tests, "no-arguments", passed_with)
