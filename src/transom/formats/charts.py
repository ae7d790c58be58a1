"""Charts as numbers and texts, for templates that draw them as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Row = TypeVar("_Row")

WIDTH, HEIGHT = 640.0, 240.0
"""The plane of a chart in its own units; the page scales it."""
MOST_MARKS = 1_000
"""Marks of one chart; more are thinned, and the chart says so."""
LEFT, RIGHT, TOP, BOTTOM = 64.0, 624.0, 12.0, 204.0
"""Where the marks of a chart may be."""
SPAN_WIDTH = 360.0
"""The width of a row of a waterfall or a timeline."""


@dataclass(frozen=True)
class ChartPoint:
    """A point of a chart: its place, its class, and what a pointer over it is told."""

    x: float
    y: float
    style: str
    title: str


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart through points, as SVG wants them."""

    points: str
    style: str
    title: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis: its name, and what stands at its ends."""

    name: str
    low: str
    high: str
    x: float = 0.0


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        kind: `plane` with an axis along each side, or `parallel` with upright axes.
        note: what the chart does not show; "" if it shows everything.
    """

    title: str
    kind: str
    axes: tuple[Axis, ...]
    marks: tuple[ChartPoint, ...] = ()
    lines: tuple[ChartLine, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar of a chart with its number."""

    name: str
    number: int
    width: float


def bars_of(numbers: Mapping[str, int]) -> tuple[Bar, ...]:
    """Return a bar for each number; the longest is 240 units wide."""
    greatest = max(numbers.values(), default=1) or 1
    bars: list[Bar] = []
    for name, number in numbers.items():
        bars.append(Bar(name.replace("_", " "), number, round(number / greatest * 240, 2)))
    return tuple(bars)


def scale(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """Return the place of a value between two ends, the least value at the first one."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    # A value that never changes stands in the middle.
    shift = 0.5 if high == low else 0.0

    def place(value: float) -> float:
        share = (value - low) / span + shift
        return round(first + min(1.0, max(0.0, share)) * (last - first), 2)

    return place


def thinned(rows: Sequence[_Row], noun: str, most: int = MOST_MARKS) -> tuple[Sequence[_Row], str]:
    """Return as many rows as a chart shows, and a note on what it leaves out."""
    step = -(-len(rows) // most)
    if step <= 1:
        return rows, ""
    return rows[::step], f"one in {step} of {len(rows)} {noun} is drawn"


def short_number(value: float) -> str:
    """Return a number as it stands at the end of an axis."""
    return f"{value:.4g}"


def span_place(begin: float, end: float, first: float, last: float) -> tuple[float, float]:
    """Return where the bar of a span begins in a row of `SPAN_WIDTH`, and how wide it is.

    Args:
        begin, end: of the span, in any unit of time.
        first, last: of all rows.
    """
    scale = SPAN_WIDTH / ((last - first) or 1)
    x = min(SPAN_WIDTH - 2, (begin - first) * scale)
    # Also a span of no length has to be seen.
    return round(x, 2), round(max(2.0, (end - begin) * scale), 2)
