"""A person in the loop of a flow: the hand-over, the guidance, the edited file, and going back to a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.errors import InputError
from transom.runs.checkpoints import checkpoints
from transom.runs.run import Run
from transom.runs.written import write_file


async def hand_over(run: Run, after: int, files: Sequence[Path]) -> None:
    """Record that a flow cannot go on without a person.

    Args:
        after: how many repairs it had tried.
        files: what may be edited.
    """
    names = [path.relative_to(run.folder).as_posix() for path in files]
    await run.append("handed", {"after": after, "files": names})


async def give_help(run: Run, guidance: str = "", *, reset: bool = False) -> None:
    """Record what a person says to a flow that cannot go on; see `journal.Help`.

    Raises:
        InputError: no flow of this run waits for a person.
    """
    if run.state.handed is None:
        raise InputError(f"run {run.id} waits for nobody's help", hint=f"see: transom runs show {run.id}")
    await run.append("helped", {"after": run.state.handed["after"], "guidance": guidance, "reset": reset})


def take_edit(run: Run, file: Path) -> Path:
    """Put a person's version in the place of the file that a flow gave up on; they agree in their ending.

    Raises:
        InputError: no flow waits, no file of that ending is asked for, or it cannot be read or written.
    """
    names: list[str] = (run.state.handed or {}).get("files", [])
    fitting = [name for name in names if Path(name).suffix == file.suffix]
    if not fitting:
        wanted = ", ".join(names) or "nothing"
        raise InputError("is no file that this run waits for", where=str(file), hint=f"it waits for: {wanted}")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(file)) from error
    return write_file(run.folder / fitting[0], data)


def rewind(run: Run, checkpoint_id: str) -> list[str]:
    """Go back to a checkpoint: what was done after it is deleted, so that it is made and asked for again.

    Returns:
        The stages that will be done again.

    Raises:
        InputError: the run has no such checkpoint.
    """
    known = checkpoints(run.records())
    found = next((one for one in known if one.id == checkpoint_id), None)
    if found is None:
        newest = ", ".join(one.id for one in known[-3:]) or "none"
        what = f"run {run.id} has no checkpoint {checkpoint_id}"
        raise InputError(what, hint=f"the newest are {newest}; all: transom runs show {run.id}")
    later = list(dict.fromkeys(one.stage for one in known if one.position > found.position))
    for stage in later:
        file = run.state.stage(stage).file
        if file:
            (run.folder / file).unlink(missing_ok=True)
    return later
