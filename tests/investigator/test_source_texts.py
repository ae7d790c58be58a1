"""Places that a reader writes become citations, and counts of entries are figures of a source."""

from __future__ import annotations

from decimal import Decimal

import pytest

from transom.canonical import Json
from transom.formats.measurements import Observation, Reading
from transom.investigator.ledger import Ledger
from transom.investigator.source_texts import counts_of

NOTES = "# Notes\n\nThe pilot had 42 boxes.\nNobody is on call at night.\n"
READING = Reading(source="f/NOTES.md", kind="document", name="NOTES.md")


def ledger() -> Ledger:
    return Ledger(lambda _: NOTES.encode())


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("There were 42 boxes [line:3].", "There were 42 boxes [E1]."),
        ('It says "Nobody is on call" [lines:3-4].', 'It says "Nobody is on call" [E1].'),
        ("Nights are not covered [line:4].", "Nights are not covered [E1]."),
        # The line has no such figure, or there is no such line.
        ("There were 43 boxes [line:3].", "There were 43 boxes."),
        ("There were 42 boxes [line:30].", "There were 42 boxes."),
    ],
)
def test_a_place_becomes_a_citation_if_it_holds_what_is_said(text: str, cited: str) -> None:
    assert ledger().with_places_cited(text, READING) == cited


def test_a_count_of_words_supports_no_other_number_of_its_document() -> None:
    entries = ledger()
    hollow = Observation(measure="document.hollow", value=0.0, locator="lines:1-4")
    number = entries.add(hollow, READING)
    checked = entries.check(f"There were 42 boxes [{number}].", sources=[READING.source])
    assert [claim.status for claim in checked.undecided] == ["undecided"]


@pytest.mark.parametrize(
    ("data", "counts"),
    [
        ({"runs": [{"end": "ok"}, {"end": "bad"}, {"end": "ok"}]}, {2, 3}),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |\n| 1 | 2 |\n", {3, 4, 5}),
        ("nothing to count", set()),
    ],
)
def test_entries_are_counted(data: Json, counts: set[int]) -> None:
    assert counts_of(data) == {Decimal(count) for count in counts}
