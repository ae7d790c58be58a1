"""Line that comes nearest where nothing matched, and why it does not do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz, process

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.judging.files import File
from transom.checklist.judging.verdict import Nearest
from transom.checklist.patterns import REGEX, parts

_CONTENT_CHARS = 300


def nearest_line(item: ValidationItem, file: File) -> Nearest | None:
    """The line of a file that comes nearest to what an item looks for: the first with its best
    hint, else the first.

    One pass, nothing is kept, so that a long log can be looked through.
    """
    if file.absent is not None:
        return None
    hints = [
        re.compile(hint.removeprefix(REGEX))
        if hint.startswith(REGEX)
        else re.compile(re.escape(hint), re.IGNORECASE)
        for hint in item.hints
    ]
    found: dict[
        int, tuple[int, str]
    ] = {}  # by the rank of the hint; behind all of them the first line that is not blank
    for number, line in enumerate(file.lines(), 1):
        for rank in range(min(found, default=len(hints) + 1)):
            if hints[rank].search(line) if rank < len(hints) else line.strip():
                found[rank] = (number, line[:_CONTENT_CHARS])
                break
        if 0 in found:
            break
    if not found:
        return None
    best = min(found)
    number, line = found[best]
    looked_for = ", ".join(map(repr, item.hints)) or item.select
    why = f"it is the first line; no line of the file holds {looked_for}"
    if best < len(hints):
        why = f"it holds {item.hints[best]!r}, but nothing for {item.select} could be read from it"
    return Nearest(source_file=file.shown, line_number=number, content=line, why_not=why)


def line_of(entry: Entry, why_not: str) -> Nearest:
    """An entry's own line."""
    at, content = entry.line_number, entry.matched_content
    return Nearest(source_file=entry.source_file, line_number=at, content=content, why_not=why_not)


def nearest_entry(
    pattern: str | AnyOf, entries: Sequence[Entry], why: Sequence[str]
) -> Nearest | None:
    """The entry whose value is most like a pattern that nothing matched; `why` tells of each
    that it does not match.
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
