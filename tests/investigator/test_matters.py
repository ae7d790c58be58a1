"""A pass counts for the matter of its file: rules that a scanner checked are no tests, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.investigator.folders import SCAN, UNIT, FolderRow
from tests.investigator.test_folders import judged

TEST_JSON = UNIT.removesuffix("xml") + "json"
PASSED = [{"id": f"C-{number}", "status": "pass"} for number in range(9)]

CHECKERS: dict[str, Any] = {
    "a policy for images": {
        "policyId": "p-7",
        "imageDigest": "sha256:77",
        "evaluations": [{"status": "pass", "finalAction": "go", "numberOfFindings": 0}],
    },
    "settings without a word for what they are": [
        {"filename": "a.yaml", "successes": 4, "failures": []}
    ],
    "rules for templates": [
        {"filename": "a.yaml", "file_results": {"failure_count": 0, "violations": []}}
    ],
    "a benchmark of hosts": {
        "benchmark": "hosts",
        "groups": [{"results": [{**row, "remediation": "none"} for row in PASSED]}],
    },
    "a scan of headers": {"scan": {"grade": "A", "state": "FINISHED"}, "checks": PASSED},
    "counts of a scanner": {"passed": 20, "failed": 0, "skipped": 0, "resource_count": 9},
    "rows of compliance": {"compliance": "internal", "controls": PASSED},
    "controls without a word for what they are": {"controls": PASSED},
}
RUNS: dict[str, Any] = {
    "counts": {"summary": {"total": 9, "passed": 9, "failed": 0, "skipped": 0}},
    "cases": {"testcases": PASSED},
    "cases whose names speak of policies": {
        "tests": [{"name": f"policy {n} is read", "status": "passed"} for n in range(9)]
    },
    "scenarios": {"scenarios": PASSED},
    "a suite": {"suite": "policies", "executed": 9, "passed": 9, "failed": 0},
    "a summary of several matters": {
        "unit_tests": {"total": 9, "passed": 9, "failed": 0},
        "security_scan": {"critical": 0, "high": 0},
    },
}


@pytest.mark.parametrize("name", CHECKERS)
@pytest.mark.parametrize("file", ["metrics/17.json", "out/report.json"])
def test_checked_rules_are_no_tests(name: str, file: str, tmp_path: Path) -> None:
    row = FolderRow("checked rules", name, {UNIT: None, file: CHECKERS[name]})
    verdict, reasons = judged(row, tmp_path)
    assert verdict != "READY"
    assert "test" in reasons, reasons


@pytest.mark.parametrize("name", [name for name in CHECKERS if "without" not in name])
def test_checked_rules_under_the_name_of_tests_are_none(name: str, tmp_path: Path) -> None:
    row = FolderRow("checked rules", name, {UNIT: None, TEST_JSON: CHECKERS[name]})
    verdict, reasons = judged(row, tmp_path)
    assert verdict != "READY", reasons


@pytest.mark.parametrize("name", RUNS)
def test_tests_of_any_shape_are_tests(name: str, tmp_path: Path) -> None:
    row = FolderRow("tests", name, {UNIT: None, TEST_JSON: RUNS[name]})
    verdict, reasons = judged(row, tmp_path)
    assert verdict == "READY", reasons


@pytest.mark.parametrize("severity", ["low", "minor", "trivial"])
def test_cases_with_a_severity_are_no_scan(severity: str, tmp_path: Path) -> None:
    cases = [{"case": f"C-{n}", "status": "pass", "severity": severity} for n in range(9)]
    verdict, reasons = judged(FolderRow("cases", severity, {SCAN: {"tests": cases}}), tmp_path)
    assert verdict != "READY", reasons


def suites(root: str, *names: str) -> str:
    case = '<testcase classname="a" name="b"/>'
    inner = "".join(f'<testsuite name="{name}" tests="1">{case}</testsuite>' for name in names)
    return f'<testsuites name="{root}">{inner}</testsuites>'


@pytest.mark.parametrize(
    "names",
    [
        ("Harbour scan results - have a quiet day!", "https://example.org/"),
        ("", "terraform scan", "kubernetes scan"),
        ("Image policy",),
        ("", "Compliance"),
        ("dependency audit report", "npm"),
        ("Known vulnerabilities", "alpine"),
    ],
)
def test_findings_in_the_form_of_cases_are_no_tests(names: tuple[str, ...], tmp_path: Path) -> None:
    verdict, reasons = judged(FolderRow("suites", names[0], {UNIT: suites(*names, "")}), tmp_path)
    assert verdict != "READY"
    assert "another matter" in reasons, reasons


@pytest.mark.parametrize(
    "names",
    [
        ("jest tests", "Scan button"),
        ("", "Policy editor", "Compliance page"),
        ("Tests of the scan", "a"),
        ("", "terraform scan", "desk.RenewalTest"),
        ("desk.PolicyTest", "a"),
        ("", "security.policy.spec", "b"),
    ],
)
def test_suites_about_scans_are_tests(names: tuple[str, ...], tmp_path: Path) -> None:
    verdict, reasons = judged(FolderRow("suites", names[0], {UNIT: suites(*names)}), tmp_path)
    assert verdict == "READY", reasons
