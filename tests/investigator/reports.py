"""Small reports in the forms of many tools, made of a few numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TestMaker = Callable[[int, int, int], Any]
CoverageMaker = Callable[[int, int], Any]
LoadMaker = Callable[[int, int, float], Any]

DAY = "2026-09-15"
MOMENT = f"{DAY}T06:07:45Z"


def junit(passed: int, failed: int, skipped: int) -> str:
    return f"<testsuites>{_suite(passed, failed, skipped)}</testsuites>"


def nested_junit(passed: int, failed: int, skipped: int) -> str:
    inner = _suite(passed, failed, skipped)
    return f'<testsuites><testsuite name="outer">{inner}</testsuite></testsuites>'


def surefire(passed: int, failed: int, skipped: int) -> str:
    return f'<?xml version="1.0"?>{_suite(passed, failed, skipped)}'


def _suite(passed: int, failed: int, skipped: int) -> str:
    total = passed + failed + skipped
    cases = [f'<testcase classname="loans.Due" name="ok{n}"/>' for n in range(passed)]
    for number in range(failed):
        name = f'classname="loans.Due" name="bad{number}"'
        cases.append(f'<testcase {name}><failure message="expected 4">x</failure></testcase>')
    for number in range(skipped):
        cases.append(f'<testcase classname="loans.Due" name="off{number}"><skipped/></testcase>')
    counts = f'tests="{total}" failures="{failed}" errors="0" skipped="{skipped}"'
    head = f'<testsuite name="loans.Due" {counts} timestamp="{MOMENT[:-1]}">'
    return f"{head}{''.join(cases)}</testsuite>"


def testng(passed: int, failed: int, skipped: int) -> str:
    total = passed + failed + skipped
    counts = f'total="{total}" passed="{passed}" failed="{failed}" skipped="{skipped}" ignored="0"'
    return f'<testng-results {counts}><suite name="s" started-at="{MOMENT}"/></testng-results>'


def nunit(passed: int, failed: int, skipped: int) -> str:
    total = passed + failed + skipped
    counts = f'total="{total}" passed="{passed}" failed="{failed}" skipped="{skipped}"'
    result = "Failed" if failed else "Passed"
    return f'<test-run {counts} inconclusive="0" result="{result}" end-time="{MOMENT}"/>'


def xunit(passed: int, failed: int, skipped: int) -> str:
    total = passed + failed + skipped
    counts = f'total="{total}" passed="{passed}" failed="{failed}" skipped="{skipped}" errors="0"'
    return f'<assemblies timestamp="{MOMENT}"><assembly name="Due.dll" {counts}/></assemblies>'


def trx(passed: int, failed: int, skipped: int) -> str:
    total = passed + failed + skipped
    counts = f'total="{total}" executed="{passed + failed}" passed="{passed}" failed="{failed}"'
    zeros = 'error="0" timeout="0" aborted="0" inconclusive="0" notExecuted="0"'
    outcome = "Failed" if failed else "Completed"
    summary = f'<ResultSummary outcome="{outcome}"><Counters {counts} {zeros}/></ResultSummary>'
    return f'<TestRun><Times finish="{MOMENT}"/>{summary}</TestRun>'


def robot(passed: int, failed: int, skipped: int) -> str:
    stat = f'<stat pass="{passed}" fail="{failed}" skip="{skipped}">All Tests</stat>'
    return f'<robot generated="{MOMENT}"><statistics><total>{stat}</total></statistics></robot>'


def pytest_json(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    summary = {"passed": passed, "failed": failed, "skipped": skipped, "total": total}
    exit_code = 5 if total == 0 else int(failed > 0)
    return {
        "created": 1789452465.0,
        "exitcode": exit_code,
        "summary": summary | {"collected": total},
    }


def jest(passed: int, failed: int, skipped: int) -> Any:
    return {
        "numTotalTests": passed + failed + skipped,
        "numPassedTests": passed,
        "numFailedTests": failed,
        "numPendingTests": skipped,
        "numRuntimeErrorTestSuites": 0,
        "success": failed == 0,
        "startTime": 1789452465000,
        "testResults": [],
    }


def mocha(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    stats = {"tests": total, "passes": passed, "failures": failed, "pending": skipped}
    failures = [{"fullTitle": f"due {n}"} for n in range(failed)]
    return {"stats": stats | {"end": MOMENT}, "tests": [], "failures": failures}


def rspec(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    summary = {"example_count": total, "failure_count": failed, "pending_count": skipped}
    summary["errors_outside_of_examples_count"] = 0
    return {"version": "3.13", "examples": [], "summary": summary}


def ctrf(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    summary = {"tests": total, "passed": passed, "failed": failed, "skipped": skipped}
    summary |= {"pending": 0, "other": 0, "start": 1789452465000, "stop": 1789452466000}
    return {"results": {"tool": {"name": "t"}, "summary": summary, "tests": []}}


def playwright(passed: int, failed: int, skipped: int) -> Any:
    stats = {"startTime": MOMENT, "expected": passed, "unexpected": failed, "flaky": 0}
    return {"config": {}, "suites": [], "errors": [], "stats": stats | {"skipped": skipped}}


def allure(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    statistic = {"failed": failed, "broken": 0, "skipped": skipped, "passed": passed}
    return {"reportName": "due", "statistic": statistic | {"unknown": 0, "total": total}}


def newman(passed: int, failed: int, skipped: int) -> Any:
    assertions = {"total": passed + failed + skipped, "failed": failed, "pending": skipped}
    stats = {"requests": {"total": 3, "failed": 0}, "assertions": assertions}
    return {"collection": {}, "run": {"stats": stats, "failures": []}}


def go_test(passed: int, failed: int, skipped: int) -> str:
    rows = [{"Time": MOMENT, "Action": "start", "Package": "due"}]
    for count, action in ((passed, "pass"), (failed, "fail"), (skipped, "skip")):
        for number in range(count):
            name = f"Test{action}{number}"
            rows.append({"Action": "run", "Package": "due", "Test": name})
            rows.append({"Action": action, "Package": "due", "Test": name})
    rows.append({"Action": "fail" if failed else "pass", "Package": "due"})
    return "\n".join(json.dumps(row) for row in rows)


def cucumber(passed: int, failed: int, skipped: int) -> Any:
    scenarios = []
    for count, status in ((passed, "passed"), (failed, "failed"), (skipped, "skipped")):
        for number in range(count):
            step = {"name": "When", "result": {"status": status}}
            scenarios.append({"name": f"{status} {number}", "type": "scenario", "steps": [step]})
    return [{"uri": "due.feature", "name": "Due", "elements": scenarios}]


def own_counts(passed: int, failed: int, skipped: int) -> Any:
    total = passed + failed + skipped
    counts = {"total": total, "passed": passed, "failed": failed, "skipped": skipped}
    return {"finished_at": MOMENT, "summary": counts}


TESTS: dict[str, tuple[TestMaker, str]] = {
    "junit": (junit, "xml"), "nested junit": (nested_junit, "xml"), "surefire": (surefire, "xml"),
    "testng": (testng, "xml"), "nunit": (nunit, "xml"), "xunit": (xunit, "xml"), "trx": (trx, "trx"),
    "robot": (robot, "xml"), "pytest": (pytest_json, "json"), "jest": (jest, "json"),
    "mocha": (mocha, "json"), "rspec": (rspec, "json"), "ctrf": (ctrf, "json"),
    "playwright": (playwright, "json"), "allure": (allure, "json"), "newman": (newman, "json"),
    "go": (go_test, "jsonl"), "cucumber": (cucumber, "json"), "own": (own_counts, "json"),
}  # fmt: skip


# Coverage: covered and total lines, and as many branches


def coverage_py(covered: int, total: int) -> Any:
    totals = {"covered_lines": covered, "num_statements": total, "percent_covered": 91.0}
    totals |= {"num_branches": total, "covered_branches": covered}
    return {"meta": {"version": "7.6", "timestamp": MOMENT[:-1]}, "files": {}, "totals": totals}


def istanbul(covered: int, total: int) -> Any:
    share = 100 * covered / total if total else 100
    part = {"total": total, "covered": covered, "skipped": 0, "pct": share}
    return {"total": {"lines": part, "statements": part, "functions": part, "branches": part}}


def cobertura(covered: int, total: int) -> str:
    share = covered / total if total else 1
    lines = f'lines-valid="{total}" lines-covered="{covered}" line-rate="{share}"'
    branches = f'branches-valid="{total}" branches-covered="{covered}" branch-rate="{share}"'
    return f'<coverage {lines} {branches} version="7" timestamp="1789452465"></coverage>'


def jacoco(covered: int, total: int) -> str:
    counters = [
        f'<counter type="{kind}" missed="{total - covered}" covered="{covered}"/>'
        for kind in ("INSTRUCTION", "BRANCH", "LINE")
    ]
    return f'<report name="due"><package name="due"/>{"".join(counters)}</report>'


def clover(covered: int, total: int) -> str:
    statements = f'statements="{total}" coveredstatements="{covered}"'
    conditionals = f'conditionals="{total}" coveredconditionals="{covered}"'
    metrics = f"<metrics {statements} {conditionals}/>"
    return f'<coverage generated="1789452465"><project>{metrics}</project></coverage>'


def open_cover(covered: int, total: int) -> str:
    points = f'numSequencePoints="{total}" visitedSequencePoints="{covered}"'
    branches = f'numBranchPoints="{total}" visitedBranchPoints="{covered}"'
    return f"<CoverageSession><Summary {points} {branches}/></CoverageSession>"


def lcov(covered: int, total: int) -> str:
    rows = ["TN:", "SF:due.c", f"LF:{total}", f"LH:{covered}", f"BRF:{total}", f"BRH:{covered}"]
    return "\n".join([*rows, "end_of_record", ""])


def llvm(covered: int, total: int) -> Any:
    part = {"count": total, "covered": covered, "percent": 100}
    totals = {"lines": part, "branches": part}
    return {"type": "llvm.coverage.json.export", "version": "2.0.1", "data": [{"totals": totals}]}


def go_cover(covered: int, total: int) -> str:
    rows = ["mode: set", f"due/due.go:1.1,2.2 {covered} 1"]
    return "\n".join([*rows, f"due/due.go:3.1,4.2 {total - covered} 0", ""])


def own_coverage(covered: int, total: int) -> Any:
    return {"measured_at": MOMENT, "lines": {"total": total, "covered": covered}}


COVERAGE: dict[str, tuple[CoverageMaker, str]] = {
    "coverage.py": (coverage_py, "json"), "istanbul": (istanbul, "json"),
    "cobertura": (cobertura, "xml"), "jacoco": (jacoco, "xml"), "clover": (clover, "xml"),
    "opencover": (open_cover, "xml"), "lcov": (lcov, "info"), "llvm": (llvm, "json"),
    "go": (go_cover, "out"), "own": (own_coverage, "json"),
}  # fmt: skip


# Scans: findings by their severity, in lower case


def sarif(*severities: str) -> Any:
    scores = {"critical": "9.8", "high": "7.5", "medium": "5.0", "low": "2.0"}
    results = []
    for number, severity in enumerate(severities):
        properties = {"security-severity": scores[severity]}
        message = {"text": "query built from input"}
        results.append({"ruleId": f"R{number}", "message": message, "properties": properties})
    invocation = {"executionSuccessful": True, "endTimeUtc": MOMENT}
    driver = {"name": "scanner", "rules": []}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return {"version": "2.1.0", "runs": [run]}


def trivy(*severities: str) -> Any:
    rows = [
        {"VulnerabilityID": f"CVE-1-{n}", "PkgName": "lib", "Severity": severity.upper()}
        for n, severity in enumerate(severities)
    ]
    result = {"Target": "loans:1 (debian 12)", "Class": "os-pkgs", "Vulnerabilities": rows}
    head = {"SchemaVersion": 2, "CreatedAt": MOMENT, "ArtifactName": "loans:1"}
    return {**head, "ArtifactType": "container_image", "Results": [result]}


def trivy_cluster(*severities: str) -> Any:
    return {
        "ClusterName": "c",
        "Resources": [{"Kind": "Pod", "Results": trivy(*severities)["Results"]}],
    }


def grype(*severities: str) -> Any:
    matches = [
        {"vulnerability": {"id": f"CVE-1-{n}", "severity": severity.title()}, "artifact": {}}
        for n, severity in enumerate(severities)
    ]
    return {"matches": matches, "descriptor": {"name": "grype", "timestamp": MOMENT}}


def semgrep(*severities: str) -> Any:
    words = {"critical": "CRITICAL", "high": "ERROR", "medium": "WARNING", "low": "INFO"}
    results = [
        {"check_id": f"r{n}", "path": "a.py", "extra": {"severity": words[severity]}}
        for n, severity in enumerate(severities)
    ]
    return {"results": results, "errors": [], "paths": {"scanned": ["a.py"]}, "version": "1.9"}


def snyk(*severities: str) -> Any:
    rows = [{"id": f"S-{n}", "severity": severity} for n, severity in enumerate(severities)]
    return {"ok": not rows, "vulnerabilities": rows, "dependencyCount": 40, "packageManager": "npm"}


def npm(*severities: str) -> Any:
    rows = {f"p{n}": {"severity": severity} for n, severity in enumerate(severities)}
    metadata = {"dependencies": {"total": 40}}
    return {"auditReportVersion": 2, "vulnerabilities": rows, "metadata": metadata}


def old_npm(*severities: str) -> Any:
    rows = {str(n): {"severity": severity} for n, severity in enumerate(severities)}
    return {"actions": [], "advisories": rows, "metadata": {"totalDependencies": 40}}


def osv(*severities: str) -> Any:
    scores = {"critical": "9.8", "high": "7.5", "medium": "5.0", "low": "2.0"}
    packages = [
        {"package": {"name": "p"}, "groups": [{"ids": [f"G-{n}"], "max_severity": scores[one]}]}
        for n, one in enumerate(severities)
    ]
    return {"results": [{"source": {"path": "lock"}, "packages": packages}]}


def dependency_check(*severities: str) -> Any:
    rows = [{"name": f"CVE-1-{n}", "severity": one.upper()} for n, one in enumerate(severities)]
    dependency = {"fileName": "a.jar", "vulnerabilities": rows}
    info = {"reportDate": MOMENT}
    return {
        "reportSchema": "1.1",
        "scanInfo": {},
        "projectInfo": info,
        "dependencies": [dependency],
    }


def bandit(*severities: str) -> Any:
    rows = [{"test_id": f"B{n}", "issue_severity": one.upper()} for n, one in enumerate(severities)]
    return {"errors": [], "generated_at": MOMENT, "metrics": {}, "results": rows}


def gosec(*severities: str) -> Any:
    rows = [{"rule_id": f"G{n}", "severity": one.upper()} for n, one in enumerate(severities)]
    return {"Golang errors": {}, "Issues": rows, "Stats": {"files": 4}}


def gitlab_scan(*severities: str) -> Any:
    rows = [
        {"id": str(n), "name": "x", "severity": one.title()} for n, one in enumerate(severities)
    ]
    scan = {"scanner": {"id": "s"}, "type": "sast", "status": "success", "end_time": MOMENT[:-1]}
    return {"version": "15.0.0", "vulnerabilities": rows, "scan": scan}


def zap(*severities: str) -> Any:
    codes = {"critical": "3", "high": "3", "medium": "2", "low": "1"}
    alerts = [{"alert": f"a{n}", "riskcode": codes[one]} for n, one in enumerate(severities)]
    return {"@version": "2.15", "site": [{"@name": "http://x", "alerts": alerts}]}


def checkov(*severities: str) -> Any:
    rows = [{"check_id": f"C{n}", "severity": one.upper()} for n, one in enumerate(severities)]
    results = {"passed_checks": [], "failed_checks": rows}
    return {"check_type": "terraform", "results": results, "summary": {"parsing_errors": 0}}


def own_scan(*severities: str) -> Any:
    counts = {level: severities.count(level) for level in ("critical", "high", "medium", "low")}
    return {"scanned_at": MOMENT, "open_findings": counts}


SCANS: dict[str, Callable[..., Any]] = {
    "sarif": sarif, "trivy": trivy, "trivy of a cluster": trivy_cluster, "grype": grype,
    "semgrep": semgrep, "snyk": snyk, "npm": npm, "npm 6": old_npm, "osv": osv,
    "dependency-check": dependency_check, "bandit": bandit, "gosec": gosec, "gitlab": gitlab_scan,
    "zap": zap, "checkov": checkov, "own": own_scan,
}  # fmt: skip


# Load tests: requests, failed ones, 95th percentile in milliseconds


def k6(requests: int, failed: int, p95: float) -> Any:
    duration = {"avg": p95 / 2, "p(90)": p95 * 0.9, "p(95)": p95}
    failures: dict[str, float] = {"passes": failed, "fails": requests - failed}
    failures["value"] = failed / requests if requests else 0
    metrics = {"http_req_duration": duration, "http_req_failed": failures}
    return {"root_group": {}, "metrics": {**metrics, "http_reqs": {"count": requests, "rate": 9.0}}}


def jmeter(requests: int, failed: int, p95: float) -> Any:
    total = {"transaction": "Total", "sampleCount": requests, "errorCount": failed}
    return {"Total": total | {"meanResTime": p95 / 2, "pct1ResTime": p95 / 2, "pct2ResTime": p95}}


def jmeter_csv(requests: int, failed: int, p95: float) -> str:
    rows = ["timeStamp,elapsed,label,responseCode,success"]
    for number in range(requests):
        good = "false" if number < failed else "true"
        rows.append(f"178945246{number % 10}000,{p95},due,200,{good}")
    return "\n".join(rows) + "\n"


def gatling(requests: int, failed: int, p95: float) -> Any:
    counted = {"total": requests, "ok": requests - failed, "ko": failed}
    stats = {"numberOfRequests": counted, "percentiles3": {"total": p95, "ok": p95, "ko": p95}}
    return {"type": "GROUP", "name": "All Requests", "stats": stats}


def locust(requests: int, failed: int, p95: float) -> str:
    head = "Type,Name,Request Count,Failure Count,Average Response Time,95%"
    row = f",Aggregated,{requests},{failed},{p95 / 2},{p95}"
    return f"{head}\nGET,/due,{requests},{failed},{p95 / 2},{p95}\n{row}\n"


def vegeta(requests: int, failed: int, p95: float) -> Any:
    latencies = {"mean": p95 * 500_000, "95th": p95 * 1_000_000}
    success = 1 - failed / requests if requests else 0
    return {"latencies": latencies, "requests": requests, "success": success, "end": MOMENT}


def artillery(requests: int, failed: int, p95: float) -> Any:
    counters = {"http.requests": requests, "http.codes.200": requests - failed}
    counters["http.codes.500"] = failed
    times = {"mean": p95 / 2, "p95": p95}
    return {"aggregate": {"counters": counters, "summaries": {"http.response_time": times}}}


def own_load(requests: int, failed: int, p95: float) -> Any:
    figures = {"measured_at": MOMENT, "total_requests": requests, "failed_requests": failed}
    return figures | {"p95_s": p95 / 1000}


LOADS: dict[str, tuple[LoadMaker, str]] = {
    "k6": (k6, "json"), "jmeter": (jmeter, "json"), "jmeter csv": (jmeter_csv, "jtl"),
    "gatling": (gatling, "json"), "locust": (locust, "csv"), "vegeta": (vegeta, "json"),
    "artillery": (artillery, "json"), "own": (own_load, "json"),
}  # fmt: skip
