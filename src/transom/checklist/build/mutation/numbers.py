"""Numbers that are compared with a limit: near it, of other size and in another unit, a field must follow the line."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from transom.checklist.atoms import Entry
from transom.checklist.build.mutation.evidence import Page, Spot
from transom.checklist.build.mutation.faithful import Told, fields_of
from transom.checklist.build.mutation.fields import LIMITS, Topic, last
from transom.checklist.build.mutation.outcome import STANDS_FOR
from transom.checklist.build.mutation.printed import number, scale, unit_places, wanted_unit
from transom.checklist.spec.shapes import SpecItem

See: TypeAlias = Callable[[Page], Awaitable[list[Entry] | None]]
_CLOSE = 1e-3
_NOTATION = re.compile(r"([-+]?)(\d+)(?:\.(\d*))?(?:([eE][-+]?)(\d+))?")
_POWERS = {"n": -3, "p": -4, "u": -2, "m": -1}


@dataclass(frozen=True)
class _Read:
    """A line, its number, and by what a field multiplies it."""

    spot: Spot
    topic: Topic
    item: SpecItem
    field: str
    span: tuple[int, int]
    factor: float


async def wrong_numbers(told: Sequence[Told], see: See) -> list[str]:
    """Numbers that a field does not follow, the first of each topic."""
    problems: list[str] = []
    for one in told:
        item = next((item for item in one.topic.items if item.condition and item.condition.op in LIMITS), None)
        read = await _first_read(one, item, see) if item and one.rows and not one.way else None
        problems += [problem for problem in [await _problem(read, see) if read else None] if problem]
    return problems


async def _first_read(told: Told, item: SpecItem, see: See) -> _Read | None:
    assert item.condition is not None
    field = last(item.condition.field)
    entries = await see(told.page) or []
    for spot in told.rows:
        span = spot.spans.get(field) or spot.spans.get(STANDS_FOR)
        said = _said(entries, spot.number, told.topic, field)
        printed = number(spot.line[slice(*span)]) if span else None
        factor = scale(said, printed) if said and printed else None
        if span and factor:
            return _Read(spot, told.topic, item, field, span, factor)
    return None


async def _problem(read: _Read, see: See) -> str | None:
    for text in _others(read):
        line = read.spot.line[: read.span[0]] + text + read.spot.line[read.span[1] :]
        said = await _says(read, {read.spot.number: line}, see)
        wanted = float(text) * read.factor
        if said is not None and not math.isclose(said, wanted, rel_tol=_CLOSE):
            return _told(read, said, repr(text) if read.factor == 1 else f"{text!r}, which is {wanted:g} there")
    for lines, times, unit in _other_unit(read):
        said = await _says(read, lines, see)
        wanted = read.factor * times * float(read.spot.line[slice(*read.span)])
        if said is not None and not math.isclose(said, wanted, rel_tol=_CLOSE):
            return _told(read, said, f"the same number in {unit}, which is {wanted:g}")
    return None


def _told(read: _Read, said: float, instead: str) -> str:
    where = f"{read.spot.page.shown}:{read.spot.number} altered: {read.topic.key}.{read.field}"
    return f"{where} says {said:g}, the line says {instead}"


async def _says(read: _Read, lines: dict[int, str], see: See) -> float | None:
    texts = [lines.get(number, line) for number, line in enumerate(read.spot.page.lines, 1)]
    entries = await see(replace(read.spot.page, text="\n".join(texts)))
    return _said(entries or [], read.spot.number, read.topic, read.field)


def _said(entries: Sequence[Entry], line: int, topic: Topic, field: str) -> float | None:
    here = (fields_of(entry, topic).get(field) for entry in entries if entry.line_number == line)
    return next((value for one in here if (value := number(one)) is not None), None)


def _others(read: _Read) -> Iterator[str]:
    """Numbers in the notation of the line: on both sides of the limit, and the same digits with another exponent."""
    printed = read.spot.line[slice(*read.span)].strip()
    found = _NOTATION.fullmatch(printed)
    condition = read.item.condition
    if found is None or condition is None or not isinstance(condition.value, int | float):
        return
    sign, _, decimals, mark, power = found.groups()
    if mark:
        yield f"{printed[: -len(power)]}{(int(power) + 1) % 10 ** len(power):0{len(power)}d}"
    limit = condition.value / read.factor
    places = len(decimals or "")
    for side in (1, -1):
        if mark:
            text = f"{limit * (1 + 0.02 * side):.{places}{mark[0]}}"
        else:
            text = f"{limit + side * 10.0**-places:.{places}f}"
        fits = float(text) != 0 and (sign or not text.startswith("-")) and _NOTATION.fullmatch(text)
        if fits and abs(float(text) - limit) > _CLOSE * abs(limit):
            yield text


def _other_unit(read: _Read) -> Iterator[tuple[dict[int, str], float, str]]:
    """The page in another unit, where the spec says that the report tells it and the page says one."""
    meaning = read.topic.meaning(read.field)
    wanted = wanted_unit(meaning)
    if wanted is None or not re.search(r"\bunit", f"{meaning} {read.topic.extraction.method}"):
        return
    places = unit_places(read.spot, wanted.base)
    units = {unit for _, _, unit in places}
    prefix = "p" if units and next(iter(units)).prefix == _POWERS["n"] else "n" if wanted.base == "s" else "u"
    if len(units) != 1 or _POWERS[prefix] == next(iter(units)).prefix:
        return
    lines: dict[int, str] = {}
    for number_, (start, end), _ in reversed(places):
        line = lines.get(number_, read.spot.page.lines[number_ - 1])
        if line[start:end].endswith(wanted.base):
            lines[number_] = f"{line[:start]}{prefix}{wanted.base}{line[end:]}"
    if len(lines) == len({number_ for number_, _, _ in places}):
        yield lines, 1000.0 ** (_POWERS[prefix] - next(iter(units)).prefix), f"{prefix}{wanted.base}"
