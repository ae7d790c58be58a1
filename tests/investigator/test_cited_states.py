"""Sentences that say the opposite of the entries that they cite, and those that only seem to."""

from __future__ import annotations

import pytest

from transom.investigator.cited_states import (
    denied_state,
    named_rows,
    other_severity,
    unrepeated_state,
    with_figures_of_parts,
)
from transom.investigator.ledger import Evidence
from transom.investigator.result import CriterionResult
from transom.investigator.stated_limits import wrong_comparison
from transom.investigator.statements import Standing
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


PENDING = Evidence(id="E5", source="b.json", locator="/0", value="pending", measure="cited")
BOARD = Evidence(
    id="E6", source="b.csv", locator="line:4", value="Ferry ticket;échoué;Ines", measure="cited"
)


@pytest.mark.parametrize(
    ("sentence", "row"),
    [
        ("The harbour board consented [E5].", PENDING),
        ("The board rejected it [E5].", PENDING),
        ("Le conseil a approuvé [E5].", PENDING),
        ("Der Lauf war erfolgreich [E1].", ROWS["E1"]),
        ("The ferry ticket works, it passed [E6].", BOARD),
    ],
)
def test_a_state_that_is_not_the_cited_one_is_found(sentence: str, row: Evidence) -> None:
    assert unrepeated_state(sentence, [row])


@pytest.mark.parametrize(
    ("sentence", "row"),
    [
        ("The harbour board has not decided yet [E5].", PENDING),
        ("The consent of the board is pending [E5].", PENDING),
        ("La décision est en attente [E5].", PENDING),
        ("The nightly run failed [E1].", ROWS["E1"]),
        ("The nightly run belongs to main [E1].", ROWS["E1"]),
        ("The ferry ticket has failed [E6].", BOARD),
        ("Ines looked at the ferry ticket [E6].", BOARD),
    ],
)
def test_a_repeated_state_is_no_mismatch(sentence: str, row: Evidence) -> None:
    assert unrepeated_state(sentence, [row]) == ""


SLOW = Evidence(id="E7", source="l.json", locator="/0", value="812", measure="performance.latency")
SPAN = Evidence(id="E8", source="c.json", locator="/0", value="71", measure="coverage.branch")


@pytest.mark.parametrize(
    ("sentence", "row", "is_kept"),
    [
        ("Boarding meets its target [E7].", SLOW, False),
        ("Boarding misses its target [E7].", SLOW, True),
        ("L'embarquement dépasse sa cible [E7].", SLOW, True),
        ("Der Wert liegt unter dem Grenzwert [E7].", SLOW, False),
        ("Branch coverage is below the threshold [E8].", SPAN, True),
    ],
)
def test_a_wrong_comparison_with_a_limit_is_found(
    sentence: str, row: Evidence, is_kept: bool
) -> None:
    assert wrong_comparison(sentence, row, is_kept=is_kept)
    assert wrong_comparison(sentence, row, is_kept=not is_kept) == ""
    assert wrong_comparison("Nobody named a limit.", row, is_kept=is_kept) == ""


def test_a_small_figure_is_not_shown_as_nothing() -> None:
    rate = Evidence(
        id="E9", source="l.json", locator="/0", value="0.002", measure="tests.failed", unit="?"
    )
    assert rate.fact == "failed tests 0.002 [E9]"


def test_a_part_of_a_whole_is_a_figure_if_as_many_entries_are_cited() -> None:
    assert FIGURE in with_figures_of_parts("One of three approved", [ROWS["E2"]])
    assert FIGURE in with_figures_of_parts("2 of 3 are done", [ROWS["E3"]])
    assert FIGURE in with_figures_of_parts("Half of the berths are done", [ROWS["E3"]])
    assert FIGURE in with_figures_of_parts("La plupart des quais sont prêts", [])
    assert FIGURE not in with_figures_of_parts("Two of three approved", [ROWS["E2"]])
    assert FIGURE not in with_figures_of_parts("Three of three approved", [ROWS["E2"]])


def entry(key: str, source: str, value: str, measure: str) -> Evidence:
    return Evidence(id=key, source=source, locator="/0", value=value, measure=measure)


LEDGER = {
    "L1": entry("L1", "load.json", "812", "performance.latency"),
    "L2": entry("L2", "load.json", "met", "cited"),
    "S1": entry("S1", "scan.json", "3", "vulnerabilities.high"),
    "S2": entry("S2", "scan.json", "resolved", "cited"),
    "S3": entry("S3", "scan.json", "0", "vulnerabilities.critical"),
    "J1": entry("J1", "jira.json", "0", "jira.issues.high"),
    "U1": entry("U1", "uat.json", "2", "uat.failed"),
    "U2": entry("U2", "uat.json", "0", "uat.skipped"),
    "T1": entry("T1", "units.json", "6", "tests.skipped"),
    "T2": entry("T2", "units.json", "0", "tests.failed"),
    "D1": entry("D1", "plan.md", "Production", "document.stage"),
    "D2": entry("D2", "plan.md", "approved", "cited"),
    "C1": entry("C1", "units.json", "0", ""),
}


def criterion(key: str, name: str, status: str, source: str, *evidence: str) -> CriterionResult:
    return CriterionResult.model_validate(
        {
            "id": key,
            "name": name,
            "required": True,
            "status": status,
            "evidence": list(evidence),
            "source": source,
        }
    )


STANDING = Standing(
    [
        criterion(
            "performance.target",
            "Endpoints meet their latency target",
            "fail",
            "metrics/performance_benchmarks",
            "L1",
        ),
        criterion(
            "security.scan",
            "No critical or high vulnerability is open",
            "fail",
            "metrics/security_scan_results",
            "S1",
        ),
        criterion("uat.result", "No UAT scenario fails", "fail", "reviews/uat", "U1"),
        criterion("tests.unit", "No unit test is skipped", "fail", "metrics/unit_tests", "T1"),
    ],
    "NOT_READY",
    LEDGER,
)

WRONG = [
    # The good state of another source
    "The latency target is met [D2], as the plan was approved.",
    "The vulnerabilities are resolved [L2] and latency is met.",
    "Latency was approved [D2].",
    "The unit tests are resolved [S2].",
    "The security scan is approved, and so is the plan [D2].",
    "Die Sicherheitsprüfung ist approved [D2].",
    # A good state of its own source beside a claim on another criterion
    "A vulnerability was resolved and the unit tests passed [S2].",
    "The vulnerability is resolved [S2], so the latency target is met.",
    # One place shows neither the criterion as a whole nor readiness
    "No critical or high vulnerability is open, it is resolved [S2].",
    "All vulnerabilities are resolved [S2].",
    "The vulnerability is resolved [S2], so we are ready for production.",
    "It is approved and ready [D2].",
    # None of another kind
    "No high vulnerability is open [J1].",
    "No unit test was skipped [U2].",
    "No scenario failed [T2].",
    "No high vulnerability is open, and no high issue [J1].",
    "No unit test was skipped [C1].",
]
TRUE = [
    "One vulnerability is resolved [S2].",
    "Its status is resolved [S2].",
    "The vulnerability of the parser is resolved [S2], others are open.",
    "The latency of one endpoint is met [L2].",
    "The plan is approved [D2].",
    "No critical vulnerability is open [S3].",
    "No issue of high priority is open [J1].",
    "No test failed [T2], but 6 were skipped [T1].",
    "There is no UAT scenario that was skipped [U2].",
    "The difference between the two runs is 0 [C1].",
    "Nothing was changed in between [C1].",
    "The deployment plan is approved for production [D1].",
    "The plan was finished for the Production stage [D1].",
]


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("sentence", WRONG)
def test_a_cited_state_clears_no_claim_on_another_thing(sentence: str, is_strict: bool) -> None:
    assert STANDING.check(sentence, is_strict=is_strict).text == ""


@pytest.mark.parametrize("sentence", TRUE)
def test_what_the_cited_entry_says_of_its_own_thing_stays(sentence: str) -> None:
    checked = STANDING.check(sentence)
    assert checked.text.startswith(sentence)
    assert checked.removed == ()


def finding(label: str, measure: str = "vulnerabilities.high.entry") -> Evidence:
    return Evidence(
        id=f"E{len(label)}", source="s.json", locator="/0", value="{}", measure=measure, label=label
    )


def test_a_sentence_without_a_citation_is_held_to_the_one_entry_that_it_names() -> None:
    rows = [finding("CVE-2026-1 radius-core"), finding("CVE-2026-22 libpcap")]
    assert named_rows("CVE-2026-22 is fixed.", rows) == rows[1:]
    assert named_rows("CVE-2026-3 is fixed.", rows) == []
    assert named_rows("CVE-2026-1 and CVE-2026-22 are fixed.", rows) == []
    assert unrepeated_state("CVE-2026-22 is fixed.", rows[1:]) == "CVE-2026-22 libpcap"
    assert other_severity("CVE-2026-22 ist niedrig.", rows[1:]) == "CVE-2026-22 libpcap: high"
    assert other_severity("CVE-2026-22 is high.", rows[1:]) == ""
