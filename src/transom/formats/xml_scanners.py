"""Readers of scanners that print XML: ZAP, dependency-check, Burp, Nikto, SpotBugs.

Each reader gets the root element, and returns None if another tool wrote it. A report without
findings is clean only if it says what was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from transom.formats.scan_findings import UNRATED, ScanFinding, ScanReport, rank_of
from transom.formats.xml_paths import tag_of

_ZAP_RISKS = {"3": "high", "2": "medium", "1": "low", "0": "low"}
_BURP_RANKS = {"information": "low", "false positive": "low"}
_PRIORITIES = {"1": "high", "2": "medium", "3": "low"}
_SECURITY = ("SECURITY", "MALICIOUS_CODE")
_SECURITY_RULES = "findsecbugs"


def read_scan_xml(root: Element) -> ScanReport | None:
    """Return the report of a scanner in XML; None if the document is something else."""
    reader = _READERS.get(tag_of(root))
    if reader is None:
        return None
    return reader(root, f"/{tag_of(root)}")


def _zap(root: Element, top: str) -> ScanReport | None:
    findings = list[ScanFinding]()
    sites = list(_below(root, top, "site"))
    for place, site in sites:
        for alerts_place, alerts in _below(site, place, "alerts"):
            for locator, alert in _below(alerts, alerts_place, "alertitem"):
                rank = _ZAP_RISKS.get(_text(alert, "riskcode"), UNRATED)
                name = _text(alert, "alert") or _text(alert, "name")
                # Confidence 0 is a false positive by a person's word.
                is_false = _text(alert, "confidence") == "0"
                why = "marked as a false positive" if is_false else ""
                findings.append(ScanFinding(name, rank, "", locator, why))
    problems = () if sites else (("no site was looked at", top),)
    return ScanReport("ZAP", top, tuple(findings), problems)


def _dependency_check(root: Element, top: str) -> ScanReport | None:
    if root.find("{*}scanInfo") is None:
        return None
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    dependencies = list[tuple[str, Element]]()
    for place, listed in _below(root, top, "dependencies"):
        dependencies += _below(listed, place, "dependency")
    for place, dependency in dependencies:
        file = _text(dependency, "fileName")
        for listed_place, listed in _below(dependency, place, "vulnerabilities"):
            for kind, why in (("vulnerability", ""), ("suppressedVulnerability", "suppressed")):
                for locator, entry in _below(listed, listed_place, kind):
                    rank = rank_of(_text(entry, "severity"))
                    findings.append(ScanFinding(_text(entry, "name"), rank, file, locator, why))
    if not dependencies:
        problems.append(("no dependency was looked at", top))
    # An analysis without its database breaks off, and finds nothing.
    for place, _ in _below(root, top, "analysisExceptions"):
        problems.append(("the scanner met errors", place))
    return ScanReport("dependency-check", top, tuple(findings), tuple(problems))


def _burp(root: Element, top: str) -> ScanReport | None:
    if "burpVersion" not in root.attrib:
        return None
    findings = list[ScanFinding]()
    for locator, issue in _below(root, top, "issue"):
        word = _text(issue, "severity")
        rank = _BURP_RANKS.get(word.casefold()) or rank_of(word)
        why = "marked as a false positive" if word.casefold() == "false positive" else ""
        text = f"{_text(issue, 'host')}{_text(issue, 'path')}"
        findings.append(ScanFinding(_text(issue, "name"), rank, text, locator, why))
    # The export names hosts with their issues only, so without issues it tells of no scan.
    problems = () if findings else (("the scanned hosts are not named", top),)
    return ScanReport("Burp", top, tuple(findings), problems)


def _nikto(root: Element, top: str) -> ScanReport | None:
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    scans = list(_below(root, top, "scandetails"))
    for scan_place, scan in list(_below(root, top, "niktoscan")):
        scans += _below(scan, scan_place, "scandetails")
    for place, details in scans:
        for locator, item in _below(details, place, "item"):
            # Nikto rates nothing: a person has to.
            name = item.get("id", "")
            findings.append(ScanFinding(name, UNRATED, _text(item, "description"), locator))
        tested = details.find("{*}statistics")
        if tested is None or tested.get("itemstested", tested.get("checks", "0")) == "0":
            problems.append(("no test of the host is counted", place))
    if not scans:
        problems.append(("no host was looked at", top))
    return ScanReport("Nikto", top, tuple(findings), tuple(problems))


def _spotbugs(root: Element, top: str) -> ScanReport | None:
    """Read the findings on security; the report proves nothing without rules on security."""
    findings = list[ScanFinding]()
    problems = list[tuple[str, str]]()
    for locator, bug in _below(root, top, "BugInstance"):
        if bug.get("category") in _SECURITY:
            rank = _PRIORITIES.get(bug.get("priority", ""), UNRATED)
            text = _text(bug, "ShortMessage") or _text(bug, "LongMessage")
            findings.append(ScanFinding(bug.get("type", ""), rank, text, locator))
    plugins = [plugin.get("id", "") for plugin in root.iter() if tag_of(plugin) == "Plugin"]
    if not any(_SECURITY_RULES in plugin for plugin in plugins):
        problems.append(("its rules on security (Find Security Bugs) are not named", top))
    for place, errors in _below(root, top, "Errors"):
        if any(errors.get(name, "0") != "0" for name in ("errors", "missingClasses")):
            problems.append(("the scanner met errors", place))
    for place, summary in _below(root, top, "FindBugsSummary"):
        if summary.get("total_classes") == "0":
            problems.append(("no class was looked at", place))
    return ScanReport("SpotBugs", top, tuple(findings), tuple(problems))


def _below(parent: Element, path: str, tag: str) -> Iterator[tuple[str, Element]]:
    """Yield the children with a tag, with their places."""
    number = 0
    for child in parent:
        if tag_of(child) == tag:
            number += 1
            yield f"{path}/{tag}[{number}]", child


def _text(parent: Element, tag: str) -> str:
    """Return the text of a child, whatever its namespace; "" if there is none."""
    child = parent.find(f"{{*}}{tag}")
    return (child.text or "").strip() if child is not None else ""


_READERS: dict[str, Callable[[Element, str], ScanReport | None]] = {
    "OWASPZAPReport": _zap,
    "analysis": _dependency_check,
    "issues": _burp,
    "niktoscan": _nikto,
    "niktoscans": _nikto,
    "BugCollection": _spotbugs,
}
