"""Where nothing matched: the line that comes nearest, and why it does not do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.patterns import REGEX, parts
from transom.checklist.run.files import File
from transom.checklist.run.verdict import Nearest

# Lower, and prose that shares a word with a hint (`this program comes with`) is shown as evidence.
_SIMILAR = 85.0
_FUZZY_LINES = 400
_CONTENT_CHARS = 300


class _Line(NamedTuple):
    number: int
    text: str


def nearest_line(item: ValidationItem, file: File) -> Nearest | None:
    """The line of a file that comes nearest to what an item looks for: by hint, by likeness, else the first one."""
    if file.absent is not None:
        return None
    hit, head = _look(item.hints, file.lines())
    if hit is not None:
        hint, line = hit
        return _at(file, line, f"it holds {hint!r}, but nothing for {item.select} could be read from it")
    if not head:
        return None
    texts = [hint for hint in item.hints if not hint.startswith(REGEX)] or [item.name]
    looked_for = ", ".join(repr(text) for text in item.hints) or item.select
    similar = _similar_line(texts, head)
    if similar is not None:
        return _at(
            file, similar, f"it is only similar to {looked_for}; nothing for {item.select} could be read from it"
        )
    return _at(file, head[0], f"it is the first line; no line of the file holds {looked_for}")


def line_of(entry: Entry, why_not: str) -> Nearest:
    """An entry's own line."""
    at, content = entry.line_number, entry.matched_content
    return Nearest(source_file=entry.source_file, line_number=at, content=content, why_not=why_not)


def nearest_entry(pattern: str | AnyOf, entries: Sequence[Entry], why: Sequence[str]) -> Nearest | None:
    """The entry whose value is most like a pattern that nothing matched.

    Args:
        why: for each entry, why it does not match.
    """
    if not entries:
        return None
    values = [entry.value for entry in entries]
    plain = " ".join(re.sub(r"^regex:|[*?]", "", part) for part in parts(pattern))
    best = process.extractOne(plain, values, scorer=fuzz.ratio)
    entry = entries[best[2]]
    reason = why[best[2]]
    if any(part.lower() in entry.value.lower() for part in parts(pattern)):
        reason = f"{reason}; it differs in upper and lower case only"
    content = (entry.matched_content or entry.value)[:_CONTENT_CHARS]
    return line_of(entry.model_copy(update={"matched_content": content}), reason)


def _look(hints: Sequence[str], lines: Iterable[str]) -> tuple[tuple[str, _Line] | None, list[_Line]]:
    """The first hint that some line holds, with the first such line; and the lines of the head that are not blank.

    One pass, nothing is kept, so that a long log can be looked through.
    """
    searches = [
        re.compile(hint.removeprefix(REGEX)) if hint.startswith(REGEX) else re.compile(re.escape(hint), re.IGNORECASE)
        for hint in hints
    ]
    found: dict[int, _Line] = {}
    head: list[_Line] = []
    for number, line in enumerate(lines, 1):
        if line.strip() and (number <= _FUZZY_LINES or not head):
            head.append(_Line(number, line[:_CONTENT_CHARS]))
        for index in range(min(found, default=len(searches))):
            if searches[index].search(line):
                found[index] = _Line(number, line[:_CONTENT_CHARS])
                break
        if 0 in found:
            break
    best = min(found, default=None)
    return (None if best is None else (hints[best], found[best])), head


def _similar_line(texts: Sequence[str], lines: Sequence[_Line]) -> _Line | None:
    long_enough = {index: line.text for index, line in enumerate(lines) if len(line.text.strip()) >= 4}
    found = (
        process.extractOne(
            text.lower(), long_enough, scorer=fuzz.partial_ratio, processor=str.lower, score_cutoff=_SIMILAR
        )
        for text in texts
    )
    best = max(filter(None, found), key=lambda one: one[1], default=None)
    return None if best is None else lines[best[2]]


def _at(file: File, line: _Line, why_not: str) -> Nearest:
    return Nearest(source_file=file.shown, line_number=line.number, content=line.text, why_not=why_not)
