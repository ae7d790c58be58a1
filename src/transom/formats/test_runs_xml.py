"""Results of test runners in XML: JUnit, TestNG, NUnit, xUnit.net, TRX and Robot Framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.test_runs import (
    MOST_FAILURES,
    FailedTest,
    OutcomeCounts,
    RunProblem,
    TestReport,
    report_of_counts,
)
from transom.formats.xml_paths import tag_of


def read_test_xml(root: Element) -> TestReport | None:
    """Return the run of a report in XML; None if it is something else."""
    reader = _XML_READERS.get(tag_of(root))
    return reader(root) if reader is not None else None


def _junit(root: Element) -> TestReport:
    """Read JUnit's XML, with suites inside suites, as GoogleTest, Surefire and pytest write it."""
    top = f"/{tag_of(root)}"
    counts = OutcomeCounts(top)
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
    # Some writers give counts alone, without cases: then there is nothing to compare.
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
        tuple(failures[:MOST_FAILURES]),
        tuple(problems),
        counts.get("failed"),
    )


def _junit_outcome(case: Element) -> tuple[str, str]:
    """Return `passed`, `failed` or `not_run` of a test case, and the message of a failure."""
    # GoogleTest writes `notrun` for a disabled test, as an attribute without a child.
    if case.get("status", "").casefold() in ("notrun", "skipped", "disabled"):
        return "not_run", ""
    outcome, message = "passed", ""
    for child in case:
        tag = tag_of(child)
        if tag in ("failure", "error"):
            message = message or str(child.get("message") or child.text or "").strip()
            outcome = "failed"
        # A teardown may fail after a skip, and the failure counts.
        elif tag == "skipped" and outcome == "passed":
            outcome = "not_run"
    return outcome, message


def _declared(root: Element, top: str) -> OutcomeCounts:
    """Return the counts in the attributes of the outermost suites that have any."""
    roles = {
        "tests": "total",
        "failures": "failed",
        "errors": "errors",
        "skipped": "not_run",
        "skip": "not_run",
        "disabled": "disabled",
    }
    counts = OutcomeCounts(top)
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
        counts = OutcomeCounts(holders[0][1] if holders else top)
        for holder, _ in holders:
            counts.take(holder.attrib, roles, "/@")
        if not counts.numbers:
            return None
        problems = list[RunProblem]()
        for name in ("result", "outcome"):
            word = root.get(name, "")
            if word.casefold() in ("cancelled", "aborted", "inconclusive", "error", "warning"):
                problems.append(RunProblem(f"the run is called {word}", f"{top}/@{name}"))
        return report_of_counts(tool, counts, _failed_elements(root, top), problems)

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


def _nunit_2(root: Element) -> TestReport | None:
    """Read a report of NUnit 2, whose total leaves out the tests that did not run."""
    counts = OutcomeCounts("/test-results")
    roles = {"total": "total", "failures": "failed", "errors": "errors"}
    roles |= {"inconclusive": "not_run", "not-run": "not_run"}
    counts.take(root.attrib, roles, "/@")
    if not counts.numbers:
        return None
    left_out = read_number(root.get("not-run"), is_count=True)
    if isinstance(left_out, PrintedNumber) and "total" in counts.numbers:
        counts.numbers["total"] += int(left_out.value)
    return report_of_counts("NUnit 2", counts, _failed_elements(root, "/test-results"), [])


def _trx(root: Element) -> TestReport | None:
    """Read a report of Visual Studio (TRX)."""
    counters = next(_elements(root, "Counters", "/TestRun"), None)
    if counters is None:
        return None
    element, place = counters
    counts = OutcomeCounts(place)
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
    # A host that crashed is told beside the results, which then have no failure.
    for message, at in _elements(root, "RunInfo", "/TestRun"):
        if message.get("outcome", "").casefold() in ("error", "failed", "aborted", "timeout"):
            problems.append(
                RunProblem(f"the run had an {message.get('outcome')}", f"{at}/@outcome")
            )
    return report_of_counts("TRX", counts, _failed_elements(root, "/TestRun"), problems)


def _robot(root: Element) -> TestReport | None:
    """Read the output of Robot Framework."""
    for total, place in _elements(root, "stat", "/robot"):
        if (total.text or "").strip() in ("All Tests", "Critical Tests"):
            counts = OutcomeCounts(place)
            counts.take(total.attrib, {"pass": "passed", "fail": "failed", "skip": "not_run"}, "/@")
            return report_of_counts("Robot Framework", counts, [], [])
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
    "test-results": _nunit_2,
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
