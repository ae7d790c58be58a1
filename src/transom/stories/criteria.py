"""Acceptance criteria and their tests. The list of Dev is a claim; what each named test did in the
runs of the orchestrator decides whether it covers a criterion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from transom.stories.criterion_words import (
    missing_errors,
    named_functions,
    states_list,
    states_number,
    states_order,
    states_result,
    states_which_error,
)
from transom.stories.loose_tests import NamedInCriteria, StatedNumber
from transom.stories.own_text import text_of_test
from transom.stories.proof import Proof
from transom.stories.refusals import what_is_missing, why_half, why_not
from transom.stories.replaced_work import computing_functions, replaced_functions
from transom.stories.stated_values import (
    SMALL,
    rule_numbers,
    stated_values,
)
from transom.stories.story import Story, StoryRecord
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import TestRun
from transom.stories.usual_arguments import ErrorRule, error_rules
from transom.stories.written_numbers import NumbersOfText

_DOC_LINE = re.compile(r" \(line \d+\)$")
"""The place of a documentation test of Rust, which changes with the code above it."""
_JOINTS = (">", "›")
_FAILS = re.compile(
    r"\b(?:\w*(?:error|exception)s?|raises?|throws?|panics?|refuse[sd]?|rejects?|rejected|fails?"
    r"|invalid)\b|\b(?-i:Err[A-Z])\w*",
    re.IGNORECASE,
)
_MOST_WORDS = 30
"""Words in the name of a test."""


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
    lists = set[str]()
    functions: dict[str, frozenset[str]] = {}
    replaced: dict[str, frozenset[str]] = {}
    error_rows: list[ErrorRule] = []
    changed = files.functions
    for number, cases in claimed.items():
        criterion = story.criteria[number - 1]
        names = named_functions(criterion, changed)
        values |= stated_values(criterion)
        for case in cases:
            text = text_of_test(case, files.checks)
            if missing_errors(criterion, text, files.code_now) or states_which_error(criterion):
                errors.add(case)
            # A test that names none of them may reach what they do by another function.
            if names & {*re.findall(r"\w+", text)}:
                functions[case] = functions.get(case, frozenset()) | names
            if states_number(criterion):
                numbers.add(case)
            if states_order(criterion) or states_result(criterion):
                orders.add(case)
            if states_list(criterion):
                lists.add(case)
        replaced |= _replaced(cases, files)
        if _FAILS.search(criterion):
            error_rows += error_rules(criterion, cases, files.code_now, changed)
    rules = [rule for number in claimed for rule in _rules(story, number, claimed[number], files)]
    return NamedInCriteria(
        frozenset(errors),
        functions,
        frozenset(numbers),
        frozenset(orders),
        frozenset(lists),
        frozenset(values),
        tuple(rules),
        tuple(error_rows),
        replaced,
    )


def _replaced(cases: Sequence[str], files: StoryFiles) -> dict[str, frozenset[str]]:
    """Return test -> the functions of the story that it replaces."""
    replaced = {}
    computing = computing_functions(files.code)
    for case in cases:
        if names := replaced_functions(text_of_test(case, files.checks), computing):
            replaced[case] = names
    return replaced


def _rules(
    story: Story, number: int, cases: Sequence[str], files: StoryFiles
) -> Iterator[StatedNumber]:
    """Yield the numbers of a criterion that its tests do not hold."""
    criterion = story.criteria[number - 1]
    own = NumbersOfText("\n".join(text_of_test(case, files.checks) for case in cases))
    whole = NumbersOfText("\n".join(files.checks.values()))
    for text, value in rule_numbers(criterion).items():
        # A small number may stand in a table beside the test.
        numbers = whole if value <= SMALL else own
        if not numbers.has((value,)):
            forms = frozenset((value, value / 100)) if "%" in criterion else frozenset((value,))
            yield StatedNumber(number, text, forms, frozenset(cases))


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
            why = why_not(test, uses[test], green, proof)
            why = why or what_is_missing(test, text, proof, files)
            if why:
                refused.append(f"{test} {why}")
            else:
                tests[test] = proof.reached.get(test, "")
        if tests and (why := why_half(number, text, tests, proof, files)):
            refused += [f"{test} {why}" for test in tests]
            tests = {}
        rows.append(Covering(number=number, text=text, tests=tests, refused=tuple(refused)))
    return tuple(rows)
