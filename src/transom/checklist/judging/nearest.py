"""What came closest to what an item looks for, if nothing fulfils it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz, process

from transom.checklist.atoms import AnyOf, Entry, ValidationItem
from transom.checklist.judging.gather import File
from transom.checklist.judging.verdict_rows import Nearest
from transom.checklist.patterns import REGEX, parts

_CONTENT_CHARS = 300


def nearest_line(item: ValidationItem, file: File) -> Nearest | None:
    """Return the line of a file that comes closest to what an item looks for.

    It is the first line with the item's best hint, or else the first line that is not blank. A
    long log is read once and not kept in memory.
    """
    if file.absent is not None:
        return None
    hints = [_hint_expression(hint) for hint in item.hints]
    # The best line so far, and the rank of its hint; the first line ranks behind all hints.
    best_rank = len(hints) + 1
    nearest = (0, "")
    for number, line in enumerate(file.lines(), 1):
        # Only better hints than the one found so far are tried.
        for rank in range(best_rank):
            matches = hints[rank].search(line) if rank < len(hints) else line.strip()
            if matches:
                best_rank = rank
                nearest = (number, line[:_CONTENT_CHARS])
                break
        if best_rank == 0:
            break
    if best_rank > len(hints):
        return None
    if best_rank < len(hints):
        hint = item.hints[best_rank]
        reason = f"it holds {hint!r}, but nothing for {item.select} could be read from it"
    else:
        expected = ", ".join(map(repr, item.hints)) or item.select
        reason = f"it is the first line; no line of the file holds {expected}"
    return Nearest(
        source_file=file.shown_name, line_number=nearest[0], content=nearest[1], why_not=reason
    )


def _hint_expression(hint: str) -> re.Pattern[str]:
    if hint.startswith(REGEX):
        return re.compile(hint.removeprefix(REGEX))
    return re.compile(re.escape(hint), re.IGNORECASE)


def line_of(entry: Entry, why_not: str) -> Nearest:
    """Return an entry's own line as the nearest, with the reason why it does not hold."""
    return Nearest(
        source_file=entry.source_file,
        line_number=entry.line_number,
        content=entry.matched_content,
        why_not=why_not,
    )


def nearest_entry(
    pattern: str | AnyOf, entries: Sequence[Entry], reasons: Sequence[str]
) -> Nearest | None:
    """Return the entry whose value is most like a pattern that nothing matched.

    Args:
        pattern: the pattern.
        entries: all entries that were compared with it.
        reasons: for each entry, why it does not match.
    """
    if not entries:
        return None
    alternatives = parts(pattern)
    # Without wildcards the distance measures words, not signs of the pattern language.
    literal_text = " ".join(re.sub(r"^regex:|[*?]", "", part) for part in alternatives)
    values = [entry.value for entry in entries]
    _, _, index = process.extractOne(literal_text, values, scorer=fuzz.ratio)
    entry, reason = entries[index], reasons[index]
    # The commonest reason for a pattern that does not match, and hard to see in a report.
    if any(part.lower() in entry.value.lower() for part in alternatives):
        reason = f"{reason}; it differs in upper and lower case only"
    content = (entry.matched_content or entry.value)[:_CONTENT_CHARS]
    return line_of(entry.model_copy(update={"matched_content": content}), reason)
