"""Statistics of folded events. Sums are exact, so that the steps of folding do not matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from transom.llm import ToolCallPart, ToolResultPart

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WHOLE = 10**16  # from here on Python prints floats with a power of ten


class CountableEvent(Protocol):
    """The parts of an event that are counted."""

    @property
    def calls(self) -> tuple[ToolCallPart, ...]: ...

    @property
    def results(self) -> tuple[ToolResultPart, ...]: ...

    @property
    def values(self) -> Mapping[str, tuple[float, ...]]: ...


@dataclass(frozen=True)
class Figures:
    """Figures of one measured value: count, least, most, and the exact sum."""

    count: int
    least: float
    greatest: float
    total: Fraction

    @property
    def mean(self) -> float:
        return float(self.total / self.count)

    def with_value(self, value: float) -> Figures:
        """Return the figures with one more value."""
        total = self.total + Fraction(value)
        return Figures(self.count + 1, min(self.least, value), max(self.greatest, value), total)

    def text(self, name: str) -> str:
        """Return the figures as a clause of a note."""
        mean = self.total / self.count
        # Integers may be larger than a float can hold exactly.
        are_integers = isinstance(self.least, int) and isinstance(self.greatest, int)
        is_integer = mean.denominator == 1 and are_integers
        middle = mean.numerator if is_integer else float(mean)
        return (
            f"{name} {self.count} times, least {_exact(self.least)},"
            f" most {_exact(self.greatest)}, mean {_exact(middle)}"
        )


def _exact(value: float) -> str:
    """Return a number with all its digits: the shortest form that reads back as the same float."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < _WHOLE):
        return str(int(value))
    return float.__repr__(value)


@dataclass(frozen=True)
class Statistics:
    """Statistics of some events.

    Attributes:
        events: how many.
        exchanges: those of them that called nothing.
        calls: name of a tool -> how often it was called.
        result_bytes: of all results together, as UTF-8.
        values: what code measured in them.
    """

    events: int = 0
    exchanges: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    result_bytes: int = 0
    values: Mapping[str, Figures] = field(default_factory=dict)

    def of_more(self, events: Iterable[CountableEvent]) -> Statistics:
        """Return the statistics with those of further events added."""
        count, exchanges, size = self.events, self.exchanges, self.result_bytes
        calls, values = dict(self.calls), dict(self.values)
        for event in events:
            calls_of_event = event.calls
            count += 1
            exchanges += not calls_of_event
            for call in calls_of_event:
                calls[call.name] = calls.get(call.name, 0) + 1
            for result in event.results:
                size += len(result.content.encode("utf-8", "surrogatepass"))
            for name, measured in event.values.items():
                for value in measured:
                    figures = values.get(name)
                    if figures:
                        values[name] = figures.with_value(value)
                    else:
                        values[name] = Figures(1, value, value, Fraction(value))
        return Statistics(count, exchanges, calls, size, values)

    def text(self) -> str:
        """Return the statistics as a sentence of a note."""
        parts = [f"{self.exchanges} called nothing"]
        unnamed = 0
        for name, count in sorted(self.calls.items()):
            # The note is trusted text, so a name that a model made up is not repeated.
            if _NAME.fullmatch(name):
                parts.append(f"{name} was called {count} times")
            else:
                unnamed += count
        if unnamed:
            parts.append(f"what is no tool was called {unnamed} times")
        if self.result_bytes:
            parts.append(f"results had {self.result_bytes} bytes")
        parts += [figures.text(name) for name, figures in sorted(self.values.items())]
        return "; ".join(parts)
