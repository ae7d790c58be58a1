"""Sentences that say the opposite of the entries that they cite, and those that only seem to."""

from __future__ import annotations

import pytest

from transom.investigator.cited_states import denied_state, with_figures_of_parts
from transom.investigator.ledger import Evidence
from transom.investigator.wording import FIGURE

ROWS = {
    "E1": Evidence(
        id="E1", source="ci.json", locator="/0", value="failed", measure="pipeline.status"
    ),
    "E2": Evidence(
        id="E2", source="r.json", locator="/0", value="approved", measure="review.person"
    ),
    "E3": Evidence(
        id="E3", source="s.json", locator="/0", value="{...}", measure="vulnerabilities.high.entry"
    ),
    "E4": Evidence(id="E4", source="t.json", locator="/0", value="3", measure="tests.failed"),
}


@pytest.mark.parametrize(
    ("sentence", "key"),
    [
        ("The nightly run succeeded [E1].", "E1"),
        ("The harbour master rejected it [E2].", "E2"),
        ("The finding was fixed last week [E3].", "E3"),
        ('"Guessable ids" is resolved [E3].', "E3"),
    ],
)
def test_the_opposite_of_what_is_cited_is_wrong(sentence: str, key: str) -> None:
    assert denied_state(sentence, [ROWS[key]])


@pytest.mark.parametrize(
    ("sentence", "keys"),
    [
        ("The nightly run failed [E1].", ["E1"]),
        ("The harbour master approved it [E2].", ["E2"]),
        ("A fixed version of the package exists [E3].", ["E3"]),
        ("Two findings are fixed, and this one has not been looked at [E3].", ["E3"]),
        ("Run 7 failed, and the run before it succeeded [E1].", ["E1"]),
        ("One approved [E2], the pipeline failed [E1].", ["E1", "E2"]),
        ("All but these passed [E4].", ["E4"]),
    ],
)
def test_a_sentence_that_only_seems_to_deny_stays(sentence: str, keys: list[str]) -> None:
    assert denied_state(sentence, [ROWS[key] for key in keys]) == ""


def test_a_part_of_a_whole_is_a_figure_if_as_many_entries_are_cited() -> None:
    assert FIGURE in with_figures_of_parts("One of three approved", [ROWS["E2"]])
    assert FIGURE in with_figures_of_parts("2 of 3 are done", [ROWS["E3"]])
    assert FIGURE not in with_figures_of_parts("Two of three approved", [ROWS["E2"]])
    assert FIGURE not in with_figures_of_parts("Three of three approved", [ROWS["E2"]])
