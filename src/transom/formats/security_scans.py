"""Reports of security scanners, recognised by content: SARIF 2.1, Trivy, and others in JSON.

A finding that the tool marks as suppressed or absent is not open: by SARIF's suppressions, if at
least one is accepted or has no status (a rejected one, or one under review, does not suppress), or
by its `baselineState`. Trivy's
`Status: fixed` means that a fixed version exists, so such a vulnerability is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transom.canonical import Json
from transom.formats.json_scanners import SCANNER_READERS
from transom.formats.json_tree import members_of
from transom.formats.scan_findings import (
    SCORE_RANKS,
    SEVERITIES,
    ScanFinding,
    ScanReport,
    dict_at,
    dict_entries,
    documents_of,
    rank_of,
)

GONE_SINCE_BASELINE = "absent since the baseline"
"""The suppression of a result of an earlier run that this run did not find any more."""
_LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
# Tools whose findings are secrets.
_SECRET_FINDERS = ("gitleaks", "trufflehog", "detect-secrets", "ggshield", "noseyparker")
# Where tools count the findings that they list.
_TOTALS = {
    "Checkov": (("summary", "failed"),),
    "Gosec": (("Stats", "found"),),
    "Brakeman": (("scan_info", "security_warnings"),),
    "cargo audit": (("vulnerabilities", "count"),),
}
_FINDING_LISTS = frozenset(
    {"vulnerabilities", "findings", "issues", "alerts", "violations", "secrets"}
)


def read_scan(data: Json) -> ScanReport | None:
    """Return the report of a scanner; None if the data is something else."""
    # SARIF first: many scanners write it, and its keys are those of no other format.
    sarif = read_sarif(data)
    if sarif is not None:
        return ScanReport("SARIF", "/runs", tuple(sarif), tuple(_sarif_problems(data)))
    trivy = read_trivy(data)
    if trivy is not None:
        return ScanReport("Trivy", "/Results", tuple(trivy), tuple(_trivy_problems(data)))
    for reader in SCANNER_READERS:
        report = reader(data)
        if report is not None:
            doubts = (*_unread_entries(data, report), *_counts_without_entries(data, report))
            return replace(report, problems=(*report.problems, *doubts))
    return None


def _unread_entries(data: Json, report: ScanReport) -> Iterator[tuple[str, str]]:
    """Yield grave entries in lists of findings that the tool's reader did not look at.

    Tools add parts to their reports; a part that is not known must not be taken for nothing.
    """
    places = [finding.locator for finding in report.findings]
    for locator, entry in _listed_entries(data, ""):
        is_grave = rank_of(entry.get("severity")) in ("critical", "high")
        is_read = any(
            # A reader may take an entry as a whole, or the entries in it.
            place == locator or place.startswith(f"{locator}/") or locator.startswith(f"{place}/")
            for place in places
        )
        if is_grave and not is_read:
            yield (
                f"{report.tool} has {entry['severity']} entries in a part that is not read",
                locator,
            )
            return


def _counts_without_entries(data: Json, report: ScanReport) -> Iterator[tuple[str, str]]:
    """Yield a total of the tool's own that is above the findings it lists: the list was cut."""
    for top, document in documents_of(data):
        for section, key in _TOTALS.get(report.tool, ()):
            value: object = members_of(members_of(document).get(section)).get(key)
            listed = [finding for finding in report.findings if finding.locator.startswith(top)]
            if isinstance(value, int) and value > len(listed):
                yield (
                    f"{value} findings are counted, {len(listed)} listed",
                    f"{top}/{section}/{key}",
                )


def _listed_entries(value: object, locator: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of all lists under a name of findings, with their places."""
    if isinstance(value, dict):
        for key, inner in value.items():
            place = f"{locator}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if str(key).lower() in _FINDING_LISTS:
                for number, entry in enumerate(dict_entries(inner)):
                    yield f"{place}/{number}", entry
            yield from _listed_entries(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _listed_entries(inner, f"{locator}/{number}")


def _sarif_problems(data: Json) -> Iterator[tuple[str, str]]:
    """Yield the runs that did not end well, and a log without any run."""
    runs = dict_entries(data["runs"]) if isinstance(data, dict) else []
    if not runs:
        yield "the log has no run", "/runs"
    for number, run in enumerate(runs):
        for place, invocation in enumerate(dict_entries(run.get("invocations"))):
            if invocation.get("executionSuccessful") is False:
                locator = f"/runs/{number}/invocations/{place}/executionSuccessful"
                yield "a run was not successful", locator
            yield from _error_notifications(invocation, f"/runs/{number}/invocations/{place}")
        # A run without the key `results` did not look; an empty list found nothing.
        if not isinstance(run.get("results"), list):
            yield "a run has no results", f"/runs/{number}"


def _error_notifications(invocation: dict[str, Any], top: str) -> Iterator[tuple[str, str]]:
    """Yield the errors that a tool met in a run, such as files that it could not read."""
    for kind in ("toolExecutionNotifications", "toolConfigurationNotifications"):
        for place, notification in enumerate(dict_entries(invocation.get(kind))):
            if notification.get("level") == "error":
                yield "the scanner met errors", f"{top}/{kind}/{place}"
                break


def _trivy_problems(data: Json) -> Iterator[tuple[str, str]]:
    """Yield targets of another image than the one that the report is about, and a report without
    any target.
    """
    if not isinstance(data, dict):
        return
    is_of_cluster = "Resources" in data or "Findings" in data
    if not is_of_cluster and not dict_entries(data.get("Results")):
        # A clean image has a target without vulnerabilities.
        yield "the scanner found nothing to scan", "/Results"
    artifact = str(data.get("ArtifactName", ""))
    for number, result in enumerate(dict_entries(data.get("Results"))):
        target = str(result.get("Target", ""))
        image, bracket, _ = target.partition(" (")
        # The target of the packages of a system is `IMAGE (debian 12.4)`; other targets are files.
        if result.get("Class") == "os-pkgs" and bracket and artifact and image != artifact:
            yield f"the report is of {artifact}, its target of {image}", f"/Results/{number}/Target"


def read_sarif(data: Json) -> list[ScanFinding] | None:
    """Return the findings of all runs; None if the data is not SARIF."""
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("runs"), list)
        or "version" not in data
    ):
        return None
    findings: list[ScanFinding] = []
    for number, run in enumerate(dict_entries(data["runs"])):
        rules = _rules(run)
        tool = str(dict_at(dict_at(run, "tool"), "driver").get("name", "")).casefold()
        finds_secrets = any(name in tool for name in _SECRET_FINDERS)
        for index, result in enumerate(dict_entries(run.get("results"))):
            # Results of other kinds say that a rule was met, or does not apply.
            if result.get("kind", "fail") not in ("fail", "review", "open"):
                continue
            finding = _sarif_finding(result, rules, f"/runs/{number}/results/{index}")
            # These tools rate nothing: each of their findings is a secret in the repository.
            if finds_secrets and finding.severity in ("medium", "low"):
                finding = replace(finding, severity="high")
            findings.append(finding)
    return findings


def _sarif_finding(
    result: dict[str, Any], rules: dict[object, dict[str, Any]], locator: str
) -> ScanFinding:
    rule_id = str(result.get("ruleId") or dict_at(result, "rule").get("id") or "")
    rule = _rule_of(result, rule_id, rules)
    text = str(dict_at(result, "message").get("text", ""))
    return ScanFinding(rule_id, _sarif_severity(result, rule), text, locator, _suppressed(result))


def _rules(run: dict[str, Any]) -> dict[object, dict[str, Any]]:
    """Return the rules by id, and those of the driver also by their index."""
    tool = dict_at(run, "tool")
    driver_rules = dict_entries(dict_at(tool, "driver").get("rules"))
    rules = dict[object, dict[str, Any]](enumerate(driver_rules))
    extensions = dict_entries(tool.get("extensions"))
    for place, extension in enumerate(extensions):
        # An index of a result counts within the component that its `rule` names.
        for index, rule in enumerate(dict_entries(extension.get("rules"))):
            rules[place, index] = rule
            rules.setdefault(rule.get("id"), rule)
    # Last, so that a rule of the driver is found by its id before that of an extension.
    for rule in driver_rules:
        rules[rule.get("id")] = rule
    return rules


def _rule_of(
    result: dict[str, Any], rule_id: str, rules: dict[object, dict[str, Any]]
) -> dict[str, Any]:
    """Return the rule of a result; {} if the log does not describe it."""
    reference = dict_at(result, "rule")
    component = dict_at(reference, "toolComponent").get("index")
    if component is not None and (component, reference.get("index")) in rules:
        return rules[component, reference.get("index")]
    return rules.get(rule_id) or rules.get(result.get("ruleIndex")) or {}


def _sarif_severity(result: dict[str, Any], rule: dict[str, Any]) -> str:
    """Return the severity by the tool's security score, its own word, or SARIF's level, in that
    order.
    """
    for of in (dict_at(result, "properties"), dict_at(rule, "properties")):
        try:
            score = float(of["security-severity"])
        except (KeyError, TypeError, ValueError):
            word = str(of.get("issue_severity") or of.get("severity") or "").lower()
            if word in SEVERITIES:
                return word
            continue
        # GitHub reads the security score before the level, and so do tools that write SARIF for it.
        return next(name for least, name in SCORE_RANKS if score >= least)
    level = result.get("level") or dict_at(rule, "defaultConfiguration").get("level") or "warning"
    return _LEVELS.get(str(level), "medium")


def _suppressed(result: dict[str, Any]) -> str:
    if result.get("baselineState") == "absent":
        return GONE_SINCE_BASELINE
    listed = dict_entries(result.get("suppressions"))
    states = [str(suppression.get("status", "accepted")) for suppression in listed]
    # Each of them was rejected, or somebody is still to decide on it.
    if "accepted" not in states:
        return ""
    return f"suppressed {listed[0].get('kind', 'externally')}"


def read_trivy(data: Json) -> list[ScanFinding] | None:
    """Return vulnerabilities, misconfigurations and secrets of all targets, also of a cluster; None
    if it is not a Trivy report.
    """
    if not isinstance(data, dict):
        return None
    if "SchemaVersion" in data and "ArtifactName" in data:
        return list(_trivy_results(data.get("Results"), "/Results"))
    # `trivy k8s` reports a cluster by its resources.
    if "ClusterName" in data and isinstance(data.get("Resources"), list):
        findings = list[ScanFinding]()
        for number, resource in enumerate(dict_entries(data["Resources"])):
            findings += _trivy_results(resource.get("Results"), f"/Resources/{number}/Results")
        return findings
    return None


def _trivy_results(listed: object, top: str) -> Iterator[ScanFinding]:
    """Yield the findings of a list of targets."""
    for number, result in enumerate(dict_entries(listed)):
        for kind in ("Vulnerabilities", "Misconfigurations", "Secrets"):
            for place, entry in enumerate(dict_entries(result.get(kind))):
                if str(entry.get("Status", "")).upper() == "PASS":
                    continue  # a misconfiguration check that passed
                name = entry.get("VulnerabilityID") or entry.get("ID") or entry.get("RuleID")
                text = f"{entry.get('PkgName', '')} {entry.get('Title', '')}".strip()
                locator = f"{top}/{number}/{kind}/{place}"
                rank = rank_of(entry.get("Severity"))
                yield ScanFinding(str(name or ""), rank, text, locator)
        for place, entry in enumerate(dict_entries(result.get("ExperimentalModifiedFindings"))):
            inner = dict_at(entry, "Finding")
            locator = f"{top}/{number}/ExperimentalModifiedFindings/{place}"
            why = f"suppressed ({entry.get('Status', 'by a statement')})"
            rank = rank_of(inner.get("Severity"))
            yield ScanFinding(str(inner.get("VulnerabilityID", "")), rank, "", locator, why)
