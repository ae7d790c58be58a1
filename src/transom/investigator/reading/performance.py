"""Reads performance figures and their limits, in any arrangement."""

from __future__ import annotations

from collections.abc import Sequence

from transom.evidence.units import RATIO
from transom.formats.measurements import Observation
from transom.investigator.reading.performance_limits import stated_limit
from transom.investigator.reading.quantities import (
    UNKNOWN,
    Quantity,
    amount_of,
    named_quantity,
    quantity_of,
    statistic_of,
)
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set, words

_AT_LEAST = {"throughput", "availability", "success_rate"}


def read_performance(root: Node) -> list[Observation]:
    """Return observations `performance.<kind>` in ms, % and /s, each with its limit if the
    source has one.
    """
    observations: list[Observation] = []
    for node in root.walk():
        quantity = None if node.nature in ("limit", "history") else quantity_of(node)
        if quantity is None:
            observations += [*_flag(node), *_failed_share(node)]
            continue
        amount = amount_of(node, quantity)
        # A figure that cannot be read is a doubt; left out, it could hide a missed target.
        if amount is None:
            observations += _unreadable(node, quantity)
            continue
        value, unit = amount
        bound, place = stated_limit(node, quantity)
        limit = bound[0] if bound is not None else None
        # Whether 0.5 is a share of 1 follows from the limit, so both are converted together.
        if unit not in ("ms", "/s"):
            value, unit = _in_percent((value, unit), quantity, bound)
            limit = _in_percent(bound, quantity, bound)[0] if bound is not None else None
        observations.append(
            observe(
                f"performance.{quantity.kind}",
                node,
                value,
                label=_label(node, quantity),
                unit=unit,
                limit=limit,
                limit_at=place.pointer if place is not None else "",
                at_most=quantity.kind not in _AT_LEAST,
            )
        )
    return observations


def _unreadable(node: Node, quantity: Quantity) -> list[Observation]:
    """Return the doubt that a figure without a certain value leaves."""
    if node.nature != "measured" or isinstance(node.value, bool):
        return []
    label = _label(node, quantity)
    return [observe("performance.flag", node, "conditional", label=f"{label} is no certain number")]


_REQUEST_KEYS = ("total request", "request", "http request", "sample", "total sample", "iteration",
                 "transaction", "hit")  # fmt: skip
_FAILED_KEYS = ("failed request", "request failed", "failure", "failed", "error", "error response",
                "failed sample", "failed transaction", "ko")  # fmt: skip


def _failed_share(node: Node) -> list[Observation]:
    """Compute the error rate from counts of requests: `total_requests: 1000, failed_requests:
    20`.
    """
    if not isinstance(node.value, dict) or node.nature != "measured":
        return []
    counts = {}
    for child in node.children:
        if child.number is not None:
            counts[frozenset(child.words) - {"count", "number", "of"}] = child
    # Load tests print requests and failures far more often than a rate.
    failed = _first(counts, _FAILED_KEYS)
    total = _first(counts, _REQUEST_KEYS)
    if failed is None or total is None or not total.number:
        return []
    operands = [(failed.number or 0.0, failed), (total.number, total)]
    share = 100 * operands[0][0] / operands[1][0]
    rate = derived("performance.error_rate", node, share, "100 * a / b", operands, unit="%")
    return [rate.model_copy(update={"label": "error rate"})]


def _first(counts: dict[frozenset[str], Node], names: Sequence[str]) -> Node | None:
    """Return the count with the first of these names."""
    for name in names:
        node = counts.get(word_set(name))
        if node is not None:
            return node
    return None


def _in_percent(
    amount: tuple[float, str], quantity: Quantity, limit: tuple[float, str] | None
) -> tuple[float, str]:
    """Convert a share to percent. Without a unit, its limit shows whether both are shares of 1."""
    number, unit = amount
    if unit == RATIO:
        return round(number * 100, 6), "%"
    if unit != UNKNOWN:
        return amount
    largest_share = 1.0
    if quantity.kind == "error_rate":
        largest_share = 0.2
    if limit is not None:
        share = limit[0] <= largest_share and limit[1] in (UNKNOWN, RATIO)
    else:
        share = quantity.kind != "error_rate" and number <= largest_share
    if share:
        return round(number * 100, 6), "%"
    # Without a limit 0.02 may be 2 % or 0.02 %.
    return (
        number,
        UNKNOWN if limit is None and 0 < number < 1 and quantity.kind == "error_rate" else "%",
    )


def _flag(node: Node) -> list[Observation]:
    """Return the source's own judgement of a figure: `meets_target: false`, `status: FAIL`."""
    node_words = set(node.words)
    if node.nature in ("history", "planned", "estimate"):
        return []
    if (
        isinstance(node.value, bool)
        and {"meet", "within", "met", "passed", "pass", "ok", "crossed", "exceeded"} & node_words
    ):
        good = node.value != bool({"crossed", "exceeded"} & node_words)
        return [
            observe(
                "performance.flag",
                node,
                "pass" if good else "fail",
                label=_label(node),
                nature="measured",
            )
        ]
    if isinstance(node.value, str) and node.words in (
        ("status",),
        ("result",),
        ("verdict",),
        ("outcome",),
    ):
        status = words().status_of(node.value)
        if status not in (None, "ended"):
            return [observe("performance.flag", node, str(status), label=_label(node))]
    return []


def _label(node: Node, quantity: Quantity | None = None) -> str:
    around: Node | None = node.parent
    name = ""
    while around is not None and not name:
        name = ""
        if around.label not in (around.key, "the document"):
            name = around.label
        own = named_quantity(set(around.words)) is not None or statistic_of(set(around.words))
        if not name and around.key and around.parent is not None and around.place < 0 and not own:
            name = around.key
        around = around.parent
    quantity_name = (
        f"{quantity.kind.replace('_', ' ')} {quantity.statistic}".strip() if quantity else node.key
    )
    return f"{name} {quantity_name}".strip()
