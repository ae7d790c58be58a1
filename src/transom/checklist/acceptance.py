"""Acceptances: a person accepts a cap of a verdict, or that an item stays unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from transom.canonical import Json
from transom.checklist.item import AcceptEntry, Item, load_item
from transom.checklist.item_writer import add_entry_to_item, add_to_item
from transom.checklist.results import Acceptance
from transom.errors import InputError
from transom.runs.summarising import RunRow

KEY = "accept"
_JUDGED = ("PASS", "FAIL")


def new_acceptance(approver: str, reason: str, until: str, place: str) -> dict[str, Json]:
    """Return the entry that an item's file gets.

    Raises:
        InputError: who, why or the day is missing, or the day is over. `place` names the run.
    """
    # The day first: a person who mistypes it should not have to repeat the reason.
    last_day = _last_day(until)
    for option, text in (("--by", approver), ("--reason", reason)):
        if not text.strip():
            hint = "pass --by NAME, --reason TEXT and --until DATE"
            raise InputError(f"{option} is missing", place=place, hint=hint)
    return {"by": approver.strip(), "reason": reason.strip(), "until": last_day.isoformat()}


def require_unjudged(kind: str, status: str | None, place: str) -> None:
    """Refuse an acceptance for a run that checks no item, or that judged it.

    Raises:
        InputError: it does; the message says what to do instead. `place` names the run.
    """
    if kind != "check":
        hint = "name the run of an item: transom runs list"
        raise InputError("this run is not the check of one item", place=place, hint=hint)
    # An acceptance of a judged item would hide its verdict.
    if status in _JUDGED:
        hint = "waive violations with `waivers` in the item"
        raise InputError(f"the item was judged: {status}", place=place, hint=hint)
    if status == "ERROR":
        hint = "correct the error; only an item that needs a person or a model can be accepted"
        raise InputError("the check ended with an error", place=place, hint=hint)


def write_acceptance(item: Item, entry: dict[str, Json]) -> None:
    """Add an acceptance to the item's file.

    Raises:
        InputError: the item has one already.
    """
    if item.accept:
        problem = f"the item is accepted by {item.accept.by} until {item.accept.until} already"
        raise InputError(
            problem, place=item.place_of(item.accept.line), hint=f"change `{KEY}` there"
        )
    add_to_item(item, KEY, entry)


def write_cap_acceptances(
    item: Item, texts: Sequence[str], approver: str, until: str | None
) -> list[dict[str, Json]]:
    """Add the acceptance of caps to the item's file, and return the entries.

    Args:
        texts: the texts of the caps.
        approver: who accepts them.
        until: the last day on which it counts, or None for no end.

    Raises:
        InputError: nobody is named, the day is over, or the item stays unchecked as a whole.
    """
    if not approver.strip():
        raise InputError("--by is missing", place=str(item.path), hint="pass --by NAME")
    if item.accept:
        problem = "`accept` says already that the item stays unchecked"
        place = item.place_of(item.accept.line)
        raise InputError(problem, place=place, hint="remove it there first")
    entries = list[dict[str, Json]]()
    # Each cap is written by itself, so that a person can take one back.
    for text in texts:
        entry: dict[str, Json] = {"text": text, "by": approver.strip()}
        if until is not None:
            entry["until"] = _last_day(until).isoformat()
        add_entry_to_item(item, KEY, entry)
        entries.append(entry)
    return entries


def acceptance_on(accept: AcceptEntry, day: str) -> Acceptance:
    """Return an item's acceptance as it stands on a day."""
    return Acceptance(
        by=accept.by,
        reason=accept.reason,
        until=accept.until,
        state="holds" if day <= accept.until else "ended",
    )


def _last_day(text: str) -> date:
    """Return the day of `--until`, which must not be over."""
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a date", place="--until", hint="write it as 2026-01-31"
        ) from error
    if day < date.today():
        raise InputError(f"{text} is over", place="--until", hint="name today or a later day")
    return day


def is_accepted(row: RunRow) -> bool:
    """Return whether a run checks an item that a person accepts as unchecked today."""
    if row.kind != "check":
        return False
    try:
        accept = load_item(Path(str(row.inputs["item"]))).accept
    except InputError:  # the item was moved or is being edited: its run still waits
        return False
    return accept is not None and date.today().isoformat() <= accept.until
