"""Drafts that a person may finish when no reply of the model could be read.

A build that gave up has no file of its own then, and a person could only give words. So it leaves
a draft of `atoms.py` and of `checker.yaml`, which `transom answer --edit` replaces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from transom.checklist.building.checker import ATOMS_FILE, CHECKER_FILE
from transom.checklist.building.handover import stub_files
from transom.checklist.building.state import BuildState
from transom.checklist.vectors import STANDARD_SOURCE
from transom.runs import A_PERSON, Artifact, Run, Stage, text_file

FOLDER: Final = "build/drafts"


async def with_drafts(run: Run, state: BuildState) -> BuildState:
    """Return the state with a draft in the place of each file that was never written."""
    stubs = stub_files(state)
    code = stubs[ATOMS_FILE].decode("utf-8")
    # What a role did write is kept, so that a person has less to finish.
    if state.atom_a is not None:
        code = f"{state.atom_a.value.rstrip()}\n\n\n{STANDARD_SOURCE.strip()}\n"
    texts = {ATOMS_FILE: code, CHECKER_FILE: stubs[CHECKER_FILE].decode("utf-8")}
    drafts = dict(state.drafts)
    for name, text in texts.items():
        # A stage runs once in a walk, so what it gave is kept.
        if name not in drafts:
            drafts[name] = await _draft(run, name, text)
    return replace(
        state,
        atoms=state.atoms or drafts[ATOMS_FILE],
        config=state.config or drafts[CHECKER_FILE],
        drafts=drafts,
    )


async def with_finished(run: Run, state: BuildState) -> BuildState:
    """Return the state with the files that a person made of the drafts of an earlier walk."""
    folder = run.folder / FOLDER
    # Without drafts no build of this run has given up so far.
    if not (folder / CHECKER_FILE).is_file() or not (folder / ATOMS_FILE).is_file():
        return state
    drafts = {name: await _draft(run, name, "") for name in (ATOMS_FILE, CHECKER_FILE)}
    atoms, config = drafts[ATOMS_FILE], drafts[CHECKER_FILE]
    return replace(
        state,
        atoms=atoms if atoms.by == A_PERSON else None,
        config=config if config.by == A_PERSON else None,
        drafts=drafts,
    )


async def _draft(run: Run, name: str, text: str) -> Artifact[str]:
    """Write a draft once; later walks find it, edited or not."""

    async def step(stage: Stage, name: str) -> str:
        del stage, name
        return text

    # The text is no input: a draft that changed would be asked about once a person edited it.
    return await run.stage(f"build/draft/{name}", step, name, out=text_file(name, FOLDER))
