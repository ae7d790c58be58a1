"""Reads one file of analysis data, of any tool or shape."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from transom.errors import InputError
from transom.formats.coverage import Coverage, read_cobertura, read_coverage_json
from transom.formats.json_tree import parse_json, quote_of
from transom.formats.junit import read_junit
from transom.formats.k6 import LoadSummary, read_k6
from transom.formats.measurements import Observation, Operand, Reading, Remark
from transom.formats.security_scans import ScanFinding, open_by_severity, read_sarif, read_trivy
from transom.formats.text_files import decode_text
from transom.formats.xml_paths import child_path, read_xml, tag_of, value_at
from transom.investigator.reading.counts import case_status, failing_cases, read_counts
from transom.investigator.reading.coverage import read_coverage
from transom.investigator.reading.documents import found_in_text
from transom.investigator.reading.outcomes import own_doubts
from transom.investigator.reading.performance import read_performance
from transom.investigator.reading.pipelines import read_pipeline
from transom.investigator.reading.quoting import observe, plain_number
from transom.investigator.reading.reviews import read_decisions
from transom.investigator.reading.severities import read_severities
from transom.investigator.reading.tree import Node
from transom.investigator.reading.words import word_set, words

MOST_BYTES = 64 << 20
_IDENTITY = word_set(
    "id feature key type schema version date timestamp created updated author generated project"
    " issue title name environment file review reviewer contact format"
)
_MOST_REMARKS = 40


def read_analysis_file(path: Path, source: str, analysis_type: str) -> Reading:
    """Read a file of analysis data; errors in the file become the reading's state and reason."""
    try:
        data = load_bytes(path)
    except InputError as error:
        return Reading(
            source=source, kind="analysis", name=analysis_type, state="unreadable", why=error.what
        )
    return read_analysis(data, source, analysis_type)


def load_bytes(path: Path) -> bytes:
    """Return the bytes of a data file.

    Raises:
        InputError: the file cannot be read, or is too long.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InputError(
                f"is {size} bytes long, the limit is {MOST_BYTES}", where=str(path), hint="split it"
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check its permissions"
        ) from error


def read_analysis(data: bytes, source: str, analysis_type: str) -> Reading:
    """Read the bytes of a file of analysis data."""
    base = Reading(
        source=source,
        kind="analysis",
        name=analysis_type,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )
    text = decode_text(data).strip()
    if not text:
        return base.model_copy(update={"state": "empty", "why": "is empty"})
    try:
        if text.startswith("<"):
            found, remarks = _of_xml(read_xml(text, source), text, source)
            unread = not found
        else:
            root = Node(parse_json(text, source))
            if not root.children:
                return base.model_copy(update={"state": "empty", "why": "holds no data"})
            if _is_hollow(root):
                return base.model_copy(
                    update={"state": "placeholder", "why": "is a placeholder that nobody filled in"}
                )
            found, remarks = _of_json(root.inner, analysis_type)
            remarks = [*remarks, *steering(root)]
            unread = not found
    except InputError as error:
        return base.model_copy(
            update={"state": "unreadable", "why": f"{error.what} ({error.where})"}
        )
    why = "holds nothing that is known of such data" if unread else ""
    return base.model_copy(
        update={"observations": tuple(found), "remarks": tuple(remarks[:_MOST_REMARKS]), "why": why}
    )


def _of_json(root: Node, analysis_type: str) -> tuple[list[Observation], list[Remark]]:
    known = _of_known(root)
    if known is None:
        return _GENERIC.get(analysis_type, _any)(root)
    found, remarks = known
    if not root.pointer:
        return found, remarks
    return [_below(root.pointer, one) for one in found], [
        one.model_copy(update={"locator": root.pointer + one.locator}) for one in remarks
    ]


def _of_known(root: Node) -> tuple[list[Observation], list[Remark]] | None:
    """Read a report of a known tool, with places below the root; None for other data."""
    data = root.value
    if (findings := read_sarif(data)) is not None or (findings := read_trivy(data)) is not None:
        return _of_scan(findings, root)
    if (load := read_k6(data)) is not None:
        return list(_of_load(load, root)), []
    if (coverage := read_coverage_json(data)) is not None:
        return _of_coverage(coverage, lambda at: _quote_in(root, at)), []
    return None


def _below(pointer: str, one: Observation) -> Observation:
    operands = tuple(of.model_copy(update={"locator": pointer + of.locator}) for of in one.operands)
    return one.model_copy(update={"locator": pointer + one.locator, "operands": operands})


def _unit_tests(root: Node) -> tuple[list[Observation], list[Remark]]:
    found, remarks = read_counts(root, "tests")
    return [*found, *own_doubts(root)], remarks


def _coverage(root: Node) -> tuple[list[Observation], list[Remark]]:
    return [*read_coverage(root), *own_doubts(root)], []


def _scan(root: Node) -> tuple[list[Observation], list[Remark]]:
    found, remarks = read_severities(root, "vulnerabilities")
    return [*found, *own_doubts(root)], remarks


def _performance(root: Node) -> tuple[list[Observation], list[Remark]]:
    found = read_performance(root)
    plans = (
        [node for node in root.walk() if node.nature in ("planned", "estimate")]
        if not found
        else []
    )
    if plans:
        found = [
            observe(
                "performance.plan",
                plans[0],
                "pending",
                label=plans[0].label,
                nature=plans[0].nature,
            )
        ]
    return found, []


def _security_review(root: Node) -> tuple[list[Observation], list[Remark]]:
    issues, remarks = read_severities(root, "review.issues")
    decisions, doubts = read_decisions(root)
    return [*decisions, *issues, *_checks(root)], [*remarks, *doubts]


def _stakeholders(root: Node) -> tuple[list[Observation], list[Remark]]:
    return _security_review(root)


def _uat(root: Node) -> tuple[list[Observation], list[Remark]]:
    counts, contradictions = read_counts(root, "uat")
    issues, remarks = read_severities(root, "uat.issues")
    decisions, doubts = read_decisions(root)
    return [*counts, *issues, *decisions], [*contradictions, *remarks, *doubts]


def _any(root: Node) -> tuple[list[Observation], list[Remark]]:
    return _security_review(root)


_GENERIC = {
    "metrics/unit_test_results": _unit_tests,
    "metrics/test_coverage_report": _coverage,
    "metrics/pipeline_results": read_pipeline,
    "metrics/security_scan_results": _scan,
    "metrics/performance_benchmarks": _performance,
    "reviews/security": _security_review,
    "reviews/stakeholders": _stakeholders,
    "reviews/uat": _uat,
}


def _checks(root: Node) -> list[Observation]:
    """Return the entries of checklists in a review."""
    found = []
    for node, bad in failing_cases(root):
        people = {"reviewer", "stakeholder", "approver", "approval", "signoff", "feedback"}
        if people & set(node.words) or any(case_status(one) == "pending" for one in node.children):
            continue
        found.append(
            observe("review.checks", node, float(len(node.children)), formula="count of checks")
        )
        found += [observe("review.check", one, "fail", label=one.label) for one in bad[:5]]
    return found


def _is_hollow(root: Node) -> bool:
    """Whether a document has only names, dates and placeholders."""
    leaves = [node for node in root.walk() if not isinstance(node.value, dict | list)]
    return not any(_informs(node) for node in leaves)


def _informs(node: Node) -> bool:
    if isinstance(node.value, bool | int | float):
        return not _IDENTITY & set(node.words)
    if not isinstance(node.value, str) or not node.value.strip():
        return False
    vocabulary = words()
    if vocabulary.placeholders.match(node.value) or vocabulary.placeholder_lines.match(
        node.value.strip()
    ):
        return False
    return not _IDENTITY & set(node.words)


def steering(root: Node) -> Iterator[Remark]:
    """Yield attempts to steer the reader, and claims of waivers, in any text of a document."""
    for node in root.walk():
        if isinstance(node.value, str):
            yield from found_in_text(node.value, node.pointer)
        if node.key and node.place < 0 and len(node.key) > 20:
            yield from found_in_text(node.key, node.pointer)


def _quote_in(root: Node, pointer: str) -> str:
    node = root.find(pointer)
    return quote_of(node) if node is not None else ""


def _of_scan(findings: list[ScanFinding], root: Node) -> tuple[list[Observation], list[Remark]]:
    found: list[Observation] = []
    where = "/runs" if isinstance(root.value, dict) and "runs" in root.value else "/Results"
    for severity, unsuppressed in open_by_severity(findings):
        shown = tuple(
            Operand(value="1", locator=one.locator, quote=one.id) for one in unsuppressed[:5]
        )
        found.append(
            Observation(
                measure=f"vulnerabilities.{severity}",
                value=float(len(unsuppressed)),
                locator=where,
                formula="count of open findings",
                operands=shown,
                quote=", ".join(one.id for one in unsuppressed[:5]),
            )
        )
        for one in unsuppressed[:5]:
            label = f"{one.id} {one.text}".strip()[:120]
            quote = _quote_in(root, one.locator)
            measure = f"vulnerabilities.{severity}.entry"
            found.append(
                Observation(
                    measure=measure, value="fail", locator=one.locator, label=label, quote=quote
                )
            )
    hidden = [one for one in findings if one.suppressed and one.severity in ("critical", "high")]
    remarks = [
        Remark(
            kind="suppressed",
            text=f"{one.id} ({one.severity}) is {one.suppressed}",
            locator=one.locator,
        )
        for one in hidden
    ]
    return found, remarks


def _of_load(load: LoadSummary, root: Node) -> Iterator[Observation]:
    if not load.requests:
        return
    for statistic, (value, at) in load.durations.items():
        if statistic in ("avg", "p(90)", "p(95)", "p(99)", "med"):
            name = {"avg": "average", "med": "p50"}.get(
                statistic, statistic.replace("(", "").replace(")", "")
            )
            label = f"all requests latency {name}"
            yield Observation(
                measure="performance.latency",
                value=value,
                unit="ms",
                locator=at,
                label=label,
                quote=_quote_in(root, at),
            )
    if load.failed is not None:
        value, at = load.failed
        yield Observation(
            measure="performance.error_rate",
            value=round(100 * value, 6),
            unit="%",
            locator=at,
            label="all requests error rate",
            quote=_quote_in(root, at),
            formula="100 * a",
            operands=(Operand(value=plain_number(value), locator=at, quote=_quote_in(root, at)),),
        )
    for one in load.thresholds:
        status = "fail" if one.crossed else "pass"
        label = f"{one.metric} {one.expression}"
        quote = _quote_in(root, one.locator)
        yield Observation(
            measure="performance.flag", value=status, locator=one.locator, label=label, quote=quote
        )


def _of_xml(root: Element, text: str, source: str) -> tuple[list[Observation], list[Remark]]:
    coverage = read_cobertura(root)
    if coverage is not None:
        return _of_coverage(coverage, lambda at: value_at(root, at) or ""), []
    if tag_of(root) not in ("testsuites", "testsuite"):
        raise InputError(f"is not a known report (<{tag_of(root)}>)", where=source)
    return _of_junit(text, root, source)


def _of_coverage(coverage: Coverage, quote: Callable[[str], str]) -> list[Observation]:
    found = []
    for measure, share in (
        ("coverage.line", coverage.statements),
        ("coverage.branch", coverage.branches),
    ):
        if share is None:
            continue
        at = (share.locator, share.over) if share.over else (share.locator,)
        quotes = [quote(one) for one in at]
        operands = tuple(
            Operand(value=_last_number(part), locator=one, quote=part)
            for one, part in zip(at, quotes, strict=True)
        )
        formula = "100 * a / b" if share.over else "100 * a"
        value = round(share.percent, 6)
        found.append(
            Observation(
                measure=measure,
                value=value,
                unit="%",
                locator=share.locator,
                quote=", ".join(quotes),
                formula=formula,
                operands=operands,
                at_most=False,
            )
        )
    return found


def _last_number(text: str) -> str:
    return text.rpartition(":")[2].strip().strip('"') or "0"


def _of_junit(text: str, root: Element, source: str) -> tuple[list[Observation], list[Remark]]:
    report = read_junit(text, source)
    bad = [case for case in report.cases if case.status in ("failed", "error")]
    skipped = [case for case in report.cases if case.status == "skipped"]
    top = f"/{tag_of(root)}"
    paths = _case_paths(root, top)
    executed = len(report.cases) - len(skipped)
    shown = tuple(
        Operand(value="1", locator=paths.get(case.name, top), quote=case.name) for case in bad[:5]
    )
    counted = (
        ("failed", len(bad), "count of failing cases", shown),
        ("executed", executed, "count of cases that ran", ()),
    )
    found = [
        Observation(
            measure=f"tests.{measure}",
            value=float(value),
            locator=top,
            formula=formula,
            operands=operands,
            quote=f"{value} {measure}",
        )
        for measure, value, formula, operands in counted
    ]
    found += [
        Observation(
            measure="tests.case",
            value="fail",
            locator=paths.get(case.name, top),
            label=case.name,
            quote=case.message[:240],
        )
        for case in bad[:5]
    ]
    declared = _declared(root)
    if declared is not None and declared != len(bad):
        message = f"the report counts {declared} failures and errors, its cases {len(bad)}"
        remark = Remark(kind="contradiction", text=message, locator=top, measure="tests.failed")
        found[0] = found[0].model_copy(update={"value": float(max(declared, len(bad)))})
        return found, [remark]
    return found, []


def _declared(root: Element) -> int | None:
    """Return the failures and errors in the attributes of the suites; None if they have none."""
    suites = (
        [root]
        if tag_of(root) == "testsuite"
        else [one for one in root if tag_of(one) == "testsuite"]
    )
    counts = [one.get(name, "") for one in suites for name in ("failures", "errors")]
    return (
        sum(int(one) for one in counts if one.isdigit())
        if any(one.isdigit() for one in counts)
        else None
    )


def _case_paths(element: Element, path: str) -> dict[str, str]:
    """Return name -> path of each case that did not pass."""
    found: dict[str, str] = {}
    for child in element:
        at = child_path(path, element, child)
        if tag_of(child) == "testsuite":
            found |= _case_paths(child, at)
        elif any(tag_of(one) in ("failure", "error") for one in child):
            found[
                ".".join(part for part in (child.get("classname"), child.get("name")) if part)
                or "unnamed"
            ] = at
    return found
