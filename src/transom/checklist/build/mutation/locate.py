"""The evidence of an ItemSpec in real files: found by its fields, keywords and patterns, not by asking the checker."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from transom.checklist.build.mutation.evidence import Page, Span, Spot, Unit
from transom.checklist.build.mutation.fields import Topic
from transom.checklist.build.mutation.outcome import STANDS_FOR, fulfils
from transom.checklist.spec.shapes import SpecItem

HEADER_LINES = 200
_PROMPT = r"\s*(?:\[[^\]]*\]\s*)?(?:[\w.@<]{0,30}(?:[ _]\d{1,9})?[>%]\s*)?"
_PRINTS = re.compile(rf"{_PROMPT}(?:puts|echo|print|printf|#|//)(?:\b|\s|$)")
_MARKS = "/*#-;! \t"
_PATH = re.compile(r"(?<![\w./$\[-])[\w./${}~+-]*[./][\w./${}+-]*\w")
_ERROR = re.compile(
    r"\s*[\[*#(]*\s*(?:error|fatal)\b(?!\s*\(?s\)?\s*[:=]?\s*0)|\s*(?:can't|cannot|couldn't) ", re.IGNORECASE
)
_REACH = 5
# A line that counts (`0 error(s)`, `Warnings: 12`) is no occurrence of what it counts.
_COUNTS = re.compile(
    r"(?i)\b(?:no|zero|\d+)\s+(?:\w+\s+)?(?:error|fatal|warning|violation|message|latch)|\(s\)"
    r"|\b(?:errors?|fatals?|warnings?|violations?)\s*[:=]\s*\d+\s*$"
)


@dataclass(frozen=True)
class Hit:
    """A line that a pattern matches, and where its groups stand."""

    number: int
    pattern: int
    groups: dict[str, Span]


Scan: TypeAlias = Callable[[Page, Sequence[str]], Awaitable[list[Hit]]]
Open: TypeAlias = Callable[[Path, str, bool], Page | None]


async def locate(topics: Sequence[Topic], given: Sequence[Page], scan: Scan, follow: Follow) -> list[Unit]:
    """Every unit of evidence in the given files and in those that their commands name."""
    units: list[Unit] = []
    for topic in topics:
        if topic.is_file:
            units += await _of_files(topic, given, scan, follow)
        else:
            units += await _of_rows(topic, given, scan)
    return units


@dataclass(frozen=True)
class Follow:
    """Opens a file that a line names, as the runtime would find it: beside the log, under a root, then compressed."""

    roots: tuple[Path, ...]
    open: Open

    def __call__(self, written: str, log: Path) -> Page | None:
        folders = (log.parent, *self.roots)
        for ending in ("", ".gz"):
            for folder in folders:
                path = Path(f"{folder / written}{ending}")
                real = Path(os.path.realpath(path))
                if os.path.isfile(path) and any(map(real.is_relative_to, folders)):  # noqa: PTH113  it never raises
                    return self.open(path, written, False)
        return None


# -- a category that is a file: commands that read it, and its own header


async def _of_files(topic: Topic, given: Sequence[Page], scan: Scan, follow: Follow) -> list[Unit]:
    units: list[Unit] = []
    pages = [page for page in given if page.kind == topic.key]
    for page in given:
        if page.kind == topic.key:
            continue
        told = await _messages(topic, page, scan)
        for path, spots in _by_path([*_commands(topic, page), *told]).items():
            units.append(_command(topic.items, spots))
            named = follow(path, page.path)
            if named is not None and named.path not in [one.path for one in pages]:
                pages.append(named)
    for page in pages:
        units += _headers(topic, page, await scan(page, topic.regexes))
    return units


def _commands(topic: Topic, page: Page) -> Iterator[Spot]:
    """Lines that begin with one of the topic's keywords and name a file."""
    words = [re.escape(word) for word in topic.extraction.keywords if re.fullmatch(r"[A-Za-z]\w*", word)]
    if not words:
        return
    pattern = re.compile(rf"{_PROMPT}(?:{'|'.join(words)})\s+(?P<rest>.*)$")
    for number, line in enumerate(page.lines, 1):
        found = pattern.match(line[:2000])
        path = _PATH.search(line, found.start("rest")) if found else None
        if path is not None:
            yield Spot(page, number, {"path": path.span()})


async def _messages(topic: Topic, page: Page, scan: Scan) -> list[Spot]:
    """Lines by which a tool says that it reads a file: a pattern of the spec with a group `path`."""
    hits = await scan(page, [regex for regex in topic.regexes if "(?P<path>" in regex])
    return [Spot(page, hit.number, {"path": hit.groups["path"]}) for hit in hits if "path" in hit.groups]


def _by_path(spots: Iterable[Spot]) -> dict[str, list[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in spots:
        group = found.setdefault(spot.said("path") or "", [])
        if spot.number not in [one.number for one in group]:
            group.append(spot)
    return found


def _command(items: Sequence[SpecItem], spots: Sequence[Spot]) -> Unit:
    """A file's commands; its word is the last one's."""
    final = spots[-1]
    end = final.number
    while final.page.lines[end - 1].rstrip().endswith("\\") and end < len(final.page.lines):
        end += 1
    after = range(end, min(end + _REACH, len(final.page.lines)))
    wrong = []
    for index in after:
        line = final.page.lines[index]
        if not _ERROR.match(line):
            break
        wrong.append(index + 1)
    asked = next((item for item in items if _asks_for_loading(item)), items[0])
    return Unit(asked, "command", tuple(spots), not wrong if _asks_for_loading(asked) else None, end, tuple(wrong))


def _asks_for_loading(item: SpecItem) -> bool:
    return item.condition is not None and item.condition.value is True


def _headers(topic: Topic, page: Page, hits: Sequence[Hit]) -> list[Unit]:
    """The first line in the head of the file for each field that an item asks for."""
    found = {name: spots[0] for name, spots in heads(topic, page, hits).items()}
    filled = {name: spot for name, spot in found.items() if (spot.said(name) or "").strip()}
    item = next((one for one in topic.items if set(filled) & topic.decisive(one)), None)
    if item is None:
        return []
    lines: dict[int, Spot] = {}
    for spot in filled.values():
        known = lines.get(spot.number, spot)
        lines[spot.number] = replace(known, spans={**known.spans, **spot.spans})
    return [Unit(item, "header", tuple(lines[number] for number in sorted(lines)))]


def heads(topic: Topic, page: Page, hits: Sequence[Hit]) -> dict[str, list[Spot]]:
    """Every place in the head of a file where a pattern or a keyword shows a field that an item asks for."""
    wanted = topic.decisive()
    found: dict[str, list[Spot]] = {}
    for hit in hits:
        for group, name in topic.groups(hit.pattern).items():
            if hit.number <= HEADER_LINES and name in wanted and group in hit.groups:
                found.setdefault(name, []).append(Spot(page, hit.number, {name: hit.groups[group]}))
    for keyword, name in topic.linked():
        spots = list(_after_keyword(page, keyword, name)) if name in wanted else []
        if spots:
            found.setdefault(name, []).extend(spots)
    return found


def _after_keyword(page: Page, keyword: str, name: str) -> Iterator[Spot]:
    """The rest of each line that begins with the keyword, without quotes."""
    pattern = re.compile(
        rf"[{re.escape(_MARKS)}]*?{re.escape(keyword)}(?!\w)[\s:=\"']*(?P<said>.*?)[\s\"']*$", re.IGNORECASE
    )
    for number, line in enumerate(page.lines[:HEADER_LINES], 1):
        found = pattern.match(line[:2000])
        if found:
            yield Spot(page, number, {name: found.span("said")})


# -- a category whose entries are lines


async def _of_rows(topic: Topic, pages: Sequence[Page], scan: Scan) -> list[Unit]:
    rows = {page: _rows(topic, page, await scan(page, topic.regexes)) for page in pages}
    units: list[Unit] = []
    for item in topic.items:
        mine = {page: [spot for spot in spots if _is_about(item, topic, spot)] for page, spots in rows.items()}
        units += _units(item, topic, mine)
    return units


def _rows(topic: Topic, page: Page, hits: Sequence[Hit]) -> list[Spot]:
    if not topic.regexes:
        return _rows_by_keyword(topic, page)
    held = {hit.number for hit in hits if hit.pattern in topic.anchored}
    spans: dict[int, dict[str, Span]] = {}
    numbers = {id(hit): group for hit in hits if (group := topic.number(_texts(page, hit)))}
    telling = {hit.pattern for hit in hits if id(hit) in numbers} or topic.telling
    headings = [hit for hit in hits if hit.pattern not in telling and hit.groups and not topic.groups(hit.pattern)]
    for hit in hits:
        # What may stand anywhere in a line counts only on a line of the right kind, where the spec knows one.
        loose = hit.pattern not in topic.anchored and topic.anchored and hit.number not in held
        if hit.pattern not in telling or loose or _look_alike(page, hit.number):
            continue
        if _elsewhere(topic, page, hit.number, headings):
            continue
        groups = topic.groups(hit.pattern)
        named = {name: hit.groups[group] for group, name in groups.items() if group in hit.groups}
        if id(hit) in numbers:
            named[STANDS_FOR] = hit.groups[numbers[id(hit)]]
        spans[hit.number] = {**named, **spans.get(hit.number, {})}
    return [Spot(page, number, spans[number]) for number in sorted(spans)]


def _texts(page: Page, hit: Hit) -> dict[str, str]:
    line = page.lines[hit.number - 1]
    return {group: line[start:end] for group, (start, end) in hit.groups.items()}


def _elsewhere(topic: Topic, page: Page, number: int, headings: Sequence[Hit]) -> bool:
    """Whether the heading above names another of its alternatives than the topic: `Hold mode`, of setup and hold."""
    about = " ".join([topic.key, topic.category.name, *(item.name for item in topic.items)]).casefold()
    above = [one for one in headings if one.number < number][-1:]
    for heading in above:
        words = [text.casefold() for text in _texts(page, heading).values() if text.isalpha()]
        known = re.findall(r"[a-z]{3,}", topic.regexes[heading.pattern].casefold())
        if words and any(word in about for word in known) and not any(word in about for word in words):
            return True
    return False


def _rows_by_keyword(topic: Topic, page: Page) -> list[Spot]:
    words = "|".join(re.escape(word) for word in topic.extraction.keywords) or r"(?!)"
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    return [
        Spot(page, number)
        for number, line in enumerate(page.lines, 1)
        if pattern.search(line[:2000]) and not _look_alike(page, number)
    ]


def _look_alike(page: Page, number: int) -> bool:
    """A line that only prints, that a print before it made, or that only counts."""
    line = page.lines[number - 1].strip()
    before = [one for one in page.lines[max(0, number - 3) : number - 1] if _PRINTS.match(one)]
    return bool(_PRINTS.match(line) or _COUNTS.search(line)) or any(line and line in one for one in before)


def _is_about(item: SpecItem, topic: Topic, spot: Spot) -> bool:
    names = {name for index in topic.telling for name in topic.groups(index).values()}
    mine = topic.decisive(item)
    return not names & mine or bool(set(spot.spans) & mine)


def _units(item: SpecItem, topic: Topic, rows: dict[Page, list[Spot]]) -> list[Unit]:
    alone = item.mode == "forbid" and item.quantifier != "per_file"
    every = [spot for spots in rows.values() for spot in spots]
    if item.quantifier == "each" or alone:
        groups = [[spot] for spot in every]
    elif item.quantifier == "exists":
        groups = [every]
    else:
        groups = list(rows.values())
    if _asks_for_loading(item) and all(len(group) == 1 for group in groups):
        paths = [_path(group[0]) for group in groups]
        if paths and all(paths):
            return [_command([item], [spot]) for spot in paths if spot]
    return [Unit(item, "row", tuple(group), _together(item, topic, group)) for group in groups if group]


def _path(spot: Spot) -> Spot | None:
    """The line as a command: its first word, then a file."""
    found = re.match(rf"{_PROMPT}[A-Za-z]\w*\s", spot.line)
    path = _PATH.search(spot.line, found.end()) if found else None
    return replace(spot, spans={**spot.spans, "path": path.span()}) if path else None


def _together(item: SpecItem, topic: Topic, spots: Sequence[Spot]) -> bool | None:
    """What the lines say together; None where they differ, since then it depends on which of them counts."""
    answers = {fulfils(item, topic, spot) for spot in spots}
    if len(answers) == 1:
        return answers.pop()
    return True if item.quantifier == "exists" and True in answers else None
