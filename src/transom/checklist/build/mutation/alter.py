"""Ways of altering evidence. Each says what has to follow: that an entry changes, or that an outcome does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from transom.checklist.build.mutation.evidence import Page, Span, Spot, Unit
from transom.checklist.build.mutation.fields import Topic, decisive_fields
from transom.checklist.build.mutation.outcome import beyond, flipped
from transom.checklist.build.mutation.phrases import MANY, many, only_printed

Way: TypeAlias = Literal[
    "remove", "blank", "change", "flip", "fail", "print", "cut", "header", "insert", "many", "word"
]
Expected: TypeAlias = Literal["entry", "outcome", "violation"]
Lines: TypeAlias = dict[int, str | None]

SAYS: Final[Mapping[Way, str]] = {
    "remove": "the line is removed",
    "blank": "the line's fields are blanked",
    "change": "the value is changed",
    "flip": "the outcome is turned round",
    "fail": "loading fails, or failed and now does not",
    "print": "the command is only printed",
    "cut": "the file ends before the line, or within it",
    "header": "every line of the header is broken",
    "insert": "a line that decides otherwise is added",
    "many": "several lines that decide otherwise are added",
    "word": "loading fails, in other words",
}
# What a header says where it says nothing: it may go and nothing is lost, but a real text in its place must show.
NOTHING: Final = re.compile(r"(?i)\W*(?:unknown|undefined|unspecified|tb[ad]|to ?do|n\W?a|none|null|nil|xx+)?\W*")


@dataclass(frozen=True)
class Mutant:
    """Altered texts.

    Attributes:
        place: a command, a header or a file of lines; a checker that notices none of its mutants does not look there.
        expects: `entry`: an entry comes, goes or says something else; `outcome`: it changes sides; `violation`: there
            is one more.
        sees: for `flip`, the line that atom A has to see on both sides.
        written: lines of the altered text that must still be what the spec's patterns describe.
        adds: for `violation`, how many there are more.
    """

    way: Way
    place: str
    spot: Spot
    texts: Mapping[Path, str]
    expects: Expected = "entry"
    sees: int | None = None
    written: tuple[int, ...] = ()
    adds: int = 1

    @property
    def item(self) -> str:
        """Id of the item whose evidence it is."""
        return self.place.partition(" ")[0]

    @property
    def says(self) -> str:
        return f"{self.way}: {SAYS[self.way]}"


def mutants(unit: Unit, topic: Topic) -> list[Mutant]:
    """Every mutant of a unit that must change the result by the spec, the most telling first."""
    makers: dict[str, Sequence[Callable[[Unit, Topic], Iterator[Mutant]]]] = {
        "row": (_flip, _insert, _print_row, _remove, _change, _blank, _cut),
        "command": (_fail, _print, _remove, _change, _cut),
        "header": (_header, _blank_each, _change_each, _remove_each, _cut),
    }
    if unit.shape == "row" and unit.item.mode == "forbid" and unit.holds is not True:
        # What is not forbidden has no entry in the result: only its turning into something forbidden shows.
        makers["row"] = (_flip, _insert)
    return [mutant for maker in makers[unit.shape] for mutant in maker(unit, topic)]


# -- rows


def _flip(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    if unit.holds is None:
        return
    spots = [spot for spot in unit.spots if unit.item.quantifier != "exists" or flipped(unit.item, topic, spot)]
    lines = {spot: flipped(unit.item, topic, spot) for spot in spots}
    if lines and all(line is not None for line in lines.values()):
        sees = unit.spots[0].number if len(unit.spots) == 1 else None
        made = _made(unit, "flip", lines, "outcome")
        yield replace(made, sees=sees, written=tuple(spot.number for spot in unit.spots))


def _insert(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    """A line that is a violation, beside the one it is made from; and many of them."""
    if unit.item.quantifier != "each" and unit.item.mode != "forbid":
        return
    spot = unit.spots[0]
    wanted = unit.item.mode == "forbid"
    bad = spot.line if unit.holds is wanted else flipped(unit.item, topic, spot)
    bad = beyond(unit.item, spot) if unit.holds is None else bad
    again = unit.item.quantifier == "per_file" and unit.holds is wanted
    if len(unit.spots) == 1 and bad is not None and not again:
        for number, both in ((spot.number + 1, (spot.line, bad)), (spot.number, (bad, spot.line))):
            made = _made(unit, "insert", {spot: "\n".join(both)}, "violation")
            yield replace(made, written=(number,))
        if unit.item.quantifier == "each" and not topic.patterns:
            lines = many(bad, (spot.said(name) for name in topic.naming))
            made = _made(unit, "many", {spot: "\n".join([spot.line, *lines])}, "violation")
            numbers = tuple(range(spot.number + 1, spot.number + 1 + MANY))
            yield replace(made, written=numbers, adds=MANY)


def _print_row(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    printed = {spot: only_printed(spot.line, topic) for spot in unit.spots}
    if unit.item.mode == "require" and all(printed.values()):
        yield _made(unit, "print", printed, "outcome")


def _remove(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    del topic
    yield _made(unit, "remove", dict.fromkeys(unit.spots))


def _change(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    """Each field that decides, or the first of any."""
    del topic
    condition = unit.item.condition.field.rpartition(".")[2] if unit.item.condition else None
    shown = [name for name in unit.spots[0].spans if name != condition]
    decisive = [name for name in decisive_fields(unit.item) if name in shown]
    for name in ["path"] if unit.shape == "command" else decisive or shown[:1]:
        changed = {spot: _with(spot, [name], _other) for spot in unit.spots}
        if all(line is not None for line in changed.values()):
            yield _made(unit, "change", changed)


def _blank(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    """All fields that decide, and each of several."""
    del topic
    names = list(decisive_fields(unit.item))
    for some in [names, *([name] for name in names if len(names) > 1)]:
        blanked = {spot: _with(spot, some, lambda text: " " * len(text)) for spot in unit.spots}
        if some is names or all(line is not None for line in blanked.values()):
            yield _made(unit, "blank", {spot: line or "" for spot, line in blanked.items()})


def _cut(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    """The evidence and all that follows lie past the end; of a row also what its line says."""
    del topic
    firsts = list({spot.page: spot for spot in reversed(unit.spots)}.values())
    yield _ended(unit, firsts, [0 for _ in firsts])
    if unit.shape == "row" and all(spot.spans for spot in firsts):
        yield _ended(unit, firsts, [min(spot.spans.values())[0] for spot in firsts])


def _ended(unit: Unit, spots: Sequence[Spot], columns: Sequence[int]) -> Mutant:
    """Each page up to a place of its spot's line."""
    texts = {
        spot.page.path: _filled("\n".join([*spot.page.lines[: spot.number - 1], spot.line[:column]]))
        for spot, column in zip(spots, columns, strict=True)
    }
    return Mutant("cut", unit.place, unit.spots[0], texts)


# -- commands


def _fail(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    """An error right after the command, or none where there was one."""
    del topic
    spot = unit.spots[-1]
    if unit.holds is None:
        return
    if unit.wrong:
        yield _edited(unit, "fail", spot, dict.fromkeys(unit.wrong), "outcome")
    else:
        line = spot.page.lines[unit.last - 1]
        path = spot.said("path")
        yield _edited(unit, "fail", spot, {unit.last: f"{line}\nError: cannot read file {path}."}, "outcome")
        yield _edited(unit, "word", spot, {unit.last: f"{line}\nError: {path} line 12, syntax error."}, "outcome")


def _print(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    printed = {spot: only_printed(spot.line, topic) for spot in unit.spots}
    if unit.holds is not False and all(printed.values()) and unit.last == unit.spots[-1].number:
        yield _made(unit, "print", printed, "outcome")


# -- headers: each field on its own, and all of them at once


def _header(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    del topic
    if any(map(_tells, unit.spots)):
        yield _made(unit, "header", dict.fromkeys(unit.spots, ""))


def _blank_each(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    del topic
    for index, spot in enumerate(filter(_tells, unit.spots)):
        yield _made(unit, "blank", {spot: _with(spot, list(spot.spans), partial(_no_text, index % 2))})


def _change_each(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    for spot in unit.spots:
        name = list(spot.spans)[-1:]
        known = [] if _tells(spot) or not name else topic.values(name[0])
        make = partial(_real, known[0]) if known else _other
        yield _made(unit, "change", {spot: _with(spot, name, make)})


def _remove_each(unit: Unit, topic: Topic) -> Iterator[Mutant]:
    del topic
    for spot in filter(_tells, unit.spots):
        yield _made(unit, "remove", {spot: None})


def _tells(spot: Spot) -> bool:
    """Whether a line of a header shows any field with a text that says something."""
    return not spot.spans or any(NOTHING.fullmatch(spot.said(name) or "") is None for name in spot.spans)


def _no_text(blanks: int, text: str) -> str:
    """Nothing, or what only looks like something."""
    del text
    return " " * blanks


def _real(known: str, text: str) -> str:
    """A text that the spec gives, with the quotes of the one that says nothing."""
    quote = text[:1] if text[:1] in "\"'" else ""
    return f"{quote}{known}{quote}"


# -- making them


def _made(
    unit: Unit,
    way: Way,
    lines: Mapping[Spot, str | None],
    expects: Expected = "entry",
) -> Mutant:
    pages: dict[Page, Lines] = {}
    for spot, line in lines.items():
        pages.setdefault(spot.page, {})[spot.number] = line
    texts = {page.path: edited(page, changes) for page, changes in pages.items()}
    return Mutant(way, unit.place, next(iter(lines)), texts, expects)


def _edited(unit: Unit, way: Way, spot: Spot, changes: Lines, expects: Expected) -> Mutant:
    return Mutant(way, unit.place, spot, {spot.page.path: edited(spot.page, changes)}, expects)


def edited(page: Page, changes: Lines) -> str:
    """The page's text with lines replaced, or left out where None."""
    lines = (changes.get(number, line) for number, line in enumerate(page.lines, 1))
    return _filled("\n".join(line for line in lines if line is not None))


def _filled(text: str) -> str:
    """An empty file is an error whatever the checker does: one that lost all its lines keeps a word."""
    return text if text.strip() else "end of file\n"


def _with(spot: Spot, names: Iterable[str], make: Callable[[str], str]) -> str | None:
    """The line with the named fields written anew; None where it shows none of them."""
    spans: list[Span] = sorted({spot.spans[name] for name in names if name in spot.spans}, reverse=True)
    line = spot.line
    for start, end in spans:
        line = line[:start] + make(line[start:end]) + line[end:]
    return line if spans else None


def _other(text: str) -> str:
    """Another value of the same form: its last number one higher, else one letter longer."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return f"{text.rstrip()}x"
    start, end = found[-1].span()
    number = (int(text[start:end]) + 1) % 10 ** (end - start)
    return f"{text[:start]}{number:0{end - start}d}{text[end:]}"
