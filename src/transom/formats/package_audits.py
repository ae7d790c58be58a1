"""Audits of package managers in JSON: npm, pip, Cargo, Composer and .NET.

Each reader gets the whole document, and returns None if another tool wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from transom.formats.json_tree import elements_of, members_of
from transom.formats.scan_findings import (
    UNRATED,
    ScanFinding,
    ScanReport,
    dict_at,
    dict_entries,
    rank_of,
)

# The lists of packages that `dotnet list package` prints for a framework.
_DOTNET_LISTS = ("topLevelPackages", "transitivePackages")


def _npm(data: Any) -> ScanReport | None:
    if not isinstance(data, dict):
        return None
    if "auditReportVersion" in data and isinstance(data.get("vulnerabilities"), dict):
        findings = list[ScanFinding]()
        for name, entry in data["vulnerabilities"].items():
            if isinstance(entry, dict):
                locator = f"/vulnerabilities/{name.replace('~', '~0').replace('/', '~1')}"
                findings.append(ScanFinding(name, rank_of(entry.get("severity")), "", locator))
        problems = list[tuple[str, str]]()
        total = dict_at(dict_at(data, "metadata"), "dependencies").get("total")
        if total == 0:
            problems.append(("no dependency was looked at", "/metadata/dependencies/total"))
        counts = dict_at(dict_at(data, "metadata"), "vulnerabilities")
        for rank in ("critical", "high"):
            # The counts are of vulnerabilities, the list is of packages.
            if counts.get(rank) and rank not in [finding.severity for finding in findings]:
                text = f"{counts[rank]} {rank} are counted, none is listed"
                problems.append((text, f"/metadata/vulnerabilities/{rank}"))
        return ScanReport("npm audit", "/vulnerabilities", tuple(findings), tuple(problems))
    if isinstance(data.get("advisories"), dict) and "metadata" in data:
        findings = []
        for name, entry in data["advisories"].items():
            if isinstance(entry, dict):
                text = f"{entry.get('module_name', '')} {entry.get('title', '')}".strip()
                rank = rank_of(entry.get("severity"))
                findings.append(ScanFinding(name, rank, text, f"/advisories/{name}"))
        return ScanReport("npm audit", "/advisories", tuple(findings))
    return None


def _pip_audit(data: Any) -> ScanReport | None:
    """Read pip-audit, which rates nothing."""
    listed = data.get("dependencies") if isinstance(data, dict) else data
    rows = dict_entries(listed)
    if not rows or not all("vulns" in row or "skip_reason" in row for row in rows):
        return None
    top = "/dependencies" if isinstance(data, dict) else ""
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for number, row in enumerate(rows):
        if "skip_reason" in row:
            problems.append((f"{row.get('name')} was skipped", f"{top}/{number}/skip_reason"))
        for place, entry in enumerate(dict_entries(row.get("vulns"))):
            locator = f"{top}/{number}/vulns/{place}"
            name = str(row.get("name", ""))
            findings.append(ScanFinding(str(entry.get("id", "")), UNRATED, name, locator))
    return ScanReport("pip-audit", top, tuple(findings), tuple(problems))


def _cargo(data: Any) -> ScanReport | None:
    if not isinstance(data, dict) or "lockfile" not in data or "database" not in data:
        return None
    findings = list[ScanFinding]()
    for place, entry in enumerate(dict_entries(dict_at(data, "vulnerabilities").get("list"))):
        advisory = dict_at(entry, "advisory")
        name, text = str(advisory.get("id", "")), str(advisory.get("title", ""))
        findings.append(ScanFinding(name, UNRATED, text, f"/vulnerabilities/list/{place}"))
    for place, name in enumerate(elements_of(dict_at(data, "settings").get("ignore"))):
        locator, why = f"/settings/ignore/{place}", "ignored by the configuration"
        findings.append(ScanFinding(str(name), UNRATED, "", locator, why))
    return ScanReport("cargo audit", "/vulnerabilities", tuple(findings))


def _composer(data: Any) -> ScanReport | None:
    """Read `composer audit`, which prints a list, not an object, if there is no advisory."""
    keys = {"advisories", "abandoned"}
    if not isinstance(data, dict) or not keys <= data.keys() or "metadata" in data:
        return None
    findings = list[ScanFinding]()
    for kind, why in (("advisories", ""), ("ignored-advisories", "ignored by the configuration")):
        for package, advisories in members_of(data.get(kind)).items():
            top = f"/{kind}/{package.replace('~', '~0').replace('/', '~1')}"
            findings += _composer_advisories(advisories, top, why)
    return ScanReport("Composer audit", "/advisories", tuple(findings))


def _composer_advisories(advisories: object, top: str, why: str) -> Iterator[ScanFinding]:
    """Yield the advisories of a package: a list, or an object by number after a filter."""
    numbered = dict(enumerate(elements_of(advisories))) or members_of(advisories)
    for place, advisory in numbered.items():
        entry = members_of(advisory)
        name = str(entry.get("cve") or entry.get("advisoryId") or "")
        rank = rank_of(entry.get("severity"))
        yield ScanFinding(name, rank, str(entry.get("title", "")), f"{top}/{place}", why)


def _dotnet(data: Any) -> ScanReport | None:
    """Read `dotnet list package --vulnerable`; without this option it is no audit."""
    if not isinstance(data, dict) or "--vulnerable" not in str(data.get("parameters")).split():
        return None
    projects = dict_entries(data.get("projects"))
    findings = list[ScanFinding]()
    for number, project in enumerate(projects):
        for place, framework in enumerate(dict_entries(project.get("frameworks"))):
            top = f"/projects/{number}/frameworks/{place}"
            for kind in _DOTNET_LISTS:
                for index, package in enumerate(dict_entries(framework.get(kind))):
                    findings += _dotnet_findings(package, f"{top}/{kind}/{index}")
    problems = list[tuple[str, str]]()
    if not projects:
        problems.append(("no project was looked at", "/projects"))
    for number, problem in enumerate(dict_entries(data.get("problems"))):
        problems.append((str(problem.get("text", "a problem")), f"/problems/{number}"))
    return ScanReport("dotnet list package", "/projects", tuple(findings), tuple(problems))


def _dotnet_findings(package: dict[str, Any], top: str) -> Iterator[ScanFinding]:
    for place, entry in enumerate(dict_entries(package.get("vulnerabilities"))):
        address = str(entry.get("advisoryurl", ""))
        rank, locator = rank_of(entry.get("severity")), f"{top}/vulnerabilities/{place}"
        yield ScanFinding(address.rpartition("/")[2], rank, str(package.get("id", "")), locator)


AUDIT_READERS: tuple[Callable[[Any], ScanReport | None], ...] = (
    _npm,
    _pip_audit,
    _cargo,
    _composer,
    _dotnet,
)
