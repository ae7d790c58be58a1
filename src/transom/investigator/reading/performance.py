"""Reads performance figures and their limits, in any arrangement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from transom.evidence.numbers import (
    Comparator,
    NumberLimit,
    PrintedNumber,
    UnknownNumber,
    convert,
    read_bound,
    read_number,
)
from transom.evidence.units import PERCENT, RATIO, UnitSource, find_unit, unit_of_key
from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import key_words, word_list, word_set, words

_STATISTIC = re.compile(r"p\d{2,3}(?:\.\d)?")
_AVERAGE = {
    "avg": "average",
    "average": "average",
    "mean": "average",
    "median": "p50",
    "med": "p50",
    "max": "max",
    "min": "min",
}
_TRANSPARENT = word_set("value actual measured current observed result achieved latest")
_LIMIT_KEYS = word_list(
    "target threshold limit sla slo goal requirement required expected budget acceptance objective"
    " max min maximum minimum"
)
UNKNOWN = "?"
_AT_LEAST = {"throughput", "availability", "success_rate"}


@dataclass(frozen=True)
class Quantity:
    """The quantity of a figure.

    Attributes:
        kind: `latency | error_rate | success_rate | throughput | availability | cpu | memory`.
        statistic: `p95`, `average`, ..., "" if the key names none.
    """

    kind: str
    statistic: str = ""


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
        if amount is None:
            observations += _unreadable(node, quantity)
            continue
        value, unit = amount
        bound, place = _limit_of(node, quantity)
        limit = bound[0] if bound is not None else None
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
    counts = {
        frozenset(child.words) - {"count", "number", "of"}: child
        for child in node.children
        if child.number is not None
    }
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


def quantity_of(node: Node) -> Quantity | None:
    """Return the quantity by the words of the key; for `value` and `actual` by the words around
    it.
    """
    if isinstance(node.value, dict | list | bool) or node.value is None:
        return None
    key = set(node.words)
    if not key - _TRANSPARENT - {"ms", "s", "second", "percent", "pct"}:
        siblings = [
            entry
            for entry in (
                node.parent.get("metric", "name", "measure", "kpi") if node.parent else None,
            )
            if entry
        ]
        key = (
            set(key_words(str(siblings[0].value)))
            if siblings
            else set(node.parent.words if node.parent else ())
        )
        statistic = _statistic(key)
        return _named(key) or (
            Quantity("latency", statistic) if _STATISTIC.fullmatch(statistic) else None
        )
    quantity = _named(key)
    if quantity is not None:
        return quantity
    statistic = _statistic(key)
    if (
        statistic
        and key - {"ms", "s", "second", "sec", "time"} <= {statistic, *_AVERAGE}
        and node.parent is not None
    ):
        outer = {
            word
            for entry in (node.parent, node.parent.parent)
            if entry is not None
            for word in entry.words
        }
        inner = _named(outer)
        if inner is not None:
            return Quantity(inner.kind, statistic)
        if _STATISTIC.fullmatch(statistic) or {"ms"} & key:
            return Quantity("latency", statistic)
        return None
    return None


def _named(key: set[str]) -> Quantity | None:
    if {"total", "sum", "cumulative"} & key:  # a sum over all requests, as in locust
        return None
    statistic = _statistic(key)
    rate = bool({"rate", "ratio", "percent", "pct", "percentage"} & key)
    if {"error", "failure", "fail", "failed"} & key and rate:
        return Quantity("error_rate")
    if {"success"} & key and rate:
        return Quantity("success_rate")
    if {"throughput", "rps", "tps", "qps"} & key or {"per", "second"} <= key:
        return Quantity("throughput")
    if {"availability", "uptime"} & key:
        return Quantity("availability")
    if (
        {"latency"} & key
        or {"response", "time"} <= key
        or {"render", "time"} <= key
        or {"load", "time"} <= key
    ):
        return Quantity("latency", statistic)
    if {"cpu"} & key and not {"core", "count", "limit"} & key:
        return Quantity("cpu", statistic)
    return None


def _statistic(key: set[str]) -> str:
    for word in sorted(key):
        if _STATISTIC.fullmatch(word):
            return word
    return next((_AVERAGE[word] for word in sorted(key) if word in _AVERAGE), "")


def amount_of(node: Node, quantity: Quantity) -> tuple[float, str] | None:
    """Return the value in ms, % or /s, with its unit; `?` for a share without a unit."""
    if not isinstance(node.value, int | float | str) or isinstance(node.value, bool):
        return None
    number = _number_of(node)
    if number is None:
        return None
    if quantity.kind == "latency":
        in_milliseconds: PrintedNumber | UnknownNumber = number
        if number.unit:
            in_milliseconds = convert(number, "ms")
        if isinstance(in_milliseconds, UnknownNumber):
            return None
        return round(float(in_milliseconds.value), 6), "ms"
    if quantity.kind == "throughput":
        return float(number.value), "/s"
    unit = {PERCENT: PERCENT, RATIO: RATIO}.get(number.unit, UNKNOWN)
    if unit == PERCENT and not 0 <= number.value <= 100:
        return None
    return float(number.value), unit


def _number_of(node: Node) -> PrintedNumber | None:
    """Return the number of a figure or a bound, with the unit of its text, its key or beside it."""
    unit = _unit_beside(node)
    units = list[UnitSource]()
    for source in (unit_of_key(node.key), _stated_unit(unit)):
        if source is not None:
            units.append(source)
    text = str(node.value).partition("(")[0].strip()
    defaults: tuple[Comparator | None, ...] = (None, "=")
    for default in defaults:
        limit = read_bound(text, units=units, default=default)
        if isinstance(limit, NumberLimit):
            return limit.number
    # `"95 requests/s"` beside a key that states no unit of its own
    number = read_number(text, units=units[:1])
    if isinstance(number, PrintedNumber):
        return number
    return None


def _stated_unit(spelling: str) -> UnitSource | None:
    unit = find_unit(spelling) if spelling else None
    if unit:
        return UnitSource(unit, "column", text=spelling)
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


def _unit_beside(node: Node) -> str:
    unit = node.parent.get("unit", "units") if node.parent is not None else None
    if unit is not None and isinstance(unit.value, str):
        return str(unit.value)
    return ""


def _limit_of(node: Node, quantity: Quantity) -> tuple[tuple[float, str] | None, Node | None]:
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
        set(child.words) <= {"max", "min", "maximum", "minimum"} and set(node.words) <= _TRANSPARENT
    )


def _limit_in(child: Node, quantity: Quantity, node: Node) -> tuple[tuple[float, str], Node] | None:
    other_words = {word for word in child.words if word not in _LIMIT_KEYS} - {
        "ms",
        "second",
        "s",
        "percent",
        "pct",
    }
    if not isinstance(child.value, dict | list):
        own = _named(
            other_words
            | (
                {"latency"}
                if _STATISTIC.search(" ".join(other_words)) and not _named(other_words)
                else set()
            )
        )
        is_sibling = child.parent is node.parent
        # A bare `target` belongs to the figure beside it; a named one to the figure that it names.
        fits = _fits(own, quantity) if other_words else is_sibling and _is_only_figure(node)
        amount = amount_of(child, quantity) if fits else None
        if amount:
            return (amount, child)
        return None
    texts: list[tuple[bool, tuple[float, str], Node]] = []
    for leaf in child.walk():
        same_place = set(leaf.words) - set(_LIMIT_KEYS)
        own = quantity_of(leaf) or _named(same_place | other_words)
        if own is None and _statistic(same_place) and quantity.kind == "latency":
            own = Quantity("latency", _statistic(same_place))
        if own is not None and _fits(own, quantity) and (amount := amount_of(leaf, quantity)):
            texts.append((not _names(leaf, child) & _names(node), amount, leaf))
    best = min(texts, key=lambda entry: entry[0], default=None)  # of the same endpoint if possible
    if best is not None:
        return best[1:]
    return None


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
    return own.statistic == quantity.statistic or (
        not own.statistic and quantity.statistic in ("", "p95", "average")
    )


def _is_only_figure(node: Node) -> bool:
    siblings = node.parent.children if node.parent is not None else ()
    return (
        sum(
            1
            for sibling in siblings
            if sibling.nature != "limit" and quantity_of(sibling) is not None
        )
        <= 1
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
        own = _named(set(around.words)) is not None or _statistic(set(around.words))
        if not name and around.key and around.parent is not None and around.place < 0 and not own:
            name = around.key
        around = around.parent
    quantity_name = (
        f"{quantity.kind.replace('_', ' ')} {quantity.statistic}".strip() if quantity else node.key
    )
    return f"{name} {quantity_name}".strip()
