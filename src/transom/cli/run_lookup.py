"""The run that a person means, and the database of the workspace for commands that look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from transom.cli.app import nearest
from transom.cli.command import can_resume
from transom.cli.command_session import Session
from transom.errors import InputError
from transom.runs.history import RunHistory, RunView, all_runs, view
from transom.runs.summarising import RunRow
from transom.store import Store
from transom.store.sqlite_errors import is_read_only

_LEAST = 70  # of 100; below it two ids have no more in common than any two


@asynccontextmanager
async def history(session: Session, *, writing: bool = False) -> AsyncIterator[Store]:
    """Open the workspace's database, or an empty one if there is none yet. Unless `writing`, the
    workspace may be read-only.
    """
    # A workspace without a database has no run to write to, and none is made.
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
        rows: dict[str, RunRow] = {}
        with_name: list[str] = []
        for row in all_runs(store):
            rows[row.id] = row
            if text and row.name == text:
                with_name.append(row.id)
        ids = dict(zip(rows, rows, strict=True))
        run_id = pick("run", text, ids, with_name, place=str(session.workspace_root))
        yield store, view(session.known_workspace, store, rows[run_id])


def next_step(run: RunView) -> str:
    """Return what to do so that a run goes on, if no question has to be answered first."""
    entry = run.state.entry
    if can_resume(entry):
        return f"to continue, run: transom resume {run.row.id}"
    if "command" in entry:
        return "begin it anew with the command that replaces it; see: transom --help"
    started = "the command" if entry else "the program"
    return f"to continue, start {started} that began it again; it resumes at the same point"


def pick(
    noun: str, text: str, ids: Mapping[str, str], with_name: Sequence[str], *, place: str
) -> str:
    """Return the run or trace that a person means by an id, its beginning, or a name.

    Args:
        noun: `run` or `trace`.
        text: what the person typed.
        ids: each text that stands for an id, and the id.
        with_name: the ids of those whose name was typed.
        place: where they were looked for, for an error.

    Raises:
        InputError: nothing fits, or several do.
    """
    if text in ids:
        return ids[text]
    candidates = list(dict.fromkeys(with_name))
    if not candidates and text:
        matches = [run_id for key, run_id in ids.items() if key.startswith(text)]
        candidates = list(dict.fromkeys(matches))
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise _ambiguous(noun, text, ids, candidates, by_name=bool(with_name), place=place)
    # The nearest id helps after a typing error; the list helps if nothing is near.
    likely = nearest(text, [*ids], _LEAST)
    if likely:
        hint = f"near: {likely}"
    elif ids:
        hint = f"see: transom {'runs' if noun == 'run' else noun} list"
    else:
        hint = f"no {noun} found here yet; give --workspace, or change to the folder of its start"
    raise InputError(f"no {noun} {text!r}", place=place, hint=hint)


def _ambiguous(
    noun: str,
    text: str,
    ids: Mapping[str, str],
    candidates: Sequence[str],
    *,
    by_name: bool,
    place: str,
) -> InputError:
    """Return the error about a text that stands for several runs or traces."""
    names = [key for key, run_id in ids.items() if run_id in candidates]
    some = ", ".join(names[:3])
    if by_name:
        problem, hint = "are called", f"name one by its id: {some}"
    else:
        problem, hint = "begin with", f"give more of it: {some}"
    return InputError(f"{len(candidates)} {noun}s {problem} {text!r}", place=place, hint=hint)
