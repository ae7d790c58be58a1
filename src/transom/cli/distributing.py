"""`--distributed` of a whole command: a worker gives it, and its output is shown here."""

from __future__ import annotations

import sys
from typing import Any

from transom.canonical import digest
from transom.cli.command_session import Session
from transom.cli.output import printable, say, unread
from transom.errors import TransomError
from transom.store import open_jobs
from transom.workers import ANSWERED, GROUPS, PROGRAM, Submission, follow, submit


async def give_to_workers(session: Session, command: str) -> int:
    """Have a worker give the command of a session; returns its exit code.

    The same command given twice is done once, as long as the first is under way.

    Args:
        session: that of the command.
        command: the command line, for people.
    """
    entry = session.local_entry
    place: dict[str, Any] = {
        "kind": PROGRAM,
        "entry": entry,
        "workspace": str(session.workspace.root),
        "format": session.format,
        "verbosity": session.verbosity,
    }
    if session.keeps_artifacts:
        place["fetches"] = True
    # Workers choose jobs by the group of the command.
    name = entry["command"].partition(" ")[0]
    group = f"{GROUPS}{name}/{digest(place)[:16]}"
    submission = Submission(group, name, [command], place, session.priority)
    answer: dict[str, Any] = {}
    async with (
        open_jobs(session.workspace.store_location) as jobs,
        session.open_store() as store,
    ):
        # An answer that nobody took is of another day: files may have changed since.
        if not await jobs.numbers(group):
            await store.forget(group)
        await submit(jobs, store, submission)
        session.progress("given to the workers; Ctrl-C leaves it with them")
        async for record in follow(jobs, store, submission, session.progress):
            data: Any = record.data
            if record.kind == ANSWERED:
                answer = data
            elif "line" in data:
                # What -q leaves out is left out by the worker already.
                say(printable(data["line"]))
        await store.forget(group)
    if "failed" in answer:
        raise TransomError(answer["failed"], hint="give the command again")
    with unread():
        sys.stdout.write(answer["output"])
    return int(answer["code"])
