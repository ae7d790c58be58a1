"""Reports of security scanners: SARIF 2.1 and Trivy's JSON.

A finding that the tool marks as suppressed or absent is not open: by SARIF's suppressions, if at
least one is accepted or has no status (a rejected one, or one under review, does not suppress), or
by its `baselineState`. Trivy's
`Status: fixed` means that a fixed version exists, so such a vulnerability is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from transom.canonical import Json

_LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
_SCORES = ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.0, "low"))
SEVERITIES = ("critical", "high", "medium", "low")


@dataclass(frozen=True)
class ScanFinding:
    """One finding.

    Attributes:
        id: the id of the rule or the vulnerability.
        severity: `critical | high | medium | low`.
        text: its message.
        locator: JSON pointer of the result.
        suppressed: the kind of suppression; "" for an open finding.
    """

    id: str
    severity: str
    text: str
    locator: str
    suppressed: str = ""


def read_sarif(data: Json) -> list[ScanFinding] | None:
    """Return the findings of all runs; None if the data is not SARIF."""
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("runs"), list)
        or "version" not in data
    ):
        return None
    found: list[ScanFinding] = []
    for number, run in enumerate(_dicts(data["runs"])):
        rules = _rules(run)
        for at, result in enumerate(_dicts(run.get("results"))):
            if result.get("kind", "fail") not in ("fail", "review", "open"):
                continue
            found.append(_sarif_finding(result, rules, f"/runs/{number}/results/{at}"))
    return found


def _sarif_finding(
    result: dict[str, Any], rules: dict[object, dict[str, Any]], locator: str
) -> ScanFinding:
    rule_id = str(result.get("ruleId") or _inner(result, "rule").get("id") or "")
    rule = rules.get(result.get("ruleIndex")) or rules.get(rule_id) or {}
    text = str(_inner(result, "message").get("text", ""))
    return ScanFinding(rule_id, _sarif_severity(result, rule), text, locator, _suppressed(result))


def _rules(run: dict[str, Any]) -> dict[object, dict[str, Any]]:
    rules = _dicts(_inner(_inner(run, "tool"), "driver").get("rules"))
    return dict(enumerate(rules)) | {rule.get("id"): rule for rule in rules}


def _sarif_severity(result: dict[str, Any], rule: dict[str, Any]) -> str:
    """Return the severity by the tool's security score, its own word, or SARIF's level, in that
    order.
    """
    for of in (_inner(result, "properties"), _inner(rule, "properties")):
        try:
            score = float(of["security-severity"])
        except (KeyError, TypeError, ValueError):
            word = str(of.get("issue_severity") or of.get("severity") or "").lower()
            if word in SEVERITIES:
                return word
            continue
        return next(name for least, name in _SCORES if score >= least)
    level = result.get("level") or _inner(rule, "defaultConfiguration").get("level") or "warning"
    return _LEVELS.get(str(level), "medium")


def _suppressed(result: dict[str, Any]) -> str:
    if result.get("baselineState") == "absent":
        return "absent since the baseline"
    listed = _dicts(result.get("suppressions"))
    states = [str(one.get("status", "accepted")) for one in listed]
    if "accepted" not in states:
        return ""
    return f"suppressed {listed[0].get('kind', 'externally')}"


def read_trivy(data: Json) -> list[ScanFinding] | None:
    """Return vulnerabilities, misconfigurations and secrets of all targets; None if it is not a
    Trivy report.
    """
    if not isinstance(data, dict) or "SchemaVersion" not in data or "ArtifactName" not in data:
        return None
    found: list[ScanFinding] = []
    for number, result in enumerate(_dicts(data.get("Results"))):
        for kind in ("Vulnerabilities", "Misconfigurations", "Secrets"):
            for at, one in enumerate(_dicts(result.get(kind))):
                if str(one.get("Status", "")).upper() == "PASS":
                    continue  # a misconfiguration check that passed
                name = str(one.get("VulnerabilityID") or one.get("ID") or one.get("RuleID") or "")
                severity = str(one.get("Severity", "")).lower()
                text = f"{one.get('PkgName', '')} {one.get('Title', '')}".strip()
                rank = severity if severity in SEVERITIES else "medium"
                found.append(ScanFinding(name, rank, text, f"/Results/{number}/{kind}/{at}"))
        for at, one in enumerate(_dicts(result.get("ExperimentalModifiedFindings"))):
            inner = _inner(one, "Finding")
            severity = str(inner.get("Severity", "")).lower()
            locator = f"/Results/{number}/ExperimentalModifiedFindings/{at}"
            why = f"suppressed ({one.get('Status', 'by a statement')})"
            found.append(
                ScanFinding(str(inner.get("VulnerabilityID", "")), severity, "", locator, why)
            )
    return found


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _inner(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def open_by_severity(findings: list[ScanFinding]) -> Iterator[tuple[str, list[ScanFinding]]]:
    """Yield each severity with its open findings, also if there are none."""
    for severity in SEVERITIES:
        yield severity, [one for one in findings if one.severity == severity and not one.suppressed]
