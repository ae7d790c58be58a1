"""The run that a person means, and the database of the workspace for commands that look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from transom.cli.app import nearest
from transom.cli.command import can_resume
from transom.cli.session import Session
from transom.errors import InputError
from transom.runs.history import RunHistory, RunView, all_runs, view
from transom.store import Store
from transom.store.sqlite_errors import is_read_only

_LEAST = 70  # of 100; below it two ids have no more in common than any two


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
async def run_history(session: Session) -> AsyncIterator[RunHistory]:
    """Open the runs of the workspace, with a summary of each if the workspace can be written."""
    workspace = session.known_workspace
    async with history(session) as store:
        is_outdated = RunHistory(workspace, store).is_outdated
    can_write = workspace.server is not None or not is_read_only(workspace.database)
    if is_outdated and can_write:
        async with history(session, writing=True) as store:
            await RunHistory(workspace, store).refresh()
    async with history(session) as store:
        yield RunHistory(workspace, store)


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
        yield store, view(session.known_workspace, store, rows[run_id])


def next_step(found: RunView) -> str:
    """What to do with a run so that it goes on, where nobody has to answer it first."""
    if can_resume(found.state.entry):
        return f"go on with: transom resume {found.row.id}"
    if "command" in found.state.entry:
        return "begin it anew with the command that replaces it; see: transom --help"
    started = "the command" if found.state.entry else "the program"
    return f"to go on, start {started} that began it again; it goes on where it was"


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
