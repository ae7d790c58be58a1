"""Readers of scanners that print JSON in a form of their own.

Each reader gets the whole document, and returns None if another tool wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from transom.formats.json_tree import members_of
from transom.formats.package_audits import AUDIT_READERS
from transom.formats.scan_findings import (
    UNRATED,
    ScanFinding,
    ScanReport,
    dict_at,
    dict_entries,
    documents_of,
    rank_of,
    rank_of_score,
)


def _grype(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("matches"), list):
        return None
    findings = list[ScanFinding]()
    for kind, why in (("matches", ""), ("ignoredMatches", "ignored by a rule")):
        for place, match in enumerate(dict_entries(data.get(kind))):
            entry = dict_at(match, "vulnerability")
            name = str(dict_at(match, "artifact").get("name", ""))
            rank = rank_of(entry.get("severity"))
            locator = f"/{kind}/{place}"
            findings.append(ScanFinding(str(entry.get("id", "")), rank, name, locator, why))
    return ScanReport("Grype", "/matches", tuple(findings))


def _semgrep(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return None
    paths = data.get("paths")
    if "errors" not in data or not isinstance(paths, dict) or "scanned" not in paths:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(dict_entries(data["results"])):
        extra = dict_at(entry, "extra")
        why = "ignored in the source" if extra.get("is_ignored") is True else ""
        text = str(extra.get("message", ""))
        locator = f"/results/{place}"
        rank = rank_of(extra.get("severity"))
        findings.append(ScanFinding(str(entry.get("check_id", "")), rank, text, locator, why))
    problems = list[tuple[str, str]]()
    if data["errors"]:
        problems.append(("the scanner met errors", "/errors"))
    if not paths["scanned"]:
        problems.append(("no file was scanned", "/paths/scanned"))
    return ScanReport("Semgrep", "/results", tuple(findings), tuple(problems))


def _snyk(data: Any) -> ScanReport | None:
    """Read one project, or the list of several."""
    projects = documents_of(data)
    if not projects or not all(_is_snyk(project) for _, project in projects):
        return None
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for top, project in projects:
        findings += _snyk_findings(project, top)
        # `snyk container` lists what it found in the image's applications below each of them.
        for place, application in enumerate(dict_entries(project.get("applications"))):
            findings += _snyk_findings(application, f"{top}/applications/{place}")
        if project.get("error"):
            problems.append(("the scanner met an error", f"{top}/error"))
        if project.get("dependencyCount") == 0:
            problems.append(("no dependency was looked at", f"{top}/dependencyCount"))
    return ScanReport(
        "Snyk",
        "" if isinstance(data, list) else "/vulnerabilities",
        tuple(findings),
        tuple(problems),
    )


def _snyk_findings(project: dict[str, Any], top: str) -> Iterator[ScanFinding]:
    for place, entry in enumerate(dict_entries(project.get("vulnerabilities"))):
        text = f"{entry.get('packageName', '')} {entry.get('title', '')}".strip()
        locator = f"{top}/vulnerabilities/{place}"
        yield ScanFinding(str(entry.get("id", "")), rank_of(entry.get("severity")), text, locator)
    # What the project's own policy hides is listed apart.
    for place, entry in enumerate(dict_entries(dict_at(project, "filtered").get("ignore"))):
        rank, locator = rank_of(entry.get("severity")), f"{top}/filtered/ignore/{place}"
        yield ScanFinding(str(entry.get("id", "")), rank, "", locator, "ignored by the policy")


def _is_snyk(project: object) -> bool:
    return (
        isinstance(project, dict)
        and isinstance(project.get("vulnerabilities"), list)
        and isinstance(project.get("ok"), bool)
    )


def _osv(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return None
    sources = dict_entries(data["results"])
    if not all("packages" in source and "source" in source for source in sources):
        return None
    if not sources and data.keys() - {"results", "experimental_config"}:
        return None
    findings = list[ScanFinding]()
    for number, source in enumerate(sources):
        for place, package in enumerate(dict_entries(source["packages"])):
            name = str(dict_at(package, "package").get("name", ""))
            groups = dict_entries(package.get("groups"))
            if not groups:
                findings += _osv_without_groups(package, f"/results/{number}/packages/{place}")
            for at_group, group in enumerate(groups):
                ids = group.get("ids")
                rank = rank_of_score(group.get("max_severity"))
                identifier = str(ids[0]) if isinstance(ids, list) and ids else ""
                locator = f"/results/{number}/packages/{place}/groups/{at_group}"
                findings.append(ScanFinding(identifier, rank, name, locator))
    return ScanReport("OSV-Scanner", "/results", tuple(findings))


def _osv_without_groups(package: dict[str, Any], top: str) -> Iterator[ScanFinding]:
    """Yield the vulnerabilities of a package; only groups have a rating."""
    name = str(dict_at(package, "package").get("name", ""))
    for place, entry in enumerate(dict_entries(package.get("vulnerabilities"))):
        locator = f"{top}/vulnerabilities/{place}"
        yield ScanFinding(str(entry.get("id", "")), UNRATED, name, locator)


def _dependency_check(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or "scanInfo" not in data or "dependencies" not in data:
        return None
    findings = list[ScanFinding]()
    for number, row in enumerate(dict_entries(data["dependencies"])):
        for kind, why in (("vulnerabilities", ""), ("suppressedVulnerabilities", "suppressed")):
            for place, entry in enumerate(dict_entries(row.get(kind))):
                rank = rank_of(entry.get("severity"))
                name = str(entry.get("name", ""))
                text = str(row.get("fileName", ""))
                locator = f"/dependencies/{number}/{kind}/{place}"
                findings.append(ScanFinding(name, rank, text, locator, why))
    problems = list[tuple[str, str]]()
    if not data["dependencies"]:
        problems.append(("no dependency was looked at", "/dependencies"))
    if dict_at(data, "scanInfo").get("analysisExceptions"):
        problems.append(("the scanner met errors", "/scanInfo/analysisExceptions"))
    return ScanReport("dependency-check", "/dependencies", tuple(findings), tuple(problems))


def _gitlab(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not isinstance(data.get("vulnerabilities"), list):
        return None
    scan = data.get("scan")
    if not isinstance(scan, dict) or "version" not in data:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(dict_entries(data["vulnerabilities"])):
        name = str(entry.get("name") or entry.get("message") or entry.get("id") or "")
        rank = rank_of(entry.get("severity"))
        flags = {flag.get("type") for flag in dict_entries(entry.get("flags"))}
        why = (
            "flagged as a likely false positive"
            if "flagged-as-likely-false-positive" in flags
            else ""
        )
        findings.append(ScanFinding(name, rank, "", f"/vulnerabilities/{place}", why))
    problems = list[tuple[str, str]]()
    if str(scan.get("status", "success")) != "success":
        problems.append((f"the scan is called {scan['status']}", "/scan/status"))
    return ScanReport("GitLab report", "/vulnerabilities", tuple(findings), tuple(problems))


def _zap(data: Any) -> ScanReport | None:
    sites = members_of(data).get("site")
    if not isinstance(data, dict) or sites is None or "@version" not in data:
        return None
    rows = [sites] if isinstance(sites, dict) else sites
    findings = list[ScanFinding]()
    ranks = {"3": "high", "2": "medium", "1": "low", "0": "low"}
    for number, site in enumerate(dict_entries(rows)):
        top = "/site" if isinstance(sites, dict) else f"/site/{number}"
        for place, alert in enumerate(dict_entries(site.get("alerts"))):
            rank = ranks.get(str(alert.get("riskcode")), UNRATED)
            name = str(alert.get("alert") or alert.get("name") or "")
            # Confidence 0 is a false positive by a person's word.
            why = "marked as a false positive" if str(alert.get("confidence")) == "0" else ""
            findings.append(ScanFinding(name, rank, "", f"{top}/alerts/{place}", why))
    problems = [] if rows else [("no site was looked at", "/site")]
    return ScanReport("ZAP", "/site", tuple(findings), tuple(problems))


def _checkov(data: Any) -> ScanReport | None:
    reports = documents_of(data)
    if not reports or not all(isinstance(row, dict) and "check_type" in row for _, row in reports):
        return None
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for top, report in reports:
        results = dict_at(report, "results")
        for place, entry in enumerate(dict_entries(results.get("failed_checks"))):
            text = str(entry.get("check_name", ""))
            locator = f"{top}/results/failed_checks/{place}"
            rank = rank_of(entry.get("severity"))
            findings.append(ScanFinding(str(entry.get("check_id", "")), rank, text, locator))
        if dict_at(report, "summary").get("parsing_errors"):
            problems.append(("files could not be parsed", f"{top}/summary/parsing_errors"))
    return ScanReport("Checkov", "", tuple(findings), tuple(problems))


def _gitleaks(data: Any) -> ScanReport | None:
    rows = dict_entries(data)
    if not rows:
        return None
    # Before version 8.8 there is no fingerprint; up to version 7 the keys are in lower case.
    is_new = all({"RuleID", "StartLine", "Secret"} <= row.keys() for row in rows)
    is_old = all({"rule", "offender", "commit"} <= row.keys() for row in rows)
    if not is_new and not is_old:
        return None
    findings = list[ScanFinding]()
    for place, row in enumerate(rows):
        text = str(row.get("Description", ""))
        rule = str(row.get("RuleID") or row.get("rule"))
        # Each of its findings is a secret in the repository.
        findings.append(ScanFinding(rule, "high", text, f"/{place}"))
    return ScanReport("gitleaks", "", tuple(findings))


def _trufflehog(data: Any) -> ScanReport | None:
    rows = documents_of(data)
    if not rows or not all(
        {"DetectorName", "Verified", "SourceMetadata"} <= members_of(row).keys() for _, row in rows
    ):
        return None
    findings = list[ScanFinding]()
    for locator, row in rows:
        # A verified secret was tried out, and opens something.
        rank = "critical" if row["Verified"] is True else "high"
        findings.append(ScanFinding(str(row["DetectorName"]), rank, "", locator))
    return ScanReport("TruffleHog", "", tuple(findings))


def _detect_secrets(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or not {"plugins_used", "results", "version"} <= data.keys():
        return None
    findings = list[ScanFinding]()
    for path, rows in dict_at(data, "results").items():
        top = f"/results/{path.replace('~', '~0').replace('/', '~1')}"
        for place, row in enumerate(dict_entries(rows)):
            # `detect-secrets audit` writes a person's word into the file.
            why = "suppressed external" if row.get("is_secret") is False else ""
            rank = "critical" if row.get("is_verified") is True else "high"
            kind = str(row.get("type", ""))
            findings.append(ScanFinding(kind, rank, path, f"{top}/{place}", why))
    problems = [] if data["plugins_used"] else [("no detector was used", "/plugins_used")]
    return ScanReport("detect-secrets", "/results", tuple(findings), tuple(problems))


def _alerts(data: Any) -> ScanReport | None:
    """Read alerts of GitHub's REST API: code scanning, Dependabot, secret scanning."""
    rows = dict_entries(data)
    if not rows or not all(
        "number" in row and "state" in row and "html_url" in row for row in rows
    ):
        return None
    if not all(row.keys() & {"rule", "security_advisory", "secret_type"} for row in rows):
        return None
    findings = list[ScanFinding]()
    for place, row in enumerate(rows):
        rule, advisory = dict_at(row, "rule"), dict_at(row, "security_advisory")
        word = (
            rule.get("security_severity_level") or rule.get("severity") or advisory.get("severity")
        )
        rank = "high" if "secret_type" in row else rank_of(word)
        name = str(rule.get("id") or advisory.get("ghsa_id") or row.get("secret_type") or "")
        # A dismissed alert is a person's word, a fixed one the tool's.
        state = str(row["state"])
        why = "" if state == "open" else state
        findings.append(ScanFinding(name, rank, "", f"/{place}", why))
    return ScanReport("GitHub alerts", "", tuple(findings))


def _listed(
    tool: str, key: str, marks: Iterable[str], names: Mapping[str, str], *, ignored: str = ""
) -> Callable[[Any], ScanReport | None]:
    """Return the reader of a report that is a list of findings under one key.

    Args:
        marks: keys that a report of this tool has beside the list.
        names: where a finding has its `id`, its `severity` and its `text`.
        ignored: the key of the findings that the project's own configuration hides, if any.
    """
    needed = frozenset(marks)

    def read(data: Any) -> ScanReport | None:
        if not isinstance(data, dict) or not needed <= data.keys():
            return None
        listed = data.get(key)
        if listed is not None and not isinstance(listed, list):
            return None
        findings = list[ScanFinding]()
        for list_key, why in ((key, ""), (ignored, "ignored by the configuration")):
            for place, entry in enumerate(dict_entries(data.get(list_key))):
                identifier, text = (
                    str(entry.get(names["id"], "")),
                    str(entry.get(names["text"], "")),
                )
                rank, locator = rank_of(entry.get(names["severity"])), f"/{list_key}/{place}"
                findings.append(ScanFinding(identifier, rank, text, locator, why))
        problems = list[tuple[str, str]]()
        for name in ("errors", "Golang errors"):
            if data.get(name):
                problems.append(("the scanner met errors", f"/{name}"))
        return ScanReport(tool, f"/{key}", tuple(findings), tuple(problems))

    return read


SCANNER_READERS: tuple[Callable[[Any], ScanReport | None], ...] = (
    _grype,
    _semgrep,
    _listed(
        "Bandit",
        "results",
        ("results", "metrics", "generated_at"),
        {"id": "test_id", "severity": "issue_severity", "text": "issue_text"},
    ),
    _listed(
        "Gosec",
        "Issues",
        ("Issues", "Stats", "Golang errors"),
        {"id": "rule_id", "severity": "severity", "text": "details"},
    ),
    _listed(
        "Brakeman",
        "warnings",
        ("warnings", "scan_info"),
        {"id": "warning_type", "severity": "confidence", "text": "message"},
        ignored="ignored_warnings",
    ),
    _snyk,
    _dependency_check,
    _osv,
    _gitlab,
    _zap,
    _checkov,
    _gitleaks,
    _trufflehog,
    _detect_secrets,
    _alerts,
    *AUDIT_READERS,
)
