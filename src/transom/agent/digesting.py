"""Large texts made small by rule: what is used until, or where, no model can be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transom.context import TokenCorrection

_TELLING = re.compile(r"(?i)\b(error|fail\w*|warn\w*|violat\w*|missing|blocked|total|result)\b|\d")
_HEADING = re.compile(r"^(#{1,6} \S|\[[^\]]+\]$|[A-Z][\w ]{2,60}:$)")
_FIRST_LINES = 10
_MOST_HEADINGS = 40
_LINE = 200
_TOKENS = TokenCorrection()


def tokens_of(text: str) -> int:
    """An estimate, rather too many than too few."""
    return _TOKENS.count(text)


def outline(text: str, name: str) -> str:
    """What a model is told of a text that is too large for its window: its size, its beginning, its headings.

    Args:
        text: the whole.
        name: what a part of it is read by.
    """
    lines = text.splitlines()
    size = f"{len(lines)} lines, {len(text)} characters, about {tokens_of(text)} tokens"
    headings = [f"{number}: {line[:_LINE]}" for number, line in enumerate(lines, 1) if _HEADING.match(line)]
    shown = headings[:_MOST_HEADINGS]
    parts = [
        f"[This result is too large for the window: {size}. It is kept as {name}; read_result reads parts of it.]",
        "It begins:",
        *(line[:_LINE] for line in lines[:_FIRST_LINES]),
    ]
    if shown:
        more = f" (the first {len(shown)} of {len(headings)})" if len(headings) > len(shown) else ""
        parts += [f"Its headings, by line{more}:", *shown]
    return "\n".join(parts)


def extract(text: str, tokens: int, why: str) -> str:
    """Lines of a text, chosen by rule, marked as no summary: the first, those that tell most, the last.

    Args:
        text: the whole.
        tokens: how many the extract may take.
        why: there is no summary; one clause.
    """
    mark = f"[No summary could be had ({why}). These are lines of the source, chosen by rule; others are left out.]"
    lines = text.splitlines()
    room = tokens - tokens_of(mark)
    taken: set[int] = set()
    for number in _by_worth(lines):
        cost = tokens_of(lines[number][:_LINE]) + 3
        if cost > room:
            break
        room -= cost
        taken.add(number)
    return "\n".join([mark, *(f"{number + 1}: {lines[number][:_LINE]}" for number in sorted(taken))])


def _by_worth(lines: list[str]) -> Iterator[int]:
    few = min(5, len(lines))
    ends = [*range(few), *range(max(few, len(lines) - few), len(lines))]
    yield from ends
    yield from (n for n, line in enumerate(lines) if n not in ends and _TELLING.search(line))


def bounded(text: str, tokens: int) -> str:
    """A text, or its first lines where it is longer than that, with a mark."""
    if tokens_of(text) <= tokens:
        return text
    mark = "[cut: what follows was longer than agreed]"
    kept, room = [], tokens - tokens_of(mark)
    for line in text.splitlines():
        room -= tokens_of(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, mark])


def part(text: str, first: int, count: int, tokens: int) -> str:
    """Lines of a text with their numbers, as many as fit; the last line says what is left."""
    lines = text.splitlines()
    out: list[str] = []
    room = tokens
    for number in range(first, min(first + count, len(lines) + 1)):
        line = f"{number}: {lines[number - 1]}"
        room -= tokens_of(line) + 1
        if room < 0 and out:
            break
        out.append(line if room >= 0 else line[:tokens])
    last = first + len(out) - 1
    return "\n".join([*out, f"[lines {first} to {last} of {len(lines)}]"])
