"""Runs of a workspace, read back from its journal for people."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from transom.cli.nearest import near
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.runs.journal import RunState
    from transom.store import Record, SqliteStore


@dataclass(frozen=True)
class RunRow:
    """What a workspace knows of a run.

    Attributes:
        id: e.g. `20261121-093000-a1b2c3d4e5`.
        kind: what sort of run.
        name: the item's id, or another name for people.
        inputs: what identifies it.
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
        return [cast("dict[str, Any]", record.data) for record in self.records if record.kind in kinds]


@asynccontextmanager
async def history(session: Session) -> AsyncIterator[SqliteStore | None]:
    """The workspace's database, None where there is none yet; looking never makes one."""
    if not session.workspace_root.is_dir() or not session.workspace.database.is_file():
        yield None
        return
    async with session.open_store() as store:
        yield store


@asynccontextmanager
async def found_run(session: Session, text: str) -> AsyncIterator[tuple[SqliteStore, RunView]]:
    """The database and the run that `text` names.

    Raises:
        InputError: no run, or several, begin so or are called so.
    """
    where = str(session.workspace_root)
    async with history(session) as store:
        if store is None:
            hint = "give --workspace, or change to the folder in which it was started"
            raise InputError(f"no run {text!r}: none was started here yet", where=where, hint=hint)
        yield store, view(session, store, _find(text, all_runs(store), where))


def all_runs(store: SqliteStore) -> list[RunRow]:
    """All runs, the newest first."""
    from transom.runs.run import RUNS

    documents: list[Any] = list(store.items(RUNS).values())
    rows = [RunRow(row["id"], row["kind"], row["name"], row["inputs"]) for row in documents]
    return sorted(rows, key=lambda row: row.id, reverse=True)


def view(session: Session, store: SqliteStore, row: RunRow) -> RunView:
    """The run with its journal."""
    from transom.runs.journal import fold

    records = store.read(f"run/{row.id}")
    state = fold(records)
    status = state.status
    if status == "running" and not _has_process(session, row.id):
        status = "paused" if state.waiting else "interrupted"
    return RunView(row, records, state, status)


def _find(text: str, rows: list[RunRow], where: str) -> RunRow:
    """The run of that id, else of that name, else whose id begins so."""
    exact = [row for row in rows if row.id == text]
    called = exact or [row for row in rows if text and row.name == text]
    matching = called or [row for row in rows if text and row.id.startswith(text)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        some = ", ".join(row.id for row in matching[:3])
        what, hint = ("are called", "say which") if called else ("begin with", "give more of it")
        raise InputError(f"{len(matching)} runs {what} {text!r}", where=where, hint=f"{hint}: {some}")
    meant = near(text, [row.id for row in rows])
    there = "see: transom runs list" if rows else "none was started here yet"
    hint = f"near: {', '.join(meant)}" if meant else there
    raise InputError(f"no run {text!r}", where=where, hint=hint)


def _has_process(session: Session, run_id: str) -> bool:
    """Whether the process that last held the run still lives; its lock is not tried, which might disturb it."""
    try:
        process = int((session.workspace.state_dir / "locks" / f"{run_id}.lock").read_text())
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
