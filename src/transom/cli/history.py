"""Runs of a workspace, read back from its journal for people."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from transom.cli.app import nearest
from transom.cli.command import can_resume
from transom.cli.session import Session
from transom.errors import InputError
from transom.runs.journal import RunState, fold
from transom.runs.run import RUNS
from transom.store import LeasingStore, Record, Store

_LEAST = 70  # of 100; below it two ids have no more in common than any two


@dataclass(frozen=True)
class RunRow:
    """What a workspace knows of a run: `inputs` identify it, `name` is for people, e.g. the
    item's id.
    """

    id: str
    kind: str
    name: str
    inputs: dict[str, Any]


@dataclass(frozen=True)
class RunView:
    """A run with its journal, folded."""

    row: RunRow
    records: list[Record]
    state: RunState
    status: str

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The journaled calls, in order."""
        return self.data_of("model_reply")

    def data_of(self, *kinds: str) -> list[dict[str, Any]]:
        """What the journal holds of some kinds, in order; each is an object."""
        return [
            cast("dict[str, Any]", record.data) for record in self.records if record.kind in kinds
        ]


@asynccontextmanager
async def history(session: Session, *, writing: bool = False) -> AsyncIterator[Store]:
    """Open the workspace's database, or an empty one if there is none yet. Unless `writing`, the
    workspace may be read-only.
    """
    if writing and session.known_store:
        store = session.open_store()
    else:
        store = session.known_workspace.open_store_for_reading()
    async with store:
        yield store


@asynccontextmanager
async def found_run(
    session: Session, text: str, *, writing: bool = False
) -> AsyncIterator[tuple[Store, RunView]]:
    """Open the database, for `writing` if so, and find the run that `text` names."""
    async with history(session, writing=writing) as store:
        rows = {row.id: row for row in all_runs(store)}
        called = [row.id for row in rows.values() if text and row.name == text]
        ids = {run_id: run_id for run_id in rows}
        run_id = pick("run", text, ids, called, str(session.workspace_root))
        yield store, view(session, store, rows[run_id])


def next_step(found: RunView) -> str:
    """What to do with a run so that it goes on, where nobody has to answer it first."""
    if can_resume(found.state.entry):
        return f"go on with: transom resume {found.row.id}"
    if "command" in found.state.entry:
        return "begin it anew with the command that replaces it; see: transom --help"
    started = "the command" if found.state.entry else "the program"
    return f"to go on, start {started} that began it again; it goes on where it was"


def all_runs(store: Store) -> list[RunRow]:
    """All runs, the newest first."""
    documents: list[Any] = list(store.items(RUNS).values())
    rows = [RunRow(row["id"], row["kind"], row["name"], row["inputs"]) for row in documents]
    return sorted(rows, key=lambda row: row.id, reverse=True)


def view(session: Session, store: Store, row: RunRow) -> RunView:
    """The run with its journal."""
    records = store.read(f"run/{row.id}")
    state = fold(records)
    status = state.status
    if status == "running" and not _has_process(session, store, row.id):
        status = "paused" if state.waiting else "interrupted"
    return RunView(row, records, state, status)


async def all_views(session: Session) -> list[RunView]:
    """All runs with their journals, the newest first."""
    async with history(session) as store:
        return [view(session, store, row) for row in all_runs(store)]


def pick(noun: str, text: str, named: Mapping[str, str], called: Sequence[str], where: str) -> str:
    """Return the run or trace that a person means by an id, its beginning, or a name.

    Args:
        named: what may be typed, and the id that it stands for.
        called: the ids of those whose name was typed.
    """
    begun = [one for key, one in named.items() if text and key.startswith(text)]
    matching = [named[text]] if text in named else called or begun
    found = dict.fromkeys(matching)
    if len(found) == 1:
        return next(iter(found))
    if found:
        some = ", ".join([key for key, one in named.items() if one in found][:3])
        what, hint = ("are called", "say which") if called else ("begin with", "give more of it")
        raise InputError(
            f"{len(found)} {noun}s {what} {text!r}", where=where, hint=f"{hint}: {some}"
        )
    there = f"see: transom {'runs' if noun == 'run' else noun} list"
    there = (
        there
        if named
        else "there is none here yet; give --workspace, or change to the folder of its start"
    )
    meant = nearest(text, [*named], _LEAST)
    raise InputError(f"no {noun} {text!r}", where=where, hint=f"near: {meant}" if meant else there)


def _has_process(session: Session, store: Store, run_id: str) -> bool:
    """Whether the process that last held the run still lives; its lock is not tried, which might
    disturb it.
    """
    if isinstance(store, LeasingStore):
        return bool(store.holder_of(f"run/{run_id}"))
    try:
        lock = session.known_workspace.state_dir / "locks" / f"{run_id}.lock"
        os.kill(int(lock.read_text()), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
