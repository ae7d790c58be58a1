"""Reports of known tools as observations. Their readers in `formats` recognise them by content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

from transom.formats.coverage import Coverage, CoverageShare
from transom.formats.coverage_json import read_coverage_json
from transom.formats.coverage_text import read_go_cover, read_lcov
from transom.formats.coverage_xml import read_coverage_xml
from transom.formats.json_tree import JsonNode, quote_of
from transom.formats.k6 import LoadSummary, read_k6
from transom.formats.load_tests import LoadResult, read_load_csv, read_load_json
from transom.formats.measurements import Observation, Operand, Remark
from transom.formats.scan_findings import UNRATED, ScanFinding, ScanReport, open_by_severity
from transom.formats.security_scans import GONE_SINCE_BASELINE, read_scan
from transom.formats.test_runs import TestReport
from transom.formats.test_runs_json import read_test_json
from transom.formats.test_runs_xml import read_test_xml
from transom.formats.xml_paths import tag_of, value_at
from transom.formats.xml_scanners import read_scan_xml
from transom.investigator.reading.matters import is_named_after_checks
from transom.investigator.reading.quoting import plain_number

TESTS = "metrics/unit_test_results"
COVERAGE = "metrics/test_coverage_report"
SCAN = "metrics/security_scan_results"
LOAD = "metrics/performance_benchmarks"
_MOST_SHOWN = 5
_STATISTICS = {"avg": "average", "med": "p50", "p(90)": "p90", "p(95)": "p95", "p(99)": "p99"}

Quote = Callable[[str], str]
"""Returns the passage at a place of the report."""


@dataclass(frozen=True)
class ToolReport:
    """A report of a known tool.

    Attributes:
        name: the analysis type that it is.
        tool: the tool, or the format that several tools write.
    """

    name: str
    tool: str
    observations: tuple[Observation, ...]
    remarks: tuple[Remark, ...] = field(default=())


def report_in_json(root: JsonNode) -> ToolReport | None:
    """Return the report of a known tool in JSON, with places below `root`; None for other data."""

    def quote(place: str) -> str:
        node = root.find(place)
        if node is not None:
            return quote_of(node)
        return ""

    data = root.value
    report: ToolReport | None = None
    if (scan := read_scan(data)) is not None:
        report = _of_scan(scan, quote)
    elif (load := read_k6(data)) is not None:
        report = ToolReport(LOAD, "k6", tuple(_of_k6(load, quote)))
    elif (result := read_load_json(data)) is not None:
        report = _of_load(result, quote)
    elif (coverage := read_coverage_json(data)) is not None:
        report = _of_coverage(coverage, quote)
    elif (run := read_test_json(data)) is not None:
        report = _of_run(run, quote)
    if report is not None and root.pointer:
        return _below(root.pointer, report)
    return report


def report_in_xml(root: Element) -> ToolReport | None:
    """Return the report of a known tool in XML; None for other data."""

    def quote(place: str) -> str:
        return value_at(root, place) or ""

    coverage = read_coverage_xml(root)
    if coverage is not None:
        return _of_coverage(coverage, quote)
    run = read_test_xml(root)
    if run is not None:
        return _of_run(run, quote, _suites(root))
    scan = read_scan_xml(root)
    if scan is not None:
        return _of_scan(scan, quote)
    return None


def _suites(root: Element) -> list[str]:
    """Return the name of a run of tests, or those of its suites."""
    own = root.get("name", "")
    if own or tag_of(root) != "testsuites":
        return [own]
    return [suite.get("name", "") for suite in root]


def report_in_text(text: str) -> ToolReport | None:
    """Return the report of a known tool in lines or CSV; None for other text."""
    coverage = read_lcov(text) or read_go_cover(text)
    if coverage is not None:
        return _of_coverage(coverage, lambda place: place)
    load = read_load_csv(text)
    if load is not None:
        return _of_load(load, lambda place: place)
    return None


def _below(pointer: str, report: ToolReport) -> ToolReport:
    """Return a report with places from the top of its document."""
    observations = list[Observation]()
    for observation in report.observations:
        operands = tuple(
            operand.model_copy(update={"locator": pointer + operand.locator})
            for operand in observation.operands
        )
        update = {"locator": pointer + observation.locator, "operands": operands}
        observations.append(observation.model_copy(update=update))
    remarks = tuple(
        remark.model_copy(update={"locator": pointer + remark.locator}) for remark in report.remarks
    )
    return replace(report, observations=tuple(observations), remarks=remarks)


def _problem(text: str, place: str, quote: Quote) -> Observation:
    """Return what a report says against itself, which leaves no criterion met."""
    return Observation(
        measure="source.outcome",
        value="conditional",
        locator=place,
        label=text,
        quote=quote(place),
        said=text,
    )


def _count(
    measure: str, value: float, place: str, formula: str, operands: tuple[Operand, ...] = ()
) -> Observation:
    quotes = ", ".join(operand.quote for operand in operands)
    return Observation(
        measure=measure,
        value=float(value),
        locator=place,
        formula=formula,
        operands=operands,
        quote=quotes or f"{plain_number(value)} {measure.rpartition('.')[2]}",
    )


def _of_run(run: TestReport, quote: Quote, suites: Sequence[str] = ()) -> ToolReport:
    operands = tuple(
        Operand(value="1", locator=test.locator, quote=test.name)
        for test in run.failures[:_MOST_SHOWN]
    )
    failed = _count("tests.failed", run.failed, run.locator, "count of failing cases", operands)
    if run.failed_at:
        failed = Observation(
            measure="tests.failed",
            value=float(run.failed),
            locator=run.failed_at,
            quote=quote(run.failed_at),
        )
    observations = [
        failed,
        _count("tests.executed", run.executed, run.locator, "count of cases that ran"),
    ]
    observations += shares_of_skipped("tests", run.executed, run.not_run, run.locator)
    for test in run.failures[:_MOST_SHOWN]:
        observations.append(
            Observation(
                measure="tests.case",
                value="fail",
                locator=test.locator,
                label=test.name,
                quote=test.message[:240],
            )
        )
    # Scanners write their findings in the form of test cases, too.
    if is_named_after_checks(suites):
        text = f"it is called {next(filter(None, suites))!r}, which is another matter than tests"
        observations.append(_problem(text, run.locator, quote))
    remarks = list[Remark]()
    for problem in run.problems:
        if run.failed and "counts" in problem.text:
            remarks.append(
                Remark(
                    kind="contradiction",
                    text=problem.text,
                    locator=problem.locator,
                    measure="tests.failed",
                )
            )
            continue
        observations.append(_problem(problem.text, problem.locator, quote))
    return ToolReport(TESTS, run.tool, tuple(observations), tuple(remarks))


def shares_of_skipped(
    prefix: str, executed: float, not_run: float, place: str
) -> Iterator[Observation]:
    """Yield the share of tests that did not run; none if nothing is known of them."""
    total = executed + not_run
    if total > 0:
        share = round(100 * not_run / total, 2)
        formula = f"100 * {plain_number(not_run)} / {plain_number(total)}"
        yield Observation(
            measure=f"{prefix}.skipped_share",
            value=share,
            unit="%",
            locator=place,
            formula=formula,
            quote=f"{plain_number(not_run)} of {plain_number(total)} did not run",
        )


def _of_coverage(coverage: Coverage, quote: Quote) -> ToolReport:
    observations = list[Observation]()
    for measure, share in (
        ("coverage.line", coverage.statements),
        ("coverage.branch", coverage.branches),
    ):
        if share is not None:
            observations.append(_of_share(measure, share, quote))
    if not observations:
        observations.append(_problem("it measured nothing", "", quote))
    for text, place in coverage.problems:
        observations.append(_problem(text, place, quote))
    return ToolReport(COVERAGE, coverage.tool, tuple(observations))


def _of_share(measure: str, share: CoverageShare, quote: Quote) -> Observation:
    if share.counted is not None:
        covered, total = share.counted
        return Observation(
            measure=measure,
            value=round(share.percent, 6),
            unit="%",
            locator=share.locator,
            quote=f"{covered} of {total} ran",
            formula=f"100 * {covered} / {total}",
            at_most=False,
        )
    places = (share.locator, share.over) if share.over else (share.locator,)
    quotes = [quote(place) for place in places]
    operands = list[Operand]()
    for place, passage in zip(places, quotes, strict=True):
        operands.append(Operand(value=_last_number(passage), locator=place, quote=passage))
    return Observation(
        measure=measure,
        value=round(share.percent, 6),
        unit="%",
        locator=share.locator,
        quote=", ".join(quotes),
        formula="100 * a / b" if share.over else "100 * a",
        operands=tuple(operands),
        at_most=False,
    )


def _last_number(text: str) -> str:
    return text.rpartition(":")[2].strip().strip('"') or "0"


def _of_scan(scan: ScanReport, quote: Quote) -> ToolReport:
    observations = list[Observation]()
    for severity, findings in open_by_severity(scan.findings):
        observations += _of_findings(f"vulnerabilities.{severity}", findings, scan, quote)
    unrated = []
    for finding in scan.findings:
        if finding.severity == UNRATED:
            unrated.append(finding)
    unrated = [finding for finding in unrated if not finding.suppressed]
    if unrated:
        observations += _of_findings("vulnerabilities.unrated", unrated, scan, quote)
    for text, place in scan.problems:
        observations.append(_problem(text, place, quote))
    remarks = list[Remark]()
    for finding in scan.findings:
        if not finding.suppressed or finding.severity not in ("critical", "high", UNRATED):
            continue
        text = f"{finding.id} ({finding.severity}) is {finding.suppressed}"
        remarks.append(Remark(kind="suppressed", text=text, locator=finding.locator))
        # A recorded decision closes a finding; a comment in the source closes no critical one.
        is_in_source = finding.suppressed == "suppressed inSource"
        is_decided = finding.suppressed in ("suppressed external", GONE_SINCE_BASELINE) or (
            is_in_source and finding.severity == "high"
        )
        if not is_decided:
            observations.append(_problem(text, finding.locator, quote))
    return ToolReport(SCAN, scan.tool, tuple(observations), tuple(remarks))


def _of_findings(
    measure: str, findings: list[ScanFinding], scan: ScanReport, quote: Quote
) -> Iterator[Observation]:
    """Yield the number of open findings of a severity, and the first of them."""
    first_findings = findings[:_MOST_SHOWN]
    operands = tuple(
        Operand(value="1", locator=finding.locator, quote=finding.id) for finding in first_findings
    )
    yield Observation(
        measure=measure,
        value=float(len(findings)),
        locator=scan.locator,
        formula="count of open findings",
        operands=operands,
        quote=", ".join(finding.id for finding in first_findings),
    )
    for finding in first_findings:
        yield Observation(
            measure=f"{measure}.entry",
            value="fail",
            locator=finding.locator,
            label=f"{finding.id} {finding.text}".strip()[:120],
            quote=quote(finding.locator),
        )


def _of_k6(load: LoadSummary, quote: Quote) -> Iterator[Observation]:
    if not load.requests:
        yield _problem("it made no request", "/metrics", quote)
        return
    for statistic, (value, place) in load.durations.items():
        if statistic in _STATISTICS:
            yield _latency(_STATISTICS[statistic], value, place, quote)
    if load.failed is not None:
        yield _share_of_requests("performance.error_rate", "error rate", *load.failed, quote)
    if load.checks is not None:
        yield _share_of_requests("performance.success_rate", "checks", *load.checks, quote)
    for threshold in load.thresholds:
        yield Observation(
            measure="performance.flag",
            value="fail" if threshold.crossed else "pass",
            locator=threshold.locator,
            label=f"{threshold.metric} {threshold.expression}",
            quote=quote(threshold.locator),
        )


def _latency(statistic: str, value: float, place: str, quote: Quote) -> Observation:
    return Observation(
        measure="performance.latency",
        value=value,
        unit="ms",
        locator=place,
        label=f"all requests latency {statistic}",
        quote=quote(place),
    )


def _share_of_requests(
    measure: str, label: str, share: float, place: str, quote: Quote
) -> Observation:
    operand = Operand(value=plain_number(share), locator=place, quote=quote(place))
    return Observation(
        measure=measure,
        value=round(100 * share, 6),
        unit="%",
        locator=place,
        label=f"all requests {label}",
        quote=quote(place),
        formula="100 * a",
        operands=(operand,),
        at_most=measure != "performance.success_rate",
    )


def _of_load(load: LoadResult, quote: Quote) -> ToolReport:
    observations = list[Observation]()
    if load.requests <= 0:
        observations.append(_problem("it made no request", load.failed_at, quote))
    else:
        for statistic, (value, place) in load.durations.items():
            observations.append(_latency(statistic, value, place, quote))
        share = load.failed / load.requests
        observations.append(
            Observation(
                measure="performance.error_rate",
                value=round(100 * share, 6),
                unit="%",
                locator=load.failed_at,
                label="all requests error rate",
                quote=quote(load.failed_at),
                formula=f"100 * {plain_number(load.failed)} / {plain_number(load.requests)}",
            )
        )
    return ToolReport(LOAD, load.tool, tuple(observations))
