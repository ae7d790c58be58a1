"""Results of test runners in JSON, and in the lines of JSON that Go prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from transom.canonical import Json
from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import elements_of, members_of
from transom.formats.test_runs import (
    FailedTest,
    OutcomeCounts,
    RunProblem,
    TestReport,
    report_of_counts,
)


def read_test_json(data: Json) -> TestReport | None:
    """Return the run of a report in JSON, or of Go's lines of JSON; None if it is neither."""
    if isinstance(data, list):
        # Lists: Go prints a line of JSON for each event, and Cucumber writes its features.
        return _go(data) or _cucumber(data)
    if not isinstance(data, dict):
        return None
    for reader in _JSON_READERS:
        run = reader(data)
        if run is not None:
            return run
    return None


def _pytest(data: dict[str, Any]) -> TestReport | None:
    """Read pytest-json-report: its exit code tells of an interrupted run."""
    summary = data.get("summary")
    if not isinstance(summary, dict) or "exitcode" not in data:
        return None
    counts = OutcomeCounts("/summary")
    counts.take(
        summary,
        {
            "passed": "passed",
            "xpassed": "passed",
            "failed": "failed",
            "error": "errors",
            "skipped": "not_run",
            "xfailed": "not_run",
            "total": "total",
        },
    )
    counts.numbers.setdefault("passed", 0)
    problems = list[RunProblem]()
    failed = counts.get("failed") + counts.get("errors")
    # pytest: 0 all passed, 1 some failed, 2 interrupted, 3 internal error, 4 usage, 5 no tests.
    exit_code = data["exitcode"]
    if exit_code not in (0, 1) or (exit_code == 1 and not failed):
        problems.append(RunProblem(f"pytest ended with exit code {exit_code}", "/exitcode"))
    collected = read_number(summary.get("collected"), is_count=True)
    deselected = read_number(summary.get("deselected", 0), is_count=True)
    if isinstance(collected, PrintedNumber) and isinstance(deselected, PrintedNumber):
        # Collected tests without an outcome did not run, as after `-x`.
        selected = int(collected.value - deselected.value)
        if selected > counts.get("total"):
            text = f"{counts.get('total')} of {selected} collected tests have an outcome"
            problems.append(RunProblem(text, "/summary/collected"))
    return report_of_counts("pytest", counts, _cases(data.get("tests"), "/tests"), problems)


def _cases(
    listed: object, place: str, *, names: tuple[str, ...] = ("nodeid", "name", "fullName", "title")
) -> list[FailedTest]:
    """Return the failed entries of a list of tests."""
    failures = list[FailedTest]()
    for number, case in enumerate(elements_of(listed)):
        if not isinstance(case, dict):
            continue
        outcome = str(case.get("outcome") or case.get("status") or "").casefold()
        # Each runner has words of its own: `broken` is Allure's, `timedOut` Playwright's.
        if outcome in ("failed", "error", "broken", "timedout"):
            name = next((str(case[key]) for key in names if case.get(key)), "unnamed")
            failures.append(FailedTest(name, "", f"{place}/{number}"))
    return failures


def _jest(data: dict[str, Any]) -> TestReport | None:
    """Read Jest and Vitest: suites that could not be loaded have no tests that fail."""
    if "numTotalTests" not in data or "numFailedTests" not in data:
        return None
    counts = OutcomeCounts("")
    counts.take(
        data,
        {
            "numTotalTests": "total",
            "numPassedTests": "passed",
            "numFailedTests": "failed",
            "numPendingTests": "not_run",
            "numTodoTests": "not_run",
        },
    )
    problems = list[RunProblem]()
    # A suite whose module cannot be loaded has no tests, so the counts of tests look good.
    for key in ("numRuntimeErrorTestSuites", "numFailedTestSuites"):
        if data.get(key) and not counts.get("failed"):
            problems.append(RunProblem(f"{data[key]} test suites could not run", f"/{key}"))
    # For instance by a threshold of coverage.
    if data.get("success") is False and not counts.get("failed"):
        problems.append(RunProblem("the run calls itself unsuccessful", "/success"))
    if data.get("wasInterrupted") is True:
        problems.append(RunProblem("the run was interrupted", "/wasInterrupted"))
    failures = list[FailedTest]()
    for number, suite in enumerate(data.get("testResults") or ()):
        if isinstance(suite, dict):
            place = f"/testResults/{number}/assertionResults"
            failures += _cases(suite.get("assertionResults"), place)
    return report_of_counts("Jest", counts, failures, problems)


def _googletest(data: dict[str, Any]) -> TestReport | None:
    """Read GoogleTest by its cases: those that a filter left out count as tests in its totals."""
    suites = elements_of(data.get("testsuites"))
    cases = list[tuple[str, dict[str, Any]]]()
    for number, suite in enumerate(suites):
        for place, case in enumerate(elements_of(members_of(suite).get("testsuite"))):
            cases.append((f"/testsuites/{number}/testsuite/{place}", members_of(case)))
    if not cases or not all("result" in case and "status" in case for _, case in cases):
        return None
    counts = OutcomeCounts("")
    counts.take(data, {"tests": "total", "failures": "failed", "errors": "errors"})
    counts.numbers["passed"] = counts.numbers["not_run"] = 0
    failures = list[FailedTest]()
    for locator, case in cases:
        is_run = case["status"] == "RUN" and case["result"] == "COMPLETED"
        if case.get("failures"):
            name = f"{case.get('classname', '')}.{case.get('name', 'unnamed')}"
            failures.append(FailedTest(name, "", locator))
        else:
            role = "passed" if is_run else "not_run"
            counts.numbers[role] = counts.get(role) + 1
    return report_of_counts("GoogleTest", counts, failures, [])


def _mocha(data: dict[str, Any]) -> TestReport | None:
    stats = data.get("stats")
    if not isinstance(stats, dict) or not {"passes", "failures", "tests"} <= stats.keys():
        return None
    counts = OutcomeCounts("/stats")
    counts.take(
        stats,
        {"tests": "total", "passes": "passed", "failures": "failed", "pending": "not_run"},
    )
    failures = list[FailedTest]()
    for number, case in enumerate(data.get("failures") or ()):
        if isinstance(case, dict):
            name = str(case.get("fullTitle") or case.get("title") or "unnamed")
            failures.append(FailedTest(name, "", f"/failures/{number}"))
    return report_of_counts("Mocha", counts, failures, [])


def _rspec(data: dict[str, Any]) -> TestReport | None:
    """Read RSpec: errors outside of examples leave the examples untouched."""
    summary = data.get("summary")
    if not isinstance(summary, dict) or "example_count" not in summary:
        return None
    counts = OutcomeCounts("/summary")
    counts.take(
        summary,
        {"example_count": "total", "failure_count": "failed", "pending_count": "not_run"},
    )
    problems = list[RunProblem]()
    outside = summary.get("errors_outside_of_examples_count")
    if outside:
        place = "/summary/errors_outside_of_examples_count"
        problems.append(RunProblem(f"{outside} errors outside of examples", place))
    # Formatters of older versions have no such count, and say it in the summary alone.
    elif " outside of examples" in str(data.get("summary_line")):
        problems.append(RunProblem(str(data["summary_line"]), "/summary_line"))
    return report_of_counts("RSpec", counts, _cases(data.get("examples"), "/examples"), problems)


def _ctrf(data: dict[str, Any]) -> TestReport | None:
    results = data.get("results")
    summary = members_of(results).get("summary")
    if not isinstance(results, dict) or not isinstance(summary, dict) or "tool" not in results:
        return None
    # `pending` and `other` are outcomes of CTRF, too; neither proves anything.
    counts = OutcomeCounts("/results/summary")
    counts.take(
        summary,
        {
            "tests": "total",
            "passed": "passed",
            "failed": "failed",
            "pending": "not_run",
            "skipped": "not_run",
            "other": "not_run",
        },
    )
    return report_of_counts("CTRF", counts, _cases(results.get("tests"), "/results/tests"), [])


def _playwright(data: dict[str, Any]) -> TestReport | None:
    stats = data.get("stats")
    if not isinstance(stats, dict) or not {"expected", "unexpected"} <= stats.keys():
        return None
    counts = OutcomeCounts("/stats")
    counts.take(
        stats,
        # A test that is expected to fail and fails is `expected`. A flaky one passed at a later
        # attempt.
        {"expected": "passed", "unexpected": "failed", "skipped": "not_run", "flaky": "passed"},
    )
    problems = list[RunProblem]()
    if data.get("errors"):
        problems.append(RunProblem("errors outside of the tests", "/errors"))
    if stats.get("flaky"):
        problems.append(RunProblem(f"{stats['flaky']} tests are flaky", "/stats/flaky"))
    return report_of_counts("Playwright", counts, [], problems)


def _allure(data: dict[str, Any]) -> TestReport | None:
    """Read the summary of Allure: `broken` are tests that ended in an error, not in a failure."""
    statistic = data.get("statistic")
    if not isinstance(statistic, dict) or "broken" not in statistic:
        return None
    counts = OutcomeCounts("/statistic")
    counts.take(
        statistic,
        {
            "total": "total",
            "passed": "passed",
            "failed": "failed",
            "broken": "errors",
            "skipped": "not_run",
            "unknown": "not_run",
        },
    )
    return report_of_counts("Allure", counts, [], [])


def _newman(data: dict[str, Any]) -> TestReport | None:
    """Read Newman, the runner of Postman's collections."""
    run = data.get("run")
    stats = members_of(run).get("stats")
    if not isinstance(run, dict) or not isinstance(stats, dict) or "assertions" not in stats:
        return None
    assertions = members_of(stats["assertions"])
    counts = OutcomeCounts("/run/stats/assertions")
    counts.take(assertions, {"total": "total", "failed": "failed", "pending": "not_run"})
    problems = list[RunProblem]()
    # A request that got no answer has no assertion that could fail.
    requests = stats.get("requests")
    if isinstance(requests, dict) and requests.get("failed"):
        text = f"{requests['failed']} requests failed"
        problems.append(RunProblem(text, "/run/stats/requests/failed"))
    return report_of_counts("Newman", counts, [], problems)


# By keys that no other runner writes, so their order does not matter.
_JSON_READERS: tuple[Callable[[dict[str, Any]], TestReport | None], ...] = (
    _pytest,
    _jest,
    _googletest,
    _mocha,
    _rspec,
    _ctrf,
    _playwright,
    _allure,
    _newman,
)


def _go(rows: list[Json]) -> TestReport | None:
    """Read the lines of `go test -json`: the last action of each test counts."""
    events = [row for row in rows if isinstance(row, dict)]
    if not events or len(events) < len(rows):
        return None
    if not all("Action" in event for event in events) or "Package" not in events[-1]:
        return None
    outcomes = dict[tuple[str, str], tuple[str, int]]()
    for number, event in enumerate(events):
        key = (str(event.get("Package", "")), str(event.get("Test", "")))
        # `output`, `pause` and `cont` say nothing of the outcome.
        if event["Action"] in ("pass", "fail", "skip", "run", "start", "build-fail"):
            outcomes[key] = (str(event["Action"]), number)
    counts = OutcomeCounts("")
    failures = list[FailedTest]()
    problems = list[RunProblem]()
    for (package, test), (action, number) in outcomes.items():
        if test:
            role = {"pass": "passed", "fail": "failed"}.get(action, "not_run")
            counts.numbers[role] = counts.get(role) + 1
            if action == "fail":
                failures.append(FailedTest(f"{package}.{test}", "", f"/{number}"))
            elif action in ("run", "start"):
                problems.append(RunProblem(f"{test} has no outcome", f"/{number}"))
        elif action in ("run", "start"):
            problems.append(RunProblem(f"{package} has no outcome", f"/{number}"))
        elif action not in ("pass", "skip"):
            # A package that does not build has no tests that fail.
            problems.append(RunProblem(f"{package} failed", f"/{number}"))
    counts.numbers.setdefault("passed", 0)
    return report_of_counts("go test", counts, failures, problems)


def _cucumber(rows: list[Json]) -> TestReport | None:
    """Read Cucumber: a scenario fails with any of its steps, and undefined steps did not run."""
    features = [row for row in rows if isinstance(row, dict)]
    if not features or not all("elements" in row and "uri" in row for row in features):
        return None
    counts = OutcomeCounts("")
    failures = list[FailedTest]()
    for number, feature in enumerate(features):
        for place, scenario in enumerate(feature["elements"] or ()):  # type: ignore[arg-type]
            # The steps of a background are repeated in each scenario.
            if not isinstance(scenario, dict) or scenario.get("type") == "background":
                continue
            words = set(_step_words(scenario))
            locator = f"/{number}/elements/{place}"
            # Two definitions of a step fit: Cucumber runs neither, and fails.
            if "failed" in words or "ambiguous" in words:
                counts.numbers["failed"] = counts.get("failed") + 1
                failures.append(FailedTest(str(scenario.get("name", "")), "", locator))
            # `undefined`, `pending` and `skipped` steps did not run, so the scenario proves
            # nothing.
            elif words == {"passed"}:
                counts.numbers["passed"] = counts.get("passed") + 1
            else:
                counts.numbers["not_run"] = counts.get("not_run") + 1
    counts.numbers.setdefault("passed", 0)
    return report_of_counts("Cucumber", counts, failures, [])


def _step_words(scenario: dict[str, Any]) -> Iterator[str]:
    """Yield the status of each step and hook of a scenario."""
    for part in ("before", "steps", "after"):
        for step in scenario.get(part) or ():
            result = members_of(step).get("result")
            if isinstance(result, dict):
                yield str(result.get("status", "")).casefold()
