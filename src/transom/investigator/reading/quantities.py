"""Tells which quantity a performance figure measures, and reads its amount in one unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from transom.evidence.number_limits import NumberLimit, read_bound
from transom.evidence.numbers import Comparator, PrintedNumber, UnknownNumber, convert, read_number
from transom.evidence.units import PERCENT, RATIO, UnitSource, find_unit, unit_of_key
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import key_words, word_set

STATISTIC = re.compile(r"p\d{2,3}(?:\.\d)?")
_AVERAGE = {
    "avg": "average",
    "average": "average",
    "mean": "average",
    "median": "p50",
    "med": "p50",
    "max": "max",
    "min": "min",
}
TRANSPARENT = word_set("value actual measured current observed result achieved latest")
UNKNOWN = "?"
UNIT_WORDS = {"ms", "s", "second", "percent", "pct"}


@dataclass(frozen=True)
class Quantity:
    """The quantity of a figure.

    Attributes:
        kind: `latency | error_rate | success_rate | throughput | availability | cpu | memory`.
        statistic: `p95`, `average`, ..., "" if the key names none.
    """

    kind: str
    statistic: str = ""


def quantity_of(node: Node) -> Quantity | None:
    """Return the quantity by the words of the key; for `value` and `actual` by the words around
    it.
    """
    if isinstance(node.value, dict | list | bool) or node.value is None:
        return None
    key = set(node.words)
    # A bare `value` measures what its row is named after, else what its object is named after.
    if not key - TRANSPARENT - UNIT_WORDS:
        return _quantity_around(node)
    quantity = named_quantity(key)
    if quantity is not None or node.parent is None:
        return quantity
    statistic = statistic_of(key)
    is_bare = key - {"ms", "s", "second", "sec", "time"} <= {statistic, *_AVERAGE}
    if not statistic or not is_bare:
        return None
    # `latency: {p95: 310}`: the key has the statistic, and the ones around it the quantity.
    outer = set(node.parent.words)
    if node.parent.parent is not None:
        outer.update(node.parent.parent.words)
    inner = named_quantity(outer)
    if inner is not None:
        return Quantity(inner.kind, statistic)
    if STATISTIC.fullmatch(statistic) or {"ms"} & key:
        return Quantity("latency", statistic)
    return None


def _quantity_around(node: Node) -> Quantity | None:
    """Return the quantity of a bare `value` by the name beside it, or the key of its object."""
    if node.parent is None:
        return None
    name = node.parent.get("metric", "name", "measure", "kpi")
    key = set(key_words(str(name.value))) if name is not None else set(node.parent.words)
    quantity = named_quantity(key)
    statistic = statistic_of(key)
    if quantity is None and STATISTIC.fullmatch(statistic):
        # Percentiles without a name are times in every tool of the field.
        return Quantity("latency", statistic)
    return quantity


def named_quantity(key: set[str]) -> Quantity | None:
    """Return the quantity that the words of a key or a name tell; None if they tell none."""
    # A sum over all requests, as Locust writes it, has no target.
    if {"total", "sum", "cumulative"} & key:
        return None
    statistic = statistic_of(key)
    rate = bool({"rate", "ratio", "percent", "pct", "percentage"} & key)
    if {"error", "failure", "fail", "failed"} & key and rate:
        return Quantity("error_rate")
    if {"success"} & key and rate:
        return Quantity("success_rate")
    if {"throughput", "rps", "tps", "qps"} & key or {"per", "second"} <= key:
        return Quantity("throughput")
    if {"availability", "uptime"} & key:
        return Quantity("availability")
    is_time = "time" in key and bool({"response", "render", "load"} & key)
    if "latency" in key or is_time:
        return Quantity("latency", statistic)
    if {"cpu"} & key and not {"core", "count", "limit"} & key:
        return Quantity("cpu", statistic)
    return None


def statistic_of(key: set[str]) -> str:
    """Return the statistic that the words of a key tell, such as `p95` or `average`, or ""."""
    for word in sorted(key):
        if STATISTIC.fullmatch(word):
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
    # A share of the whole above 100 % is a misread number or unit.
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
    # "310 ms (p95)": what stands in brackets is a remark.
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


def _unit_beside(node: Node) -> str:
    unit = node.parent.get("unit", "units") if node.parent is not None else None
    if unit is not None and isinstance(unit.value, str):
        return str(unit.value)
    return ""
