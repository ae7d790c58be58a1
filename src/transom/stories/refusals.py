"""Why a test covers no criterion: what the runs of the proof showed, and what its text lacks of the
values and words that the criterion states.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from transom.stories.criterion_words import (
    answers_example,
    can_print,
    holds_described,
    holds_in_pieces,
    holds_words,
    lacks_sorting,
    missing_errors,
    missing_values,
    only_if_there,
    other_error,
    quoted_texts,
    states_list,
    states_number,
    states_order,
    states_relation,
    states_result,
    states_which_error,
    stops_early,
)
from transom.stories.half_criteria import clauses, makes_one_check, uncounted
from transom.stories.own_text import has_check, text_of_test
from transom.stories.proof import Proof
from transom.stories.stated_values import (
    hides_repeats,
    ignores_types,
    missing_arguments,
    numbers_of_project,
    one_of_several,
    own_default,
    put_in,
    rounds_away,
    takes_any_case,
)
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import TestRun
from transom.stories.tried_cases import excused, why_narrow

MOST_CRITERIA = 2
"""Criteria that one test may stand for."""


def why_half(
    number: int, criterion: str, tests: Collection[str], proof: Proof, files: StoryFiles
) -> str:
    """Return why all tests of a criterion together show a part of it, or ""."""
    if unnoticed := proof.unnoticed.get(number):
        return f"passes with another number than {unnoticed}, which the criterion states"
    # An unchanged test file is not among the files of the story.
    if not files.checks:
        return ""
    whole = "\n".join([*files.checks.values(), files.code_now])
    if small := uncounted(criterion, whole):
        return f"has nothing to do with {small}, which the criterion states"
    if answers_example(criterion, files.code_now):
        return "tries an example that the changed code answers by itself"
    if files.code_now and lacks_sorting(criterion, files.code_now):
        return "gets what was in order before: nothing in the changed code sorts"
    texts = {text_of_test(test, files.checks) for test in tests}
    if why := why_narrow(criterion, texts, files.functions):
        return why
    if clauses(criterion) > 1 and makes_one_check(texts):
        return "makes one check of a single value, and the criterion states more"
    return ""


def why_not(test: str, uses: int, green: TestRun, proof: Proof) -> str:
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


def what_is_missing(test: str, criterion: str, proof: Proof, files: StoryFiles) -> str:
    """Return why a test that checks something does not check the criterion, or ""."""
    if not has_check(test, files.checks, files.code_now):
        return "checks nothing: it has no assertion of its own"
    text = text_of_test(test, files.checks)
    if why := _of_other_work(test, proof):
        return why
    if why := _unlike_stated(criterion, text, files):
        return why
    if why := _of_order(test, criterion, proof):
        return why
    if test in proof.mirrors and (why := _of_mirror(criterion, text)):
        return f"compares the changed code with itself, and {why}"
    values = missing_values(criterion, text) if test in proof.ranged else []
    if test in proof.wide and states_number(criterion):
        return "passes with a tenth more or less, and the criterion states no range"
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
    if states_which_error(criterion):
        return "passes with any error, and the criterion says which one"
    return ""


def _of_other_work(test: str, proof: Proof) -> str:
    """Return why what a test shows is no work of the story for its criterion, or ""."""
    if name := proof.missed.get(test):
        return f"replaces {name}, which the criterion names"
    if name := proof.replaced.get(test):
        return f"replaces {name}, which the story defines and no test runs"
    if name := proof.of_others.get(test):
        return f"expects an error that comes of {name}, of which the criterion says nothing"
    return ""


def _of_order(test: str, criterion: str, proof: Proof) -> str:
    """Return why a test does not show the order or the whole result that a criterion states."""
    if test in proof.unordered and states_order(criterion):
        return "passes with lists in the reverse order, and the criterion states an order"
    if test in proof.unordered and states_result(criterion):
        return "passes with its result in the reverse order, and the criterion states all of it"
    if test in proof.unended and states_list(criterion):
        return "passes with a longer list, and the criterion states all of it"
    if test in proof.ranged and states_list(criterion):
        return "passes with values near those of the list that the criterion states"
    return ""


def _of_mirror(criterion: str, text: str) -> str:
    """Return why a test that compares the changed code with itself does not show a criterion."""
    # What holds for all values, such as an order or the same seed, needs no value.
    if values := missing_values(criterion, text):
        return f"does not name {values[-1]}"
    if not states_relation(criterion, text):
        return "the criterion states no such relation"
    return "the criterion states a number" if states_number(criterion) else ""


def _unlike_stated(criterion: str, text: str, files: StoryFiles) -> str:
    """Return why the text of a test has nothing to do with what a criterion states, or ""."""
    quoted = quoted_texts(criterion)
    whole = "\n".join([*files.checks.values(), files.code_now])
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
    missing = missing_arguments(criterion, files.functions, whole) if files.checks else []
    if missing:
        return f"tries other values than the criterion, which states {missing[0]}"
    return _of_check(criterion, text, files)


def _of_check(criterion: str, text: str, files: StoryFiles) -> str:
    """Return why the checks of a test hide what a criterion states, or ""."""
    if error := other_error(criterion, text):
        return f"takes other errors than {error}, too"
    if condition := excused(criterion, text, files.functions):
        return f"checks `{condition}`, which another result excuses"
    if stops_early(criterion, text):
        return "compares as far as the shorter side goes, and the criterion states a whole result"
    if only_if_there(text):
        return "checks a value only if it is there"
    if number_of_several := one_of_several(criterion, text):
        return f"takes {number_of_several} as one of several numbers"
    if name := put_in(criterion, "\n".join(files.checks.values()), files.declared, files.code_now):
        return f"sets {name} itself to what the criterion states, and the code has another value"
    if default := own_default(text):
        return f"takes {default} itself where the code has no value, and expects it"
    if takes_any_case(criterion, text):
        return "compares texts in small or capital letters alike, and the criterion states one"
    if hides_repeats(criterion, text):
        return "compares sets alone, which hide repeated values"
    if number_with_fraction := rounds_away(criterion, text):
        return f"rounds, and the criterion states {number_with_fraction}"
    if ignores_types(criterion, text, "\n".join(files.checks.values())):
        return "compares by ==, and the criterion states a type"
    return ""
