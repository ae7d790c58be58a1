"""Where the files hold nothing that could be altered: the spec's own example of it, added to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.checklist.build.mutation.alter import Mutant, edited
from transom.checklist.build.mutation.evidence import Page, Spot, Unit
from transom.checklist.build.mutation.fields import Topic
from transom.checklist.build.mutation.locate import Scan
from transom.checklist.build.mutation.outcome import flipped, fulfils
from transom.checklist.build.mutation.phrases import many
from transom.checklist.spec.shapes import SpecItem


async def from_examples(
    about: Sequence[Topic], given: Sequence[Page], units: Sequence[Unit], scan: Scan
) -> list[list[Mutant]]:
    """Additions to each file in which an item that forbids has no violation, and to each that has no header."""
    found: list[list[Mutant]] = []
    headed = {page for unit in units if unit.shape == "header" for page in unit.pages}
    for topic in about:
        bare = [page for page in given if topic.is_file and page.kind == topic.key and page not in headed]
        if bare and topic.items:
            lines = await _header_lines(topic, scan)
            found += [[_headed(topic.items[0], page, line) for line in lines] for page in bare]
        for item in topic.items:
            if item.mode != "forbid" or topic.is_file:
                continue
            lines = _real_lines(item, units) or await _example_lines(item, topic, scan)
            dirty = {page for unit in units if unit.item.id == item.id and unit.holds for page in unit.pages}
            clean = [page for page in given if page not in dirty]
            found += [_added(item, page, line) for page in clean for line in lines[:2]]
            several = many(lines[0], ()) if lines and clean and not topic.patterns else []
            if several and await _are_read(several, topic, scan):
                found.append([_added_many(item, clean[0], several)])
    return found


async def _are_read(lines: Sequence[str], topic: Topic, scan: Scan) -> bool:
    """Whether the spec's patterns read every one of the lines."""
    hits = await scan(Page(Path("example"), "the example", "\n".join(lines), None, True), topic.regexes)
    return {hit.number for hit in hits if hit.pattern in topic.telling} == set(range(1, len(lines) + 1))


def _real_lines(item: SpecItem, units: Sequence[Unit]) -> list[str]:
    """Violations that stand in another file."""
    mine = [unit for unit in units if unit.item.id == item.id and unit.shape == "row" and unit.holds]
    return list(dict.fromkeys(unit.spots[0].line for unit in mine))


async def _example_lines(item: SpecItem, topic: Topic, scan: Scan) -> list[str]:
    """The examples of Section 1 as violations, as far as the patterns of Section 4.1 read them."""
    lines: list[str] = []
    for text, _ in topic.examples:
        page = Page(Path("example"), "the example", text, None, True)
        for hit in await scan(page, topic.regexes):
            groups = topic.groups(hit.pattern)
            spans = {name: hit.groups[group] for group, name in groups.items() if group in hit.groups}
            spot = Spot(page, hit.number, spans)
            line = text if fulfils(item, topic, spot) else flipped(item, topic, spot)
            lines += [line] if line and hit.pattern in topic.telling else []
    return list(dict.fromkeys(lines))


async def _header_lines(topic: Topic, scan: Scan) -> list[str]:
    """The examples of Section 1 that show a field of the file's header."""
    found: list[str] = []
    for text, _ in topic.examples:
        hits = await scan(Page(Path("example"), "the example", text, None, True), topic.regexes)
        found += [text] if any(set(topic.groups(hit.pattern).values()) & topic.decisive() for hit in hits) else []
    return list(dict.fromkeys(found))


def _headed(item: SpecItem, page: Page, line: str) -> Mutant:
    """A header where there was none."""
    texts = {page.path: edited(page, {1: f"{line}\n{page.lines[0]}"})}
    return Mutant("insert", f"{item.id} header of {page.shown}", Spot(page, 1), texts)


def _added_many(item: SpecItem, page: Page, lines: Sequence[str]) -> Mutant:
    """After the middle of the page."""
    number = (len(page.lines) + 1) // 2
    text = "\n".join([page.lines[number - 1], *lines])
    texts = {page.path: edited(page, {number: text})}
    spot = Spot(page, number)
    return Mutant("many", f"{item.id} {page.shown}", spot, texts, "violation", adds=len(lines))


def _added(item: SpecItem, page: Page, line: str) -> list[Mutant]:
    """After the last line, the first and some between, and before the first."""
    filled = [number for number, text in enumerate(page.lines, 1) if text.strip()]
    quarter = len(filled) // 4
    places = dict.fromkeys((filled[-1], filled[0], filled[2 * quarter], filled[quarter], filled[3 * quarter]))
    lines = {number: page.lines[number - 1] for number in places}
    made = [(number, f"{text}\n{line}") for number, text in lines.items()]
    return [
        Mutant(
            "insert", f"{item.id} {page.shown}", Spot(page, number),
            {page.path: edited(page, {number: text})}, "violation",
        )
        for number, text in (*made, (filled[0], f"{line}\n{lines[filled[0]]}"))
    ]  # fmt: skip
