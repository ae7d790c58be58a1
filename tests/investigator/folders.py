"""Folders of one feature: a ready one, folders that must not be READY, folders that must be.

Each row is a kind and a form: what is wrong or unusual, and the shape in which it comes. A row that
must not pass names a word that has to stand in the reasons.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.investigator import reports
from tests.investigator.reports import COVERAGE, DAY, LOADS, MOMENT, SCANS, TESTS
from tests.investigator.written import FORMS, pdf_file, word_file

Files = Mapping[str, Any]
UNIT = "metrics/unit_test_results.xml"
COVER = "metrics/test_coverage_report.json"
SCAN = "metrics/security_scan_results.json"
LOAD = "metrics/performance_benchmarks.json"
PIPE = "metrics/pipeline_results.json"
UAT, SECURITY = "reviews/uat.json", "reviews/security.json"
PEOPLE = "reviews/stakeholders.json"
ISSUE, CHANGES = "jira/feature_issue.json", "jira/issue_changelog.json"
PLAN = "planning/DEPLOYMENT_PLAN.md"
QUESTION = "Is loan renewal ready for production?"

_TEXT = (
    "Renewals are asked for at the desk or on the page of a member. The service looks for a hold of"
    " another member, counts earlier renewals, and moves the day of return by three weeks. A letter"
    " goes out two days before. Each step writes one row to the journal of the branch, so that a"
    " repeated call changes nothing. If the journal is out of reach the desk works on with paper. "
)


@dataclass(frozen=True)
class FolderRow:
    """A folder made of the ready one.

    Attributes:
        put: files by path that are laid over it, or None for one that is taken away.
        word: a word that must stand in the reasons, in any case; "" for a folder that must pass.
    """

    kind: str
    form: str
    put: Files
    word: str = ""
    question: str = QUESTION

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.form}"


def document(title: str, *lines: str) -> str:
    return "\n\n".join([f"# {title}: loan renewal", *lines, _TEXT * 4, ""])


def issue(**fields: Any) -> Any:
    done = {"name": "Done", "statusCategory": {"key": "done"}}
    usual = {
        "summary": "Loan renewal at the desk",
        "issuetype": {"name": "Epic"},
        "status": {"name": "Production-Ready", "statusCategory": {"key": "indeterminate"}},
        "labels": ["desk"],
        "resolution": None,
        "updated": f"{DAY}T10:00:00.000+0200",
        "subtasks": [{"key": "LIB-42", "fields": {"summary": "Journal", "status": done}}],
        "issuelinks": [],
    }
    return {"id": "7", "key": "LIB-41", "fields": usual | fields}


def review(**fields: Any) -> Any:
    return {"feature": "LIB-41", "reviewer": "Ada", "date": DAY, "decision": "approved"} | fields


def uat(**fields: Any) -> Any:
    cases = {"total": 20, "passed": 20, "failed": 0}
    return {"feature": "LIB-41", "date": DAY, "test_cases": cases, "decision": "approved"} | fields


def people(**fields: Any) -> Any:
    rows = [
        {"role": role, "name": name, "decision": "approved", "date": DAY}
        for role, name in (("product", "Ada"), ("operations", "Ben"), ("security", "Cleo"))
    ]
    return {"feature": "LIB-41", "approvals": rows} | fields


def run(**fields: Any) -> Any:
    jobs = [{"name": "build", "conclusion": "success"}, {"name": "test", "conclusion": "success"}]
    usual = {"id": 9, "run_number": 31, "head_branch": "main", "head_sha": "4f2a9c1d7be0"}
    usual |= {"status": "completed", "conclusion": "success", "created_at": MOMENT}
    return {**usual, "jobs": jobs, **fields}


def link(name: str, text: str, status: str = "In Progress", category: str = "new") -> Any:
    state = {"name": status, "statusCategory": {"key": category}}
    other = {"key": "LIB-90", "fields": {"summary": "Double letters", "status": state}}
    return {"type": {"name": name, "inward": text, "outward": text}, "outwardIssue": other}


def ready() -> dict[str, Any]:
    """Return the files of the ready feature."""
    history = [("To Do", "UAT", "2026-08-10"), ("UAT", "Production-Ready", DAY)]
    values = [
        {"created": f"{day}T09:00:00.000+0200", "items": [_change(before, after)]}
        for before, after, day in history
    ]
    return {
        ISSUE: issue(),
        CHANGES: {"values": values},
        UNIT: reports.junit(40, 0, 1),
        COVER: reports.coverage_py(930, 1000),
        SCAN: reports.trivy("low"),
        LOAD: reports.k6(10_000, 3, 310.5),
        PIPE: run(),
        UAT: uat(),
        SECURITY: review(),
        PEOPLE: people(),
        "planning/DESIGN_DOC.md": document("Design"),
        "planning/ARCHITECTURE.md": document("Architecture"),
        PLAN: document("Deployment plan"),
    }


def _change(before: str, after: str) -> Any:
    return {"field": "status", "fromString": before, "toString": after}


def text_of(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()


# Folders that must not be READY


def must_not_pass() -> Iterator[FolderRow]:
    yield from _bad_tests()
    yield from _bad_coverage()
    yield from _bad_scans()
    yield from _bad_loads()
    yield from _bad_runs()
    yield from _bad_subjects()
    yield from _bad_decisions()
    yield from _bad_keys()
    yield from _bad_files()
    yield from _bad_issues()
    yield from _bad_second_reports()
    yield from _bad_documents()
    yield from _bad_names()
    yield from _bad_written()
    yield from _bad_servers()


def _bad_tests() -> Iterator[FolderRow]:
    for form, (make, suffix) in TESTS.items():
        beside = f"metrics/more_results.{suffix}"
        alone = {UNIT: None, f"metrics/unit_test_results.{suffix}": make(20, 2, 0)}
        yield FolderRow("failed tests beside", form, {beside: make(20, 2, 0)}, "failed tests 2")
        yield FolderRow("failed tests alone", form, alone, "failed tests 2")
        empty = {UNIT: None, f"metrics/unit_test_results.{suffix}": make(0, 0, 0)}
        yield FolderRow("no test ran", form, empty, "test")
        skipped = {UNIT: None, f"metrics/unit_test_results.{suffix}": make(20, 0, 20)}
        yield FolderRow("half of the tests skipped", form, skipped, "did not run")
    pytest_json, jest, rspec = reports.pytest_json, reports.jest, reports.rspec
    ended = {
        "pytest interrupted": pytest_json(20, 0, 0) | {"exitcode": 2},
        "pytest internal error": pytest_json(20, 0, 0) | {"exitcode": 3},
        "pytest collected more": _collected(200),
        "jest suite did not load": jest(20, 0, 0) | {"numRuntimeErrorTestSuites": 1},
        "jest unsuccessful": jest(20, 0, 0) | {"success": False},
        "jest interrupted": jest(20, 0, 0) | {"wasInterrupted": True},
        "rspec errors outside": _outside(rspec(20, 0, 0), 3),
        "playwright errors outside": reports.playwright(20, 0, 0) | {"errors": [{"message": "x"}]},
        "mocha total above outcomes": _stats(reports.mocha(20, 0, 0), tests=50),
        "own status": reports.own_counts(20, 0, 0) | {"status": "aborted"},
        "own total above outcomes": _summary(reports.own_counts(20, 0, 0), total=50),
    }
    for form, report in ended.items():
        put = {UNIT: None, "metrics/unit_test_results.json": report}
        yield FolderRow("run not complete", form, put, "")
    in_xml = {
        "counts above its cases": reports.surefire(5, 0, 0).replace('tests="5"', 'tests="50"'),
        "failures not listed": reports.surefire(5, 0, 0).replace('failures="0"', 'failures="2"'),
        "errors not listed": reports.surefire(5, 0, 0).replace('errors="0"', 'errors="2"'),
        "disabled tests": reports.surefire(5, 0, 0).replace(
            'errors="0"', 'errors="0" disabled="30"'
        ),
        "trx aborted": reports.trx(9, 0, 0).replace("Completed", "Aborted"),
        "nunit cancelled": reports.nunit(9, 0, 0).replace("Passed", "Cancelled"),
    }
    for form, report in in_xml.items():
        yield FolderRow("run not complete", form, {UNIT: report}, "test")


def _collected(number: int) -> Any:
    report = reports.pytest_json(20, 0, 0)
    report["summary"]["collected"] = number
    return report


def _outside(report: Any, number: int) -> Any:
    report["summary"]["errors_outside_of_examples_count"] = number
    return report


def _stats(report: Any, **fields: Any) -> Any:
    return report | {"stats": report["stats"] | fields}


def _summary(report: Any, **fields: Any) -> Any:
    return report | {"summary": report["summary"] | fields}


def _bad_coverage() -> Iterator[FolderRow]:
    for form, (make_coverage, suffix) in COVERAGE.items():
        alone = {COVER: None, f"metrics/test_coverage_report.{suffix}": make_coverage(600, 1000)}
        yield FolderRow("coverage too low", form, alone, "line coverage 60 %")
        nothing = {COVER: None, f"metrics/test_coverage_report.{suffix}": make_coverage(0, 0)}
        yield FolderRow("nothing covered of nothing", form, nothing, "cover")
    own = {
        "above the whole": {"line_coverage": "140 %"},
        "not measured": {"line_coverage": "N/A"},
        "infinite": {"line_coverage": "INF"},
        "estimated": {"line_coverage": 92, "note": "estimated from the last release"},
        "of new code alone": {"new_code_coverage": 95},
        "of a patch": {"patch_coverage": {"percent": 95}},
        "of changed lines": {"diff": {"line_coverage": 97}},
        "planned": {"status": "planned", "line_coverage": 95},
        "gate failed": {"line_coverage": 92, "quality_gate": "failed"},
    }
    for form, report in own.items():
        yield FolderRow("coverage in doubt", form, {COVER: report}, "cover")


def _bad_scans() -> Iterator[FolderRow]:
    for form, make in SCANS.items():
        yield FolderRow("finding beside", form, {"metrics/more_scan.json": make("high")}, "high")
        worst = "high" if form == "zap" else "critical"
        yield FolderRow("finding alone", form, {SCAN: make(worst)}, worst)
    broken = {
        "semgrep errors": reports.semgrep() | {"errors": [{"message": "x"}]},
        "semgrep scanned nothing": reports.semgrep() | {"paths": {"scanned": []}},
        "sarif unsuccessful": _sarif(invocations=[{"executionSuccessful": False}]),
        "sarif without results": _sarif(results=None),
        "sarif without runs": {"version": "2.1.0", "runs": []},
        "gitlab scan failed": _scan(reports.gitlab_scan(), status="failure"),
        "dependency-check of nothing": reports.dependency_check() | {"dependencies": []},
        "snyk of nothing": reports.snyk() | {"dependencyCount": 0},
        "npm of nothing": reports.npm() | {"metadata": {"dependencies": {"total": 0}}},
        "pip-audit skipped": {"dependencies": [{"name": "p", "skip_reason": "no version"}]},
        "checkov could not parse": reports.checkov() | {"summary": {"parsing_errors": 2}},
        "bandit errors": reports.bandit() | {"errors": [{"filename": "a.py", "reason": "syntax"}]},
        "own scan of no target": reports.own_scan() | {"targets_scanned": 0},
        "own scan incomplete": reports.own_scan() | {"scan_status": "incomplete"},
        "own scan timed out": reports.own_scan() | {"result": "timed out"},
        "trivy of another image": _artifact(reports.trivy("low"), "desk:3"),
    }
    for form, report in broken.items():
        yield FolderRow("scan not complete", form, {SCAN: report}, "")
    hidden = {
        "sarif in the source": _suppressed(kind="inSource"),
        "sarif under review": _suppressed(kind="external", status="underReview"),
        "sarif rejected": _suppressed(kind="external", status="rejected"),
        "grype ignored": {"matches": [], "ignoredMatches": reports.grype("critical")["matches"]},
        "semgrep ignored": _ignored(reports.semgrep("high")),
        "dependency-check suppressed": _suppressed_dependency(),
        "trivy by a statement": _modified(),
        "own accepted": {"findings": [{"id": "F", "severity": "high", "status": "accepted"}]},
        "own won't fix": {"findings": [{"id": "F", "severity": "high", "status": "won't fix"}]},
    }
    for form, report in hidden.items():
        yield FolderRow("grave finding put aside", form, {SCAN: report}, "")
    rated = {
        "cvss alone": {"findings": [{"id": "F", "cvss": 9.8, "status": "open"}]},
        "score as text": {"findings": [{"id": "F", "cvss_score": "9.1"}]},
        "pip-audit": {"dependencies": [{"name": "p", "version": "1", "vulns": [{"id": "P-1"}]}]},
        "cargo audit": _cargo(),
        "sarif rule in an extension": _extension(),
        "secrets": reports.own_scan() | {"secrets_found": 2},
        "gitleaks": [{"RuleID": "key", "Fingerprint": "f", "Description": "key", "Secret": "x"}],
        "github alert": [{"number": 1, "state": "open", "html_url": "u", "rule": _rule()}],
    }
    for form, report in rated.items():
        yield FolderRow("severity in another place", form, {SCAN: report}, "")


def _sarif(**fields: Any) -> Any:
    report = reports.sarif()
    report["runs"][0] |= fields
    return report


def _scan(report: Any, **fields: Any) -> Any:
    return report | {"scan": report["scan"] | fields}


def _artifact(report: Any, name: str) -> Any:
    return report | {"ArtifactName": name}


def _suppressed(**fields: Any) -> Any:
    report = reports.sarif("critical")
    report["runs"][0]["results"][0]["suppressions"] = [fields]
    return report


def _ignored(report: Any) -> Any:
    report["results"][0]["extra"]["is_ignored"] = True
    return report


def _suppressed_dependency() -> Any:
    report = reports.dependency_check("critical")
    row = report["dependencies"][0]
    row["suppressedVulnerabilities"] = row.pop("vulnerabilities")
    return report


def _modified() -> Any:
    report = reports.trivy()
    finding = {"VulnerabilityID": "CVE-1", "Severity": "CRITICAL"}
    modified = [{"Status": "not_affected", "Finding": finding}]
    report["Results"][0]["ExperimentalModifiedFindings"] = modified
    return report


def _cargo() -> Any:
    row = {"advisory": {"id": "RUSTSEC-1", "title": "x"}}
    return {"database": {}, "lockfile": {}, "vulnerabilities": {"found": True, "list": [row]}}


def _extension() -> Any:
    rule = {"id": "E1", "properties": {"security-severity": "9.8"}}
    report = reports.sarif()
    run_ = report["runs"][0]
    run_["tool"]["extensions"] = [{"rules": [rule]}]
    run_["results"] = [{"ruleId": "E1", "message": {"text": "x"}}]
    return report


def _rule() -> Any:
    return {"id": "js/x", "security_severity_level": "critical"}


def _bad_loads() -> Iterator[FolderRow]:
    for form, (make_load, suffix) in LOADS.items():
        name = f"metrics/performance_benchmarks.{suffix}"
        slow = {LOAD: None, name: make_load(1000, 0, 2500.0)}
        yield FolderRow("too slow", form, slow, "latency")
        failing = {LOAD: None, name: make_load(1000, 50, 200.0)}
        yield FolderRow("requests fail", form, failing, "error rate")
        nothing = {LOAD: None, name: make_load(0, 0, 200.0)}
        if form != "own":
            yield FolderRow("no request", form, nothing, "figure")
    own = {
        "decimal comma": {"availability": "98,2 %", "p95_ms": 200},
        "seconds in the key": {"renew": {"p95_s": 2.5}},
        "seconds in the text": {"renew": {"p95": "2.5 s"}},
        "seconds beside": {"renew": {"p95": 2.5, "unit": "s"}},
        "ambiguous number": {"p95_ms": "1,200"},
        "estimated": {"estimated_results": {"p95_ms": 100}},
        "not run": {"status": "NOT_RUN", "p95_ms": 100},
        "threshold crossed": {"p95_ms": 100, "meets_target": False},
        "checks of k6": _checks(70, 30),
    }
    for form, report in own.items():
        yield FolderRow("figures in doubt", form, {LOAD: report}, "")


def _checks(passes: int, fails: int) -> Any:
    report = reports.k6(1000, 0, 200.0)
    report["metrics"]["checks"] = {"passes": passes, "fails": fails, "value": 0.7}
    return report


def _bad_runs() -> Iterator[FolderRow]:
    words = ("failure", "cancelled", "timed_out", "stale", "action_required", "neutral", "skipped",
             "startup_failure", None, "", "unstable", "échoué")  # fmt: skip
    for word in words:
        put = {PIPE: run(conclusion=word, jobs=[])}
        yield FolderRow("GitHub run", str(word), put, "")
    for word in ("failed", "canceled", "running", "pending", "manual", "created", "blocked"):
        report = {"id": 7, "ref": "main", "status": word, "created_at": MOMENT}
        yield FolderRow("GitLab pipeline", word, {PIPE: report}, "")
    for word in ("FAILURE", "UNSTABLE", "ABORTED", "NOT_BUILT", None, "succeededWithIssues"):
        report = {"number": 7, "result": word, "building": word is None}
        yield FolderRow("Jenkins or Azure build", str(word), {PIPE: report}, "")
    job = [{"name": "deploy check", "conclusion": "failure"}]
    newest = run(run_number=32, head_branch="docs", created_at=f"{DAY}T09:00:00Z", jobs=[])
    others = {
        "failed job": run(jobs=job),
        "newest of another branch": {"workflow_runs": [newest, run(conclusion="failure", jobs=[])]},
        "older first": {"runs": [run(jobs=[]), run(run_number=32, conclusion="failure", jobs=[])]},
        "no order": {"runs": [{"status": "success"}, {"status": "failed"}]},
        "quality gate": run(quality_gate="failed"),
        "failed stage by name": {"status": "success", "stages": {"build": "ok", "scan": "failed"}},
    }
    for form, report in others.items():
        yield FolderRow("pipeline", form, {PIPE: report}, "")


def _bad_subjects() -> Iterator[FolderRow]:
    old = "2024-09-15"
    dated: dict[str, tuple[str, Any]] = {
        "JUnit": (UNIT, reports.junit(40, 0, 0).replace(DAY, old)),
        "coverage.py": (COVER, _replaced(reports.coverage_py(930, 1000), old)),
        "Cobertura epoch": (
            COVER.replace("json", "xml"),
            reports.cobertura(930, 1000).replace("1789", "1726"),
        ),
        "Trivy": (SCAN, _replaced(reports.trivy("low"), old)),
        "SARIF": (SCAN, _replaced(reports.sarif(), old)),
        "Grype": (SCAN, _replaced(reports.grype(), old)),
        "pipeline": (PIPE, _replaced(run(), old)),
        "review": (SECURITY, review(date=old)),
        "review in words": (SECURITY, review(date="15 September 2024")),
        "UAT": (UAT, uat(date=old)),
        "sign-offs": (PEOPLE, _replaced(people(), old)),
        "own counts": (UNIT.replace("xml", "json"), _replaced(reports.own_counts(40, 0, 0), old)),
        "German date": (UAT, uat(date="15.09.2024")),
        "in the future": (UAT, uat(date="2027-09-15")),
    }
    for form, (path, report) in dated.items():
        put = (
            {path: report}
            if path in ready()
            else {UNIT if "unit" in path else COVER: None, path: report}
        )
        yield FolderRow(
            "of long ago", form, put, "days before" if "future" not in form else "after"
        )
    for key in ("feature", "feature_id", "epic", "jira_key", "ticket", "issueKey", "Feature Name"):
        value = "Reading rooms" if key == "Feature Name" else "LIB-12"
        for path, make in ((SECURITY, review), (UAT, uat), (PEOPLE, people)):
            report = {name: item for name, item in make().items() if name != "feature"}
            put = {path: report | {key: value}}
            yield FolderRow("of another feature", f"{key} in {path}", put, value)
    marked = reports.junit(40, 0, 0).replace(
        "<testcase",
        '<properties><property name="jira.key" value="LIB-12"/></properties><testcase',
        1,
    )
    yield FolderRow("of another feature", "property of JUnit", {UNIT: marked}, "LIB-12")
    other = {"planning/DESIGN_DOC.md": document("Design", "Feature: LIB-12")}
    yield FolderRow("of another feature", "document", other, "LIB-12")


def _replaced(report: Any, day: str) -> Any:
    return json.loads(json.dumps(report).replace(DAY, day))


def _bad_decisions() -> Iterator[FolderRow]:
    makers: tuple[tuple[str, Callable[..., Any]], ...] = ((SECURITY, review), (UAT, uat))
    silent: dict[str, Any] = {
        "none": {},
        "completed": {"status": "completed"},
        "done": {"state": "Done"},
        "null": {"decision": None},
        "empty": {"decision": ""},
        "TBD": {"decision": "TBD"},
        "a comment": {"comment": "I looked at all of it."},
    }
    unknown = ("nicht freigegeben", "refusé", "rechazado", "non approvato", "却下", "odrzucone",
               "hmm", "see below", "Nein", "не одобрено")  # fmt: skip
    negative = ("rejected", "no-go", "declined", "not approved", "on hold", "changes requested",
                "vetoed", "withdrawn", "pending", "approved with conditions")  # fmt: skip
    for path, make in makers:
        bare = {name: value for name, value in make().items() if name != "decision"}
        for form, fields in silent.items():
            yield FolderRow("nobody decided", f"{form} in {path}", {path: bare | fields}, "")
        for word in unknown:
            put = {path: make(decision=word)}
            yield FolderRow("unknown decision", f"{word} in {path}", put, word)
        for word in negative:
            put = {path: make(decision=word)}
            yield FolderRow("negative decision", f"{word} in {path}", put, "")
        for key in (
            "valid_until",
            "expires",
            "expiry_date",
            "validUntil",
            "approval_expires",
            "expires_on",
        ):
            yield FolderRow(
                "approval over",
                f"{key} in {path}",
                {path: make(**{key: "2026-06-30"})},
                "2026-06-30",
            )
    flags = {
        "approved": False,
        "revoked": True,
        "signed_off": "no",
        "approved_for_production": False,
    }
    for key, value in flags.items():
        yield FolderRow("negative flag", key, {SECURITY: review(**{key: value})}, "")
    missing = {
        "names": people(required_approvers=["Ada", "Ben", "Dora"]),
        "roles": people(required_approvals=["product", "legal"]),
        "counts": people(required=4, received=3),
        "pending list": people(pending=["legal"]),
        "missing list": people(missing_approvals=["legal"]),
        "mandatory reviewers": people(mandatory_reviewers=["Dora"]),
        "one has not decided": people(
            approvals=[*people()["approvals"], {"name": "Dora", "decision": None}]
        ),
        "one rejects": people(
            approvals=[*people()["approvals"], {"name": "Dora", "decision": "rejected"}]
        ),
    }
    for form, report in missing.items():
        yield FolderRow("approver missing", form, {PEOPLE: report}, "")
    no_cases = {"total": 0, "passed": 0, "failed": 0}
    empty = {
        "no case": uat(test_cases=no_cases),
        "cases failed": uat(test_cases={"total": 20, "passed": 15, "failed": 5}),
        "cases not run": uat(test_cases={"total": 20, "executed": 15, "passed": 15, "failed": 0}),
        "planned": uat(test_cases={"planned": 20}),
        "list with a failure": uat(test_cases=[{"title": "a", "status": "FAIL"}]),
        "open defect": uat(defects=[{"id": "D", "severity": "high", "status": "open"}]),
    }
    for form, report in empty.items():
        yield FolderRow("acceptance tests", form, {UAT: report}, "")


def _bad_keys() -> Iterator[FolderRow]:
    keys: dict[str, Any] = {
        "open_defects": 3, "unresolved_blockers": 1, "pending_items": 2, "incompleteSections": 1,
        "known_issues": ["letters go out twice"], "skipped_scenarios": 4, "failed_checks": 2,
        "errors": ["no journal"], "go_live": "no", "production_approved": "no", "released": False,
        "release_gate": "on hold", "outstanding_risks": 2, "missing_evidence": ["load test"],
        "offene_fehler": 2, "aborted": True, "blocked_by": "LIB-90", "unmitigated": 1,
    }  # fmt: skip
    for key, value in keys.items():
        for path, make in ((UAT, uat), (SECURITY, review), (PEOPLE, people)):
            yield FolderRow("key of trouble", f"{key} in {path}", {path: make(**{key: value})}, "")
    twice = {
        UNIT.replace("xml", "json"): '{"total":42,"passed":42,"failed":3,"failed":0}',
        COVER: '{"line_coverage":40,"line_coverage":95}',
        SCAN: '{"critical":2,"critical":0,"high":0}',
        UAT: '{"decision":"rejected","decision":"approved","passed":9,"failed":0}',
        SECURITY: '{"decision":"rejected","decision":"approved"}',
        PIPE: '{"status":"failed","status":"success"}',
    }
    for path, text in twice.items():
        put = {path: text, UNIT: None} if "unit" in path else {path: text}
        yield FolderRow("one key, two values", path, put, "two values")


def _bad_files() -> Iterator[FolderRow]:
    unread: dict[str, Any] = {
        "metrics/results.zip": b"PK\x03\x04\x00\x01", "reviews/signoff.pdf": b"%PDF-1.7\n\x00",
        "reviews/notes.docx": b"PK\x03\x04\x14", "metrics/figures.xlsx": b"PK\x03\x04\x14\x00",
        "metrics/build.log": "building\nERROR: journal not found\n", "core.dump": b"\x7fELF\x00",
        "metrics/strange.xml": "<strange><thing/></strange>", "metrics/strange.json": {"a": {"b": 1}},
        "metrics/broken.json": '{"failed": ', "metrics/data.bin": b"\x00\x01\x02",
        "other/unknown.yaml": "a: {b: c}\n", "notes/result": "all good", "metrics/old.tar.gz": b"\x1f\x8b\x08",
        "metrics/report.html": "<!doctype html><p>3 failed</p>",
    }  # fmt: skip
    for path, content in unread.items():
        yield FolderRow("file that nobody reads", path, {path: content}, path.rpartition("/")[2])
    others: dict[str, Any] = {
        "reviews/legal.json": {"decision": "rejected"}, "reviews/privacy.json": {"decision": "pending"},
        "reviews/accessibility.yaml": "decision: not approved\n",
        "reviews/operations.json": {"decision": "on hold"},
        "reviews/pentest.json": {"findings": [{"id": "P", "severity": "critical", "status": "open"}]},
        "approvals/board.json": {"approvals": [{"name": "Dora", "decision": "rejected"}]},
        "reviews/architecture.json": {"decision": "approved", "open_issues": 2},
    }  # fmt: skip
    for path, content in others.items():
        yield FolderRow("review of another kind", path, {path: content}, "")


def _bad_issues() -> Iterator[FolderRow]:
    fields: dict[str, Any] = {
        "label blocked": {"labels": ["blocked"]}, "label on-hold": {"labels": ["desk", "on-hold"]},
        "label do-not-release": {"labels": ["not-approved"]},
        "flagged": {"flagged": [{"value": "Impediment"}]},
        "depends on": {"issuelinks": [link("Dependency", "depends on")]},
        "is blocked by": {"issuelinks": [link("Custom", "is blocked by")]},
        "requires": {"issuelinks": [link("Gate", "requires")]},
        "hängt ab von": {"issuelinks": [link("Abhängigkeit", "hängt ab von")]},
        "dépend de": {"issuelinks": [link("Dépendance", "dépend de")]},
        "won't do": {"resolution": {"name": "Won't Do"}}, "duplicate": {"resolution": {"name": "Duplicate"}},
        "cannot reproduce": {"resolution": {"name": "Cannot Reproduce"}},
        "status blocked": {"status": {"name": "Blocked"}},
        "status reopened": {"status": {"name": "Reopened"}},
        "status wieder geöffnet": {"status": {"name": "Wieder geöffnet"}},
        "status reabierto": {"status": {"name": "Reabierto"}},
    }  # fmt: skip
    for form, change in fields.items():
        yield FolderRow("issue", form, {ISSUE: issue(**change)}, "")
    values = ready()[CHANGES]["values"]
    again = {"created": f"{DAY}T12:00:00.000+0200", "items": [_change("Done", "Reopened")]}
    yield FolderRow("issue", "reopened", {CHANGES: {"values": [*values, again]}}, "reopened")


def _bad_documents() -> Iterator[FolderRow]:
    lines = ("Status: DRAFT", "**Status:** draft, not approved", "| Status | Draft |", "DRAFT",
             "Status: rejected", "Status: superseded by plan 7", "> Superseded", "State: in review",
             "Approval: pending", "Document status: obsolete", "Status: Entwurf")  # fmt: skip
    for line in lines:
        put = {PLAN: document("Deployment plan", line)}
        yield FolderRow("document", line, put, "DEPLOYMENT_PLAN")
    yield FolderRow("document", "missing", {PLAN: None}, "DEPLOYMENT_PLAN")
    yield FolderRow(
        "document", "nothing written", {PLAN: "# Deployment plan\n\nTBD\n"}, "DEPLOYMENT_PLAN"
    )


def _bad_names() -> Iterator[FolderRow]:
    asked = {
        "commit that differs": "Is loan renewal of commit 77aa01bc ready for production?",
        "branch that differs": "Is loan renewal on branch release/9 ready for production?",
        "version that nobody states": "Is loan renewal in version 4.2 ready for production?",
        "image that differs": "Is loan renewal in image desk:7.1 ready for production?",
    }
    for form, question in asked.items():
        yield FolderRow("name in the question", form, {}, "", question)


# Folders that must be READY


def must_pass() -> Iterator[FolderRow]:
    yield FolderRow("as usual", "as usual", {})
    for form, (make, suffix) in TESTS.items():
        usual = {UNIT: None, f"metrics/unit_test_results.{suffix}": make(40, 0, 1)}
        yield FolderRow("tests", form, usual)
        other = {UNIT: None, f"ci/out/run_of_tuesday.{suffix}": make(40, 0, 1)}
        yield FolderRow("tests under another name", form, other)
    for form, (make_coverage, suffix) in COVERAGE.items():
        usual = {COVER: None, f"metrics/test_coverage_report.{suffix}": make_coverage(930, 1000)}
        yield FolderRow("coverage", form, usual)
        other = {COVER: None, f"artifacts/lines.{suffix}": make_coverage(930, 1000)}
        yield FolderRow("coverage under another name", form, other)
    for form, report in SCANS.items():
        yield FolderRow("clean scan", form, {SCAN: report()})
        other = {SCAN: None, "ci/results_of_monday.json": report("low", "low")}
        yield FolderRow("scan under another name", form, other)
    for form, (make_load, suffix) in LOADS.items():
        usual = {LOAD: None, f"metrics/performance_benchmarks.{suffix}": make_load(1000, 1, 200.0)}
        yield FolderRow("load test", form, usual)
        other = {LOAD: None, f"ci/load_of_friday.{suffix}": make_load(1000, 1, 200.0)}
        yield FolderRow("load test under another name", form, other)
    yield from _good_runs()
    yield from _good_reviews()
    yield from _good_folders()
    yield from _good_wordings()
    yield from _good_written()
    yield from _good_servers()


def _good_runs() -> Iterator[FolderRow]:
    optional = [
        {"name": "unit", "status": "success"},
        {"name": "lint", "status": "failed", "allow_failure": True},
    ]
    runs = [
        run(jobs=[]),
        run(run_number=30, conclusion="failure", created_at="2026-09-14T06:00:00Z", jobs=[]),
    ]
    shapes = {
        "GitLab": {"id": 7, "ref": "main", "status": "success", "created_at": MOMENT},
        "GitLab, a job may fail": {"id": 7, "status": "success", "jobs": optional},
        "Jenkins": {"number": 7, "result": "SUCCESS", "building": False},
        "Azure": {"id": 7, "status": "completed", "result": "succeeded"},
        "list of runs": {"workflow_runs": runs},
        "stages by name": {"status": "success", "stages": {"build": "ok", "scan": "ok"}},
        "builds by number": {
            "builds": [{"number": 6, "result": "FAILURE"}, {"number": 7, "result": "SUCCESS"}]
        },
        "two branches, both passed": {
            "workflow_runs": [run(head_branch="docs", run_number=32, jobs=[]), run(jobs=[])]
        },
    }
    for form, report in shapes.items():
        yield FolderRow("pipeline", form, {PIPE: report})


def _good_reviews() -> Iterator[FolderRow]:
    table = "role,name,decision,date\nproduct,Ada,approved,2026-09-15\nsecurity,Cleo,approved,2026-09-15\n"
    written = "feature: LIB-41\nreviewer: Ada\ndate: 2026-09-15\ndecision: approved\n"
    words = ("APPROVED", "Approved", "signed off", "go", "accepted", "pass", "LGTM, approved")
    for word in words:
        yield FolderRow("decision", word, {SECURITY: review(decision=word)})
    fixed = [{"id": "S-1", "severity": "high", "title": "open redirect", "status": "fixed"}]
    shapes: dict[str, Files] = {
        "YAML": {SECURITY: None, "reviews/security.yaml": written},
        "YAML under another name": {SECURITY: None, "reviews/security-review-2026-09.yml": written},
        "CSV": {PEOPLE: None, "reviews/stakeholders.csv": table},
        "CSV under another name": {
            PEOPLE: None,
            "approvals/sign-offs.csv": table.replace(",", ";"),
        },
        "acceptance.json": {UAT: None, "reviews/acceptance.json": uat()},
        "uat-results.json": {UAT: None, "reviews/uat-results-week-37.json": uat()},
        "approvals folder": {PEOPLE: None, "approvals/release.json": people()},
        "votes by role": {
            PEOPLE: {"feature": "LIB-41", "approvals": {"product": "approved", "ops": "approved"}}
        },
        "counts": {PEOPLE: {"required": 3, "received": 3, "date": DAY}},
        "required and there": {PEOPLE: people(required_approvers=["Ada", "Cleo"])},
        "fixed finding": {SECURITY: review(findings=fixed)},
        "found and resolved": {UAT: uat(issues={"found": {"high": 2}, "resolved": {"high": 2}})},
        "confidence of testers": {UAT: uat(confidence_breakdown={"high": 3, "low": 0})},
        "code quality": {
            SECURITY: review(sast={"issues_by_severity": {"blocker": 0, "critical": 0, "major": 1}})
        },
        "valid still": {SECURITY: review(valid_until="2026-12-31")},
        "no open defects": {UAT: uat(open_defects=0, known_issues=[], blocked=False)},
        "signature": {UAT: _signed()},
        "another review": {"reviews/legal.json": {"decision": "approved", "date": DAY}},
        "feature by name": {SECURITY: review(feature="Loan renewal at the desk")},
        "feature by folder": {SECURITY: review(feature="loan-renewal")},
    }
    for form, put in shapes.items():
        yield FolderRow("review", form, put)


def _signed() -> Any:
    bare = {name: value for name, value in uat().items() if name != "decision"}
    person = {"name": "Ada", "role": "QA", "date": DAY, "signature": "A-1"}
    return bare | {"overall_status": "APPROVED", "signoffs": [person]}


def _bad_second_reports() -> Iterator[FolderRow]:
    """Yield folders with a second report that is known by its name and not understood."""
    reports_beside: dict[str, Any] = {
        "scan/hadolint.json": [{"code": "DL3002", "level": "error", "file": "Dockerfile"}],
        "scan/audit-notes.json": {"remarks": ["see the call of Monday"]},
        "tests/unit-results.json": {"remarks": "see the wiki"},
    }
    for path, content in reports_beside.items():
        yield FolderRow("second report without a fact", path, {path: content}, path)


def _good_folders() -> Iterator[FolderRow]:
    two_kinds = {"result": {"line": 91.5, "branch": 84.2}}
    yield FolderRow("coverage", "two kinds", {COVER: None, "coverage/last_run.json": two_kinds})
    settled = review(comment="No concerns remain; the finding of May was fixed.")
    yield FolderRow("review", "a doubt that is over", {SECURITY: settled})
    flat = dict.fromkeys(ready()) | {
        path.rpartition("/")[2]: content for path, content in ready().items()
    }
    yield FolderRow("folder", "flat", flat)
    moved = dict.fromkeys(ready()) | {f"release/{path}": text for path, text in ready().items()}
    yield FolderRow("folder", "one level deeper", moved)
    harmless: dict[str, Any] = {
        "shots/desk.png": b"\x89PNG\r\n", "src/due.py": "raise SystemExit('failed')\n",
        "package-lock.json": {"lockfileVersion": 3}, "README.md": "# Loan renewal\n\nSee planning.\n",
        "planning/NOTES.txt": "Ask the branches for the letters.\n", "fonts/a.woff2": b"wOF2",
    }  # fmt: skip
    for path, content in harmless.items():
        yield FolderRow("harmless file", path, {path: content})
    documents: dict[str, Files] = {
        "docs folder": {PLAN: None, "docs/deployment-plan.md": document("Deployment plan")},
        "runbook": {PLAN: None, "planning/RUNBOOK.md": document("Runbook")},
        "approved": {PLAN: document("Deployment plan", "Status: Approved")},
        "final": {PLAN: document("Deployment plan", "**Status:** Final")},
        "of this feature": {PLAN: document("Deployment plan", "Feature: LIB-41")},
        "old date": {PLAN: document("Deployment plan", "Date: 2025-02-01")},
    }
    for form, put in documents.items():
        yield FolderRow("document", form, put)


def _good_wordings() -> Iterator[FolderRow]:
    for form, question in {
        "of the commit": "Is loan renewal of commit 4f2a9c1 ready for production?",
        "key": "Is LIB-41 ready for production?",
    }.items():
        if form == "key":
            yield FolderRow("question", form, {}, "", question)
    shares = {
        "in words": {"line_coverage": "85 percent"}, "percent sign": {"line_coverage": "91.5 %"},
        "ratio": {"line_coverage": 0.915, "unit": "ratio"}, "decimal comma": {"line_coverage": "91,5 %"},
        "with its gate": {"line_coverage": 91.5, "threshold": 80, "quality_gate": "passed"},
    }  # fmt: skip
    for form, report in shares.items():
        yield FolderRow("share", form, {COVER: report})
    times = {
        "milliseconds": {"renew": {"p95_ms": 200}}, "seconds": {"renew": {"p95_s": 0.2}},
        "unit in the text": {"renew": {"p95": "200 ms"}}, "target beside": {"p95_ms": 450, "target_p95_ms": 500},
        "below": {"renew": {"p95": "200 ms", "target": "< 500 ms"}},
    }  # fmt: skip
    for form, report in times.items():
        yield FolderRow("time", form, {LOAD: report})
    links: dict[str, Any] = {
        "done": {"issuelinks": [link("Blocks", "is blocked by", "Done", "done")]},
        "relates to": {"issuelinks": [link("Relates", "relates to")]},
        "built": {"resolution": {"name": "Done"}},
        "labels": {"labels": ["desk", "2026-q3"]},
    }
    for form, change in links.items():
        yield FolderRow("issue", form, {ISSUE: issue(**change)})


# Reviews that people write, in every form


_RAN = (("Scenario", "Result"), ("renew at the desk", "Passed"), ("renew twice", "Passed"))


def _written(path: str, form: str, fields: Mapping[str, Any], rows: Any = ()) -> Files:
    """Return a review of this form instead of the usual one."""
    make, suffix = FORMS[form]
    titles = {UAT: "Acceptance test", SECURITY: "Security review"}
    content = make(titles[path], {"Feature": "LIB-41", "Date": DAY, **fields}, rows)
    return {path: None, f"{path.rpartition('.')[0]}.{suffix}": content}


def _bad_written() -> Iterator[FolderRow]:
    failed = (*_RAN, ("renew abroad", "Failed"))
    blocked = (*_RAN, ("renew abroad", "Blocked"))
    finding = (("Finding", "Severity", "Status"), ("open redirect", "High", "Open"))
    for form in FORMS:
        faults: dict[str, tuple[str, Mapping[str, Any], Any]] = {
            "rejected": (SECURITY, {"Decision": "Rejected"}, ()),
            "conditional": (SECURITY, {"Decision": "Approved once S-4 is fixed"}, ()),
            "refused in German": (SECURITY, {"Entscheidung": "nicht freigegeben"}, ()),
            "nobody decided": (SECURITY, {"Reviewer": "Ada"}, ()),
            "of another feature": (SECURITY, {"Decision": "Approved", "Feature": "LIB-12"}, ()),
            "of long ago": (SECURITY, {"Decision": "Approved", "Date": "2024-02-03"}, ()),
            "no longer valid": (SECURITY, {"Decision": "Approved", "Valid until": "2026-08-31"}, ()),
            "open findings": (SECURITY, {"Decision": "Approved", "Open findings": "2"}, ()),
            "acceptance rejected": (UAT, {"Decision": "Rejected"}, _RAN),
            "still to be done": (SECURITY, {"Decision": "Approved", "Comment": "S-4 must be fixed before the release."}, ()),
        }  # fmt: skip
        if form != "PDF":
            # A PDF has no tables: its rows are lines of text.
            faults["finding in a table"] = (SECURITY, {"Decision": "Approved"}, finding)
            faults["case failed"] = (UAT, {"Decision": "Accepted"}, failed)
            faults["case blocked"] = (UAT, {"Decision": "Accepted"}, blocked)
        for fault, (path, fields, rows) in faults.items():
            yield FolderRow(f"review {fault}", form, _written(path, form, fields, rows))
    boxes = {
        "nobody chose": "[ ] Approved [ ] Rejected",
        "rejected is chosen": "☐ Approved ☒ Rejected",
        "both are chosen": "[x] Approved [x] Rejected",
        "struck out": "~~Approved~~",
    }
    for form, text in boxes.items():
        content = f"# Security review\n\nDecision: {text}\n"
        yield FolderRow("box", form, {SECURITY: None, "reviews/security.md": content})
    hidden: dict[str, bytes] = {
        "page without text": pdf_file([["Security review", "Decision: Approved"], []]),
        "tracked change": word_file(
            "<w:p><w:r><w:t>Decision: Approved</w:t></w:r>"
            "<w:ins><w:r><w:t> with conditions</w:t></w:r></w:ins></w:p>"
        ),
        "damaged Word file": b"PK\x03\x04\x14\x00",
        "gzip that is cut short": gzip.compress(b'{"decision": "approved"}')[:20],
    }
    for form, data in hidden.items():
        suffix = "pdf" if data.startswith(b"%PDF") else "docx"
        if data.startswith(b"\x1f"):
            suffix = "json.gz"
        yield FolderRow("hidden text", form, {SECURITY: None, f"reviews/security.{suffix}": data})
    packed = {
        "JUnit": ("ci/more.xml.gz", reports.junit(9, 1, 0)),
        "Trivy": ("ci/image.json.gz", json.dumps(reports.trivy("critical"))),
    }
    for form, (path, report) in packed.items():
        yield FolderRow("packed bad report", form, {path: gzip.compress(report.encode())})
    lists: dict[str, Files] = {
        "known issues": {"notes/known-issues.md": "# Known issues\n\n- Letters go out twice\n"},
        "go or no go": {"notes/go-no-go.md": "# Go or no go\n\nOutcome: NO-GO\n"},
        "votes of JSON": {"notes/go-no-go.json": {"product": "go", "operations": "no-go"}},
        "output of a run": {"ci/pytest-output.txt": "=== 3 failed, 27 passed in 3.2s ===\n"},
        "table of results": {
            "desempenho/resultado.md": "# Teste de carga\n\n| rota | p95 | situação |\n|---|---|---|\n"
            "| GET /loans | 90 ms | aprovado |\n| POST /loans | 900 ms | reprovado |\n"
        },
        "table of drills": {
            "drills/restore.md": "# Restore drill\n\n| step | outcome |\n|---|---|\n"
            "| stop | passed |\n| copy back | failed |\n"
        },
    }
    for form, put in lists.items():
        yield FolderRow("bad news beside", form, put)


def _good_written() -> Iterator[FolderRow]:
    states = (
        "| state | meaning |\n|---|---|\n| rejected | The desk refused it. |\n| failed | None. |\n"
    )
    yield FolderRow(
        "document beside", "words of states", {"notes/glossary.md": f"# States\n\n{states}"}
    )
    page = "".join(
        f"<tr><th>{label}</th><td>{value}</td></tr>"
        for label, value in (("Reviewer", "Ada"), ("Date", DAY), ("Decision", "Approved"))
    )
    heads = f"<html><body><h1>Security review</h1><table>{page}</table></body></html>"
    put: Files = {SECURITY: None, "reviews/security-review.html": heads}
    yield FolderRow("security review", "HTML with heads of rows", put)
    for form in FORMS:
        decided = {"Decision": "Approved", "Reviewer": "Ada", "Comment": "No open findings remain."}
        yield FolderRow("security review", form, _written(SECURITY, form, decided))
        yield FolderRow("acceptance", form, _written(UAT, form, {"Decision": "Accepted"}, _RAN))
        counts = {"Decision": "Accepted", "Total": 12, "Passed": 12, "Failed": 0}
        yield FolderRow("acceptance counted", form, _written(UAT, form, counts))
    languages = {
        "German": {"Entscheidung": "freigegeben", "Prüfer": "Ida"},
        "French": {"Décision": "approuvé", "Relecteur": "Anaïs"},
        "Spanish": {"Decisión": "aprobado", "Revisor": "Ana"},
        "Italian": {"Decisione": "approvato", "Revisore": "Ugo"},
        "Portuguese": {"Decisão": "aprovado"},
        "Dutch": {"Besluit": "goedgekeurd", "Beoordelaar": "Jan"},
    }
    for language, fields in languages.items():
        for form in ("YAML", "Markdown list", "HTML", "Word"):
            put = _written(SECURITY, form, fields)
            yield FolderRow(f"review in {language}", form, put)
    boxes = "# Security review\n\nDecision: ☒ Approved ☐ Rejected\n"
    yield FolderRow("box", "one is chosen", {SECURITY: None, "reviews/security.md": boxes})
    plan = document("Deployment plan")
    page = f"<html><body><h1>Deployment plan</h1><p>{_TEXT * 4}</p></body></html>"
    lines = [plan[place : place + 80] for place in range(0, len(plan), 80)]
    documents: dict[str, Files] = {
        "HTML": {PLAN: None, "planning/Deployment Plan.html": page},
        "Word": {PLAN: None, "docs/Deployment Plan.docx": word_file(f"<w:p><w:r><w:t>{_TEXT * 4}</w:t></w:r></w:p>")},
        "PDF": {PLAN: None, "documents/Deployment Plan.pdf": pdf_file([lines[:30], lines[30:] or ["end"]])},
        "reStructuredText": {PLAN: None, "docs/deployment-plan.rst": plan},
    }  # fmt: skip
    for form, put in documents.items():
        yield FolderRow("document", form, put)
    packed = gzip.compress(reports.junit(40, 0, 1).encode())
    yield FolderRow("tests", "packed", {UNIT: None, "ci/unit.xml.gz": packed})


# Runs as CI servers return them, under a name that says nothing


def _server_runs(state: str) -> dict[str, Any]:
    """Return a run of each server that is `good`, `bad` or `open`."""
    words = {
        "good": ("success", "SUCCESS", "passed", "succeeded", "SUCCESSFUL"),
        "bad": ("failure", "FAILURE", "failed", "failed", "FAILED"),
        "open": (None, None, "running", None, "IN_PROGRESS"),
    }[state]
    built = {"head_branch": "main", "head_sha": "4f2a9c1", "created_at": MOMENT}
    gitlab = {"good": "success", "bad": "failed", "open": "manual"}[state]
    return {
        "GitHub": {"id": 3, "status": "completed", "conclusion": words[0], **built},
        "gh run view": {"databaseId": 3, "conclusion": words[0], "headBranch": "main", "headSha": "4f2a", "workflowName": "CI"},
        "GitLab": {"id": 7, "ref": "main", "sha": "4f2a9c1", "status": gitlab, "created_at": MOMENT},
        "GitLab jobs": [{"id": 1, "name": "unit", "stage": "test", "status": gitlab, "ref": "main", "pipeline": {"id": 7}}],
        "Jenkins": {"_class": "WorkflowRun", "building": state == "open", "number": 7, "duration": 9, "result": words[1]},
        "Azure": {"id": 7, "buildNumber": "7", "sourceBranch": "refs/heads/main", "sourceVersion": "4f2a", "status": "completed", "result": words[3]},
        "CircleCI": {"id": "a", "project_slug": "gh/a/b", "pipeline_number": 7, "pipeline_id": "p", "status": {"good": "success", "bad": "failed", "open": "on_hold"}[state]},
        "Buildkite": {"number": 7, "state": words[2], "branch": "main", "commit": "4f2a9c1", "jobs": []},
        "Bitbucket": {"build_number": 7, "state": {"name": "COMPLETED", "result": {"name": words[4]}}, "target": {"ref_name": "main"}, "created_on": MOMENT},
        "TeamCity": {"buildTypeId": "Due", "number": "7", "status": words[1] or "UNKNOWN", "branchName": "main"},
        "Travis": {"@type": "build", "number": "7", "state": words[2], "duration": 9, "event_type": "push", "branch": {"name": "main"}},
    }  # fmt: skip


def _bad_servers() -> Iterator[FolderRow]:
    for state in ("bad", "open"):
        for server, report in _server_runs(state).items():
            put = {PIPE: None, "ci/thursday.json": report}
            yield FolderRow(f"run that is {state}", server, put)


def _good_servers() -> Iterator[FolderRow]:
    for server, report in _server_runs("good").items():
        put = {PIPE: None, "ci/thursday.json": report}
        yield FolderRow("run of a server", server, put)
