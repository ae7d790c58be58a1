"""Finds the target that a source states for a performance figure, wherever it stands."""

from __future__ import annotations

from transom.investigator.reading.quantities import (
    STATISTIC,
    TRANSPARENT,
    UNIT_WORDS,
    Quantity,
    amount_of,
    named_quantity,
    quantity_of,
    statistic_of,
)
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_list

_LIMIT_KEYS = word_list(
    "target threshold limit sla slo goal requirement required expected budget acceptance objective"
    " max min maximum minimum"
)


def stated_limit(node: Node, quantity: Quantity) -> tuple[tuple[float, str] | None, Node | None]:
    """Return the nearest limit: beside the figure, beside its parents, or in targets further up."""
    around = node.parent
    inner = node
    while around is not None:
        for child in around.children if isinstance(around.value, dict) else ():
            if child is inner or (child.nature != "limit" and not _is_bound(child, node)):
                continue
            bound = _limit_in(child, quantity, node)
            if bound is not None:
                return bound
        inner, around = around, around.parent
    return None, None


def _is_bound(child: Node, node: Node) -> bool:
    """Whether `max` or `min` beside a plain `value` are bounds, not statistics."""
    return bool(
        set(child.words) <= {"max", "min", "maximum", "minimum"} and set(node.words) <= TRANSPARENT
    )


def _limit_in(child: Node, quantity: Quantity, node: Node) -> tuple[tuple[float, str], Node] | None:
    other_words = set(child.words) - set(_LIMIT_KEYS) - UNIT_WORDS
    if not isinstance(child.value, dict | list):
        # A bare `target` belongs to the figure beside it; a named one to the figure that it names.
        if other_words:
            fits = _fits(_quantity_of_target(other_words), quantity)
        else:
            fits = child.parent is node.parent and _is_only_figure(node)
        amount = amount_of(child, quantity) if fits else None
        return (amount, child) if amount else None
    first = None
    for leaf in child.walk():
        if not _fits(_quantity_of_leaf(leaf, other_words, quantity), quantity):
            continue
        amount = amount_of(leaf, quantity)
        if amount is None:
            continue
        # Targets may stand by endpoint; the one of the same endpoint is meant if there is one.
        if _names(leaf, child) & _names(node):
            return amount, leaf
        first = first or (amount, leaf)
    return first


def _quantity_of_target(key: set[str]) -> Quantity | None:
    quantity = named_quantity(key)
    if quantity is None and STATISTIC.search(" ".join(key)):
        # `p95_target` names no quantity, and means a time.
        return named_quantity(key | {"latency"})
    return quantity


def _quantity_of_leaf(leaf: Node, outer: set[str], quantity: Quantity) -> Quantity | None:
    """Return the quantity of a target among several, which its object may name instead of it."""
    key = set(leaf.words) - set(_LIMIT_KEYS)
    own = quantity_of(leaf) or named_quantity(key | outer)
    statistic = statistic_of(key)
    if own is None and statistic and quantity.kind == "latency":
        return Quantity("latency", statistic)
    return own


def _names(node: Node, within: Node | None = None) -> set[str]:
    """Return the keys and names above a node."""
    around, names = node.parent, set()
    while around is not None and around is not within:
        names |= {around.key, around.label}
        around = around.parent
    return names - {"", "the document"}


def _fits(own: Quantity | None, quantity: Quantity) -> bool:
    if own is None or own.kind != quantity.kind:
        return False
    # A target without a statistic is meant for the usual ones; a maximum may exceed it.
    is_usual = quantity.statistic in ("", "p95", "average")
    return own.statistic == quantity.statistic or (not own.statistic and is_usual)


def _is_only_figure(node: Node) -> bool:
    figures = 0
    for sibling in node.parent.children if node.parent is not None else ():
        figures += sibling.nature != "limit" and quantity_of(sibling) is not None
    return figures <= 1
