"""The gate on a checker that was written from a claim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from transom.canonical import digest
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.checker import ATOMS_FILE, CHECKER_FILE, checker_yaml
from transom.checklist.building.gates import GateReport
from transom.checklist.claiming import require_known, unproven_findings
from transom.checklist.claims.claim_files import ClaimFiles, write_claim
from transom.checklist.item import parse_item
from transom.checklist.judging.loading import LoadedChecker, complete_atoms
from transom.checklist.results import GateRow
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.yaml_files import dump_yaml


def claim_report(checker: LoadedChecker) -> GateReport | None:
    """Return the report of the gate on a checker that was written from a claim.

    Such a checker receives measurements, which the other gates do not know. It is as good as the
    claim while its files are what the claim writes; otherwise a person must look at it.

    Returns:
        None if the checker was not written from a claim, or its folder holds no item.
    """
    row, item = checker.config.claim, checker.item
    if row is None or item is None:
        return None
    require_known(item, row)
    files = write_claim(item, row, checker.config.report_format)
    return GateReport((_row(checker.config, files, checker.digests),))


def claim_row(code: str, config: CheckerConfig) -> GateRow | None:
    """Return the row of the gate on the code and `checker.yaml` of a claim, without its item.

    Returns:
        None if the checker was not written from a claim.
    """
    claim = config.claim
    if claim is None:
        return None
    # `checker.yaml` repeats what the item says, but for its input files, which no file depends on.
    data = config.model_dump(
        mode="json", include={"item_id", "description", "requirements", "waivers"}
    )
    text = dump_yaml(data | {"input_files": ["report"]})
    item = parse_item(text, Path(CHECKER_FILE))
    try:
        require_known(item, claim)
        files = write_claim(item, claim, config.report_format)
    except InputError as error:
        finding = Finding("claim", CHECKER_FILE, None, error.problem)
        return GateRow(gate="claim", passed=False, findings=(finding,))
    digests = {
        ATOMS_FILE: digest(complete_atoms(code)),
        CHECKER_FILE: digest(checker_yaml(config)),
    }
    return _row(config, files, digests)


def _row(config: CheckerConfig, files: ClaimFiles, digests: Mapping[str, str]) -> GateRow:
    """Return whether the files of a checker are what its claim writes."""
    written = {
        ATOMS_FILE: digest(complete_atoms(files.atoms)),
        CHECKER_FILE: digest(checker_yaml(files.config)),
    }
    name_of_claim = config.claim.name if config.claim else ""
    findings = [*unproven_findings(config)]
    for name, sha256 in written.items():
        if digests[name] != sha256:
            message = f"is not what the claim {name_of_claim} writes, so a person must look at it"
            findings.append(Finding("untested", name, None, message))
    return GateRow(gate="claim", passed=not findings, findings=tuple(findings))
