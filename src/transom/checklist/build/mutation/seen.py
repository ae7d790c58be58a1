"""What atom A sees in a text: lines that it must not leave out, and fields that must say what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from transom.checklist.atoms import Entry
from transom.checklist.build.mutation.alter import Mutant
from transom.checklist.build.mutation.evidence import Page, Spot
from transom.checklist.build.mutation.faithful import Told, unfaithful
from transom.checklist.build.mutation.numbers import wrong_numbers
from transom.checklist.build.mutation.runtime import Kept, Shown
from transom.checklist.run.runner import extract, scope_of
from transom.errors import AtomFailed


async def left_out(rows: Sequence[Spot], kept: Kept) -> list[str]:
    """Lines that the spec's patterns find and that are no entry, the first of each file."""
    told: list[str] = []
    for page in dict.fromkeys(spot.page for spot in rows):
        seen = await _lines_seen(page, page.text, kept)
        missed = [spot.number for spot in rows if spot.page is page and seen is not None and spot.number not in seen]
        if missed:
            told.append(_leaves_out(page, missed[0], "as it is"))
    return told


async def left_out_altered(mutant: Mutant, kept: Kept) -> str | None:
    """Atom A must see a line whose outcome was turned round: what it leaves out cannot be judged."""
    if mutant.sees is None:
        return None
    page = mutant.spot.page
    seen = await _lines_seen(page, mutant.texts[page.path], kept)
    if seen is None or mutant.sees in seen:
        return None
    return _leaves_out(page, mutant.sees, "with its outcome turned round")


async def said_otherwise(told: Sequence[Told], kept: Kept) -> list[str]:
    """Fields that say something else than the line that the spec reads them from, each once."""
    problems: dict[tuple[str, str], str] = {}
    seen_as_is: dict[Path, frozenset[int]] = {}
    for one in told:
        entries = await entries_of(one.page, one.page.text, kept)
        lines = frozenset(entry.line_number for entry in entries or () if entry.line_number is not None)
        if one.way and entries is not None:
            lost = [spot for spot in one.rows if spot.number in seen_as_is.get(one.page.path, lines) - lines]
            if lost:
                problems.setdefault((one.topic.key, one.way), _leaves_out(one.page, lost[0].number, one.way.strip()))
        elif one.rows:
            seen_as_is.setdefault(one.page.path, lines)
        for field, problem in unfaithful(one, entries or []):
            problems.setdefault((one.topic.key, field), problem)

    async def see(page: Page) -> list[Entry] | None:
        return await entries_of(page, page.text, kept)

    return [*problems.values(), *await wrong_numbers(told, see)]


def _leaves_out(page: Page, line: int, what: str) -> str:
    return f"atom A leaves out {page.shown}:{line} {what}; every occurrence is an entry, good or bad"


async def _lines_seen(page: Page, text: str, kept: Kept) -> frozenset[int] | None:
    entries = await entries_of(page, text, kept)
    if entries is None:
        return None
    return frozenset(entry.line_number for entry in entries if entry.line_number is not None)


async def entries_of(page: Page, text: str, kept: Kept) -> list[Entry] | None:
    """The entries of a text; None where the atom refuses it, so that nothing is left out."""
    try:
        return await extract(kept, await scope_of(kept), Shown(page.path, partial(str, text)), page.shown)
    except AtomFailed:
        return None
