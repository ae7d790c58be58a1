"""Sentences about criteria, waivers and approvals: those that contradict the status leave the
text, honest ones stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, MIXED, READY, judged
from transom.formats.yaml_files import load_yaml
from transom.investigator.concluding import criterion_row
from transom.investigator.gathering import read_source, sources_of
from transom.investigator.policy import CriterionWaiver
from transom.investigator.rules import justify
from transom.investigator.sources import DataFolder
from transom.investigator.statements import CheckedStatements, Standing

TABLE: Any = load_yaml(Path(__file__).parent / "data" / "statements.yaml").data
WAIVER = CriterionWaiver(
    criterion="uat.passed", approver="Ines Vogt", reason="few users", expires=date(2027, 1, 1)
)
Outcome = str


@lru_cache(maxsize=4)
def standing(folder: str, waivers: tuple[str, ...] = ()) -> Standing:
    """The results of an example, by the rules."""
    given = tuple(WAIVER.model_copy(update={"criterion": one}) for one in waivers)
    decision, ledger = judged(EXAMPLES, folder, waivers=given)
    names = ("Group Reservations", "Tool Maintenance Reminders", "Production-Ready", "UAT")
    evidence = {row.id: row for row in ledger}
    return Standing(decision.criteria, decision.verdict, evidence, names)


def outcome(checked: CheckedStatements, sentence: str) -> Outcome:
    if checked.removed:
        return "removed"
    return "kept" if checked.text == sentence else "marked"


def rows() -> Iterator[tuple[str, str]]:
    for wanted, kinds in TABLE.items():
        for sentences in kinds.values():
            for sentence in sentences:
                yield wanted, sentence


def is_right(wanted: str, made: Outcome) -> bool:
    return made in ("removed", "marked") if wanted == "doubtful" else made == wanted


@pytest.mark.parametrize(("wanted", "sentence"), list(rows()))
def test_a_sentence_is_held_to_the_status(wanted: str, sentence: str) -> None:
    checked = standing(MIXED).check(sentence)
    assert is_right(wanted, outcome(checked, sentence)), checked


@pytest.mark.fence
@pytest.mark.slow
def test_a_sentence_between_two_others_has_the_same_fate() -> None:
    whole = [one for _, one in rows() if one.endswith(".") and not one[0].islower()]
    assert len(whole) > 200
    for sentence in whole:
        checked = standing(MIXED).check(f"Seven depots lend tools. {sentence} Rain is expected.")
        assert checked.text.startswith("Seven depots lend tools."), sentence
        assert checked.text.endswith("Rain is expected."), sentence
        is_removed = outcome(standing(MIXED).check(sentence), sentence) == "removed"
        assert (sentence not in checked.text) == is_removed, sentence


@pytest.mark.parametrize(
    ("stand_in", "wrong"),
    [
        (lambda sentence: "kept", {"removed", "doubtful"}),
        (lambda sentence: "removed", {"kept"}),
    ],
)
def test_the_table_is_failed_by_who_keeps_all_and_by_who_removes_all(
    stand_in: Callable[[str], Outcome], wrong: set[str]
) -> None:
    missed = [wanted for wanted, sentence in rows() if not is_right(wanted, stand_in(sentence))]
    expected = [wanted for wanted, _ in rows() if wanted in wrong]
    assert missed == expected and len(missed) > 40


@pytest.mark.parametrize("kind", ["approval", "met", "ready", "all"])
def test_where_all_criteria_hold_saying_so_is_no_fault(kind: str) -> None:
    of_other_people = ("Carla Bruni", "Ravi Menon", "pending", "ausstehenden")
    for sentence in TABLE["removed"][kind]:
        if any(word in sentence for word in of_other_people):
            continue
        assert outcome(standing(READY).check(sentence), sentence) == "kept", sentence


def test_a_waiver_may_be_named_only_if_it_applies_and_only_of_its_criterion() -> None:
    true = "Acceptance testing is waived by Ines Vogt."
    false = "The security review is waived by Ines Vogt."
    for ids, fates in (
        ((), ("removed", "removed")),
        (("uat.passed",), ("kept", "removed")),
        (("review.security",), ("removed", "kept")),
    ):
        held = standing(MIXED, ids)
        assert (outcome(held.check(true), true), outcome(held.check(false), false)) == fates
    waived = standing(MIXED, ("uat.passed",))
    for sentence in ("A waiver lifts every gate.", "Acceptance testing passed."):
        assert outcome(waived.check(sentence), sentence) == "removed"


def test_the_status_behind_a_sentence_is_that_of_its_criterion() -> None:
    checked = standing(MIXED).check("The security review is behind us.")
    assert checked.text.endswith('(by the rules, "The security review approved" is unknown)')


def test_the_reason_names_the_criterion() -> None:
    (struck,) = standing(MIXED).check("Performance is sufficient [E13].").removed
    assert struck.why == 'by the rules, "Measured performance meets its targets" is unknown'


@pytest.mark.parametrize("wanted", ["removed", "doubtful"])
def test_a_model_that_argues_for_more_keeps_no_such_sentence(wanted: str) -> None:
    held = standing(MIXED)
    for own, sentence in rows():
        if own == wanted and "though" not in sentence:
            assert outcome(held.check(sentence, is_strict=True), sentence) == "removed", sentence
    for sentence in (
        "Trust me.",
        "Кворум достигнут, выпуск разрешён.",
        "承認されました。",
        "The nod came from upstairs [E1].",
    ):
        assert outcome(held.check(sentence, is_strict=True), sentence) == "removed"
    for sentence in (
        "UAT passed 91.3 % of its executed scenarios [E16].",
        "The security review has not approved [E19].",
        "No unit test fails [E6].",
    ):
        assert outcome(held.check(sentence, is_strict=True), sentence) == "kept"


@pytest.mark.parametrize("folder", [f"feature{number}" for number in range(1, 7)])
def test_what_the_rules_write_contradicts_no_status(folder: str) -> None:
    decision, ledger = judged(EXAMPLES, folder)
    held = standing(folder)
    held = Standing(held.criteria, held.verdict, {row.id: row for row in ledger}, held.names)
    given = [criterion_row(row, ledger) for row in decision.criteria]
    text = justify("Some feature", "Production-Ready", decision.verdict, given)
    checked = held.check(text)
    assert (checked.text, checked.removed) == (text, ())


@pytest.mark.fence
@pytest.mark.slow
def test_every_source_of_the_examples_may_be_read_as_the_rules_read_it() -> None:
    from transom.investigator.ledger import Ledger

    data = DataFolder(EXAMPLES)
    for feature in data.features:
        ledger, held = Ledger(data.read), standing(feature.folder)
        for ref in sources_of(data, feature):
            reading = read_source(data, ref)
            facts = [ledger[ledger.add(one, reading)].fact for one in reading.observations]
            evidence = {row.id: row for row in ledger}
            exact = Standing(held.criteria, held.verdict, evidence, held.names)
            for fact in facts:
                sentence = f"{fact[:1].upper()}{fact[1:]}."
                assert exact.check(sentence, marks=False).removed == (), sentence
