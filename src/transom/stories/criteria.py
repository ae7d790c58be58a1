"""Acceptance criteria and their tests. The list of Dev is a claim; what each named test did in the
runs of the orchestrator decides whether it covers a criterion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from transom.stories.criterion_words import (
    can_print,
    holds_described,
    holds_in_pieces,
    holds_words,
    missing_errors,
    missing_values,
    named_functions,
    quoted_texts,
    states_number,
    states_order,
)
from transom.stories.loose_tests import NamedInCriteria
from transom.stories.own_text import has_check, text_of_test
from transom.stories.proof import Proof
from transom.stories.stated_values import (
    hides_repeats,
    ignores_types,
    missing_arguments,
    numbers_of_project,
    one_of_several,
    own_default,
    rounds_away,
    stated_values,
    takes_any_case,
)
from transom.stories.story import Story, StoryRecord
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import TestRun

_DOC_LINE = re.compile(r" \(line \d+\)$")
"""The place of a documentation test of Rust, which changes with the code above it."""
_JOINTS = (">", "›")
_MOST_WORDS = 30
"""Words in the name of a test."""
MOST_CRITERIA = 2
"""Criteria that one test may stand for."""


class Covering(StoryRecord):
    """A criterion and its tests.

    Attributes:
        tests: test -> the changed lines that it runs, "" if the run did not name them.
        refused: why each other test that was named covers nothing.
        accepted_by: the person who accepts the criterion without a test, or "".
    """

    number: int
    text: str
    tests: dict[str, str] = Field(default_factory=dict)
    refused: tuple[str, ...] = ()
    accepted_by: str = ""

    @property
    def is_covered(self) -> bool:
        return bool(self.tests or self.accepted_by)

    @property
    def lines(self) -> list[str]:
        """What covers it, for people: a line for each test."""
        if self.accepted_by and not self.tests:
            return [f"AC {self.number}: accepted without a test by {self.accepted_by}"]
        rows = []
        for test, reached in self.tests.items():
            rows.append(f"AC {self.number}: {test}" + (f" runs {reached}" if reached else ""))
        return rows

    @property
    def lack(self) -> str:
        """What is missing, in one sentence."""
        why = "; ".join(self.refused[:3]) or "no test that ran is named for it"
        return f"no test covers AC {self.number} ({self.text[:80]}): {why}"


def claimed_tests(
    claims: Mapping[int, tuple[str, ...]], story: Story, green: TestRun
) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """Return criterion -> tests of the report that are claimed to cover it, and the claims that
    are wrong.
    """
    # The names of tests mean nothing if the command tells its exit code alone.
    if green.only_code:
        return {}, []
    ran = sorted(green.ids("passed", "failed", "error"))
    claimed: dict[int, tuple[str, ...]] = {}
    problems: list[str] = []
    # Wrong claims are findings: Dev can name the right test at once.
    for number, names in claims.items():
        if not 1 <= number <= len(story.criteria):
            problems.append(f"unknown criterion {number}; known: 1 to {len(story.criteria)}")
            continue
        hits, unknown = _found(names, ran)
        if hits:
            claimed[number] = tuple(dict.fromkeys(hits))
        for name in unknown:
            problems.append(f"{name} is claimed to cover criterion {number}, but did not run")
    return claimed, problems


def _found(names: Sequence[str], ran: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the tests that names mean, and the names that mean none.

    A name with blanks is often written without quotes, so it comes in pieces: the most pieces that
    are the name of a test are one.
    """
    hits: list[str] = []
    unknown: list[str] = []
    is_unknown = False
    start = 0
    while start < len(names):
        for end in range(min(len(names), start + _MOST_WORDS), start, -1):
            name = " ".join(names[start:end])
            cases = _cases_of(name, ran)
            if cases:
                # A title with the name of its group before it, which the runner does not print.
                if is_unknown and end > start + 1:
                    unknown.pop()
                hits += cases
                is_unknown = False
                break
        else:
            end = start + 1
            if names[start] in _JOINTS:
                start = end
                continue
            # Words that follow each other are one name, as far as anybody can tell.
            if is_unknown and " " not in names[start]:
                unknown[-1] += f" {names[start]}"
            else:
                unknown.append(names[start])
            is_unknown = True
        start = end
    return hits, unknown


def _cases_of(name: str, ran: Sequence[str]) -> list[str]:
    """Return the tests that a name means, or those of the group that it means."""
    for means in (is_same_test, _is_in_group):
        cases = [case for case in ran if means(case, name)]
        if cases:
            return cases
    # A runner whose lines are read does not repeat the group before each of its tests.
    _, joint, last = name.replace(" › ", " > ").rpartition(" > ")
    return _cases_of(last, ran) if joint else []


def _is_in_group(case: str, name: str) -> bool:
    """Whether a name is that of a group of tests: a class, a `describe`, a test with sub-tests."""
    plain = name.strip()
    if ".py::" in plain:
        plain = plain.replace(".py", "").replace("/", ".")
    plain = plain.replace("::", ".")
    inside = case.replace("::", ".")
    for match in re.finditer(re.escape(plain), inside) if plain else ():
        before, after = inside[: match.start()], inside[match.end() :]
        is_whole = not before or before.endswith((".", "/", " > ", " › "))
        # A module is no group: all tests of a file may have nothing else in common.
        is_class = plain.rpartition(".")[2][:1].isupper() and after.startswith(".")
        if is_whole and (is_class or after.startswith((" > ", " › ", "/"))):
            return True
    return False


def is_same_test(case: str, name: str) -> bool:
    """Whether a name means a case: `test_x`, `T.test_x`, `tests/test_a.py::T::test_x` mean
    `tests.test_a.T.test_x`; a test with spaces is named by its last part or as a whole.
    """
    full_name = _DOC_LINE.sub("", name.strip())
    plain = full_name.replace(".py", "").replace("::", ".").replace("/", ".").strip(". ")
    # Runners join the names of groups and tests by signs of their own, some by a blank.
    joints = (".", " > ", " › ", " - ", *((" ",) if " " in full_name else ()))
    for ran in (case, case.replace("::", ".")):
        for wanted in (full_name, plain):
            if ran == wanted or ran.endswith(tuple(f"{joint}{wanted}" for joint in joints)):
                return True
    case = case.replace("::", ".")
    # Pytest names a parameter in brackets behind the test's name.
    function = case.partition("[")[0]
    return function == plain or function.endswith(f".{plain}")


def named_in_criteria(
    story: Story, claimed: Mapping[int, tuple[str, ...]], files: StoryFiles
) -> NamedInCriteria:
    """Return what the criteria name that tests are claimed for."""
    errors, numbers, orders, values = set[str](), set[str](), set[str](), set[str]()
    functions: dict[str, frozenset[str]] = {}
    changed = files.functions
    for number, cases in claimed.items():
        criterion = story.criteria[number - 1]
        names = named_functions(criterion, changed)
        values |= stated_values(criterion)
        for case in cases:
            text = text_of_test(case, files.tests)
            if missing_errors(criterion, text, files.code_now):
                errors.add(case)
            # A test that names none of them may reach what they do by another function.
            if names & {*re.findall(r"\w+", text)}:
                functions[case] = functions.get(case, frozenset()) | names
            if states_number(criterion):
                numbers.add(case)
            if states_order(criterion):
                orders.add(case)
    return NamedInCriteria(
        frozenset(errors), functions, frozenset(numbers), frozenset(orders), frozenset(values)
    )


def cover(
    story: Story,
    claimed: Mapping[int, tuple[str, ...]],
    green: TestRun,
    proof: Proof,
    files: StoryFiles,
) -> tuple[Covering, ...]:
    """Return each criterion with the tests that cover it.

    Args:
        files: the files of the story, whose tests are looked into.
    """
    uses: Counter[str] = Counter(
        test for tests in claimed.values() for test in dict.fromkeys(tests)
    )
    rows = []
    for number, text in enumerate(story.criteria, 1):
        tests: dict[str, str] = {}
        refused = []
        for test in dict.fromkeys(claimed.get(number, ())):
            why = _why_not(test, uses[test], green, proof)
            why = why or _what_is_missing(test, text, proof, files)
            if why:
                refused.append(f"{test} {why}")
            else:
                tests[test] = proof.reached.get(test, "")
        rows.append(Covering(number=number, text=text, tests=tests, refused=tuple(refused)))
    return tuple(rows)


def _why_not(test: str, uses: int, green: TestRun, proof: Proof) -> str:
    """Return why a test covers no criterion, or ""."""
    if green.cases.get(test) != "passed":
        return "did not pass"
    # One test for everything would cover all criteria, and say nothing of each.
    if uses > MOST_CRITERIA:
        return f"is named for {uses} criteria"
    if not proof.has_code:
        return "runs no changed code, since the story changes none"
    # A failing test that is reported as skipped never fails a run.
    if test in proof.unfailing:
        return "is reported as skipped when it fails"
    if test in proof.needless:
        return "passes without the story's work"
    if test in proof.untried:
        return "runs nothing that could be replaced, so nothing shows that it checks anything"
    if test in proof.unmoved:
        return "runs no changed line"
    if test in proof.unchecked:
        return "passes although the changed functions return nothing, so it checks nothing"
    if line := proof.unreached.get(test):
        return f"does not reach its check in line {line}"
    if test in proof.judged:
        return "asks the changed code whether its results are right, and passes with others"
    if test in proof.loose:
        return "passes although the changed functions return other values"
    return ""


def _what_is_missing(test: str, criterion: str, proof: Proof, files: StoryFiles) -> str:
    """Return why a test that checks something does not check the criterion, or ""."""
    if not has_check(test, files.tests, files.code_now):
        return "checks nothing: it has no assertion of its own"
    text = text_of_test(test, files.tests)
    if name := proof.missed.get(test):
        return f"replaces {name}, which the criterion names"
    if why := _unlike_stated(criterion, text, files):
        return why
    # What holds for all values, such as an order or the same seed, needs no value.
    values = missing_values(criterion, text) if test in proof.mirrors else []
    if values:
        return f"compares the changed code with itself, and does not name {values[-1]}"
    if test in proof.unordered and states_order(criterion):
        return "passes with lists in the reverse order, and the criterion states an order"
    if test in proof.mirrors and states_number(criterion):
        return "compares the changed code with itself, and the criterion states a number"
    values = missing_values(criterion, text) if test in proof.ranged else []
    if test in proof.wide and states_number(criterion):
        return "passes with a tenth more and a tenth less, and the criterion states no range"
    if values:
        return f"allows a range of values, and does not name {values[-1]}"
    # A constant of the story may hold any value.
    constants = sorted(files.declared & {*re.findall(r"[\w$]+", text)})
    values = missing_values(criterion, text) if constants else []
    if values:
        return f"checks {constants[0]}, which the story defines, and does not name {values[-1]}"
    if test not in proof.any_error:
        return ""
    if errors := missing_errors(criterion, text, files.code_now):
        return f"passes with any error, and does not name {', '.join(errors)}"
    return ""


def _unlike_stated(criterion: str, text: str, files: StoryFiles) -> str:
    """Return why the text of a test has nothing to do with what a criterion states, or ""."""
    quoted = quoted_texts(criterion)
    whole = "\n".join([*files.tests.values(), files.code_now])
    has_quoted = any(
        can_print(text, row)
        or holds_in_pieces(whole, row)
        or holds_words(text, row)
        or holds_described(text, row)
        for row in quoted
    )
    if quoted and {*quoted} <= files.unheld and not has_quoted:
        return f'looks for no "{quoted[-1]}": no file of the project holds it'
    for number in numbers_of_project(criterion):
        if number.text in files.unheld:
            return f"looks for no {number.text}: no file of the project holds it"
    # An unchanged test file is not among the files of the story.
    missing = missing_arguments(criterion, files.functions, whole) if files.tests else []
    if missing:
        return f"tries other values than the criterion, which states {missing[0]}"
    if number_of_several := one_of_several(criterion, text):
        return f"takes {number_of_several} as one of several numbers"
    if default := own_default(text):
        return f"takes {default} itself where the code has no value, and expects it"
    if takes_any_case(criterion, text):
        return "compares texts in small or capital letters alike, and the criterion states one"
    if hides_repeats(criterion, text):
        return "compares sets alone, which hide repeated values"
    if number_with_fraction := rounds_away(criterion, text):
        return f"rounds, and the criterion states {number_with_fraction}"
    if ignores_types(criterion, text, "\n".join(files.tests.values())):
        return "compares by ==, and the criterion states a type"
    return ""
