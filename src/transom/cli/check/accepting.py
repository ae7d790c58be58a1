"""`transom answer RUN --accept N` and `--until DATE`: acceptances, written into an item's file.

A person accepts what holds a PASS back, or that an item stays unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.checklist.acceptance import (
    KEY,
    new_acceptance,
    require_unjudged,
    write_acceptance,
    write_cap_acceptances,
)
from transom.checklist.item import load_item
from transom.checklist.judging import Verdict
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.cli.command_session import Session
from transom.cli.run_lookup import found_run
from transom.errors import InputError


async def accept_unchecked(
    session: Session, name: str, person: str, reason: str, until: str
) -> int:
    """Write the acceptance into the file of the item that a run checks.

    Raises:
        InputError: the run checks no item, or judged it; the item is accepted already; or who, why
            or the day is missing.
    """
    async with found_run(session, name) as (_, run):
        row, status = run.row, run.status
    entry = new_acceptance(person, reason, until, row.id)
    # An item that was judged has a verdict, which an acceptance would hide.
    require_unjudged(row.kind, status, row.id)
    item = load_item(Path(str(row.inputs["item"])))
    write_acceptance(item, entry)
    document = {"schema": "transom.answer/1", "run_id": row.id, "answer": None, "stage": None}
    line = f"{item.item_id} may stay unchecked until {entry['until']}: {item.path} says so"
    return session.show({**document, KEY: entry, "item": str(item.path)}, line)


async def accept_caps(
    session: Session, name: str, numbers: Sequence[int], person: str, until: str | None
) -> int:
    """Write the acceptance of caps of a run's verdict into the file of its item.

    Args:
        name: the run.
        numbers: the caps, counted from 1 as the verdict lists them.
        person: who accepts them.
        until: the last day on which it counts, or None for no end.

    Raises:
        InputError: the run has no capped verdict, or no cap of that number.
    """
    async with found_run(session, name) as (_, run):
        row = run.row
    # The numbers are those of this run's verdict, as `runs show` lists them.
    path = session.known_workspace.run_folder(row.name, row.id) / "run" / "verdict" / VERDICT_FILE
    if row.kind != "check" or not path.is_file():
        hint = "name the run of an item: transom runs list"
        raise InputError("there is no verdict in this run", place=row.id, hint=hint)
    caps = Verdict.model_validate_json(path.read_bytes()).capped_by
    # Nothing is written if one of the numbers is wrong.
    unknown = [number for number in numbers if number > len(caps)]
    if unknown:
        problem = (
            f"there is no {unknown[0]} among the {len(caps)} things that hold the verdict back"
        )
        raise InputError(problem, place=row.id, hint=f"see: transom runs show {row.id}")
    item = load_item(Path(str(row.inputs["item"])))
    # A number that is given twice counts once.
    texts = [caps[number - 1].text for number in dict.fromkeys(numbers)]
    entries = write_cap_acceptances(item, texts, person, until)
    document = {"schema": "transom.answer/1", "run_id": row.id, "answer": None, "stage": None}
    lines = [f"accepted by {entry['by']}: {entry['text']}" for entry in entries]
    lines.append(f"check the item again: transom check all {item.path}")
    return session.show({**document, KEY: entries, "item": str(item.path)}, *lines)
