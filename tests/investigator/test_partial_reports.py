"""Reports whose summary is better than the report: hidden, left out, cut off, or broken beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.folders import (
    COVER,
    ISSUE,
    PIPE,
    SCAN,
    SECURITY,
    UAT,
    UNIT,
    FolderRow,
    document,
    issue,
    review,
    run,
    uat,
)
from tests.investigator.reports import DAY
from tests.investigator.test_folders import judged

CSV = SCAN.removesuffix("json") + "csv"
TRX = UNIT.removesuffix("xml") + "trx"
TEST_JSON = UNIT.removesuffix("xml") + "json"
COVER_XML = COVER.removesuffix("json") + "xml"
LCOV = COVER.removesuffix("json") + "info"
ARCHITECTURE = "planning/ARCHITECTURE.md"


def brakeman(**fields: Any) -> Any:
    scan = {"scan_info": {"security_warnings": 0}, "warnings": [], "errors": []}
    return scan | {"ignored_warnings": []} | fields


def sarif(notifications: list[Any], **result: Any) -> Any:
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notifications}
    results = [{"ruleId": "R-1", "level": "error", "message": {"text": "x"}, **result}]
    tool = {"driver": {"name": "Desk scan"}}
    listed = results if result else []
    return {
        "version": "2.1.0",
        "runs": [{"tool": tool, "invocations": [invocation], "results": listed}],
    }


def npm(counted: int) -> Any:
    counts = {"info": 0, "low": 0, "moderate": 0, "high": counted, "critical": 0, "total": counted}
    totals = {"vulnerabilities": counts, "dependencies": {"total": 12}}
    return {"auditReportVersion": 2, "vulnerabilities": {}, "metadata": totals}


def dotnet(severity: str = "", **fields: Any) -> Any:
    found = [{"severity": severity, "advisoryurl": "https://example.org/A-1"}] if severity else []
    packages = [{"id": "Desk", "resolvedVersion": "1.2", "vulnerabilities": found}]
    frameworks = [{"framework": "net8.0", "transitivePackages": packages}]
    project = {"path": "Desk.csproj", "frameworks": frameworks}
    return {"version": 1, "parameters": "--vulnerable", "projects": [project]} | fields


def composer(severity: str = "", key: str = "advisories") -> Any:
    entry = {"advisoryId": "A-1", "title": "overflow", "cve": "CVE-7-1", "severity": severity}
    audit: dict[str, Any] = {"advisories": [], "abandoned": {}}
    return audit | ({key: {"desk/core": [entry]}} if severity else {})


def trx(message: str = "") -> str:
    info = f'<RunInfos><RunInfo outcome="{message}"/></RunInfos>' if message else ""
    counters = '<Counters total="9" executed="9" passed="9" failed="0"/>'
    summary = f'<ResultSummary outcome="Completed">{counters}{info}</ResultSummary>'
    return f'<TestRun><Times finish="{DAY}T10:00:00Z"/>{summary}</TestRun>'


def googletest(not_run: int) -> Any:
    ends = [("NOTRUN", "SUPPRESSED")] * not_run + [("RUN", "COMPLETED")] * (20 - not_run)
    cases = [{"name": f"t{n}", "status": a, "result": b} for n, (a, b) in enumerate(ends)]
    suites = [{"name": "Desk", "testsuite": cases}]
    head = {"tests": 20, "failures": 0, "disabled": 0, "errors": 0, "name": "AllTests"}
    return head | {"timestamp": f"{DAY}T10:00:00Z", "testsuites": suites}


def istanbul(skipped: int) -> Any:
    part = {"total": 20, "covered": 19, "skipped": skipped, "pct": 95}
    return {"total": {"lines": part, "statements": part, "functions": part, "branches": part}}


def cobertura(covered: int, of_class: float = 0.9) -> str:
    classes = f'<classes><class name="a" line-rate="{of_class}"/></classes>'
    packages = f'<packages><package name="p" line-rate="0.9">{classes}</package></packages>'
    counts = f'line-rate="0.9" lines-covered="{covered}" lines-valid="100"'
    return f'<coverage {counts} timestamp="1789600000">{packages}</coverage>'


def lcov(hit: int, end: str = "end_of_record\n") -> str:
    lines = "".join(f"DA:{n},{int(n < hit)}\n" for n in range(20))
    return f"TN:\nSF:desk.js\n{lines}LF:20\nLH:19\n{end}"


def table(head: str, row: str) -> str:
    return f"{head}\n{row}\n"


def subtask(priority: str, status: str = "In Progress") -> Any:
    key = "done" if status == "Done" else "indeterminate"
    state = {"name": status, "statusCategory": {"key": key}}
    fields = {"summary": "Lost rows", "status": state, "priority": {"name": priority}}
    return [{"key": "LIB-43", "fields": fields}]


def commented(*texts: str) -> Any:
    return issue(comment={"comments": [{"body": text} for text in texts]})


def status(name: str) -> Any:
    return issue(status={"name": name, "statusCategory": {"key": "indeterminate"}})


HIGH = {"warning_type": "SQL", "confidence": "High", "message": "x"}
BROKEN = [{"level": "error", "message": {"text": "desk.py could not be read"}}]
SPREAD = "Vulnerability,Severity,Resolution"
MUST_NOT: dict[str, tuple[dict[str, Any], str]] = {
    "findings that a configuration ignores": ({SCAN: brakeman(ignored_warnings=[HIGH])}, "ignored"),
    "a count above the list": ({SCAN: brakeman(scan_info={"security_warnings": 2})}, "2 findings"),
    "a count without an entry": ({SCAN: npm(1)}, "none is listed"),
    "errors of a scanner beside its results": ({SCAN: sarif(BROKEN)}, "errors"),
    "a package below another": ({SCAN: dotnet("High")}, "high"),
    "a project that could not be read": (
        {SCAN: dotnet(problems=[{"text": "no restore"}])},
        "restore",
    ),
    "no project": ({SCAN: dotnet(projects=[])}, "no project"),
    "an advisory": ({SCAN: composer("critical")}, "critical"),
    "an advisory that is ignored": ({SCAN: composer("high", "ignored-advisories")}, "ignored"),
    "prose about a fix is no fix": (
        {SCAN: None, CSV: table(SPREAD, "Overflow,High,Upgrade to a patched version")},
        "high",
    ),
    "a fixed version is no fix": (
        {SCAN: None, CSV: table("id,severity,status,fixVersion", "CVE-7-1,HIGH,fixed,2.0")},
        "high",
    ),
    "the gravest of two scores": (
        {SCAN: None, CSV: table("Component,CVE,CVSS,CVSS3", "zlib,CVE-7-1,0.0,9.8")},
        "critical",
    ),
    "a word for the severity outside of the part with a known one": (
        {SCAN: {"results": [{"extra": {"severity": "GRAVE", "metadata": {"impact": "LOW"}}}]}},
        "severity",
    ),
    "a host that crashed": ({UNIT: None, TRX: trx("Error")}, "Error"),
    "tests that a filter left out": ({UNIT: None, TEST_JSON: googletest(14)}, "did not run"),
    "violations of a linter are no tests": (
        {UNIT: None, "out.json": [{"filename": "a.yaml", "file_results": {"failure_count": 0}}]},
        "not read",
    ),
    "lines that comments exclude": ({COVER: istanbul(580)}, "ignored"),
    "a rate above its counts": ({COVER: None, COVER_XML: cobertura(9)}, "by its counts"),
    "a rate above all classes": ({COVER: None, COVER_XML: cobertura(90, 0.4)}, "no class"),
    "totals above the lines": ({COVER: None, LCOV: lcov(8)}, "40 %"),
    "a tracefile that breaks off": ({COVER: None, LCOV: lcov(19) + "SF:b.js\nDA:1,1\n"}, "no end"),
    "a job that was cancelled": (
        {PIPE: run(jobs=[{"name": "load", "conclusion": "cancelled"}])},
        "cancelled",
    ),
    "an urgent subtask": ({ISSUE: issue(subtasks=subtask("Blocker"))}, "blocking"),
    "a last comment that objects": ({ISSUE: commented("We must not ship this.")}, "objects"),
    "a status that nobody knows": ({ISSUE: status("Wstrzymane")}, "Wstrzymane"),
    "a document that was replaced": (
        {ARCHITECTURE: document("Architecture", "Statut : remplacé par ADR-14")},
        "remplacé",
    ),
}
PAGE = "<html><head><title>Architecture: loan renewal</title></head><body><p>{}</p></body></html>"
MUST: dict[str, dict[str, Any]] = {
    "nothing ignored": {SCAN: brakeman()},
    "a note of a scanner": {SCAN: sarif([{"level": "note", "message": {"text": "9 files"}}])},
    "a result that is gone": {SCAN: sarif([], baselineState="absent")},
    "counts of nothing": {SCAN: npm(0)},
    "packages without a finding": {SCAN: dotnet()},
    "a low finding of a package": {SCAN: dotnet("Low")},
    "no advisory": {SCAN: composer()},
    "a finding that was fixed": {
        SCAN: None,
        CSV: table(SPREAD, "Overflow,High,Fixed by raising the version of zlib"),
    },
    "a run that ended": {UNIT: None, TRX: trx()},
    "cases that ran": {UNIT: None, TEST_JSON: googletest(0)},
    "few lines excluded": {COVER: istanbul(3)},
    "a rate of its counts": {COVER: None, COVER_XML: cobertura(90)},
    "totals of the lines": {COVER: None, LCOV: lcov(19)},
    "a job that a condition skips": {PIPE: run(jobs=[{"name": "docs", "conclusion": "skipped"}])},
    "an urgent subtask that is done": {ISSUE: issue(subtasks=subtask("Blocker", "Done"))},
    "an objection that was answered": {ISSUE: commented("We must not ship this.", "Mended now.")},
    "a page of prose": {
        ARCHITECTURE: None,
        "pages/architecture.html": PAGE.format("One word. " * 30),
    },
    "a review called by its matter": {SECURITY: None, "notes/security.json": review(findings=[])},
    "a review by what it calls itself": {SECURITY: None, "8.json": review(type="security review")},
    "testers who decide": {
        UAT: None,
        "7.json": uat(testers=[{"name": "Ada", "decision": "approved"}]),
    },
    "a form without accents": {
        SECURITY: None,
        "avis/securite.md": "# Revue de sécurité\n\nRelecteur : Ada\n\nDécision : approuvé\n",
    },
}


@pytest.mark.parametrize("name", MUST_NOT)
def test_what_is_hidden_beside_a_good_summary_holds_back(name: str, tmp_path: Path) -> None:
    put, word = MUST_NOT[name]
    verdict, reasons = judged(FolderRow("partial report", name, put, word), tmp_path)
    assert verdict != "READY"
    assert word.casefold() in reasons.casefold(), reasons


@pytest.mark.parametrize("name", MUST)
def test_a_whole_report_of_the_same_form_is_ready(name: str, tmp_path: Path) -> None:
    verdict, reasons = judged(FolderRow("whole report", name, MUST[name], ""), tmp_path)
    assert verdict == "READY", reasons


def test_a_summary_line_tells_of_errors_that_no_count_has(tmp_path: Path) -> None:
    summary = {"example_count": 9, "failure_count": 0, "pending_count": 0}
    line = "9 examples, 0 failures, 1 error occurred outside of examples"
    report = json.dumps({"examples": [], "summary": summary, "summary_line": line})
    row = FolderRow("partial report", "RSpec", {UNIT: None, TEST_JSON: report}, "outside")
    verdict, reasons = judged(row, tmp_path)
    assert verdict != "READY" and "outside of examples" in reasons
