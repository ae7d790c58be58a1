"""Results of test runners, recognised by content: JUnit and its kin in XML, and reports in JSON.

Each report becomes one `TestReport`: how many tests ran and failed, how many did not run, the names
of the failed ones, and what else the report says against itself. A runner that was interrupted, or
that met errors outside its tests, says so in a key of its own; each reader knows that key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from transom.canonical import Json
from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import escape
from transom.formats.xml_paths import tag_of

_MOST_FAILURES = 50


@dataclass(frozen=True)
class FailedTest:
    """A test that failed, with its message and its place."""

    name: str
    message: str
    locator: str


@dataclass(frozen=True)
class RunProblem:
    """A statement of a report against itself: `ended with exit code 2`."""

    text: str
    locator: str


@dataclass(frozen=True)
class TestReport:
    """The result of one run of a test runner.

    Attributes:
        tool: the name of the runner or of its report.
        locator: the place of the counts.
        passed, failed: tests that ran; errors count as failed.
        not_run: tests that were skipped, disabled, or never ran.
        failed_at: the place of the number of failures, or "" if they were counted.
        failures: the failed tests, as far as the report lists them.
        listed_failed: how many failed tests the report lists, or None if it lists no tests.
    """

    # Pytest would take the class for tests of its own.
    __test__ = False

    tool: str
    locator: str
    passed: int
    failed: int
    not_run: int
    failed_at: str = ""
    failures: tuple[FailedTest, ...] = ()
    problems: tuple[RunProblem, ...] = ()
    listed_failed: int | None = None

    @property
    def executed(self) -> int:
        """The number of tests that ran."""
        return self.passed + self.failed


@dataclass
class _Counts:
    """Counts of a report by role, each with the place of its number."""

    place: str
    numbers: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def take(self, source: Mapping[str, object], roles: Mapping[str, str], sign: str = "/") -> None:
        """Add the numbers of these keys to their roles."""
        for key, role in roles.items():
            number = read_number(source.get(key), is_count=True)
            if isinstance(number, PrintedNumber):
                self.numbers[role] = self.numbers.get(role, 0) + int(number.value)
                if number.value or role not in self.places:
                    self.places[role] = f"{self.place}{sign}{escape(key)}"

    def get(self, role: str) -> int:
        return self.numbers.get(role, 0)


def _run(
    tool: str, counts: _Counts, failures: list[FailedTest], problems: list[RunProblem]
) -> TestReport:
    """Return the run of a report's counts; a total shows tests without an outcome."""
    failed = counts.get("failed") + counts.get("errors")
    not_run = counts.get("not_run")
    if "passed" in counts.numbers:
        passed = counts.get("passed")
    else:
        passed = max(0, counts.get("total") - failed - not_run)
    lost = counts.get("total") - passed - failed - not_run
    if lost > 0:
        problems.append(
            RunProblem(
                f"{lost} of {counts.get('total')} tests have no outcome",
                counts.places.get("total", counts.place),
            )
        )
    if passed + failed + not_run > counts.get("total") > 0:
        text = f"{passed + failed + not_run} outcomes of {counts.get('total')} tests"
        problems.append(RunProblem(text, counts.places.get("total", counts.place)))
    failed_at = counts.places.get("failed", "") if not counts.get("errors") else ""
    return TestReport(
        tool,
        counts.place or "",
        passed,
        failed,
        not_run,
        failed_at,
        tuple(failures[:_MOST_FAILURES]),
        tuple(problems),
    )


# Reports in XML


def read_test_xml(root: Element) -> TestReport | None:
    """Return the run of a report in XML; None if it is something else."""
    reader = _XML_READERS.get(tag_of(root))
    return reader(root) if reader is not None else None


def _junit(root: Element) -> TestReport:
    """Read JUnit's XML, with suites inside suites, as GoogleTest, Surefire and pytest write it."""
    top = f"/{tag_of(root)}"
    counts = _Counts(top)
    failures = list[FailedTest]()
    problems = list[RunProblem]()
    listed = 0
    for case, place in _elements(root, "testcase", top):
        listed += 1
        outcome, message = _junit_outcome(case)
        counts.numbers[outcome] = counts.get(outcome) + 1
        if outcome == "failed":
            name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
            failures.append(FailedTest(name or "unnamed", message, place))
    declared = _declared(root, top)
    # A report may count more than it lists, and may list what it does not count.
    bad = declared.get("failed") + declared.get("errors")
    if bad != counts.get("failed") and "failed" in declared.numbers and listed:
        text = f"the report counts {bad} failures and errors, its cases {counts.get('failed')}"
        problems.append(RunProblem(text, top))
    unlisted = declared.get("total") - listed - declared.get("disabled")
    if listed and unlisted > 0 and declared.get("total") > listed:
        text = f"the report counts {declared.get('total')} tests and lists {listed}"
        problems.append(RunProblem(text, top))
    not_run = max(counts.get("not_run"), declared.get("not_run") + declared.get("disabled"))
    failed = max(counts.get("failed"), bad)
    passed = counts.get("passed") if listed else max(0, declared.get("total") - bad - not_run)
    return TestReport(
        "JUnit XML",
        top,
        passed,
        failed,
        not_run,
        "",
        tuple(failures[:_MOST_FAILURES]),
        tuple(problems),
        counts.get("failed"),
    )


def _junit_outcome(case: Element) -> tuple[str, str]:
    """Return `passed`, `failed` or `not_run` of a test case, and the message of a failure."""
    if case.get("status", "").casefold() in ("notrun", "skipped", "disabled"):
        return "not_run", ""
    outcome, message = "passed", ""
    for child in case:
        tag = tag_of(child)
        if tag in ("failure", "error"):
            message = message or str(child.get("message") or child.text or "").strip()
            outcome = "failed"
        elif tag == "skipped" and outcome == "passed":
            outcome = "not_run"
    return outcome, message


def _declared(root: Element, top: str) -> _Counts:
    """Return the counts in the attributes of the outermost suites that have any."""
    roles = {
        "tests": "total",
        "failures": "failed",
        "errors": "errors",
        "skipped": "not_run",
        "skip": "not_run",
        "disabled": "disabled",
    }
    counts = _Counts(top)
    suites = [root]
    # `testsuites` may leave the counts to its suites.
    while suites and not any(suite.get("tests") for suite in suites):
        suites = [child for suite in suites for child in suite if tag_of(child) == "testsuite"]
    for suite in suites:
        counts.take(suite.attrib, roles, "/@")
    return counts


def _elements(element: Element, tag: str, path: str) -> Iterator[tuple[Element, str]]:
    """Yield each element of a tag below an element, with its path."""
    numbers = dict[str, int]()
    for child in element:
        name = tag_of(child)
        numbers[name] = numbers.get(name, 0) + 1
        place = f"{path}/{name}[{numbers[name]}]"
        if name == tag:
            yield child, place
        else:
            yield from _elements(child, tag, place)


def _counted_xml(
    tool: str, roles: Mapping[str, str], inner: str = ""
) -> Callable[[Element], TestReport | None]:
    """Return the reader of a report that has its counts in the attributes of an element."""

    def read(root: Element) -> TestReport | None:
        top = f"/{tag_of(root)}"
        holders = list(_elements(root, inner, top)) if inner else [(root, top)]
        counts = _Counts(holders[0][1] if holders else top)
        for holder, _ in holders:
            counts.take(holder.attrib, roles, "/@")
        if not counts.numbers:
            return None
        problems = list[RunProblem]()
        for name in ("result", "outcome"):
            word = root.get(name, "")
            if word.casefold() in ("cancelled", "aborted", "inconclusive", "error", "warning"):
                problems.append(RunProblem(f"the run is called {word}", f"{top}/@{name}"))
        return _run(tool, counts, _failed_elements(root, top), problems)

    return read


def _failed_elements(root: Element, top: str) -> list[FailedTest]:
    """Return the elements that call themselves failed tests."""
    failures = list[FailedTest]()
    for tag in ("test-case", "test", "UnitTestResult", "test-method"):
        for element, place in _elements(root, tag, top):
            words = {element.get(name, "").casefold() for name in ("result", "outcome", "status")}
            if words & {"failed", "fail", "failure", "error", "timeout", "aborted"}:
                name = element.get("fullname") or element.get("testName") or element.get("name")
                failures.append(FailedTest(name or "unnamed", "", place))
    return failures


def _trx(root: Element) -> TestReport | None:
    """Read a report of Visual Studio (TRX)."""
    counters = next(_elements(root, "Counters", "/TestRun"), None)
    if counters is None:
        return None
    element, place = counters
    counts = _Counts(place)
    roles = {"total": "total", "passed": "passed", "failed": "failed"}
    for key in ("error", "timeout", "aborted", "passedButRunAborted", "disconnected"):
        roles[key] = "errors"
    for key in ("notExecuted", "notRunnable", "inconclusive", "pending", "inProgress"):
        roles[key] = "not_run"
    counts.take(element.attrib, roles, "/@")
    # TRX leaves skipped tests out of `notExecuted`: what is not executed did not run.
    executed = read_number(element.get("executed"), is_count=True)
    if isinstance(executed, PrintedNumber) and "total" in counts.numbers:
        counts.numbers["not_run"] = max(
            counts.get("not_run"), counts.get("total") - int(executed.value)
        )
    problems = list[RunProblem]()
    summary = next(_elements(root, "ResultSummary", "/TestRun"), None)
    outcome = summary[0].get("outcome", "") if summary is not None else ""
    if outcome.casefold() in ("aborted", "error", "timeout", "disconnected", "inprogress"):
        problems.append(RunProblem(f"the run is called {outcome}", place))
    return _run("TRX", counts, _failed_elements(root, "/TestRun"), problems)


def _robot(root: Element) -> TestReport | None:
    """Read the output of Robot Framework."""
    for total, place in _elements(root, "stat", "/robot"):
        if (total.text or "").strip() in ("All Tests", "Critical Tests"):
            counts = _Counts(place)
            counts.take(total.attrib, {"pass": "passed", "fail": "failed", "skip": "not_run"}, "/@")
            return _run("Robot Framework", counts, [], [])
    return None


_XML_READERS: Mapping[str, Callable[[Element], TestReport | None]] = {
    "testsuites": _junit,
    "testsuite": _junit,
    "testng-results": _counted_xml(
        "TestNG",
        {
            "total": "total",
            "passed": "passed",
            "failed": "failed",
            "skipped": "not_run",
            "ignored": "not_run",
        },
    ),
    "test-run": _counted_xml(
        "NUnit",
        {
            "total": "total",
            "passed": "passed",
            "failed": "failed",
            "skipped": "not_run",
            "inconclusive": "not_run",
        },
    ),
    "test-results": _counted_xml(
        "NUnit 2",
        {"total": "total", "failures": "failed", "errors": "errors", "inconclusive": "not_run"},
    ),
    "assemblies": _counted_xml(
        "xUnit.net",
        {
            "total": "total",
            "passed": "passed",
            "failed": "failed",
            "errors": "errors",
            "skipped": "not_run",
        },
        "assembly",
    ),
    "TestRun": _trx,
    "robot": _robot,
}


# Reports in JSON


def read_test_json(data: Json) -> TestReport | None:
    """Return the run of a report in JSON, or of Go's lines of JSON; None if it is neither."""
    if isinstance(data, list):
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
    counts = _Counts("/summary")
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
    exit_code = data["exitcode"]
    if exit_code not in (0, 1) or (exit_code == 1 and not failed):
        problems.append(RunProblem(f"pytest ended with exit code {exit_code}", "/exitcode"))
    collected = read_number(summary.get("collected"), is_count=True)
    deselected = read_number(summary.get("deselected", 0), is_count=True)
    if isinstance(collected, PrintedNumber) and isinstance(deselected, PrintedNumber):
        selected = int(collected.value - deselected.value)
        if selected > counts.get("total"):
            text = f"{counts.get('total')} of {selected} collected tests have an outcome"
            problems.append(RunProblem(text, "/summary/collected"))
    return _run("pytest", counts, _cases(data.get("tests"), "/tests"), problems)


def _cases(
    listed: object, place: str, *, names: tuple[str, ...] = ("nodeid", "name", "fullName", "title")
) -> list[FailedTest]:
    """Return the failed entries of a list of tests."""
    failures = list[FailedTest]()
    for number, case in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(case, dict):
            continue
        outcome = str(case.get("outcome") or case.get("status") or "").casefold()
        if outcome in ("failed", "error", "broken", "timedout"):
            name = next((str(case[key]) for key in names if case.get(key)), "unnamed")
            failures.append(FailedTest(name, "", f"{place}/{number}"))
    return failures


def _jest(data: dict[str, Any]) -> TestReport | None:
    """Read Jest and Vitest: suites that could not be loaded have no tests that fail."""
    if "numTotalTests" not in data or "numFailedTests" not in data:
        return None
    counts = _Counts("")
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
    for key in ("numRuntimeErrorTestSuites", "numFailedTestSuites"):
        if data.get(key) and not counts.get("failed"):
            problems.append(RunProblem(f"{data[key]} test suites could not run", f"/{key}"))
    if data.get("success") is False and not counts.get("failed"):
        problems.append(RunProblem("the run calls itself unsuccessful", "/success"))
    if data.get("wasInterrupted") is True:
        problems.append(RunProblem("the run was interrupted", "/wasInterrupted"))
    failures = list[FailedTest]()
    for number, suite in enumerate(data.get("testResults") or ()):
        if isinstance(suite, dict):
            place = f"/testResults/{number}/assertionResults"
            failures += _cases(suite.get("assertionResults"), place)
    return _run("Jest", counts, failures, problems)


def _mocha(data: dict[str, Any]) -> TestReport | None:
    stats = data.get("stats")
    if not isinstance(stats, dict) or not {"passes", "failures", "tests"} <= stats.keys():
        return None
    counts = _Counts("/stats")
    counts.take(
        stats,
        {"tests": "total", "passes": "passed", "failures": "failed", "pending": "not_run"},
    )
    failures = list[FailedTest]()
    for number, case in enumerate(data.get("failures") or ()):
        if isinstance(case, dict):
            name = str(case.get("fullTitle") or case.get("title") or "unnamed")
            failures.append(FailedTest(name, "", f"/failures/{number}"))
    return _run("Mocha", counts, failures, [])


def _rspec(data: dict[str, Any]) -> TestReport | None:
    """Read RSpec: errors outside of examples leave the examples untouched."""
    summary = data.get("summary")
    if not isinstance(summary, dict) or "example_count" not in summary:
        return None
    counts = _Counts("/summary")
    counts.take(
        summary,
        {"example_count": "total", "failure_count": "failed", "pending_count": "not_run"},
    )
    problems = list[RunProblem]()
    outside = summary.get("errors_outside_of_examples_count")
    if outside:
        place = "/summary/errors_outside_of_examples_count"
        problems.append(RunProblem(f"{outside} errors outside of examples", place))
    return _run("RSpec", counts, _cases(data.get("examples"), "/examples"), problems)


def _ctrf(data: dict[str, Any]) -> TestReport | None:
    results = data.get("results")
    summary = results.get("summary") if isinstance(results, dict) else None
    if not isinstance(results, dict) or not isinstance(summary, dict) or "tool" not in results:
        return None
    counts = _Counts("/results/summary")
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
    return _run("CTRF", counts, _cases(results.get("tests"), "/results/tests"), [])


def _playwright(data: dict[str, Any]) -> TestReport | None:
    stats = data.get("stats")
    if not isinstance(stats, dict) or not {"expected", "unexpected"} <= stats.keys():
        return None
    counts = _Counts("/stats")
    counts.take(
        stats,
        {"expected": "passed", "unexpected": "failed", "skipped": "not_run", "flaky": "passed"},
    )
    problems = list[RunProblem]()
    if data.get("errors"):
        problems.append(RunProblem("errors outside of the tests", "/errors"))
    if stats.get("flaky"):
        problems.append(RunProblem(f"{stats['flaky']} tests are flaky", "/stats/flaky"))
    return _run("Playwright", counts, [], problems)


def _allure(data: dict[str, Any]) -> TestReport | None:
    """Read the summary of Allure: `broken` are tests that ended in an error, not in a failure."""
    statistic = data.get("statistic")
    if not isinstance(statistic, dict) or "broken" not in statistic:
        return None
    counts = _Counts("/statistic")
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
    return _run("Allure", counts, [], [])


def _newman(data: dict[str, Any]) -> TestReport | None:
    """Read Newman, the runner of Postman's collections."""
    run = data.get("run")
    stats = run.get("stats") if isinstance(run, dict) else None
    if not isinstance(run, dict) or not isinstance(stats, dict) or "assertions" not in stats:
        return None
    assertions = stats["assertions"] if isinstance(stats["assertions"], dict) else {}
    counts = _Counts("/run/stats/assertions")
    counts.take(assertions, {"total": "total", "failed": "failed", "pending": "not_run"})
    problems = list[RunProblem]()
    requests = stats.get("requests")
    if isinstance(requests, dict) and requests.get("failed"):
        text = f"{requests['failed']} requests failed"
        problems.append(RunProblem(text, "/run/stats/requests/failed"))
    return _run("Newman", counts, [], problems)


_JSON_READERS: tuple[Callable[[dict[str, Any]], TestReport | None], ...] = (
    _pytest,
    _jest,
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
        if event["Action"] in ("pass", "fail", "skip", "run", "start", "build-fail"):
            outcomes[key] = (str(event["Action"]), number)
    counts = _Counts("")
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
    return _run("go test", counts, failures, problems)


def _cucumber(rows: list[Json]) -> TestReport | None:
    """Read Cucumber: a scenario fails with any of its steps, and undefined steps did not run."""
    features = [row for row in rows if isinstance(row, dict)]
    if not features or not all("elements" in row and "uri" in row for row in features):
        return None
    counts = _Counts("")
    failures = list[FailedTest]()
    for number, feature in enumerate(features):
        for place, scenario in enumerate(feature["elements"] or ()):  # type: ignore[arg-type]
            if not isinstance(scenario, dict) or scenario.get("type") == "background":
                continue
            words = set(_step_words(scenario))
            locator = f"/{number}/elements/{place}"
            if "failed" in words or "ambiguous" in words:
                counts.numbers["failed"] = counts.get("failed") + 1
                failures.append(FailedTest(str(scenario.get("name", "")), "", locator))
            elif words == {"passed"}:
                counts.numbers["passed"] = counts.get("passed") + 1
            else:
                counts.numbers["not_run"] = counts.get("not_run") + 1
    counts.numbers.setdefault("passed", 0)
    return _run("Cucumber", counts, failures, [])


def _step_words(scenario: dict[str, Any]) -> Iterator[str]:
    """Yield the status of each step and hook of a scenario."""
    for part in ("before", "steps", "after"):
        for step in scenario.get(part) or ():
            result = step.get("result") if isinstance(step, dict) else None
            if isinstance(result, dict):
                yield str(result.get("status", "")).casefold()
