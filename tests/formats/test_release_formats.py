"""Reports of real tools: the traps of each format, on files of our own and on captured ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.coverage_json import read_coverage_json
from transom.formats.coverage_xml import read_coverage_xml
from transom.formats.jira import read_issue, status_changes
from transom.formats.k6 import read_k6
from transom.formats.security_scans import read_sarif, read_trivy
from transom.formats.test_runs_xml import read_test_xml
from transom.formats.xml_paths import child_path, read_xml, value_at


def test_the_share_of_statements_is_not_mixed_with_branches() -> None:
    totals: dict[str, Json] = {
        "covered_lines": 88,
        "num_statements": 100,
        "percent_covered": 95.0,
        "num_branches": 50,
        "covered_branches": 40,
    }
    found = read_coverage_json({"totals": totals, "files": {}})
    assert found is not None and found.statements is not None and found.branches is not None
    assert (found.statements.percent, found.branches.percent) == (88.0, 80.0)
    without = read_coverage_json({"totals": {**totals, "num_branches": 0}, "files": {}})
    assert without is not None and without.branches is None
    assert read_coverage_json({"totals": {"lines": 3}}) is None


def test_cobertura_tells_no_branches_where_none_were_measured() -> None:
    text = (
        '<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "http://example.org/c.dtd"><coverage'
        ' line-rate="0.805" {}/>'
    )
    found = read_coverage_xml(read_xml(text.format('branch-rate="0" branches-valid="0"'), "c.xml"))
    assert found is not None and found.statements is not None
    assert (round(found.statements.percent, 6), found.branches) == (80.5, None)
    assert value_at(read_xml(text.format(""), "c.xml"), "/coverage/@line-rate") == "0.805"


def sarif(*results: dict[str, Any], rules: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "t", "rules": [*rules]}}, "results": [*results]}],
    }


@pytest.mark.parametrize(
    ("result", "is_open"),
    [
        ({}, True),
        ({"suppressions": [{"kind": "inSource"}]}, False),
        ({"suppressions": [{"kind": "external", "status": "accepted"}]}, False),
        ({"suppressions": [{"kind": "external", "status": "rejected"}]}, True),
        ({"suppressions": [{"kind": "external", "status": "underReview"}]}, True),
        ({"suppressions": []}, True),
        ({"baselineState": "absent"}, False),
        ({"baselineState": "unchanged"}, True),
        ({"baselineState": "new"}, True),
    ],
)
def test_sarif_drops_what_is_suppressed_or_gone(result: dict[str, Any], is_open: bool) -> None:
    (found,) = read_sarif(sarif({"ruleId": "R1", "message": {"text": "m"}, **result})) or []
    assert (found.suppressed == "") is is_open


@pytest.mark.parametrize(
    ("result", "rule", "severity"),
    [
        ({"level": "error"}, {}, "high"),
        ({}, {}, "medium"),
        ({"level": "error"}, {"properties": {"security-severity": "9.8"}}, "critical"),
        ({"level": "note"}, {"properties": {"security-severity": "7.0"}}, "high"),
        ({"level": "error", "properties": {"issue_severity": "LOW"}}, {}, "low"),
        ({}, {"defaultConfiguration": {"level": "error"}}, "high"),
    ],
)
def test_sarif_s_severity_is_the_tool_s_own(
    result: dict[str, Any], rule: dict[str, Any], severity: str
) -> None:
    (found,) = read_sarif(sarif({"ruleId": "R1", **result}, rules=({"id": "R1", **rule},))) or []
    assert found.severity == severity


def test_passed_checks_of_sarif_are_no_findings() -> None:
    assert (
        read_sarif(
            sarif({"ruleId": "R1", "kind": "pass"}, {"ruleId": "R2", "kind": "notApplicable"})
        )
        == []
    )
    assert read_sarif({"runs": 3}) is None


def test_trivy_s_fixed_means_that_a_fixed_version_exists() -> None:
    row: Any = {"VulnerabilityID": "CVE-1", "PkgName": "p", "Severity": "HIGH", "Status": "fixed"}
    modified = {
        "Status": "not_affected",
        "Finding": {"VulnerabilityID": "CVE-2", "Severity": "CRITICAL"},
    }
    results: Any = [{"Vulnerabilities": [row], "ExperimentalModifiedFindings": [modified]}]
    found = read_trivy({"SchemaVersion": 2, "ArtifactName": "a", "Results": results}) or []
    assert [(one.id, one.severity, bool(one.suppressed)) for one in found] == [
        ("CVE-1", "high", False),
        ("CVE-2", "critical", True),
    ]
    assert read_trivy({"SchemaVersion": 2, "ArtifactName": "a"}) == []


def test_k6_s_booleans_mean_crossed_and_its_passes_are_failures() -> None:
    export: Any = {
        "root_group": {},
        "metrics": {
            "http_req_duration": {
                "avg": 80.0,
                "p(95)": 240.0,
                "thresholds": {"p(95)<300": False, "p(99)<250": True},
            },
            "http_req_failed": {"passes": 12, "fails": 988, "value": 0.012},
        },
    }
    found = read_k6(export)
    assert found is not None
    assert found.failed == (0.012, "/metrics/http_req_failed/value")
    assert [(one.expression, one.crossed) for one in found.thresholds] == [
        ("p(95)<300", False),
        ("p(99)<250", True),
    ]
    handle: Any = {
        "root_group": {},
        "metrics": {
            "http_req_duration": {"values": {"p(95)": 1.5}, "thresholds": {"a": {"ok": False}}}
        },
    }
    later = read_k6(handle)
    assert later is not None
    assert later.durations == {"p(95)": (1.5, "/metrics/http_req_duration/values/p(95)")}
    assert later.thresholds[0].crossed


@pytest.mark.parametrize(
    "wrap",
    [
        lambda rows: {"changelog": {"histories": rows}},
        lambda rows: {"histories": rows},
        lambda rows: {"values": rows, "isLast": True},
        lambda rows: rows,
        lambda rows: {
            "changes": [
                {"date": row["created"], "field": "status", "from": "A", "to": "B"} for row in rows
            ]
        },
    ],
)
def test_every_shape_of_a_changelog_tells_the_last_status(wrap: Any) -> None:
    rows = [
        {
            "created": f"2026-0{n}",
            "items": [{"field": "status", "fromString": "A", "toString": "B"}],
        }
        for n in (2, 1)
    ]
    changes = status_changes(wrap(rows)) or []
    assert [(one.when, one.became) for one in changes] == [("2026-01", "B"), ("2026-02", "B")]
    assert status_changes({"note": "TODO"}) is None
    assert status_changes(["TODO"]) == []


def test_a_status_in_another_language_is_known_by_its_category() -> None:
    status: Any = {"name": "已完成", "statusCategory": {"key": "done", "name": "完成"}}
    issue = read_issue({"key": "A-1", "fields": {"summary": "s", "status": status}})
    assert issue is not None and (issue.status, issue.category) == ("已完成", "done")
    flat = read_issue({"jira_key": "A-2", "title": "t", "status": "UAT"})
    assert flat is not None and (flat.key, flat.summary, flat.status_at) == ("A-2", "t", "/status")
    assert read_issue({"fields": {}}) is None


def test_what_is_no_xml_is_said_with_its_line() -> None:
    with pytest.raises(InputError, match=r"r\.xml:2"):
        read_xml("<a>\n<b></a>", "r.xml")
    with pytest.raises(InputError, match="entities"):
        read_xml('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "r.xml")
    root = read_xml("<a><b/><b n='1'>t</b></a>", "r.xml")
    assert child_path("/a", root, root[1]) == "/a/b[2]"
    assert value_at(root, "/a/b[2]") == 'b n="1" t'
    assert value_at(root, "/a/b[3]") is None


def test_captured_reports_are_read(shared_data: Path) -> None:
    folder = shared_data / "release-samples"
    load = {
        path.name: json.loads(path.read_text())
        for path in folder.iterdir()
        if path.suffix in (".json", ".sarif")
    }
    coverage = read_coverage_json(load["coverage_py.json"])
    assert coverage is not None and coverage.statements is not None
    assert round(coverage.statements.percent, 2) == 88.89
    suppressions = read_sarif(load["sarif_Suppressions.sarif"]) or []
    shown = [one.text for one in suppressions if "hidden" in one.text and not one.suppressed]
    # what nobody decided hides nothing here
    assert len(shown) <= 1 and all("under review" in text for text in shown)
    assert all(
        not one.suppressed for one in suppressions if one.text.startswith("This result is visible")
    )
    assert [one.severity for one in read_sarif(load["sarif_bandit.sarif"]) or []] == ["low", "high"]
    assert {one.severity for one in read_trivy(load["trivy_repo_pip_trimmed.json"]) or []} == {
        "high",
        "medium",
    }
    assert read_k6(load["k6_handleSummary.json"]) is not None
    issue = read_issue(load["jira_issue_rest.json"])
    assert issue is not None and sum(one.relation == "subtask" for one in issue.links) > 3
    assert status_changes(load["jira_changelog_paginated_v3.json"])


@pytest.mark.parametrize(("not_run", "lost"), [("0", 0), ("3", 3)])
def test_the_total_of_nunit_2_leaves_out_what_did_not_run(not_run: str, lost: int) -> None:
    text = (
        f'<test-results name="a.dll" total="9" failures="0" not-run="{not_run}" inconclusive="0"/>'
    )
    report = read_test_xml(read_xml(text, "a.xml"))
    assert report is not None
    assert (report.passed, report.failed, report.not_run) == (9, 0, lost)
    assert report.problems == ()


@pytest.mark.parametrize(
    ("tool", "severity"), [("gitleaks", "high"), ("TruffleHog", "high"), ("Linter", "medium")]
)
def test_a_finding_of_a_secret_finder_is_grave_in_sarif_too(tool: str, severity: str) -> None:
    result: Json = {"ruleId": "key", "message": {"text": "a key was committed"}}
    run: Json = {"tool": {"driver": {"name": tool}}, "results": [result]}
    findings = read_sarif({"version": "2.1.0", "runs": [run]})
    assert findings is not None and [row.severity for row in findings] == [severity]
