"""Scanners in XML and detectors of secrets: what they find holds back, a clean scan passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.investigator import reports
from tests.investigator.folders import SCAN, FolderRow
from tests.investigator.test_folders import judged

XML = SCAN.removesuffix("json") + "xml"
RANKS = {"high": "3", "medium": "2", "low": "1"}


def zap(*ranks: str, confidence: str = "2", site: bool = True) -> str:
    items = "".join(
        f"<alertitem><pluginid>4{n}</pluginid><alert>Alert {n}</alert>"
        f"<riskcode>{RANKS[rank]}</riskcode><confidence>{confidence}</confidence></alertitem>"
        for n, rank in enumerate(ranks)
    )
    sites = f'<site name="https://loans.test"><alerts>{items}</alerts></site>' if site else ""
    return f'<OWASPZAPReport version="2.15" generated="Thu, 17 Sep 2026">{sites}</OWASPZAPReport>'


def dependency_check(*ranks: str, kind: str = "vulnerability", extra: str = "") -> str:
    rows = "".join(
        f"<{kind}><name>CVE-7-{n}</name><severity>{rank.upper()}</severity></{kind}>"
        for n, rank in enumerate(ranks)
    )
    listed = f"<vulnerabilities>{rows}</vulnerabilities>" if rows else ""
    jar = f"<dependency><fileName>desk.jar</fileName>{listed}</dependency>"
    return (
        '<analysis xmlns="https://scanner.example/DependencyCheck/dependency-check.4.1.xsd">'
        f"<scanInfo><engineVersion>10.0</engineVersion></scanInfo>{extra}"
        f"<dependencies>{jar}</dependencies></analysis>"
    )


def burp(*ranks: str) -> str:
    rows = "".join(
        f"<issue><name>Issue {n}</name><host>https://loans.test</host><path>/p</path>"
        f"<severity>{rank}</severity><confidence>Firm</confidence></issue>"
        for n, rank in enumerate(ranks)
    )
    return f'<issues burpVersion="2026.1" exportTime="Thu Sep 17 2026">{rows}</issues>'


def nikto(items: int, tested: int) -> str:
    rows = "".join(f'<item id="{n}"><description>old</description></item>' for n in range(items))
    last = f'<statistics itemsfound="{items}" itemstested="{tested}"/>'
    return f'<niktoscan><scandetails targethostname="loans">{rows}{last}</scandetails></niktoscan>'


def spotbugs(*ranks: str, plugin: str = "com.h3xstream.findsecbugs", errors: int = 0) -> str:
    numbers = {"high": 1, "medium": 2, "low": 3}
    rows = "".join(
        f'<BugInstance type="SQL" priority="{numbers[rank]}" category="SECURITY"/>'
        for rank in ranks
    )
    project = f'<Project><Plugin id="{plugin}" enabled="true"/></Project>'
    end = f'<Errors errors="{errors}" missingClasses="0"/><FindBugsSummary total_classes="9"/>'
    return f'<BugCollection version="4.8">{project}{rows}{end}</BugCollection>'


def secrets(*verified: bool, **fields: object) -> str:
    rows = [{"type": "Token", "is_verified": one, **fields} for one in verified]
    plugins = [{"name": "TokenDetector"}]
    return json.dumps({"version": "1.5", "plugins_used": plugins, "results": {"a.py": rows}})


def truffles(*verified: bool) -> str:
    rows = [
        {"SourceMetadata": {"Data": {}}, "DetectorName": "AWS", "Verified": one, "Raw": "x"}
        for one in verified
    ]
    return "\n".join(map(json.dumps, rows))


MUST_NOT = {
    "ZAP high": (XML, zap("low", "high"), "high"),
    "ZAP without a site": (XML, zap(site=False), "no site"),
    "ZAP of an unknown risk": (XML, zap("low").replace(">1<", ">7<"), "without a severity"),
    "dependency-check critical": (XML, dependency_check("critical"), "critical"),
    "dependency-check without dependencies": (
        XML,
        dependency_check().replace("dependency>", "other>"),
        "no dependency",
    ),
    "dependency-check broke off": (
        XML,
        dependency_check(extra="<analysisExceptions><exception/></analysisExceptions>"),
        "errors",
    ),
    "dependency-check suppressed": (
        XML,
        dependency_check("critical", kind="suppressedVulnerability"),
        "suppressed",
    ),
    "Burp high": (XML, burp("Low", "High"), "high"),
    "Burp of nothing": (XML, burp(), "scanned"),
    "Nikto items": (XML, nikto(2, 6700), "without a severity"),
    "Nikto tested nothing": (XML, nikto(0, 0), "no test"),
    "SpotBugs high": (XML, spotbugs("high"), "high"),
    "SpotBugs without rules on security": (XML, spotbugs(plugin="edu.umd.core"), "rules"),
    "SpotBugs met errors": (XML, spotbugs(errors=3), "errors"),
    "SpotBugs of no class": (XML, spotbugs().replace('"9"', '"0"'), "no class"),
    "detect-secrets": (SCAN, secrets(False), "high"),
    "detect-secrets verified": (SCAN, secrets(True), "critical"),
    "detect-secrets without detectors": (
        SCAN,
        json.dumps({"version": "1.5", "plugins_used": [], "results": {}}),
        "no detector",
    ),
    "TruffleHog": (SCAN, truffles(False), "high"),
    "TruffleHog verified": (SCAN, truffles(False, True), "critical"),
    "another XML": (XML, "<issues><issue/></issues>", "issues"),
}
MUST = {
    "ZAP low": (XML, zap("low", "low")),
    "ZAP clean": (XML, zap()),
    "dependency-check low": (XML, dependency_check("low")),
    "dependency-check clean": (XML, dependency_check()),
    "Burp low": (XML, burp("Low", "Information")),
    "Nikto clean": (XML, nikto(0, 6700)),
    "SpotBugs with rules on security": (XML, spotbugs("low")),
    "detect-secrets clean": (SCAN, secrets()),
    "detect-secrets audited": (SCAN, secrets(False, is_secret=False)),
}


def row(path: str, text: str, word: str = "") -> FolderRow:
    """Return a ready folder with another scan in place of its own."""
    return FolderRow("scanner", path, {SCAN: None, path: text}, word)


@pytest.mark.parametrize("name", MUST_NOT)
def test_a_scan_that_finds_or_proves_nothing_is_not_ready(name: str, tmp_path: Path) -> None:
    path, text, word = MUST_NOT[name]
    verdict, reasons = judged(row(path, text), tmp_path)
    assert verdict != "READY"
    assert word in reasons.casefold()


@pytest.mark.parametrize("name", MUST)
def test_a_scan_without_a_grave_finding_is_ready(name: str, tmp_path: Path) -> None:
    path, text = MUST[name]
    assert judged(row(path, text), tmp_path)[0] == "READY"


@pytest.mark.parametrize("results", [None, [], "left out"])
def test_a_trivy_report_without_a_target_is_no_clean_scan(results: Any, tmp_path: Path) -> None:
    report = reports.trivy()
    if results == "left out":
        del report["Results"]
    else:
        report["Results"] = results
    verdict, reasons = judged(FolderRow("trivy", "trivy", {SCAN: report}), tmp_path)
    assert verdict != "READY"
    assert "found nothing to scan" in reasons
