"""Reads one file of analysis data, of any tool or shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from transom.errors import InputError
from transom.formats.data_text import parse_data
from transom.formats.measurements import Observation, Reading, Remark, SubjectFact
from transom.formats.office_text import text_bytes
from transom.formats.text_decoding import decode_text
from transom.formats.xml_paths import read_xml, tag_of
from transom.investigator.reading.counts import case_status, failing_cases, read_counts
from transom.investigator.reading.coverage import read_coverage
from transom.investigator.reading.decided_rows import row_decisions
from transom.investigator.reading.matters import CHECKING, TESTING, doubts_of_matter, speaks_of
from transom.investigator.reading.outcomes import own_doubts
from transom.investigator.reading.performance import read_performance
from transom.investigator.reading.pipelines import read_pipeline
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.reviews import read_decisions
from transom.investigator.reading.severities import read_severities
from transom.investigator.reading.steering import found_in_text
from transom.investigator.reading.subjects import facts_of_json, facts_of_xml
from transom.investigator.reading.tool_reports import (
    TESTS,
    ToolReport,
    report_in_json,
    report_in_text,
    report_in_xml,
)
from transom.investigator.reading.tree import Node
from transom.investigator.reading.unexplained import unexplained
from transom.investigator.reading.vocabulary import word_set, words

MOST_BYTES = 64 << 20
_IDENTITY = word_set(
    "id feature key type schema version date timestamp created updated author generated project"
    " issue title name environment file review reviewer contact format"
)
_UNCOVERED = word_set("uncovered missed missing partial excluded skipped")
_MOST_REMARKS = 40
UAT = "reviews/uat"


def read_analysis_file(path: Path, source: str, analysis_type: str) -> Reading:
    """Read a file of analysis data; errors in the file become the reading's state and reason."""
    try:
        data = load_bytes(path)
    except InputError as error:
        return Reading(
            source=source,
            kind="analysis",
            name=analysis_type,
            state="unreadable",
            why=error.problem,
        )
    return read_analysis(data, source, analysis_type)


def load_bytes(path: Path) -> bytes:
    """Return the bytes of a file as text: unpacked, and as Markdown if it is HTML, DOCX or PDF.

    Raises:
        InputError: the file cannot be read or converted, or is too long.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InputError(
                f"is {size} bytes long, the limit is {MOST_BYTES}", place=str(path), hint="split it"
            )
        return text_bytes(path.read_bytes(), path.name)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", place=str(path), hint="check its permissions"
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
        # A known tool first: its reader knows what the words of its keys mean.
        report = tool_report(text, source)
        if isinstance(report, Node):
            return _of_own_data(base, report, analysis_type)
    except InputError as error:
        return base.model_copy(
            update={"state": "unreadable", "why": f"{error.problem} ({error.place})"}
        )
    observations = list(report.report.observations)
    if analysis_type == UAT and report.report.name == TESTS:
        observations = [_as_uat(observation) for observation in observations]
    remarks = list(report.report.remarks)
    if report.root is not None:
        remarks += steering(report.root)
    if report.element is not None:
        remarks += steering_in_xml(report.element, f"/{tag_of(report.element)}")
    return base.model_copy(
        update={
            "tool": report.report.tool,
            "subject": report.subject,
            "observations": tuple(observations),
            "remarks": tuple(remarks[:_MOST_REMARKS]),
        }
    )


@dataclass(frozen=True)
class KnownReport:
    """A report of a known tool, and what it says of its subject.

    Attributes:
        root: the tree of a report in JSON; None for other reports.
        element: the root of a report in XML; None for other reports.
    """

    report: ToolReport
    subject: tuple[SubjectFact, ...] = ()
    root: Node | None = None
    element: Element | None = None


def tool_report(text: str, source: str) -> KnownReport | Node:
    """Return the report of a known tool, or the tree of a project's own data.

    Raises:
        InputError: the text is neither XML of a known tool nor data.
    """
    if text.startswith("<"):
        element = read_xml(text, source)
        report = report_in_xml(element)
        if report is None:
            raise InputError(f"is not a known report (<{tag_of(element)}>)", place=source)
        return KnownReport(report, facts_of_xml(element), element=element)
    report = report_in_text(text)
    if report is not None:
        return KnownReport(report)
    root = Node(parse_data(text, source))
    # An archive or an API may wrap a tool's report in an envelope.
    for candidate in (root, root.inner):
        report = report_in_json(candidate)
        if report is not None:
            return KnownReport(report, facts_of_json(root), root)
    return root


def _as_uat(observation: Observation) -> Observation:
    """Return a result of tests as one of acceptance tests."""
    family, _, measure = observation.measure.partition(".")
    if family != "tests":
        return observation
    if measure == "skipped_share":
        measure = "not_run"
    return observation.model_copy(update={"measure": f"uat.{measure}"})


def _of_own_data(base: Reading, root: Node, analysis_type: str) -> Reading:
    """Read data of a project's own shape."""
    if not root.children:
        return base.model_copy(update={"state": "empty", "why": "holds no data"})
    # A template with names and dates must not count as a review without objections.
    if _is_hollow(root):
        return base.model_copy(
            update={"state": "placeholder", "why": "is a placeholder that nobody filled in"}
        )
    inner = root.inner
    observations, remarks = _GENERIC.get(analysis_type, _any)(inner)
    # The envelope has the dates and commits, so the whole document is searched.
    subject = facts_of_json(root)
    settled = set()
    for remark in remarks:
        if remark.kind == "settled":
            settled.add(remark.locator)
    # A key such as `feature` is explained by what it names.
    for fact in subject:
        if fact.facet == "feature":
            settled.add(fact.locator)
    remarks = [remark for remark in remarks if remark.kind != "settled"]
    remarks = [
        *remarks[:_MOST_REMARKS],
        *unexplained(inner, observations, settled),
        *steering(root),
    ]
    return base.model_copy(
        update={
            "subject": subject,
            "observations": tuple(observations),
            "remarks": tuple(remarks),
            "why": "" if observations else "holds nothing that is known of such data",
        }
    )


def _unit_tests(root: Node) -> tuple[list[Observation], list[Remark]]:
    observations, remarks = read_counts(root, "tests")
    doubts = [*own_doubts(root), *doubts_of_matter(root, observations, TESTING, CHECKING)]
    return [*observations, *doubts], remarks


def _coverage(root: Node) -> tuple[list[Observation], list[Remark]]:
    # What is not covered is the rest of the share, and no further news.
    rests = []
    for node in root.walk():
        if _UNCOVERED & set(node.words):
            rests.append(Remark(kind="settled", text=node.key, locator=node.pointer))
    return [*read_coverage(root), *own_doubts(root)], rests


def _scan(root: Node) -> tuple[list[Observation], list[Remark]]:
    observations, remarks = read_severities(root, "vulnerabilities")
    # Cases of tests have severities, too, which say nothing of the code's weaknesses.
    doubts = [*own_doubts(root)]
    if not speaks_of(CHECKING, root):
        doubts += doubts_of_matter(root, observations, CHECKING, TESTING)
    return [*observations, *doubts], remarks


def _performance(root: Node) -> tuple[list[Observation], list[Remark]]:
    observations = read_performance(root)
    plans = (
        [node for node in root.walk() if node.nature in ("planned", "estimate")]
        if not observations
        else []
    )
    if plans:
        observations = [
            observe(
                "performance.plan",
                plans[0],
                "pending",
                label=plans[0].label,
                nature=plans[0].nature,
            )
        ]
    return observations, []


def _security_review(root: Node) -> tuple[list[Observation], list[Remark]]:
    issues, remarks = read_severities(root, "review.issues")
    decisions, doubts = _decisions(root)
    return [*decisions, *issues, *_checks(root)], [*remarks, *doubts]


def _decisions(root: Node) -> tuple[list[Observation], list[Remark]]:
    """Return the decisions of a review: of the whole and of people, else those of its rows."""
    decisions, doubts = read_decisions(root)
    decided = ("review.decision", "review.person")
    if not any(decision.measure in decided for decision in decisions):
        decisions += row_decisions(root)
    return decisions, doubts


def _stakeholders(root: Node) -> tuple[list[Observation], list[Remark]]:
    return _security_review(root)


def _uat(root: Node) -> tuple[list[Observation], list[Remark]]:
    counts, contradictions = read_counts(root, "uat")
    issues, remarks = read_severities(root, "uat.issues")
    decisions, doubts = _decisions(root)
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
    observations = []
    for node, bad in failing_cases(root):
        people = {"reviewer", "stakeholder", "approver", "approval", "signoff", "feedback"}
        if people & set(node.words) or any(
            case_status(child) == "pending" for child in node.children
        ):
            continue
        observations.append(
            observe("review.checks", node, float(len(node.children)), formula="count of checks")
        )
        observations += [
            observe("review.check", node, "fail", label=node.label) for node in bad[:5]
        ]
    return observations


def _is_hollow(root: Node) -> bool:
    """Whether a document has only names, dates and placeholders."""
    leaves = []
    for node in root.walk():
        if not isinstance(node.value, dict | list):
            leaves.append(node)
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


def steering_in_xml(element: Element, path: str) -> Iterator[Remark]:
    """Yield attempts to steer the reader in names, messages and output of a report in XML."""
    for name, value in element.attrib.items():
        yield from found_in_text(value, f"{path}/@{name}")
    if element.text and element.text.strip():
        yield from found_in_text(element.text, path)
    # XPath counts the elements of one name, from 1.
    numbers = dict[str, int]()
    for child in element:
        tag = tag_of(child)
        numbers[tag] = numbers.get(tag, 0) + 1
        yield from steering_in_xml(child, f"{path}/{tag}[{numbers[tag]}]")


def steering(root: Node) -> Iterator[Remark]:
    """Yield attempts to steer the reader, and claims of waivers, in any text of a document."""
    for node in root.walk():
        if isinstance(node.value, str):
            yield from found_in_text(node.value, node.pointer)
        # A key may be a sentence, and a model reads it like any other text.
        if node.key and node.place < 0 and len(node.key) > 20:
            yield from found_in_text(node.key, node.pointer)
