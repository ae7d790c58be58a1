"""The gate on a checker that was written from a claim."""

from __future__ import annotations

from transom.canonical import digest
from transom.checklist.building.checker import ATOMS_FILE, CHECKER_FILE, checker_yaml
from transom.checklist.building.gates import GateReport
from transom.checklist.claiming import require_known, unproven_findings
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.judging.loading import LoadedChecker, complete_atoms
from transom.checklist.results import GateRow
from transom.evidence.findings import Finding


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
    written = {
        ATOMS_FILE: digest(complete_atoms(files.atoms)),
        CHECKER_FILE: digest(checker_yaml(files.config)),
    }
    findings = [*unproven_findings(checker.config)]
    for name, sha256 in written.items():
        if checker.digests[name] != sha256:
            message = f"is not what the claim {row.name} writes, so a person must look at it"
            findings.append(Finding("untested", name, None, message))
    return GateReport((GateRow(gate="claim", passed=not findings, findings=tuple(findings)),))
