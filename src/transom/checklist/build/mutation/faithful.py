"""Whether atom A says what stands there: each field that decides against the text in which the spec finds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from transom.canonical import Json
from transom.checklist.atoms import Entry
from transom.checklist.build.mutation.alter import NOTHING
from transom.checklist.build.mutation.evidence import Page, Spot
from transom.checklist.build.mutation.fields import LIMITS, Topic, last
from transom.checklist.build.mutation.locate import HEADER_LINES
from transom.checklist.build.mutation.outcome import STANDS_FOR
from transom.checklist.build.mutation.printed import (
    number,
    plain,
    printed_unit,
    same_date,
    scale,
    stands_in,
    wanted_unit,
)

_MARKED = re.compile(r"\s*(?:[/*#;!-]|\(\*)")
_NEAR = 10


@dataclass(frozen=True, eq=False)
class Told:
    """What the spec reads in one text of a page.

    Attributes:
        page: with the text, which may be altered.
        rows: lines that are entries.
        heads: where each field of a header stands; None where the page is no file of the topic's.
        gone: fields whose place was taken away: nothing else in the file says them.
        way: how the text was altered, where lines that were entries must still be some.
    """

    page: Page
    topic: Topic
    rows: tuple[Spot, ...] = ()
    heads: Mapping[str, Sequence[Spot]] | None = None
    gone: frozenset[str] = frozenset()
    way: str = ""


def unfaithful(told: Told, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """`(field, what is wrong with it)` for fields that say something else than their text.

    Args:
        entries: what atom A saw in the text.
    """
    mine = [entry for entry in entries if isinstance(entry.parsed_fields.get(told.topic.key), dict)]
    yield from _rows(told, mine)
    yield from _headers(told, mine)


def told_by(spot: Spot, name: str) -> str:
    """The text of a field, empty where it says that there is none."""
    said = (spot.said(name) or "").strip()
    return "" if NOTHING.fullmatch(said) else said


def fields_of(entry: Entry, topic: Topic) -> dict[str, Json]:
    """The fields of the topic that an entry carries."""
    fields = entry.parsed_fields.get(topic.key)
    return fields if isinstance(fields, dict) else {}


# -- rows: a field is what stands in its own line


def _rows(told: Told, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    topic = told.topic
    by_line: dict[int | None, list[Entry]] = {}
    for entry in entries:
        by_line.setdefault(entry.line_number, []).append(entry)
    for spot in told.rows:
        here = by_line.get(spot.number, [])
        for name in spot.spans:
            field = _compared(topic) if name == STANDS_FOR else name
            if field is None or field not in topic.decisive():
                continue
            said = [one for entry in here if _says(one := fields_of(entry, topic).get(field))]
            if said and not any(agrees(one, spot, name, topic) for one in said):
                where = f"{told.page.shown}:{spot.number}{told.way}: {topic.key}.{field}"
                yield field, f"{where} says {_shown(said[0])}, the line says {_shown(spot.said(name))}"
        yield from _unnamed(told, spot, here)


def _unnamed(told: Told, spot: Spot, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Values that lack the name that the spec's own example has in its value: waivers would miss them."""
    names = [text for name in told.topic.naming if (text := (spot.said(name) or "").strip())]
    values = [_bare(entry.value) for entry in entries]
    if names and values and not any(_bare(name) in value for name in names for value in values):
        where = f"{told.page.shown}:{spot.number}{told.way}: the value"
        yield "value", f"{where} is {_shown(entries[0].value)} and does not hold {_shown(names[0])}, as the line does"


def agrees(said: Json, spot: Spot, name: str, topic: Topic) -> bool:
    """Whether a field says what its place in the line says, or may say it by another word or in another unit."""
    field = _compared(topic) if name == STANDS_FOR else name
    printed = (spot.said(name) or "").strip()
    if not printed or field is None:
        return True
    mine, theirs = plain(str(said)), plain(printed)
    if mine == theirs:
        return True
    one, two = number(said), number(printed)
    if one is not None and two is not None:
        return _scaled(one, two, spot, name, topic)
    if stands_in(theirs, mine) and mine in plain(spot.line):
        return True
    return field not in topic.naming and theirs not in topic.words(field) and mine in topic.words(field)


def _scaled(said: float, printed: float, spot: Spot, name: str, topic: Topic) -> bool:
    """Whether a number is the printed one in the unit of the field."""
    factor = expected_scale(spot, name, topic)
    if factor is not None:
        return scale(said, printed * factor) == 1.0
    return scale(said, printed) is not None if _is_measured(topic) else said == printed


def expected_scale(spot: Spot, name: str, topic: Topic) -> float | None:
    """What a printed number must be multiplied with, where spec and report say their units; else None."""
    field = _compared(topic) if name == STANDS_FOR else name
    meaning = topic.meaning(field or "")
    end = spot.spans[name][1]
    if re.search(r"\b(?:percent|per cent)\b|%", meaning) and re.match(r"\s*%", spot.line[end:]):
        return 1.0
    wanted = wanted_unit(meaning)
    given = printed_unit(spot, end, wanted.base) if wanted else None
    return 1000.0 ** (given.prefix - wanted.prefix) if wanted and given else None


def _is_measured(topic: Topic) -> bool:
    return any(item.condition and item.condition.op in LIMITS for item in topic.items)


def _compared(topic: Topic) -> str | None:
    """The field that a number without a name stands for."""
    compared = (item.condition.field for item in topic.items if item.condition and item.condition.op in LIMITS)
    return next((last(field) for field in compared), None)


# -- headers: a field is what stands in the head of its own file


def _headers(told: Told, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    names = told.topic.found_by_text() & told.topic.decisive() if told.topic.is_file else set()
    for entry in entries:
        for name in sorted(names):
            said = fields_of(entry, told.topic).get(name)
            if not _says(said) or NOTHING.fullmatch(str(said)):
                continue
            problem = _of_log(told, entry, str(said)) if told.heads is None else _of_head(told, name, str(said))
            if problem:
                yield name, f"{told.page.shown}{problem[0]}: {told.topic.key}.{name} says {_shown(said)}, {problem[1]}"


def _of_log(told: Told, entry: Entry, said: str) -> tuple[str, str] | None:
    """A log may tell it beside the command that reads the file; its banner tells of something else."""
    if entry.line_number is None:
        return None
    near = told.page.lines[max(0, entry.line_number - _NEAR) : entry.line_number + _NEAR]
    if stands_in(plain(said), plain(" ".join(near))):
        return None
    return f":{entry.line_number}", "which does not stand there"


def _of_head(told: Told, name: str, said: str) -> tuple[str, str] | None:
    assert told.heads is not None
    spots = told.heads.get(name, ())
    texts = [text for spot in spots if (text := told_by(spot, name))]
    if any(_is_said(said, text) for text in texts):
        return None
    if spots:
        return f":{spots[0].number}", f"the line says {_shown(texts[0] if texts else '')}"
    linked = name in told.gone and name in {linked for _, linked in told.topic.linked()}
    if not linked and _stands_in_head(told, name, said):
        return None
    return "", "which its header does not say"


def _is_said(said: str, printed: str) -> bool:
    mine, theirs = plain(said), plain(printed)
    return mine == theirs or stands_in(mine, theirs) or stands_in(theirs, mine) or same_date(said, printed)


def _stands_in_head(told: Told, name: str, said: str) -> bool:
    """Whether a comment or a line with a keyword of the spec holds the text; what was taken away needs the latter."""
    words = [word.strip(" *#:-=\"'`").casefold() for word in told.topic.extraction.keywords]
    for line in told.page.lines[:HEADER_LINES]:
        keyed = any(word and word in line.casefold() for word in words)
        if (keyed or (name not in told.gone and _MARKED.match(line))) and stands_in(plain(said), plain(line[:2000])):
            return True
    return False


def _says(said: Json) -> bool:
    return not isinstance(said, bool) and (
        isinstance(said, int | float) or bool(isinstance(said, str) and said.strip())
    )


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[\"'`\\{}]", "", text).split())


def _shown(said: Json) -> str:
    return repr(said if not isinstance(said, str) else said.strip()[:80])
