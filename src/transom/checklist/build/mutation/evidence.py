"""What evidence is: a line of a file that decides a validation item, and where the item's fields stand in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from transom.checklist.spec.shapes import SpecItem

Shape: TypeAlias = Literal["row", "command", "header"]
Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Page:
    """A file as the checker is tried on it.

    Attributes:
        path: real path.
        shown: name in reports.
        text: all of it, or its beginning where it is long.
        kind: by the globs of the spec, None where none fits.
        given: it is an input of its own, not only named by one.
    """

    path: Path
    shown: str
    text: str
    kind: str | None
    given: bool

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True, eq=False)
class Spot:
    """One line, 1-based, and the places of fields in it."""

    page: Page
    number: int
    spans: Mapping[str, Span] = field(default_factory=dict)

    @property
    def line(self) -> str:
        return self.page.lines[self.number - 1]

    def said(self, name: str) -> str | None:
        """The text of a field."""
        span = self.spans.get(name)
        return self.line[span[0] : span[1]] if span else None


@dataclass(frozen=True, eq=False)
class Unit:
    """The lines that together are the evidence of one judgement.

    Attributes:
        shape: a `row` is judged by what stands in it, a `command` by what follows it, a `header` by its fields.
        spots: every line; of a command the first is the command itself and `last` its last line.
        holds: whether it fulfils the item, None where the spec does not let that be read from the line.
        last: for a command, the line after which its outcome stands; 0 otherwise.
        wrong: for a command, the lines that say that it failed.
    """

    item: SpecItem
    shape: Shape
    spots: tuple[Spot, ...]
    holds: bool | None = None
    last: int = 0
    wrong: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """A command or a header by its line; rows by their file, since a single one may be a look-alike."""
        first = self.spots[0]
        return f"{self.item.id} {first.page.shown}{'' if self.shape == 'row' else f':{first.number}'}"

    @property
    def pages(self) -> tuple[Page, ...]:
        return tuple(dict.fromkeys(spot.page for spot in self.spots))
