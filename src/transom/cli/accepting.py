"""`transom answer RUN --until DATE`: a person accepts that an item stays unchecked."""

from __future__ import annotations

from pathlib import Path

from transom.checklist.acceptance import KEY, new_acceptance, require_unjudged, write_acceptance
from transom.checklist.item import load_item
from transom.cli.history import found_run
from transom.cli.session import Session


async def accept_unchecked(session: Session, name: str, by: str, reason: str, until: str) -> int:
    """Write the acceptance into the file of the item that a run checks.

    Raises:
        InputError: the run checks no item, or judged it; the item is accepted already; or who, why
            or the day is missing.
    """
    async with found_run(session, name) as (_, run):
        row, status = run.row, run.status
    entry = new_acceptance(by, reason, until, row.id)
    require_unjudged(row.kind, status, row.id)
    item = load_item(Path(str(row.inputs["item"])))
    write_acceptance(item, entry)
    document = {"schema": "transom.answer/1", "run_id": row.id, "answer": None, "stage": None}
    line = f"{item.item_id} may stay unchecked until {entry['until']}: {item.path} says so"
    return session.report({**document, KEY: entry, "item": str(item.path)}, line)
