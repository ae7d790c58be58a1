"""Relations that a sentence states: a trend, a cause, an exclusion, an order, a state."""

from __future__ import annotations

import pytest

from transom.investigator.source_rows import rows_of
from transom.investigator.stated_relations import is_wrong_order, unshown_relation

TABLE = (
    "# Trial of the kiosk\n\nDecision: postponed\n\n"
    "| Case | Result | Remark |\n|---|---|---|\n"
    "| Pay by card | passed | |\n"
    "| Pay by phone | failed | reader loses the phone |\n"
    "| Print a receipt | failed | paper jam |\n"
    "| Cancel | not run | |\n"
)
ROWS = rows_of(TABLE, "trial.md")
PHONE = ROWS[2]


@pytest.mark.parametrize(
    ("sentence", "relation"),
    [
        ("Failures have doubled [E1].", "trend"),
        ("Die Fehler haben seit der letzten Probe zugenommen [E1].", "trend"),
        ("Les échecs ont augmenté [E1].", "trend"),
        ("Payment by phone failed because of a weak network [E1].", "cause"),
        ("Das Bezahlen scheitert wegen eines alten Zertifikats [E1].", "cause"),
        ("Falla debido a un certificado vencido [E1].", "cause"),
        ("Only phones of one maker are concerned [E1].", "exclusion"),
        ("Il problema riguarda soltanto alcuni telefoni [E1].", "exclusion"),
        ("Cards work better than phones [E1].", "comparison"),
        ("Les cartes marchent mieux que les téléphones [E1].", "comparison"),
    ],
)
def test_a_relation_that_no_row_shows(sentence: str, relation: str) -> None:
    assert unshown_relation(sentence, [PHONE], ROWS) == relation


@pytest.mark.parametrize(
    "sentence",
    [
        "Payment by phone failed, because the reader loses the phone [E1].",
        "Payment by phone failed [E1].",
        "The reader loses the phone [E1].",
    ],
)
def test_a_relation_in_the_words_of_its_row(sentence: str) -> None:
    assert unshown_relation(sentence, [PHONE], ROWS) == ""


@pytest.mark.parametrize(
    ("sentence", "is_shown"),
    [
        ("Payment by phone failed.", True),
        ("Payment by phone passed.", False),
        ("Payment by card passed.", True),
        ("The decision is postponed.", True),
        ("The trial was approved.", False),
        ("The cashiers were trained.", False),
        ("Two of four cases failed.", True),
        ("Three of four cases failed.", False),
    ],
)
def test_a_sentence_without_a_citation_needs_a_row(sentence: str, is_shown: bool) -> None:
    assert (unshown_relation(sentence, [], ROWS) == "") == is_shown


@pytest.mark.parametrize(
    ("sentence", "is_wrong"),
    [
        ("3.1 % of the payments failed, within the limit of 2 %.", True),
        ("1.1 % of the payments failed, within the limit of 2 %.", False),
        ("Die Antwort dauert 900 ms und liegt unter 500 ms.", True),
        ("Le p95 est de 300 ms, au-dessus de 500 ms.", True),
        ("El p95 es de 700 ms, por encima de 500 ms.", False),
        ("The p95 of 700 ms is not within 500 ms.", False),
        ("It is 200 ms above the limit of 500 ms.", False),
        ("It took 20 minutes, more than 10 %.", False),
    ],
)
def test_the_order_of_two_figures_of_one_unit(sentence: str, is_wrong: bool) -> None:
    assert is_wrong_order(sentence) == is_wrong
