"""Which mutants are tried: evidence found in the files at hand, a handful of alterations spread over it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import zip_longest
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from transom.canonical import digest
from transom.checklist.atoms import Source
from transom.checklist.build.mutation.alter import Mutant, mutants
from transom.checklist.build.mutation.evidence import Page, Span, Spot, Unit
from transom.checklist.build.mutation.example import from_examples
from transom.checklist.build.mutation.faithful import Told, told_by
from transom.checklist.build.mutation.fields import Topic
from transom.checklist.build.mutation.locate import HEADER_LINES, Follow, Hit, Scan, heads, locate
from transom.checklist.build.mutation.runtime import Desk
from transom.checklist.build.mutation.steady import Aside, asides, other_forms
from transom.checklist.patterns import REGEX
from transom.checklist.run import Inputs
from transom.checklist.run.files import classify
from transom.checklist.run.roots import Names
from transom.checklist.spec.shapes import SpecDocument
from transom.errors import AtomFailed, InputError
from transom.sandbox import Sandbox, Worker

MOST = 24
_SCAN = resources.files("transom.checklist.build.mutation").joinpath("scan.py").read_text("utf-8")
_HITS = TypeAdapter(list[tuple[int, int, dict[str, Span]]])


@dataclass(frozen=True)
class Plan:
    """What is tried.

    Attributes:
        mutants: the altered texts.
        rows: lines that must be entries.
        units: all evidence that was found.
        told: what the spec reads in the files and in the altered headers.
        movable: files in which a line means the same wherever it stands: in a header it does not.
        asides: lines in such files that must change nothing.
        why_none: why there is no mutant.
    """

    mutants: tuple[Mutant, ...] = ()
    rows: tuple[Spot, ...] = ()
    units: tuple[Unit, ...] = ()
    told: tuple[Told, ...] = ()
    movable: frozenset[Path] = frozenset()
    asides: Mapping[Path, Aside] = field(default_factory=dict)
    why_none: str = ""


async def plan(
    about: Sequence[Topic], spec: SpecDocument, sandbox: Sandbox, desk: Desk, inputs: Inputs, roots: Sequence[Path]
) -> Plan:
    """Find evidence and choose mutants."""
    sources = [Source(kind=one.kind, rank=one.rank, files=one.files) for one in spec.guide.sources if one.kind]

    pages: dict[Path, Page] = {}
    names = Names(inputs.roots)  # as the runtime names them, so that places of a verdict are found in the pages

    def opened(path: Path, written: str, given: bool) -> Page | None:
        real, shown = Path(os.path.realpath(path)), names.of(path, written)
        try:
            text = desk.text(path)
        except InputError:
            return None
        return pages.setdefault(real, Page(real, shown, text, classify(path.name, sources)[0], given))

    read = [opened(Path(name.written), name.written, True) for name in inputs.names]
    given = [page for page in read if page and page.text.strip()]
    try:
        async with sandbox.worker(_SCAN) as worker:
            scanner = _Scanner(worker)
            for page in given:
                await scanner(page, _compared(about))  # one without an end ends here, where it can be stopped
            units = await locate(about, given, scanner, Follow(tuple(roots), opened))
            topic_of = {item.id: topic for topic in about for item in topic.items}
            made: list[list[Mutant]] = []
            for unit in _sampled(units):
                topic = topic_of[unit.item.id]
                tried = [one for one in mutants(unit, topic) if await _is_written(one, topic, scanner)]
                made.append(list(_each_once(tried)))
            made += await from_examples(about, given, units, scanner)
            chosen = tuple(_chosen(made))
            rows_told = list(_rows_told(about, units))
            told = [*rows_told, *await _heads_told(about, pages, chosen, scanner)]
            told += await other_forms(rows_told, scanner)
            beside = await asides(about, units, given, scanner)
    except AtomFailed as error:
        return Plan(why_none=f"a pattern of Section 4.1 cannot be tried on the files: {error.what}")
    tried_on = ", ".join(page.shown for page in given) or "no file"
    rows = tuple(_some([spot for unit in units if unit.shape == "row" for spot in unit.spots]))
    headed = {topic.key for topic in about if topic.is_file}
    fixed = {page for unit in units if unit.shape == "header" for page in unit.pages}
    movable = frozenset(page.path for page in given if page not in fixed and page.kind not in headed)
    why_none = "" if chosen else f"nothing that Section 4.1 names stands in {tried_on}"
    beside = {path: aside for path, aside in beside.items() if path in movable}
    return Plan(chosen, rows, tuple(units), tuple(told), movable, beside, why_none)


def _rows_told(about: Sequence[Topic], units: Sequence[Unit]) -> Iterator[Told]:
    """The lines of each page that are evidence, as they are."""
    for topic in about:
        rows: dict[Page, dict[int, Spot]] = {}
        for spot in (spot for unit in units if unit.shape == "row" and unit.item in topic.items for spot in unit.spots):
            rows.setdefault(spot.page, {})[spot.number] = spot
        for page, spots in rows.items():
            yield Told(page, topic, tuple(spots.values()))


async def _heads_told(
    about: Sequence[Topic], pages: Mapping[Path, Page], chosen: Sequence[Mutant], scan: Scan
) -> list[Told]:
    """The headers of all files, as they are and altered; logs, too, since a header does not stand there."""
    told: list[Told] = []
    for topic in (topic for topic in about if topic.is_file):
        for page in pages.values():
            if page.kind != topic.key and (page.given or page.kind):
                told.append(Told(page, topic))
                continue
            known = heads(topic, page, await scan(page, topic.regexes))
            told.append(Told(page, topic, heads=known))
            altered = [
                one.texts[page.path]
                for one in chosen
                if page.path in one.texts and one.item in {item.id for item in topic.items}
            ]
            for text in dict.fromkeys(altered):
                other = replace(page, text=text)
                left = heads(topic, other, await scan(_head(other), topic.regexes))
                told.append(Told(other, topic, heads=left, gone=_filled(known) - _filled(left)))
    return told


def _head(page: Page) -> Page:
    return replace(page, text="\n".join(page.lines[:HEADER_LINES]))


def _filled(known: Mapping[str, Sequence[Spot]]) -> frozenset[str]:
    return frozenset(name for name, spots in known.items() if any(told_by(spot, name) for spot in spots))


def _compared(about: Sequence[Topic]) -> list[str]:
    """The expressions of the item that lines are compared with."""
    patterns = dict.fromkeys(pattern for topic in about for pattern in topic.patterns)
    return [one.removeprefix(REGEX) for one in patterns if one.startswith(REGEX) and "|" not in one]


def _some(rows: Sequence[Spot]) -> list[Spot]:
    """At most as many as mutants, from the beginning to the end."""
    each = {(spot.page, spot.number): spot for spot in rows}
    return list(each.values())[:: max(1, -(-len(each) // MOST))]


class _Scanner:
    """Asks the sandbox where patterns match; each page once."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._known: dict[tuple[str, tuple[str, ...]], list[Hit]] = {}

    async def __call__(self, page: Page, patterns: Sequence[str]) -> list[Hit]:
        key = (page.text, tuple(patterns))
        if patterns and key not in self._known:
            raw = await self._worker.call("scan", {"text": page.text, "patterns": list(patterns)})
            try:
                self._known[key] = [Hit(*one) for one in _HITS.validate_python(raw)]
            except ValidationError as error:
                raise AtomFailed(f"the scan answers something else: {error.title}", kind="schema") from error
        return self._known.get(key, [])


async def _is_written(mutant: Mutant, topic: Topic, scan: Scan) -> bool:
    """Whether the lines of a turned outcome still are what the patterns of the spec describe; else they are nothing."""
    page = mutant.spot.page
    text = mutant.texts.get(page.path)
    if not mutant.written or not topic.regexes or text is None:
        return True
    hits = await scan(replace(page, text=text), topic.regexes)
    return set(mutant.written) <= {hit.number for hit in hits if hit.pattern in topic.telling}


def _sampled(units: Sequence[Unit]) -> list[Unit]:
    """Of many like units the first, the last and one between, of every item, page and outcome.

    Which one is between depends on the text alone, and cannot be told without having it.
    """
    groups: dict[tuple[object, ...], list[Unit]] = {}
    for unit in units:
        groups.setdefault((unit.item.id, unit.shape, unit.pages[0].path, unit.holds), []).append(unit)
    return [unit for group in groups.values() for unit in (*group[:1], *_between(group), *group[1:][-1:])]


def _between(group: Sequence[Unit]) -> Sequence[Unit]:
    inner = group[1:-1]
    at = int(digest(group[0].pages[0].text)[:8], 16) % len(inner) if inner else 0
    return inner[at : at + 1]


def _each_once(made: Sequence[Mutant]) -> Iterator[Mutant]:
    seen: set[tuple[tuple[Path, str], ...]] = set()
    for mutant in made:
        key = tuple(sorted(mutant.texts.items()))
        if key not in seen and any(text != mutant.spot.page.text for text in mutant.texts.values()):
            seen.add(key)
            yield mutant


def _chosen(made: Sequence[Sequence[Mutant]]) -> Iterator[Mutant]:
    """The most telling of each unit first, each altered text once."""
    seen: set[tuple[tuple[Path, str], ...]] = set()
    for round_ in zip_longest(*made):
        for mutant in round_:
            key = tuple(sorted(mutant.texts.items())) if mutant else ()
            if mutant and key not in seen and len(seen) < MOST:
                seen.add(key)
                yield mutant
