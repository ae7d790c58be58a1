"""A verdict that a person overturned: its item keeps that, and does not end the same way again.

The entry lies in the item's file and counts while the item means the same. Another `reads_as`, or
another description, is another question, which may end as it does.
"""

from __future__ import annotations

from typing import Final, cast

from transom.canonical import Json, digest
from transom.checklist.item import Item, OverturnedVerdict
from transom.checklist.item_writer import add_entry_to_item
from transom.checklist.judging.verdict import Status, Verdict
from transom.checklist.judging.verdict_rows import Note
from transom.evidence.caps import Cap

KEY: Final = "overturned"
_DIGITS: Final = 16  # of the digest of a meaning, which a person has to read in the item's file


def write_overturned(item: Item, status: str, person: str, reason: str) -> bool:
    """Add a verdict that a person overturned to the item's file.

    Args:
        item: the item.
        status: the verdict; only PASS and FAIL can be wrong.
        person: who overturned it.
        reason: why, or "".

    Returns:
        Whether the file was changed; an equal entry is not written twice.

    Raises:
        InputError: no entry can be added to the file.
    """
    if status not in ("PASS", "FAIL") or overturned_verdict(item, cast("Status", status)):
        return False
    entry: dict[str, Json] = {"status": status, "by": person.strip()}
    if reason.strip():
        entry["reason"] = " ".join(reason.split())
    add_entry_to_item(item, KEY, {**entry, "meaning": _meaning(item)})
    return True


def overturned_verdict(item: Item | None, status: Status) -> OverturnedVerdict | None:
    """Return the entry of an item that speaks against a verdict with its present meaning."""
    if item is None or not item.overturned:
        return None
    # A changed description or claim is another question, which nobody overturned.
    meaning = _meaning(item)
    for entry in item.overturned:
        if entry.status == status and entry.meaning == meaning:
            return entry
    return None


def is_held_back(item: Item, verdict: Verdict) -> bool:
    """Return whether a verdict waits because a person overturned the one that it would be."""
    if verdict.status != "NEEDS_REVIEW":
        return False
    return overturned_verdict(item, verdict.would_be or "FAIL") is not None


def cap_of_overturned(entry: OverturnedVerdict) -> Cap:
    """Return what holds back a PASS that a person overturned; a person can accept it by name."""
    return Cap("overturned", _sentence(entry))


def note_of_overturned(item: Item, entry: OverturnedVerdict) -> Note:
    """Return why a verdict waits for a person, and what this person can do."""
    advice = (
        f"set the meaning with `reads_as`, teach it a line with: transom check"
        f" teach {item.path.name}, or remove the entry"
    )
    return Note(
        source_file=item.path.name,
        line_number=entry.line,
        message=f"{_sentence(entry)}; {advice}",
    )


def _sentence(entry: OverturnedVerdict) -> str:
    sentence = f"{entry.by} overturned {entry.status} of this item"
    if entry.reason:
        return f"{sentence}: {entry.reason}"
    return sentence


def _meaning(item: Item) -> str:
    return digest(item.meaning)[:_DIGITS]
