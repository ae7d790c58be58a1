"""Signs of what data is about: whether a reader finds facts of its kind in it."""

from __future__ import annotations

from collections.abc import Callable

from transom.investigator.reading.counts import read_counts
from transom.investigator.reading.coverage import read_coverage
from transom.investigator.reading.matters import CHECKING, TESTING, other_matter, speaks_of
from transom.investigator.reading.performance import read_performance
from transom.investigator.reading.pipelines import is_pipeline
from transom.investigator.reading.reviews import read_decisions
from transom.investigator.reading.severities import read_severities
from transom.investigator.reading.tool_reports import COVERAGE, LOAD, SCAN, TESTS
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set

PIPELINE = "metrics/pipeline_results"
STAKEHOLDERS = "reviews/stakeholders"
_COVERAGE = word_set("coverage covered")
_COVERABLE = word_set("line branch statement instruction condition")
_PASSED = word_set("passed pass")
_SHARES = word_set("percent pct percentage rate")
_REVIEWING = word_set(
    "review reviewer approver approved approval approve decision decided verdict stakeholder vote"
    " signoff sign signed signature consent sponsor recommendation comment go"
)


def _has_findings(root: Node) -> bool:
    observations, _ = read_severities(root, "vulnerabilities")
    return bool(observations)


def _has_counts(root: Node) -> bool:
    """Return whether data counts tests; "no failure" alone is said by checkers of any kind."""
    observations, _ = read_counts(root, "tests")
    measured = {observation.measure: observation.number for observation in observations}
    if not measured.get("tests.failed") and "tests.executed" not in measured:
        return False
    if other_matter(root, observations, TESTING, CHECKING) is not None:
        return False
    return speaks_of(TESTING | _PASSED, root)


def _has_coverage(root: Node) -> bool:
    """Return whether data speaks of coverage.

    A bare `line` is the place of a finding as often, and a bare `total` counts anything.
    """
    return any(_speaks_of_coverage(node) for node in root.walk()) and bool(read_coverage(root))


def _speaks_of_coverage(node: Node) -> bool:
    around = set(node.words)
    if node.parent is not None:
        around |= set(node.parent.words)
    if _COVERAGE & around:
        return True
    if _COVERABLE & around and _SHARES & around:
        return True
    # `{"line": 91.5, "branch": 84.2}`: two kinds beside each other.
    kinds = set()
    for child in node.children:
        if child.number is not None:
            for word in child.words:
                kinds.add(word)
    return len(_COVERABLE & kinds) > 1


def _has_decisions(root: Node) -> bool:
    # "passed: false" and "status: success" are said of anything; a review names its people, too.
    if not any(_REVIEWING & set(node.words) for node in root.walk()):
        return False
    observations, _ = read_decisions(root)
    return any(
        observation.measure in ("review.decision", "review.person") for observation in observations
    )


def _has_figures(root: Node) -> bool:
    figures = ("performance.latency", "performance.throughput", "performance.availability")
    return any(observation.measure in figures for observation in read_performance(root))


CONTENT_SIGNS: tuple[tuple[str, Callable[[Node], bool]], ...] = (
    (TESTS, _has_counts),
    (COVERAGE, _has_coverage),
    (SCAN, _has_findings),
    (LOAD, _has_figures),
    (PIPELINE, is_pipeline),
    (STAKEHOLDERS, _has_decisions),
)
