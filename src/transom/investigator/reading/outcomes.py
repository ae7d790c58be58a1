"""Outcomes that a report states itself: the statuses at its top."""

from __future__ import annotations

from collections.abc import Iterator

from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, word_set, words

_HEAD = word_set(
    "status result outcome conclusion verdict state success successful passed pass ok gate meet met"
    " complete completed"
)
_REST = word_set(
    "overall final latest last build pipeline run scan test report quality execution threshold"
    " target sla"
)


def outcomes_of(node: Node, *, is_past: bool = False) -> list[tuple[Node, Status]]:
    """Return the statuses of an object as a whole: `status`, `conclusion`, `success`,
    `quality_gate`.
    """
    outcomes = list[tuple[Node, Status]]()
    # A run of the past may be read as such, but is no outcome of the report.
    for child in (
        node.children
        if isinstance(node.value, dict) and (is_past or node.nature not in ("history", "limit"))
        else ()
    ):
        if (
            _HEAD & set(child.words)
            and set(child.words) <= _HEAD | _REST
            and (status := outcome_of(child)) is not None
        ):
            outcomes.append((child, status))
    return outcomes


def outcome_of(node: Node) -> Status | None:
    """Return the outcome that a value states. A status in words that nobody knows is in doubt, and
    one that only says that it is over says nothing.
    """
    status = words().status_of(node.value)
    if status == "ended":
        return None
    # Silence about an unknown word would pass what it says.
    if status is None and isinstance(node.value, str) and node.value.strip():
        return "conditional"
    return status


def own_doubts(root: Node) -> Iterator[Observation]:
    """Yield observations `source.outcome` of a report, or a part of it, that states that it did
    not end well.
    """
    for node in (root, *(child for child in root.children if child.place < 0)):
        for child, status in outcomes_of(node):
            # Below the top only a failure counts: a part may still run without harm.
            if status == "fail" or (node is root and status != "pass"):
                yield observe(
                    "source.outcome",
                    child,
                    status,
                    label=f"{node.label}: {child.key}",
                    nature=node.nature,
                )
