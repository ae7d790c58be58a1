"""Proof of a green test run: whether its report can be believed, and which tests really run and
check the story's changed code.

    second run, with canaries      in another order the results are the same, and the canaries end
                                   as they must
    made to fail                   the story's tests end in a failure, and are reported so
    failing checks in blocks       a test that still passes reaches none of them
    bodies that raise              the story's tests fail, and say which changed lines they ran
    bodies that return nothing     a test that still passes checks nothing of them
    bodies that return others      a test that still passes checks no value: see `loose_tests`
    other constants and settings   a test that runs no changed function must notice them
    other numbers of criteria      a test of the criterion must notice them
    usual arguments                the error of a criterion stays the same
    code of before                 a test that passed before the story fails without its work

Where neither a function nor a value can be replaced, no test covers anything: without a new module
each test that imports it fails, whatever it checks.

Nothing that the tested process writes decides alone: each run changes something that the process
cannot know, and asks whether the report changes with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import Field

from transom.formats.source_functions import BodyKind, changed_functions
from transom.stories.canaries import (
    CanaryWords,
    add_canaries,
    check_canaries,
    made_to_fail,
    with_recovery,
    without_canaries,
)
from transom.stories.loose_tests import NamedInCriteria, find_loose_tests, with_new_bodies
from transom.stories.nested_checks import with_failing_checks
from transom.stories.reached_checks import unreached_checks
from transom.stories.story import StoryRecord
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import TestRun
from transom.stories.value_runs import (
    RunWith,
    errors_of_others,
    missed_functions,
    noticing_values,
    replaced_work,
    unnoticed_numbers,
)

_NAMED = 5
# Without such a result, a test that notices each value compares two results, and expects no error.
_MAY_FAIL = {
    "go": re.compile(r"\berror\b|\bpanic\("),
    "rs": re.compile(r"\b(?:Result|Option)<|\bpanic!"),
}
_NOT_BUILT = re.compile(r"\[build failed\]|\"build-fail\"|error: could not compile")
"""What Go and cargo print of a package that does not build."""


class Proof(StoryRecord):
    """What the runs after a green run showed.

    Attributes:
        problems: why the results cannot be believed.
        doubts: what could not be tried, for a person to judge.
        reached: test -> the first changed lines that it ran, `PATH:LINES NAME`.
        unmoved: tests that pass whatever the changed code does.
        unchecked: tests that run changed code and pass although it returns nothing.
        loose: tests that get a plain value of the changed code, and pass with another value.
        mirrors: tests that compare the changed code with itself.
        any_error: tests that pass with any error, and were named for a certain one.
        unordered: tests for an order that pass with lists in the reverse order.
        unended: tests for a whole list that pass with a longer one.
        ranged: tests that pass with a value near the right one.
        wide: those of them for a certain number that pass with a tenth more or less of it.
        judged: those of them that ask the changed code itself whether the value is right.
        unfailing: tests that are reported as skipped when they fail.
        needless: tests that pass without the story's work.
        unreached: test -> the line of a check that it does not reach.
        missed: test -> the function that it and its criterion name, and that it does not run.
        unnoticed: number of a criterion -> a number that it states and the code holds, if its tests
            pass with another one.
        of_others: test for an error -> an argument that causes it, and that its criterion does not
            name.
        replaced: test -> a function of the story that it replaces, and that no test runs.
        untried: tests for which nothing of the change could be replaced.
        has_code: whether the story changes code that tests can run.
    """

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    reached: dict[str, str] = Field(default_factory=dict)
    unmoved: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    any_error: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    unended: tuple[str, ...] = ()
    ranged: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    unfailing: tuple[str, ...] = ()
    needless: tuple[str, ...] = ()
    missed: dict[str, str] = Field(default_factory=dict)
    unreached: dict[str, int] = Field(default_factory=dict)
    unnoticed: dict[int, str] = Field(default_factory=dict)
    of_others: dict[str, str] = Field(default_factory=dict)
    replaced: dict[str, str] = Field(default_factory=dict)
    untried: tuple[str, ...] = ()
    has_code: bool = False


async def prove(
    files: StoryFiles,
    claimed: frozenset[str],
    before: TestRun,
    green: TestRun,
    words: CanaryWords,
    run: RunWith,
    named: NamedInCriteria,
) -> Proof:
    """Try whether a green run proves anything.

    Args:
        claimed: the tests of the report that are claimed to cover a criterion, and old tests of
            the story's test files whose checks changed.
        before, green: the runs on the baseline and on the story's work.
        named: what the criteria of the claimed tests name.
    """
    problems, doubts = await _believable(files, before, green, words, run)
    if problems:
        return Proof(problems=tuple(problems), doubts=tuple(doubts))
    forged, unreached = await _made_to_fail(files, named.values, words, run)
    if forged:
        return Proof(problems=(forged,), doubts=tuple(doubts))
    passing = claimed & green.ids("passed")
    labels = {"nested-checks-fail": None, "stated-checks-fail": named.values}
    for label, values in labels.items():
        nested = with_failing_checks(files.tests, words.next(), values)
        if nested.files and passing - {*unreached}:
            unreached |= nested.unreached((await run(label, nested.files)).cases)
    # The dearest runs come last: a forged or unsteady report needs none of them.
    guards = with_recovery(files.tests)

    async def run_guarded(label: str, changed: Mapping[str, str | None]) -> TestRun:
        return await run(label, {**guards, **changed})

    proof = await _moved(files, passing, green, named, words, run_guarded)
    needless = frozenset[str]()
    old = passing & before.ids("passed")
    # It only finds more tests that need nothing: an empty one fails, too, if an import fails.
    if files.code and (old or proof is None):
        without = await run("code-of-before", files.before)
        needless = without.ids("passed") & (passing if proof is None else old)
    proof = proof or Proof(untried=tuple(sorted(passing)))
    noticing = await noticing_values(files, frozenset((*proof.unmoved, *proof.untried)), words, run)
    missed = await missed_functions(files, proof.reached, named, words, run_guarded)
    unnoticed = await unnoticed_numbers(files, green, named, run)
    of_others = await errors_of_others(files, green, named, run_guarded)
    replaced = await replaced_work(files, green, named, words, run_guarded)
    return proof.model_copy(
        update={
            "doubts": (*doubts, *proof.doubts),
            "needless": tuple(sorted(needless)),
            "unreached": {case: line for case, line in unreached.items() if case in claimed},
            "unmoved": tuple(case for case in proof.unmoved if case not in noticing),
            "untried": tuple(case for case in proof.untried if case not in noticing),
            "missed": missed,
            "unnoticed": unnoticed,
            "of_others": of_others,
            "replaced": replaced,
            "has_code": bool(files.code),
        }
    )


async def check_command_fails(tests: Mapping[str, str], words: CanaryWords, run: RunWith) -> str:
    """Return why the test command cannot show a failing test, or "".

    A canary that is not run shows nothing: the command may leave out the file that it is in.
    """
    canaries = add_canaries(tests, words)
    if not canaries.files:
        return ""
    result = await run("canaries", canaries.files)
    if result.problem:
        return ""
    if not result.only_code and not any(canaries.owns(case) for case in result.cases):
        return ""
    problems = check_canaries(canaries, result)
    return problems[0] if problems else ""


async def _believable(
    files: StoryFiles, before: TestRun, green: TestRun, words: CanaryWords, run: RunWith
) -> tuple[list[str], list[str]]:
    """Run the tests once more, with canaries and in another order if the runner can; returns
    problems, and what could not be tried.
    """
    canaries = add_canaries(files.tests or files.other_tests, words)
    second = await run("canaries", canaries.files)
    problems = check_canaries(canaries, second) if canaries.files else []
    doubts = []
    if not canaries.files:
        doubts.append("no canary can be added to the tests, so their report is not cross-checked")
    if problems:
        return problems, doubts
    if second.problem:
        return [f"in a second run, {second.problem}"], doubts
    if green.only_code:
        doubts.append("the test command tells only its exit code, so no test is seen by itself")
        return problems, doubts
    passed_again = without_canaries(canaries, second).ids("passed")
    unsteady = green.ids("passed") - passed_again
    # Tests of before may need their order; those of the story must pass in any.
    if unsteady and unsteady <= {*before.cases}:
        third = await run("ordered", {})
        unsteady -= third.ids("passed")
    if unsteady:
        names = ", ".join(sorted(unsteady)[:_NAMED])
        problems.append(f"{names} passed, and did not pass in a second run, in another order")
    return problems, doubts


async def _made_to_fail(
    files: StoryFiles, values: frozenset[str], words: CanaryWords, run: RunWith
) -> tuple[str, dict[str, int]]:
    """Let each test of the story's test files fail at its end.

    Returns:
        The problem, or "", and test -> the line of a check that it does not reach.
    """
    # The word is random and used once: the tested code cannot expect it.
    secret = words.next()
    texts: dict[str, str | None] = {}
    names = set[str]()
    for path, text in files.tests.items():
        changed = made_to_fail(path, text, secret, values)
        if changed is not None and changed[1]:
            texts[path] = changed[0]
            names |= {*changed[1]}
    if not texts:
        return "", {}
    result = await run("made-to-fail", texts)
    if result.problem:
        return "", {}  # no report says nothing wrong
    failing = [case for case in result.cases if _function_of(case) in names]
    passed = sorted(case for case in failing if result.cases[case] == "passed")
    # A test of the same name in another file may pass; one that is the story's own may not.
    modules = {path.removesuffix(".py").replace("/", ".") for path in texts}
    stems = {module.rpartition(".")[2] for module in modules}
    own = [case for case in passed if stems & set(re.split(r"[.:/]", case))]
    if own:
        return f"{own[0]} is reported as passed, although its last line was made to fail", {}
    if result.code == 0 and result.bad:
        return "the exit code is 0, although tests were made to fail", {}
    return "", unreached_checks(result.messages, secret)


async def _moved(
    files: StoryFiles,
    passing: frozenset[str],
    green: TestRun,
    named: NamedInCriteria,
    words: CanaryWords,
    run: RunWith,
) -> Proof | None:
    """Replace the bodies of the changed functions; returns which tests notice, or None if there
    is nothing to replace.
    """
    mark = words.next()
    raising = with_new_bodies(files.code, "raise", mark)
    if not raising:
        return None
    first = await run("bodies-raise", raising)
    reached = _reached(first, mark)
    if first.problem:
        problem = f"when the changed functions raise, {first.problem}"
        return Proof(doubts=(problem,), unmoved=tuple(sorted(passing)))
    unmoved = first.ids("passed") & passing
    unfailing = first.ids("skipped") & passing
    # A test that is absent was not collected; only an error that names the bodies explains it.
    if not reached:
        unmoved |= passing - set(first.cases)
    empty = with_new_bodies(files.code, "empty", mark)
    unchecked = frozenset[str]()
    if empty:
        second = await run("bodies-empty", empty)
        passed = second.ids("passed") & passing
        # A test may take any error for the one that it expects; it notices a missing one.
        unmoved &= passed | (passing - set(second.cases))
        # Where each function returns nothing, a test may also fail in words of its own, or be
        # absent since its module was not loaded.
        if set(raising) <= set(empty):
            unchecked = passed - unmoved
        else:
            of_replaced = {case for case, lines in reached.items() if _path_of(lines) in empty}
            unchecked = (passed - unmoved) & of_replaced
    unvalued, noticing = await _of_any_value(files, passing & set(reached), mark, run)
    noticing = frozenset(case for case in noticing if _may_fail(files, reached[case]))
    unchecked |= unvalued
    results: dict[BodyKind, frozenset[str] | None] = {}
    doubts: list[str] = []

    async def passed_with(kind: BodyKind) -> frozenset[str] | None:
        if kind not in results:
            texts = with_new_bodies(files.code, kind, mark)
            result = await run(f"bodies-{kind}", texts) if texts else None
            results[kind] = result.ids("passed") if result else None
            # A test that is not there notices nothing. All kinds have the same code.
            if kind == "near" and result and passing - {*result.cases}:
                doubts.extend(_of_no_build(result))
        return results[kind]

    tests = passing - unmoved - unchecked - unfailing
    passed = green.ids("passed")
    found = await find_loose_tests(tests, unchecked, named, passed, passed_with, noticing)
    return Proof(
        doubts=tuple(doubts),
        reached={case: lines for case, lines in reached.items() if case in passing},
        unmoved=tuple(sorted(unmoved)),
        unchecked=tuple(sorted(unchecked - found.mirrors)),
        loose=tuple(sorted(found.loose)),
        mirrors=tuple(sorted(found.mirrors)),
        any_error=tuple(sorted(found.any_error)),
        unordered=tuple(sorted(found.unordered)),
        unended=tuple(sorted(found.unended)),
        ranged=tuple(sorted(found.ranged)),
        wide=tuple(sorted(found.wide)),
        judged=tuple(sorted(found.judged)),
        unfailing=tuple(sorted(unfailing)),
    )


def _of_no_build(run: TestRun) -> list[str]:
    """Return a doubt if changed code does not build, as under `#![forbid(warnings)]` in Rust."""
    if not _NOT_BUILT.search(run.output):
        return []
    return [
        "with functions that return near values the code does not build, so no run shows what"
        " its tests check"
    ]


async def _of_any_value(
    files: StoryFiles, passing: frozenset[str], mark: str, run: RunWith
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tests that pass whatever the changed functions return, in other languages than
    Python, and those that notice each other value of a type.

    Go and Rust have types: a test that notices both values, and no change of a right result, looks
    for an error or for no result.
    """
    kinds: tuple[BodyKind, ...] = ("zero", "other")
    noticing = passing
    for kind in kinds:
        texts = with_new_bodies(files.code, kind, mark)
        if not texts or not noticing | passing:
            return frozenset(), frozenset()
        # Code that does not compile shows nothing: no test passes then.
        result = await run(f"bodies-{kind}", texts)
        passing &= result.ids("passed")
        # A type without a known value raises instead.
        raising = _reached(result, mark)
        noticing &= {case for case in result.ids("failed") if case not in raising}
    return passing, noticing


def _may_fail(files: StoryFiles, reached: str) -> bool:
    """Return whether a function of a language with types, or one that it calls, may end in an
    error.

    Args:
        reached: the function that a test ran: `PATH:LINES NAME`.
    """
    place, _, name = reached.partition(" ")
    path = place.rpartition(":")[0]
    pattern = _MAY_FAIL.get(path.rpartition(".")[2])
    old, new = files.code.get(path, (None, None))
    if pattern is None or new is None:
        return False
    lines = new.splitlines()
    bodies: dict[str, str] = {}
    for function in changed_functions(path, old, new):
        body = "\n".join(lines[function.first_line - 1 : function.last_line])
        bodies[function.name] = f"{bodies.get(function.name, '')}\n{body}"
    own = bodies.get(name, new)
    words = {*re.findall(r"\w+", own)}
    called = [body for known, body in bodies.items() if known.rpartition(".")[2] in words]
    return pattern.search("\n".join([own, *called])) is not None


def _reached(run: TestRun, mark: str) -> dict[str, str]:
    """Return test -> the changed lines that its failure names."""
    lines_by_test = {}
    for case, message in run.messages.items():
        if match := re.search(rf"{mark} (\S+:[\d-]+ [\w.$#<>]+)", message):
            lines_by_test[case] = match[1]
    return lines_by_test


def _path_of(lines: str) -> str:
    return lines.rpartition(":")[0]


def _function_of(case: str) -> str:
    return re.split(r"[.:]", case.partition("[")[0])[-1]
