"""`scaled`: one entry a line, with a printed number that is brought to one unit."""

import re
from typing import Any

from transom.checklist.rules.fragments.lines import LineReader
from transom.checklist.rules.fragments.shared import entry


class ScaledReader:
    """One entry for every line that fits; one whose unit stands elsewhere in the file waits until that is told.

    `units` are those that the file tells, `relied` is the first entry that has not its own.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.lines = LineReader(rule)
        self.scale: dict[str, Any] = rule["scaled"]
        self.patterns = [re.compile(told) for told in self.scale["told"]]
        self.units: set[str] = set()
        self.relied: tuple[int, str] | None = None
        self.waiting: list[tuple[int, str, dict[str, Any]]] = []

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entries that are certain by this line."""
        found: list[dict[str, Any]] = []
        for pattern in self.patterns:
            if told := pattern.search(line):
                found += self.told(told["unit"])
        fields = self.lines.fields(line)
        return found if fields is None else found + self.made(number, line, fields)

    def told(self, unit: str) -> list[dict[str, Any]]:
        """The entries that waited for a unit; with a second one none is certain that relied on the first."""
        self.units.add(unit)
        if self.relied and len(self.units) > 1:
            self.refuse(*self.relied)
        waiting, self.waiting = self.waiting, []
        return [made for about in waiting for made in self.made(*about)]

    def made(self, number: int, line: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """The entry of a line, none as long as its unit is not told."""
        printed = fields[self.scale["of"]]
        units = {fields["unit"]} if fields.get("unit") else self.units
        if units is self.units:
            self.relied = self.relied or (number, printed)
            if not units:
                self.waiting.append((number, line, fields))
                return []
        if len(units) != 1 or not units <= set(self.scale["units"]):
            self.refuse(number, printed)
        mantissa, _, power = printed.lower().partition("e")
        fields[self.scale["field"]] = float(f"{mantissa}e{int(power or 0) + self.scale['units'][min(units)]}")
        return [entry(self.rule, number, line, fields)]

    def refuse(self, number: int, printed: str) -> None:
        """A number that cannot be judged."""
        raise ValueError(f"line {number}: no one unit is told for {printed}")

    def late(self) -> bool:
        """Whether an entry may still come for a line that went before."""
        return bool(self.waiting)

    def end(self) -> list[dict[str, Any]]:
        """Nothing may wait any more."""
        if self.relied and not self.units:
            self.refuse(*self.relied)
        return []
