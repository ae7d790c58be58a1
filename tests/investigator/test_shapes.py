"""Reports in shapes that people write: what each criterion comes to when one report of a ready
feature is another.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, READY, TODAY, status
from transom.formats.measurements import Reading
from transom.investigator.deciding import decide
from transom.investigator.gathering import read_source, sources_of
from transom.investigator.ledger import Ledger
from transom.investigator.policy import load_policy
from transom.investigator.reading.analysis import read_analysis
from transom.investigator.reading.documents import read_document
from transom.investigator.reading.issues import read_issue_file
from transom.investigator.sources import DataFolder

SOURCES = {
    "tests.unit": "metrics/unit_test_results", "tests.coverage": "metrics/test_coverage_report",
    "pipeline.latest": "metrics/pipeline_results", "security.scan": "metrics/security_scan_results",
    "performance.targets": "metrics/performance_benchmarks", "review.security": "reviews/security",
    "review.stakeholders": "reviews/stakeholders", "uat.passed": "reviews/uat", "jira.blockers": "jira",
}  # fmt: skip
COUNTS = {"total": 120, "passed": 120, "failed": 0}
CLEAN = {"critical": 0, "high": 0}
FAST = {"p95_ms": 100}
OLD, NEW = {"status": "failed"}, {"status": "success"}
ISSUE = {"key": "X-1", "summary": "Cards", "status": "Production-Ready"}
TOLD = {"name": "Blocks", "inward": "wird blockiert von"}
OPEN = {"key": "X-2", "fields": {"status": {"name": "Offen", "statusCategory": {"key": "new"}}}}
SHAPES: list[tuple[str, Any, str]] = [
    # What a report says of itself counts beside its figures.
    ("tests.unit", COUNTS | {"status": "FAILED"}, "mixed"),
    ("tests.unit", COUNTS | {"status": "passed"}, "pass"),
    ("tests.unit", {"summary": COUNTS, "integration": {"status": "failed"}}, "mixed"),
    ("tests.coverage", {"coverage": 85, "meets_threshold": False}, "mixed"),
    ("tests.coverage", {"coverage": 85, "quality_gate": "passed"}, "pass"),
    ("security.scan", CLEAN | {"scan_status": "incomplete"}, "mixed"),
    ("security.scan", CLEAN | {"status": "COMPLETED"}, "pass"),
    ("performance.targets", FAST | {"result": "degraded"}, "mixed"),
    ("performance.targets", FAST | {"result": "ok"}, "pass"),
    # Counts
    ("tests.unit", {"total": 120, "passed": 110, "failed": 0}, "mixed"),
    ("tests.unit", {"total": 120, "passed": 118, "failed": 0, "xfailed": 1, "skipped": 1}, "pass"),
    ("tests.unit", {"total": 120, "passed": 118, "timed_out": 2, "failed": 0}, "fail"),
    ("tests.unit", {"pass_rate": 1.0, "total": 120}, "pass"),
    ("uat.passed", {"pass_rate": 70, "status": "completed"}, "fail"),
    # Shares
    ("tests.coverage", {"lines_covered": 79, "lines_total": 100}, "fail"),
    ("tests.coverage", {"new_code_coverage": 95}, "absent"),
    ("tests.coverage", {"total": {"statements": {"pct": 85}, "lines": {"pct": 79}}}, "fail"),
    # Runs of a pipeline
    ("pipeline.latest", {"passed": True}, "pass"),
    ("pipeline.latest", {"success": False}, "fail"),
    ("pipeline.latest", {"status": "completed", "conclusion": "failure"}, "fail"),
    ("pipeline.latest", {"status": "completed", "conclusion": "success"}, "pass"),
    ("pipeline.latest", {"status": "success", "failed_jobs": ["deploy"]}, "fail"),
    ("pipeline.latest", {"status": "success", "quality_gate": "failed"}, "fail"),
    ("pipeline.latest", {"lastSuccessfulBuild": {"number": 3} | NEW, "lastBuild": {"number": 4} | OLD}, "fail"),
    ("pipeline.latest", {"runs": [{"date": "2026-9-10"} | OLD, {"date": "2026-9-9"} | NEW]}, "fail"),
    ("pipeline.latest", {"runs": [{"date": "10/09/2026"} | OLD, {"date": "11/08/2026"} | NEW]}, "mixed"),
    ("pipeline.latest", {"builds": [{"build": "build-99"} | OLD, {"build": "build-100"} | NEW]}, "pass"),
    ("pipeline.latest", {"status": "did not pass"}, "fail"),
    ("pipeline.latest", {"status": "passed?"}, "mixed"),
    # Findings
    ("security.scan", {"findings": [{"severity": "high", "status": "to be fixed"}]}, "fail"),
    ("security.scan", {"findings": [{"severity": "high", "status": "Closed - not reproducible"}]}, "pass"),
    ("security.scan", CLEAN | {"accepted_risks": [{"severity": "high", "id": "X-1"}]}, "fail"),
    ("security.scan", {"severities": [{"severity": one, "count": 0} for one in CLEAN]}, "pass"),
    ("security.scan", {"severities": [{"severity": one, "count": 2} for one in CLEAN]}, "fail"),
    ("security.scan", {"vulnerabilities": [], "errors": ["no lock file"]}, "absent"),
    ("performance.targets", FAST | {"total_requests": 1000, "failed_requests": 20}, "fail"),
    ("performance.targets", FAST | {"total_requests": 1000, "failed_requests": 2}, "pass"),
    # Targets by name
    ("performance.targets", {"now": {"a": {"p95": 300}}, "targets": {"b": {"p95": 400}, "a": {"p95": 200}}}, "fail"),
    # What holds an issue up
    ("jira.blockers", ISSUE, "pass"),
    ("jira.blockers", ISSUE | {"blocked_by": ["X-2"]}, "fail"),
    ("jira.blockers", ISSUE | {"linked_issues": [{"key": "X-2", "type": "is blocked by", "status": "To Do"}]}, "fail"),
    ("jira.blockers", ISSUE | {"linked_issues": [{"key": "X-2", "type": "is blocked by", "status": "Done"}]}, "pass"),
    ("jira.blockers", ISSUE | {"issuelinks": [{"type": TOLD, "inwardIssue": OPEN}]}, "fail"),
    ("jira.blockers", ISSUE | {"issuelinks": [{"type": TOLD, "outwardIssue": OPEN}]}, "pass"),
    ("jira.blockers", ISSUE | {"status": "Blocked"}, "mixed"),
    ("jira.blockers", ISSUE | {"flagged": [{"value": "Impediment"}]}, "mixed"),
    # Sign-offs
    ("review.stakeholders", {"required": 3, "received": 2}, "fail"),
    ("review.stakeholders", {"required": 3, "received": 2, "status": "approved"}, "mixed"),
    ("review.stakeholders", {"required": 3, "received": 3}, "pass"),
    ("review.stakeholders", {"approvals": {"pm": True, "qa": True}}, "pass"),
    ("review.stakeholders", {"approvals": {"pm": True, "qa": False}}, "fail"),
    ("review.stakeholders", {"status": "approved", "missing_approvals": ["legal"]}, "mixed"),
    ("review.stakeholders", {"status": "approved", "rejected_by": ["legal"]}, "fail"),
    ("review.stakeholders", {"status": "approved", "rejected_by": []}, "pass"),
    ("review.security", {"status": "completed", "outcome": "not approved"}, "fail"),
    ("review.security", {"status": "completed", "approved_for_production": False}, "fail"),
    ("review.security", {"status": "approved", "approval_required": False}, "pass"),
    ("review.security", {"status": "approved", "revoked": True}, "fail"),
    ("uat.passed", {"required_pass_rate": 95, "scenarios_approved": 20, "passed": 20, "failed": 0}, "absent"),
    ("uat.passed", {"required_pass_rate": 95, "passed": 20, "failed": 0, "decision": "accepted"}, "pass"),
]  # fmt: skip


@cache
def ready() -> tuple[DataFolder, list[Reading]]:
    data = DataFolder(EXAMPLES)
    return data, [read_source(data, ref) for ref in sources_of(data, data.feature(READY))]


@pytest.mark.parametrize(("criterion", "report", "expected"), SHAPES)
def test_a_report_in_another_shape(criterion: str, report: Any, expected: str) -> None:
    data, readings = ready()
    name = SOURCES[criterion]
    content, place = json.dumps(report).encode(), f"{READY}/{name}.json"
    other = (
        read_issue_file(content, place) if name == "jira" else read_analysis(content, place, name)
    )
    decision = decide(
        load_policy(),
        data.feature(READY),
        [*(one for one in readings if one.name != name), other],
        Ledger(data.read),
        current="Production-Ready",
        target="Production",
        waivers=(),
        as_of=TODAY,
    )
    assert status(decision, criterion) == expected, other.observations
    assert (decision.verdict == "READY") == (expected == "pass")


def test_the_hints_of_a_template_are_no_document(tmp_path: Path) -> None:
    hint = "Say here which services take part and where each of them keeps its data.\n" * 30
    template = tmp_path / "DESIGN_DOC.md"
    template.write_text(
        f"# Design\n<!-- {hint}\n{hint} -->\n## Parts\nNot much. <!-- {hint.strip()} -->\n"
    )
    assert read_document(template, "DESIGN_DOC.md", "DESIGN_DOC.md").words == 2
