"""Copies of the rounds for a person (`--debug`), and what a person did to them.

An edit of a copy counts like an edit of the run's own file, and so does a deletion: the round is
written again, and what follows from it. A round file from which its section cannot be read is no
edit: it is moved aside, and the round is written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from transom.canonical import digest
from transom.checklist.copies import adopt, export, forget_copy, is_deleted, record_copy
from transom.checklist.item import Item
from transom.checklist.writing.rounds import ROUNDS, Round
from transom.runs import Run
from transom.runs.artifact import set_aside


def debug_folder(folder: Path, item_id: str) -> Path:
    """Return the folder of the copies, inside a folder for results."""
    return folder / f"{item_id}_debug"


async def export_rounds(
    run: Run, folder: Path, item: Item, extra_files: Mapping[str, bytes]
) -> None:
    """Copy every round's prompt and reply, the item, and more files by their names."""
    # Sorted, so that messages about moved files come in the order of the rounds.
    for file in sorted((run.folder / "spec").glob("round*/*.md")):
        await export(
            run.store, folder / file.name, file.read_bytes(), artifact=file, progress=run.progress
        )
    for name, data in {"config.yaml": item.text.encode("utf-8"), **extra_files}.items():
        await export(run.store, folder / name, data, progress=run.progress)


async def take_back_rounds(run: Run, folder: Path) -> None:
    """Let edits and deletions of the copies count in the run, and move junk aside."""
    for each in ROUNDS:
        copy, own = folder / each.file, run.folder / each.stage / each.file
        # A person who removes the whole folder wants no copies, not all rounds anew.
        if folder.is_dir() and own.is_file():
            if is_deleted(run.store, copy):
                own.unlink()
                await forget_copy(run.store, copy)
                run.progress(f"{copy.name} was deleted; round {each.number} is written again")
            elif adopt(run.store, copy, own):
                await record_copy(run.store, copy, own)
                run.progress(f"{copy.name} was changed by hand; the change counts")
        if own.is_file() and _is_junk(run, each, own):
            aside = set_aside(own)
            own.unlink()
            run.progress(
                f"{own.name}: no {each.tag} can be read from it; round {each.number} is written"
                f" again, and that file is kept as {aside.name}"
            )


def _is_junk(run: Run, each: Round, path: Path) -> bool:
    """Return whether a round's file was changed, and its section cannot be read from it."""
    data = path.read_bytes()
    if digest(data) in run.state.stage(each.stage).outputs:
        return False
    try:
        return not each.accept(data.decode("utf-8"))
    except UnicodeDecodeError:
        return True
