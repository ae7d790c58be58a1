"""The verdict as a stage of a run. It looks at the files of today, so it is journaled and never reused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from transom.checklist.copies import export
from transom.checklist.item import Item
from transom.checklist.run.audit import audit_waivers
from transom.checklist.run.check import check_files
from transom.checklist.run.inputs import Inputs
from transom.checklist.run.loading import LoadedChecker
from transom.checklist.run.runner import AtomRunner
from transom.checklist.run.verdict import Verdict, artifact_bytes
from transom.runs import File, Run, Stage

VERDICT_FILE = "verdict.json"


@dataclass(frozen=True)
class Occasion:
    """What a check is judged by beside checker and files.

    Attributes:
        as_of: ISO date that decides which waivers have expired.
        fail_on_unused: a waiver that nothing needed fails the check.
    """

    as_of: str
    fail_on_unused: bool = False


async def judge(
    run: Run,
    checker: LoadedChecker,
    item: Item | None,
    inputs: Inputs,
    runner: AtomRunner,
    occasion: Occasion,
    *,
    copy_to: Path | None = None,
) -> Verdict:
    """Run a checker in a run, and keep its verdict.

    Args:
        copy_to: the file for a person's copy of it.
    """

    async def step(stage: Stage, *_: object) -> Verdict:
        del stage
        unused = occasion.fail_on_unused
        verdict = await check_files(checker, item, inputs, runner, occasion.as_of, fail_on_unused=unused)
        audit_waivers(run.workspace.root, verdict, run.id)
        return verdict

    declared = [checker.sha256, item.sha256 if item else None, [name.written for name in inputs.names], occasion.as_of]
    out: File[Verdict] = File(VERDICT_FILE, artifact_bytes, Verdict.model_validate_json)
    verdict = await run.stage("run/verdict", step, *declared, out=out, reuse=False)
    if copy_to:
        await _spare_other(run, copy_to, verdict.value.item_id)
        await export(run.store, copy_to, artifact_bytes(verdict.value), progress=run.progress)
    return verdict.value


async def _spare_other(run: Run, target: Path, item_id: str) -> None:
    """Give another item's verdict, which an earlier command left at this place, a name of its own."""
    try:
        data = target.read_bytes()
        other = json.loads(data).get("item_id")
    except (OSError, ValueError, RecursionError, AttributeError):
        return  # there is none, or it is no verdict
    if isinstance(other, str) and other != item_id and Path(other).name == other:
        await export(run.store, target.with_name(f"{other}_{VERDICT_FILE}"), data, progress=run.progress)
        run.progress(f"{target.name} was that of {other}; it is kept as {other}_{VERDICT_FILE}")
