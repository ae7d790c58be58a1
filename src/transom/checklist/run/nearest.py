"""Where nothing matched: the line that comes nearest, and why it does not do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz, process

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.patterns import REGEX, parts
from transom.checklist.run.files import File
from transom.checklist.run.verdict import Nearest

# Lower, and prose that shares a word with a hint (`this program comes with`) is shown as evidence.
_SIMILAR = 85.0
_FUZZY_LINES = 400
_CONTENT_CHARS = 300


def nearest_line(item: ValidationItem, file: File) -> Nearest | None:
    """The line of a file that comes nearest to what an item looks for: by hint, by likeness, else the first one."""
    if file.absent is not None or not file.text.strip():
        return None
    wanted = item.select
    for hint in item.hints:
        number = _line_with(hint, file)
        if number is not None:
            return _at(file, number, f"it holds {hint!r}, but nothing for {wanted} could be read from it")
    texts = [hint for hint in item.hints if not hint.startswith(REGEX)] or [item.name]
    number = _similar_line(texts, file.lines)
    looked_for = ", ".join(repr(text) for text in item.hints) or wanted
    if number is not None:
        return _at(file, number, f"it is only similar to {looked_for}; nothing for {wanted} could be read from it")
    first = next(index for index, line in enumerate(file.lines) if line.strip())
    return _at(file, first + 1, f"it is the first line; no line of the file holds {looked_for}")


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
    return Nearest(
        source_file=entry.source_file,
        line_number=entry.line_number,
        content=(entry.matched_content or entry.value)[:_CONTENT_CHARS],
        why_not=reason,
    )


def _line_with(hint: str, file: File) -> int | None:
    expression = hint.removeprefix(REGEX) if hint.startswith(REGEX) else re.escape(hint)
    flags = re.MULTILINE if hint.startswith(REGEX) else re.IGNORECASE
    found = re.search(expression, file.text, flags)
    return None if found is None else file.text.count("\n", 0, found.start()) + 1


def _similar_line(texts: Sequence[str], lines: Sequence[str]) -> int | None:
    head = [line[:_CONTENT_CHARS] for line in lines[:_FUZZY_LINES]]
    long_enough = {index: line for index, line in enumerate(head) if len(line.strip()) >= 4}
    best: tuple[float, int] | None = None
    for text in texts:
        found = process.extractOne(
            text.lower(), long_enough, scorer=fuzz.partial_ratio, processor=str.lower, score_cutoff=_SIMILAR
        )
        if found is not None and (best is None or found[1] > best[0]):
            best = (found[1], found[2])
    return None if best is None else best[1] + 1


def _at(file: File, number: int, why_not: str) -> Nearest:
    content = file.lines[number - 1][:_CONTENT_CHARS]
    return Nearest(source_file=file.shown, line_number=number, content=content, why_not=why_not)
