"""Reviews and side reports under names and titles of other languages, and states of tickets."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.investigator.folders import (
    COVER,
    ISSUE,
    PEOPLE,
    PIPE,
    SECURITY,
    UAT,
    FolderRow,
    issue,
    run,
)
from tests.investigator.test_folders import judged
from transom.formats.side_reports import side_report
from transom.investigator.reading.recognition import recognise


def verdict_of(put: dict[str, Any], tmp_path: Path) -> tuple[str, str]:
    return judged(FolderRow("names", "names", put), tmp_path)


@pytest.mark.parametrize(
    ("path", "title", "kind"),
    [
        ("aprovacoes/homologacao.md", "Loan renewal", "reviews/uat"),
        ("goedkeuringen/acceptatieverslag.md", "Loan renewal", "reviews/uat"),
        ("freigaben/protokoll.md", "Abnahme der Verlängerung", "reviews/uat"),
        ("revues/pv.md", "Recette du renouvellement", "reviews/uat"),
        ("revues/avis.md", "Revue de sécurité", "reviews/security"),
        ("recette/securite-revue.md", "Renouvellement", "reviews/security"),
        ("pruefungen/Sicherheitsbericht.md", "Prüfung", "reviews/security"),
        ("reviews/board.md", "Loan renewal", "reviews/stakeholders"),
        ("revisioni/riunione.md", "Parti interessate", "reviews/stakeholders"),
        ("recette/comite.md", "Accord des parties prenantes", "reviews/stakeholders"),
    ],
)
def test_the_title_and_the_name_of_a_review_tell_its_kind(path: str, title: str, kind: str) -> None:
    text = f"# {title}\n\nDate: 2026-09-15\nDecision: approved\n"
    assert recognise(PurePosixPath(path), text.encode).name == kind


@pytest.mark.parametrize(
    "text",
    [
        "# Acceptance test: loan renewal\n\nDate: 2026-09-18\n\n## Cycle 1\n\nDecision: rejected\n"
        "\n## Cycle 2\n\nDecision: accepted\n",
        "# Abnahme\n\nDatum: 18.09.2026\n\nAbnahme: erteilt\n",
        "# Acceptance\n\nDate: 2026-09-18\n\nSign-off: granted\n",
        "# Aceptación\n\nFecha: 18/09/2026\n\nConclusión: se autoriza el paso a producción.\n",
        "# Acceptance: loan renewal\n\nDate: 2026-09-18\n\n- [x] accepted\n- [ ] refused\n",
    ],
)
def test_the_last_round_a_box_or_one_word_decides(text: str, tmp_path: Path) -> None:
    verdict, reasons = verdict_of({UAT: None, "reviews/uat.md": text}, tmp_path)
    assert verdict == "READY", reasons


@pytest.mark.parametrize(
    "text",
    [
        "# Acceptance test\n\nDate: 2026-09-18\n\n## Cycle 1\n\nDecision: accepted\n"
        "\n## Cycle 2\n\nDecision: rejected\n",
        "# Abnahme\n\nDatum: 18.09.2026\n\nAbnahme: verweigert\n",
        "# Aceptación\n\nFecha: 18/09/2026\n\nConclusión: no se autoriza el paso.\n",
        "# Acceptance\n\nDate: 2026-09-18\n\n- [ ] accepted\n- [x] refused\n",
        "# Acceptance\n\nDate: 2026-09-18\n\n- [ ] accepted\n- [ ] refused\n",
        "# Acceptance\n\nDate: 2026-09-18\n\nAcceptance: granted\nOperations: refused\n",
    ],
)
def test_a_denied_round_box_or_word_is_no_approval(text: str, tmp_path: Path) -> None:
    verdict, _ = verdict_of({UAT: None, "reviews/uat.md": text}, tmp_path)
    assert verdict != "READY"


@pytest.mark.parametrize(
    "status",
    [
        *("Parked", "Angehalten", "En pausa", "Suspensa", "Opgeschort"),
        *("Blockiert", "Bloqué", "Bloqueada por terceros", "Bloccato", "Geblokkeerd", "阻塞"),
    ],
)
def test_a_ticket_that_is_blocked_in_any_language_waits(status: str, tmp_path: Path) -> None:
    state = {"name": status, "statusCategory": {"key": "indeterminate"}}
    verdict, reasons = verdict_of({ISSUE: issue(status=state)}, tmp_path)
    assert verdict != "READY" and status.split(maxsplit=1)[0] in reasons


def _runs(*ends: tuple[str, str]) -> list[Any]:
    """Return the runs of a list, the latest first, each a workflow and its end."""
    listed = []
    for number, (workflow, end) in enumerate(ends):
        created = f"2026-09-{18 - number}T08:00:00Z"
        row = run(run_number=90 - number, conclusion=end, created_at=created, jobs=[])
        listed.append(row | {"workflow_name": workflow})
    return listed


def test_the_latest_run_counts_of_each_workflow(tmp_path: Path) -> None:
    mended = _runs(("build", "success"), ("build", "failure"))
    assert verdict_of({PIPE: mended}, tmp_path / "mended")[0] == "READY"
    other = _runs(("build", "success"), ("acceptance", "failure"))
    assert verdict_of({PIPE: other}, tmp_path / "other")[0] != "READY"


def test_rows_of_metric_and_value_are_measures(tmp_path: Path) -> None:
    rows = [{"metric": "line_coverage", "value": "91.5"}, {"metric": "ncloc", "value": "8100"}]
    whole = {"component": {"key": "desk", "qualifier": "TRK", "measures": rows}}
    assert verdict_of({COVER: whole}, tmp_path / "whole")[0] == "READY"
    of_file = {"component": {"key": "desk:a", "qualifier": "FIL", "measures": rows}}
    assert verdict_of({COVER: of_file}, tmp_path / "file")[0] != "READY"
    rows[0]["value"] = "41.5"
    assert verdict_of({COVER: whole}, tmp_path / "low")[0] == "NOT_READY"


CLEAN = {
    "CycloneDX": {"bomFormat": "CycloneDX", "components": [{"name": "zlib"}]},
    "SPDX": {"spdxVersion": "SPDX-2.3", "packages": [{"name": "zlib"}]},
    "ESLint": [{"filePath": "/a.ts", "messages": [], "errorCount": 0, "warningCount": 0}],
    "Checkstyle": '<checkstyle version="10"><file name="A.java"/></checkstyle>',
    "PMD": '<pmd version="7"><file name="A.java"/></pmd>',
}
DIRTY = {
    "CycloneDX": CLEAN["CycloneDX"] | {"vulnerabilities": [{"id": "CVE-1"}]},  # type: ignore[operator]
    "SPDX": {"spdxVersion": "SPDX-2.3", "packages": []},
    "ESLint": [{"filePath": "/a.ts", "messages": [{"message": "x"}], "errorCount": 1}],
    "Checkstyle": '<checkstyle><file name="A"><error line="1"/></file></checkstyle>',
    "PMD": '<pmd><file name="A.java"/><error filename="B.java" msg="cannot parse"/></pmd>',
}


@pytest.mark.parametrize("tool", CLEAN)
def test_a_side_report_holds_nothing_back_unless_it_has_an_entry(tool: str, tmp_path: Path) -> None:
    for number, (report, is_clean) in enumerate(((CLEAN[tool], True), (DIRTY[tool], False))):
        text = report if isinstance(report, str) else json.dumps(report)
        assert bool(side_report(text, "report")) == is_clean
        suffix = "xml" if text.startswith("<") else "json"
        put = {f"build/side.{suffix}": text}
        verdict, reasons = verdict_of(put, tmp_path / str(number))
        assert (verdict == "READY") == is_clean, reasons


def test_data_in_a_folder_of_reviews_is_known_by_its_title(tmp_path: Path) -> None:
    rows = ("- {rôle: vente, nom: Ada, décision: %s}", "- {rôle: droit, nom: Léo, décision: ok}")
    votes = "\n".join(("approbations:", *rows, ""))
    for decision, is_ready in (("approuvé", True), ("refusé", False)):
        text = f"titre: Accord des parties prenantes\ndate: 2026-09-18\n{votes % decision}"
        put = {PEOPLE: None, "recette/comite.yaml": text}
        assert (verdict_of(put, tmp_path / decision)[0] == "READY") == is_ready


def test_a_table_of_approvals_below_a_title_of_another_language(tmp_path: Path) -> None:
    head = "# Accord des parties prenantes\n\n| Rôle | Nom | Décision |\n|---|---|---|\n"
    good = f"{head}| Vente | Ada | approuvé |\n| Exploitation | Ben | approuvé |\n"
    put = {PEOPLE: None, "revues/comite.md": good}
    assert verdict_of(put, tmp_path / "good")[0] == "READY"
    put["revues/comite.md"] = good + "| Droit | Cléo | refusé |\n"
    assert verdict_of(put, tmp_path / "bad")[0] == "NOT_READY"


@pytest.mark.parametrize(
    ("status", "is_ready"),
    [("behoben", True), ("noch nicht behoben", False), ("résolu", True), ("por corregir", False)],
)
def test_a_finding_is_closed_in_any_language(status: str, is_ready: bool, tmp_path: Path) -> None:
    finding = {"id": "S-1", "severity": "high", "status": status}
    review = {
        "reviewer": "Ada",
        "date": "2026-09-18",
        "decision": "approved",
        "findings": [finding],
    }
    assert (verdict_of({SECURITY: review}, tmp_path)[0] == "READY") == is_ready


WITHDRAWN = [
    "I withdraw my approval of the security review until LIB-90 is fixed.",
    "Ich ziehe meine Freigabe zurück.",
    "Je retire mon approbation.",
    "Please hold the release: the scanners are not wired.",
]


@pytest.mark.parametrize("suffix", ["txt", "md"])
@pytest.mark.parametrize("sentence", WITHDRAWN)
def test_a_letter_among_the_reviews_holds_ready_back(
    sentence: str, suffix: str, tmp_path: Path
) -> None:
    letter = f"From: Ada\nDate: 2026-09-18\nSubject: Loan renewal\n\n{sentence}\n"
    verdict, reasons = verdict_of({f"reviews/mail.{suffix}": letter}, tmp_path)
    assert verdict == "NEEDS_JUDGEMENT"
    assert f"mail.{suffix} lies with the reviews and states no decision" in reasons


def test_a_readme_of_the_reviews_holds_nothing_back(tmp_path: Path) -> None:
    readme = "# Reviews\n\nEach reviewer writes a file of their own.\n"
    assert verdict_of({"reviews/README.md": readme}, tmp_path)[0] == "READY"
