"""The verdict as a stage of a run. It looks at the files of today, so it is journaled and never reused."""

from __future__ import annotations

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
        await export(run.store, copy_to, artifact_bytes(verdict.value), progress=run.progress)
    return verdict.value
