"""Which measurements of a file are kept, so that a log of any length fits into memory.

A claim asks for measurements by name. Of those that are many and hold, such as the slacks of a
million endpoints, the first ones and the least and the greatest of each kind are kept; what may
break the claim always is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from transom.evidence.numbers import PrintedNumber
from transom.formats.reports.file_reading import LostFiles
from transom.formats.reports.readings import Measurement, SectionReading

MOST_OF_EACH: Final = 10_000
"""How many measurements that hold are kept of a file."""
_MOST_KINDS: Final = 1_000
# What tells measurements of one kind apart.
_OWN_KEYS: Final = frozenset({"endpoint", "startpoint", "object", "cell"})

_Kind = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class FactInterest:
    """The measurements that somebody asks for.

    Attributes:
        names: their names.
        kinds: also those of whatever name whose scope has one of these kinds.
        holds: tells whether a measurement speaks for what is asked, and could be left out among
            many; None if each one counts.
    """

    names: frozenset[str]
    kinds: frozenset[str] = frozenset()
    holds: Callable[[Measurement], bool] | None = field(default=None, compare=False)

    def wants(self, fact: Measurement) -> bool:
        """Return whether a measurement is asked for."""
        if fact.name in self.names or fact.name.endswith("_not_read"):
            return True
        return bool(self.kinds) and fact.scope.get("kind") in self.kinds


class FactKeeper:
    """Keeps the measurements of one file that are asked for, and counts all of them.

    Of each other name the first one is kept, so that a verdict can say what the file holds instead.

    Args:
        interest: what is asked for; everything if None.

    Attributes:
        count: number of all measurements.
        unlisted: number of those that hold and are not kept.
    """

    def __init__(self, interest: FactInterest | None = None) -> None:
        self.count = 0
        self.unlisted = 0
        self._interest = interest
        self._names = set[str]()
        self._lost_files = LostFiles()
        self._wanted = 0
        # The least and the greatest of each kind among those that are not kept.
        self._extremes: dict[_Kind, list[tuple[SectionReading, Measurement]]] = {}

    def add(self, section: SectionReading, fact: Measurement) -> None:
        """Take the next measurement of a section."""
        self.count += 1
        section.last_fact_line = fact.line
        lost = self._lost_files.lost_by(fact)
        if lost is not None:
            section.measurements.append(lost)
        if self._interest is None or fact.is_trouble:
            section.measurements.append(fact)
        elif self._interest.wants(fact):
            self._wanted += 1
            if self._wanted <= MOST_OF_EACH or not self._is_left_out(section, fact):
                section.measurements.append(fact)
        elif fact.name not in self._names:
            self._names.add(fact.name)
            section.measurements.append(fact)

    def finish(self) -> None:
        """Give each section the least and the greatest of those that were not kept."""
        sections = dict[int, SectionReading]()
        for least, greatest in self._extremes.values():
            for section, fact in (least, greatest) if least != greatest else (least,):
                section.measurements.append(fact)
                sections[id(section)] = section
                self.unlisted -= 1
        for section in sections.values():
            section.measurements.sort(key=lambda fact: fact.line)

    def _is_left_out(self, section: SectionReading, fact: Measurement) -> bool:
        """Return whether a measurement is one of many that hold; the extreme ones are noted."""
        assert self._interest is not None
        holds = self._interest.holds
        if holds is None or not _OWN_KEYS & fact.scope.keys() or not holds(fact):
            return False
        scope = tuple(sorted(item for item in fact.scope.items() if item[0] not in _OWN_KEYS))
        kind = (fact.name, scope)
        extremes = self._extremes.get(kind)
        if extremes is None:
            if len(self._extremes) >= _MOST_KINDS:
                return False
            extremes = self._extremes[kind] = [(section, fact), (section, fact)]
        elif _value_of(fact) < _value_of(extremes[0][1]):
            extremes[0] = (section, fact)
        elif _value_of(fact) > _value_of(extremes[1][1]):
            extremes[1] = (section, fact)
        self.unlisted += 1
        return True


def _value_of(fact: Measurement) -> float:
    number = fact.number
    return float(number.value) if isinstance(number, PrintedNumber) else 0.0
