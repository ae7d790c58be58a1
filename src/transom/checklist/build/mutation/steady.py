"""Texts that say the same in another form: more room, tabs, longer names, lines of another matter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transom.checklist.build.mutation.evidence import Page, Spot, Unit
from transom.checklist.build.mutation.faithful import Told
from transom.checklist.build.mutation.fields import Topic
from transom.checklist.build.mutation.locate import Scan

_ASIDE = ("Info: nothing more to tell.", "Warning: 1 net has no name.")
_COUNT = "Done: 0 errors, 0 warnings."
_MESSAGES = r"(?i)warn|\binfo\b|messag|severit|\bnet\b"
_SUMS = r"(?i)\bcount|\bsum|total|number of"
_LONGER = "_with_a_much_longer_name_than_anybody_had_in_mind_when_this_was_written"
_FAR = 5  # lines after a command in which its outcome may be told


async def other_forms(told: Sequence[Told], scan: Scan) -> list[Told]:
    """The first page of rows of each topic with tabs between its columns, and with longer names, as far as the spec's
    patterns read the same in them."""
    made: list[Told] = []
    for one in {one.topic.key: one for one in reversed(told) if one.rows}.values():
        for way, change in ((" with tabs between the columns", _tabbed), (" with a longer name", _longer)):
            # The last line alone: an atom that refuses a text in the middle of which it is lost would be spared.
            lines = {spot.number: line for spot in one.rows[-1:] if (line := change(spot, one.topic)) is not None}
            if lines:
                made += await _as_read(one, way, lines, scan)
    return made


async def _as_read(told: Told, way: str, changed: Mapping[int, str], scan: Scan) -> list[Told]:
    """The changed page, with the lines of which the patterns say as much as before."""
    lines = [changed.get(number, line) for number, line in enumerate(told.page.lines, 1)]
    page = replace(told.page, text="\n".join(lines))
    spans: dict[int, dict[str, tuple[int, int]]] = {}
    for hit in await scan(page, told.topic.regexes):
        named = told.topic.groups(hit.pattern)
        found = {name: hit.groups[group] for group, name in named.items() if group in hit.groups}
        spans[hit.number] = {**found, **spans.get(hit.number, {})}
    rows = tuple(
        Spot(page, spot.number, spans[spot.number])
        for spot in told.rows
        if spot.number in changed and spot.spans and set(spot.spans) <= set(spans.get(spot.number, ()))
    )
    return [Told(page, told.topic, rows, way=way)] if len(rows) == len(changed) else []


def _tabbed(spot: Spot, topic: Topic) -> str | None:
    del topic
    line = re.sub(r"(?<=\S) {3,}(?=\S)", "\t", spot.line)
    return line if line != spot.line else None


def _longer(spot: Spot, topic: Topic) -> str | None:
    name = next((name for name in topic.naming if (spot.said(name) or "").strip()), None)
    if name is None:
        return None
    end = spot.spans[name][1]
    return spot.line[:end] + _LONGER + spot.line[end:]


@dataclass(frozen=True)
class Aside:
    """Lines of another matter, as a tool may write them in between, and after which line of a page."""

    after: int
    lines: tuple[str, ...]


async def asides(about: Sequence[Topic], units: Sequence[Unit], pages: Sequence[Page], scan: Scan) -> dict[Path, Aside]:
    """Lines that must change nothing, for each page with a place far from all evidence.

    None that the spec may mean: by a pattern, or because it speaks of messages or of sums.
    """
    messages = any(re.search(_MESSAGES, text) for topic in about for text in (_method(topic), *_subjects(topic)))
    sums = any(re.search(_SUMS, text) for topic in about for text in _subjects(topic))
    lines = (*(() if messages else _ASIDE), *(() if sums else (_COUNT,)))
    for topic in about:
        hits = await scan(Page(Path("aside"), "aside", "\n".join(lines), None, True), topic.regexes)
        lines = tuple(line for number, line in enumerate(lines, 1) if number not in {hit.number for hit in hits})
    places = {page.path: _calm_place(units, page) for page in pages}
    return {path: Aside(place, lines) for path, place in places.items() if place and lines}


def _calm_place(units: Sequence[Unit], page: Page) -> int | None:
    """The last line with no evidence near it, a blank one if there is any."""
    known = sorted(_evidence(units, page))
    if not known:
        return None
    edges = [0, *known, len(page.lines)]
    gaps = [range(before + _FAR, after - _FAR) for before, after in itertools.pairwise(edges)]
    free = next((gap for gap in reversed(gaps) if gap), range(0))
    blank = (number for number in free if not page.lines[number - 1].strip())
    return next(blank, free[0] if free else None)


def _evidence(units: Sequence[Unit], page: Page) -> Iterator[int]:
    for unit in units:
        yield from (spot.number for spot in unit.spots if spot.page is page)
        if unit.last and unit.spots[-1].page is page:
            yield from (unit.last, *unit.wrong)


def _subjects(topic: Topic) -> Iterator[str]:
    """The spec's words on what a category and its items are about."""
    yield from (topic.category.name, topic.category.purpose, *(one.meaning for one in topic.category.fields))
    yield from (text for item in topic.items for text in (item.name, item.purpose, item.condition_text))


def _method(topic: Topic) -> str:
    return " ".join([topic.extraction.method, *topic.extraction.keywords, *topic.regexes])
