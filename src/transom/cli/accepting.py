"""`transom answer RUN --until DATE`: a person accepts that an item stays unchecked."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from transom.checklist.item import load_item
from transom.checklist.item_writer import add_to_item
from transom.cli.history import found_run
from transom.cli.session import Session
from transom.errors import InputError

_KEY = "accept"
_JUDGED = ("PASS", "FAIL")


async def accept_unchecked(session: Session, name: str, by: str, reason: str, until: str) -> int:
    """Write the acceptance into the file of the item that a run checks.

    Raises:
        InputError: the run checks no item, or judged it; the item is accepted already; or who, why
            or the day is missing.
    """
    async with found_run(session, name) as (_, found):
        row, status = found.row, found.status
    last_day = _last_day(until)
    for option, text in (("--by", by), ("--reason", reason)):
        if not text.strip():
            hint = "say who accepts it, why, and until when: --by, --reason, --until"
            raise InputError(f"{option} is missing", where=row.id, hint=hint)
    if row.kind != "check":
        hint = "name the run of an item: transom runs list"
        raise InputError("this run is not the check of one item", where=row.id, hint=hint)
    if status in _JUDGED:
        hint = "waive violations with `waivers` in the item"
        raise InputError(f"the item was judged: {status}", where=row.id, hint=hint)
    if status == "ERROR":
        hint = "correct the error; only an item that needs a person or a model can be accepted"
        raise InputError("the check ended with an error", where=row.id, hint=hint)
    item = load_item(Path(str(row.inputs["item"])))
    if item.accept:
        what = f"the item is accepted by {item.accept.by} until {item.accept.until} already"
        raise InputError(what, where=item.where(item.accept.line), hint=f"change `{_KEY}` there")
    entry = {"by": by.strip(), "reason": reason.strip(), "until": last_day.isoformat()}
    add_to_item(item, _KEY, dict(entry))
    document = {"schema": "transom.answer/1", "run_id": row.id, "answer": None, "stage": None}
    line = f"{item.item_id} may stay unchecked until {last_day}: {item.path} says so"
    return session.report({**document, _KEY: entry, "item": str(item.path)}, line)


def _last_day(text: str) -> date:
    """Return the day of `--until`, which must not be over."""
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a date", where="--until", hint="write it as 2026-01-31"
        ) from error
    if day < date.today():
        raise InputError(f"{text} is over", where="--until", hint="name today or a later day")
    return day
