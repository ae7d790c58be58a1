"""Claims: a true sentence stays, a contradicted or invented one goes, and each says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.tables import assert_forms, load_document, load_rows
from transom.evidence.claims import (
    CheckedSentence,
    CheckedText,
    Support,
    check_claims,
    check_sentence,
)
from transom.evidence.facts import Fact, FactSource

LEDGER = {
    "E1": Support(Decimal(14), "", "tests failed", '"failed": 14'),
    "E2": Support(Decimal(12480), "", "tests executed", '"executed": 12480'),
    "E3": Support(Decimal("82.46"), "%", "coverage line", '"line_coverage": 82.46'),
    "E4": Support(Decimal(1240), "ms", "performance latency POST /api/scan p95", '"p95_ms": 1240'),
    "E5": Support(
        Decimal(800), "ms", "performance latency limit POST /api/scan p95", '"target_p95_ms": 800'
    ),
    "E6": Support(Decimal("0.0125"), "ratio", "performance error rate", '"error_rate": 0.0125'),
    "E7": Support(Decimal(2), "", "vulnerability high", '"high": 2'),
    "E8": Support(
        None, "", "review comment", "Holds sometimes lapse a minute early, and nobody knows why."
    ),
    "E9": Support(Decimal(3), "", "criteria passed", "count"),
    "E10": Support(Decimal(5), "", "criteria", "count"),
    "E11": Support(Decimal("-0.5"), "", "change of coverage", '"delta": -0.5'),
    "E12": Support(Decimal(1500), "/s", "performance throughput", '"rps": 1500'),
    "E14": Support(
        None, "", "performance flag", '"p(95)<900": false', name="http_req_duration p(95)<900"
    ),
    "E13": Support(Decimal(90000), "ms", "duration of the run", '"duration_ms": 90000'),
}


MUST_PASS = load_rows("claims", "must_pass")
MUST_NOT_PASS = load_rows("claims", "must_not_pass")
DOCUMENT = load_document("claims")
SOURCE = FactSource(DOCUMENT["sources"])
Check = Callable[[str], CheckedText]


def supports_of_table() -> dict[str, Support]:
    supports = {}
    for key, entry in DOCUMENT["supports"].items():
        value = Decimal(entry["value"]) if "value" in entry else None
        words = {name: text for name, text in entry.items() if name != "value"}
        supports[key] = Support(value, **words)
    return supports


SUPPORTS = supports_of_table()


def nowhere(fact: Fact) -> bool:
    """No source has anything."""
    return False


def check(sentence: str) -> CheckedText:
    return check_claims(sentence, SUPPORTS, in_sources=SOURCE.has)


def holds(row: dict[str, Any], checking: Check) -> bool:
    checked = checking(row["sentence"])
    words = row.get("words", "")
    if row["id"] in REMOVED_IDS:
        return any(words in sentence.why for sentence in checked.removed)
    if checked.removed or not checked.text:
        return False
    if row.get("status") == "supported":
        return not checked.undecided
    return any(words in sentence.why for sentence in checked.undecided) if words else True


REMOVED_IDS = {row["id"] for row in MUST_NOT_PASS}


def keep_everything(sentence: str) -> CheckedText:
    """A stand-in that believes each sentence."""
    return CheckedText(sentence)


def remove_everything(sentence: str) -> CheckedText:
    """A stand-in that believes none."""
    return CheckedText("", (CheckedSentence(sentence, "contradicted", "not believed"),))


@pytest.mark.parametrize("row", MUST_PASS, ids=lambda row: row["id"])
def test_a_true_sentence_stays(row: dict[str, Any]) -> None:
    assert holds(row, check), check(row["sentence"])


@pytest.mark.parametrize("row", MUST_NOT_PASS, ids=lambda row: row["id"])
def test_a_false_or_invented_sentence_goes_for_its_reason(row: dict[str, Any]) -> None:
    assert holds(row, check), check(row["sentence"])


def test_the_tables_have_forms_and_tell_checks_apart() -> None:
    assert_forms(MUST_PASS)
    assert_forms(MUST_NOT_PASS)
    assert [row["id"] for row in MUST_NOT_PASS if holds(row, keep_everything)] == []
    assert [row["id"] for row in MUST_PASS if holds(row, remove_everything)] == []


def test_without_the_sources_a_figure_that_nothing_shows_stays_undecided() -> None:
    checked = check_claims("It has 4711 open points.", SUPPORTS)
    assert checked.removed == ()
    assert [sentence.status for sentence in checked.undecided] == ["undecided"]


def test_an_undecided_sentence_is_marked_if_the_caller_wants_it() -> None:
    text = "14 tests failed. Nothing else is known."
    checked = check_claims(text, SUPPORTS, in_sources=SOURCE.has, mark="unchecked figure")
    assert checked.text == "14 tests failed. (unchecked figure) Nothing else is known."


@pytest.mark.slow
@pytest.mark.fence
@given(st.text(max_size=80))
def test_no_text_breaks_the_check(text: str) -> None:
    assert isinstance(check(f"{text} [E1]"), CheckedText)


@pytest.mark.parametrize(
    "text",
    [
        "14 tests failed [E1].",
        "Failed: 14 [E1].",
        "14 of 12,480 tests failed [E1][E2].",
        "12480 tests were executed [E2].",
        "12,480 tests were executed [E2].",
        "About 12,500 tests were executed [E2].",
        "Over 12,000 tests were executed [E2].",
        "12.5k tests were executed [E2].",
        "Line coverage is 82.46 % [E3].",
        "Line coverage is 82.5% [E3].",
        "82 percent of the lines are covered [E3].",
        "Coverage stands at 82.5 per cent [E3].",
        "The p95 latency is 1240 ms [E4].",
        "The p95 latency is 1.24 s [E4].",
        "The p95 latency is 1.24 seconds against a target of 800 ms [E4][E5].",
        "The p95 latency of 1,240 ms misses its target of 0.8 s [E4][E5].",
        "It misses its target: a p95 latency of 1240 ms against a target of 800 ms [E4][E5].",
        "The error rate is 1.25 % [E6].",
        "The error rate is 0.0125 [E6].",
        "The error rate is 1.3 % [E6].",
        "Two high vulnerabilities are open [E7].",
        "There are 2 high-severity vulnerabilities [E7].",
        'A tester wrote: "Holds sometimes lapse a minute early" [E8].',
        "A tester wrote: “holds sometimes lapse … nobody knows why” [E8].",
        "3 of 5 criteria passed [E9][E10].",
        "Three of five criteria passed [E9][E10].",
        "Coverage fell by 0.5 [E11].",
        "The throughput is 1,500 requests/s [E12].",
        "The run took 90 seconds [E13].",
        "The run took 1.5 minutes [E13].",
        "Nothing speaks against it.",
        "1. 14 tests failed [E1]",
        'Http_req_duration p(95)<900 "p(95)<900: false" [E14].',
    ],
)
def test_an_honest_rendering_survives(text: str) -> None:
    assert check_claims(text, LEDGER).removed == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("15 tests failed [E1].", "15 is not what it cites"),
        ("14 tests failed [E99].", "E99, which is not in the ledger"),
        ("14 tests were skipped [E1].", "another quantity"),
        ("14 vulnerabilities are open [E1].", "another quantity"),
        ("Branch coverage is 82.46 % [E3].", "another quantity"),
        ("The p99 latency is 1240 ms [E4].", "another quantity"),
        ("The p95 latency is 1240 s [E4].", "1240 s is not"),
        ("The p95 latency is 124 ms [E4].", "124 ms is not"),
        ("Failed tests: 14 % [E1].", "is not what it cites"),
        ("Line coverage is 83 % [E3].", "83"),
        ("Line coverage is 82.47 % [E3].", "82.47"),
        ("2 critical vulnerabilities are open [E7].", "another quantity"),
        ("Four of five criteria passed [E9][E10].", "4 is not"),
        ('A tester wrote: "Holds often lapse a minute early" [E8].', "quotation"),
        ('A tester wrote: "Holds sometimes lapse an hour early" [E8].', "quotation"),
        ("Over 13,000 tests were executed [E2].", "13,000"),
        ("The error rate is 12.5 % [E6].", "12.5"),
        ("Coverage rose by 0.5 points [E11].", "0.5 is not"),
    ],
)
def test_what_contradicts_the_evidence_is_removed(text: str, why: str) -> None:
    checked = check_claims(f"Honest words before it. {text} Honest words behind it.", LEDGER)
    assert [why in one.why for one in checked.removed] == [True], checked
    assert "Honest words before it." in checked.text
    assert "Honest words behind it." in checked.text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Less than 15 tests failed [E1].", "supported"),
        ("Weniger als 15 Tests sind fehlgeschlagen [E1].", "supported"),
        ("Less than 12 tests failed [E1].", "contradicted"),
        ("The line coverage misses 85 % [E3].", "supported"),
        ("The line coverage misses 80 % [E3].", "contradicted"),
        # What stands beside the cited value may follow from it.
        ("Line coverage is 82.46 % [E3], 2.46 points above the limit of 80 %.", "undecided"),
        ("Deux vulnérabilités élevées sont ouvertes [E7].", "supported"),
        ("Trois vulnérabilités élevées sont ouvertes [E7].", "contradicted"),
        ("The run took 25 minutes [E15].", "undecided"),
        ("The trial ends on 3 March [E16].", "undecided"),
        ("The trial ends on 30 March [E16].", "supported"),
    ],
)
def test_bounds_number_words_and_days(text: str, status: str) -> None:
    further = {
        "E15": Support(Decimal(1500), "", "duration", '"duration": 1500'),
        "E16": Support(
            None, about="cited", text="The trial begins on 2 March and ends on 30 March."
        ),
    }
    assert check_sentence(text, LEDGER | further, in_sources=nowhere).status == status


def test_names_that_the_question_has_are_no_claims() -> None:
    names = ["Is LEND-118 fit for stage 2?"]
    honest = check_claims("Feature LEND-118 goes to stage 2.", {}, names=names, in_sources=nowhere)
    assert honest.removed == ()
    wrong = check_claims(
        "Feature LEND-118 has 2 failed tests.", {}, names=names, in_sources=nowhere
    )
    assert [sentence.is_unsourced for sentence in wrong.removed] == [True]


def test_the_cited_ids_are_listed_once_and_in_order() -> None:
    assert check_claims("14 failed [E1][E2]. Coverage is 82.46 % [E3][E1].", LEDGER).cited == (
        "E1",
        "E2",
        "E3",
    )


PILOT = Support(
    None,
    about="cited",
    text=(
        "The pilot had 42 boxes and 19 couriers. There were 31 alerts; 24 were real and 7 were"
        " false. In 14 of 210 deliveries by bicycle no reading arrived for more than 20 minutes,"
        " from 2026-09-01 to 2026-09-11. The runbook for the night is not written yet, and the"
        " migration cannot be undone after step 2."
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        "The pilot had 42 boxes [E1].",
        "19 couriers took part [E1].",
        "24 alerts were real [E1].",
        "Of 31 alerts, 7 were false [E1].",
        "In 14 of 210 bicycle deliveries no reading arrived for 20 minutes [E1].",
        "It lasted 10 days [E1].",
        "The runbook for the night is not written [E1].",
    ],
)
def test_a_number_of_prose_belongs_to_the_words_behind_it(text: str) -> None:
    assert check_claims(text, {"E1": PILOT}, in_sources=nowhere).removed == ()


@pytest.mark.parametrize(
    "text",
    [
        "The pilot had 19 boxes [E1].",
        "24 alerts were false [E1].",
        "The runbook for the night is written [E1].",
        "The migration can be undone after step 2 [E1].",
    ],
)
def test_a_number_with_the_words_of_another_is_removed(text: str) -> None:
    everywhere = FactSource(PILOT.text).has
    assert check_claims(text, {"E1": PILOT}, in_sources=everywhere).removed
    # The only source of a reader contradicts sentences that cite nothing, as well.
    uncited = text.replace(" [E1]", "")
    assert check_claims(uncited, {}, in_sources=everywhere, source=PILOT).removed


def test_a_number_whose_first_word_stands_elsewhere_is_marked() -> None:
    checked = check_claims("42 couriers took part [E1].", {"E1": PILOT})
    assert [sentence.why for sentence in checked.undecided] == ["42 counts something else there"]


def test_a_source_that_nobody_cites_supports_nothing() -> None:
    checked = check_claims("42 boxes.", {}, in_sources=FactSource(PILOT.text).has, source=PILOT)
    assert [sentence.status for sentence in checked.undecided] == ["undecided"]


def test_a_decimal_comma_is_read_as_such() -> None:
    supports = {"E1": Support(Decimal("48.8"), "%", "coverage branch", '"branch": 48.8')}
    assert check_claims("Die Zweigabdeckung beträgt 48,8 % [E1].", supports).undecided == ()
    assert check_claims("Die Zweigabdeckung beträgt 61,4 % [E1].", supports).removed


ROWS = {
    "E1": Support(Decimal(22), "", "tests failed", '9, 11, 2 failures: {"failures": 2}'),
    "E2": Support(None, "", "pipeline status", '"status": "failed"', row='"build": "success"'),
    "E3": Support(Decimal(2), "", "jira open blockers", "LEND-149, LEND-151"),
    "E4": Support(None, "", "vulnerabilities critical entry", '"severity": "CRITICAL"'),
    "E5": Support(Decimal(620), "ms", "performance latency p95", '"p95": 620, "target": 600'),
    "E6": Support(Decimal(9), "", "vulnerability high", '"high": 9'),
    "E7": Support(Decimal("91.3"), "%", "uat pass rate tests", "passed: 21, executed: 23"),
}
STATED = ROWS | {"E2": replace(ROWS["E2"], state="failed")}


@pytest.mark.parametrize(
    ("text", "is_removed", "is_marked"),
    [
        ("22 tests failed [E1].", False, False),
        ("2 tests failed [E1].", False, True),
        ('The run ended with "failed" [E2].', False, False),
        ('The run ended with "success" [E2].', True, False),
        ("No blocking issue is open [E3].", True, False),
        ("No blocking issue is new, 2 are open [E3].", False, False),
        ("The finding is of critical severity [E4].", False, False),
        ("The finding is of low severity [E4].", True, False),
        ("The p95 latency is 620 ms against 600 ms [E5].", False, False),
        ("3 endpoints were tried, with a p95 latency of 620 ms [E5].", False, True),
        ("9 high vulnerabilities are open [E6][E6].", False, False),
        ("91.3 % of the executed scenarios passed [E7].", False, False),
    ],
)
def test_a_claim_is_held_to_the_value_that_it_cites(
    text: str, is_removed: bool, is_marked: bool
) -> None:
    checked = check_claims(text, STATED)
    assert (bool(checked.removed), bool(checked.undecided)) == (is_removed, is_marked)
