"""The verdict as a stage of a run. It looks at the files of today, so it is journaled and never reused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transom.checklist.item import Item
from transom.checklist.run.check import LoadedChecker, check_files
from transom.checklist.run.inputs import Inputs
from transom.checklist.run.runner import AtomRunner
from transom.checklist.run.verdict import Verdict, artifact_bytes
from transom.runs import File, Run, Stage, export

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
    folder: Path | None = None,
) -> Verdict:
    """Run a checker in a run, and keep its verdict.

    Args:
        folder: where a copy of `verdict.json` goes for a person.
    """

    async def step(stage: Stage, *_: object) -> Verdict:
        del stage
        return await check_files(checker, item, inputs, runner, occasion.as_of, fail_on_unused=occasion.fail_on_unused)

    declared = [checker.sha256, item.sha256 if item else None, [name.written for name in inputs.names], occasion.as_of]
    out: File[Verdict] = File(VERDICT_FILE, artifact_bytes, Verdict.model_validate_json)
    verdict = await run.stage("run/verdict", step, *declared, out=out, reuse=False)
    if folder:
        await export(run.store, folder / VERDICT_FILE, artifact_bytes(verdict.value), progress=run.progress)
    return verdict.value
