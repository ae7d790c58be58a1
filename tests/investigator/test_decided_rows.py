"""Acceptance that a table decides row by row: each row must be decided, and for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.investigator.folders import UAT, FolderRow
from tests.investigator.test_folders import judged

HEADS: dict[str, tuple[str, str, str]] = {
    "a decision": ("Scenario,Tester,Decision", "approved", "rejected"),
    "semicolons": ("Scenario;Signed by;Sign-off", "accepted", "declined"),
    "yes and no": ("Requirement,Owner,Accepted?", "yes", "no"),
    "a result that decides": ("Case,Result,Signed by", "accepted", "rejected"),
    "German": ("Testfall;Prüferin;Entscheidung", "angenommen", "abgelehnt"),
    "French": ("Cas,Testeur,Décision", "validé", "refusé"),
    "Spanish": ("Caso;Usuario;Decisión", "aprobado", "rechazado"),
    "a date beside": ("Story,Decision,Decided on,Remark", "accepted", "not accepted"),
}
FILES = ("reviews/uat.csv", "acceptance/sign_off_uat.csv", "uat/rows.csv")


def table(name: str, *decisions: str) -> str:
    head = HEADS[name][0]
    mark = ";" if ";" in head else ","
    columns = head.split(mark)
    place = next(n for n, column in enumerate(columns) if column in DECIDED)
    rows = [head]
    for number, decision in enumerate(decisions):
        cells = [f"Renew loan {number}"] + ["Ada"] * (len(columns) - 1)
        cells[place] = decision
        rows.append(mark.join(cells))
    return "\n".join([*rows, ""])


DECIDED = {
    "Decision", "Sign-off", "Accepted?", "Result", "Entscheidung", "Décision", "Decisión",
}  # fmt: skip


def verdict_of(report: str, tmp_path: Path, file: str = FILES[0]) -> tuple[str, str]:
    return judged(FolderRow("rows", "decided", {UAT: None, file: report}), tmp_path)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("file", FILES)
def test_a_table_whose_rows_are_all_accepted_is_acceptance(
    name: str, file: str, tmp_path: Path
) -> None:
    verdict, reasons = verdict_of(table(name, *[HEADS[name][1]] * 3), tmp_path, file)
    assert verdict == "READY", reasons


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("kind", ["refused", "empty", "doubt"])
def test_one_row_that_is_not_accepted_holds_back(name: str, kind: str, tmp_path: Path) -> None:
    _, good, bad = HEADS[name]
    last = {"refused": bad, "empty": "", "doubt": "perhaps later"}[kind]
    verdict, reasons = verdict_of(table(name, good, good, last), tmp_path)
    assert verdict != "READY"
    assert "acceptance" in reasons, reasons


@pytest.mark.parametrize("head", ["Step,Outcome,Tester", "Case,Result,Run by", "Case,Status"])
def test_cases_that_passed_are_not_accepted_by_that(head: str, tmp_path: Path) -> None:
    rows = "".join(f"Renew {n},Pass{',Ada' if head.count(',') > 1 else ''}\n" for n in range(3))
    verdict, reasons = verdict_of(f"{head}\n{rows}", tmp_path)
    assert verdict != "READY", reasons
