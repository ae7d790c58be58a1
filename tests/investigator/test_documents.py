"""Mandatory documents: what is filled in counts, however short it is; what is left open does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.investigator.folders import PLAN, Files, FolderRow, document
from tests.investigator.test_folders import judged

SHORT = (
    "# Deployment plan\n\n1. North depot on 2026-10-01.\n2. All others a week later, if no error"
    " was seen.\n3. Roll back with the flag `renewal` off, tried on 2026-09-09; it takes ten"
    " minutes, and Ines Vogt decides.\n"
)
MUST: dict[str, Files] = {
    "a short plan": {PLAN: SHORT},
    "a German handbook": {PLAN: None, "planning/Betriebshandbuch.md": document("Betriebshandbuch")},
    "a German architecture": {
        "planning/ARCHITECTURE.md": None,
        "planning/Architektur.md": document("Architektur"),
    },
    "a German design": {
        "planning/DESIGN_DOC.md": None,
        "planning/Entwurf.md": document("Entwurf"),
    },
    "a French plan": {
        PLAN: None,
        "planning/plan_de_déploiement.md": document("Plan de déploiement"),
    },
}
MUST_NOT: dict[str, tuple[str, str]] = {
    "two words": ("# Deployment plan\n\nSee wiki.\n", "placeholder"),
    "headings alone": (
        "# Deployment plan\n\n## Steps\n\n## Way back\n\n## People\n",
        "placeholder",
    ),
    "sections left open": (f"{SHORT}\n## Way back\n\n## Who decides\n", "2 open passages"),
    "a last section left open": (f"{SHORT}\n## Way back\n", "1 open passages"),
    "a passage to be written": (f"{SHORT}\nThe way back: TBD\n", "1 open passages"),
    "a German draft": (f"ENTWURF\n\n{document('Deployment plan')}", "ENTWURF"),
    "a heading that says draft": (document("Deployment plan", "## Entwurf"), "Entwurf"),
}


@pytest.mark.parametrize("name", MUST)
def test_a_document_that_is_filled_in_counts(name: str, tmp_path: Path) -> None:
    verdict, reasons = judged(FolderRow("document", name, MUST[name]), tmp_path)
    assert (verdict, reasons) == ("READY", "")


@pytest.mark.parametrize("name", MUST_NOT)
def test_a_document_that_is_left_open_does_not_count(name: str, tmp_path: Path) -> None:
    text, word = MUST_NOT[name]
    verdict, reasons = judged(FolderRow("document", name, {PLAN: text}), tmp_path)
    assert verdict != "READY"
    assert word in reasons
