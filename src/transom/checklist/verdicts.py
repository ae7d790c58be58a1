"""Verdicts on the current files: by the checker of a claim, or by one that was built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transom.checklist.atoms import ClaimRow
from transom.checklist.claiming import write_claim_checker
from transom.checklist.copies import export
from transom.checklist.item import Item
from transom.checklist.item_files import unusable_files
from transom.checklist.judging import (
    Doubt,
    Inputs,
    LoadedChecker,
    Verdict,
    artifact_bytes,
    check_files,
    load_checker,
)
from transom.checklist.judging.audit import audit_waivers
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.checklist.manner import Manner, Places
from transom.checklist.results import BuildResult, GateRow
from transom.checklist.scenarios import FOLDER, run_scenarios
from transom.runs import ArtifactFile, Run


async def verdict_of(
    run: Run, checker: LoadedChecker, item: Item | None, places: Places, manner: Manner
) -> Verdict:
    """Run a checker on the files of today; a person's copy of the verdict goes to `places.out`.

    Raises:
        InputError: a variable is not defined, or patterns that do not fit the checker.
    """
    item, when = item or checker.item, manner.occasion
    inputs = Inputs.of(item, places.roots(item, checker.folder))

    async def step(*_: object) -> Verdict:
        unused = when.fail_on_unused
        verdict = await check_files(
            checker, item, inputs, manner.sandbox, when.as_of, fail_on_unused=unused
        )
        # A checker that no gate saw may be right, and says so itself.
        doubt = checker.never_gated
        if doubt is not None:
            verdict = verdict.model_copy(update={"doubted": (*verdict.doubted, doubt)})
        audit_waivers(run.workspace.root, verdict, run.id)
        return verdict

    # It looks at the files of today, so it is journaled and never reused.
    declared = [
        checker.sha256,
        item.sha256 if item else None,
        [name.written for name in inputs.names],
        when.as_of,
    ]
    output: ArtifactFile[Verdict] = ArtifactFile(
        VERDICT_FILE, artifact_bytes, Verdict.model_validate_json
    )
    verdict = (await run.stage("run/verdict", step, *declared, out=output, reuse=False)).value
    if places.out:
        copy = places.out / f"{checker.config.item_id}_{VERDICT_FILE}"
        await export(run.store, copy, artifact_bytes(verdict), progress=run.progress)
    return verdict


async def try_scenarios(
    run: Run, folder: Path, item: Item, places: Places, manner: Manner
) -> list[Doubt]:
    """Run the scenarios of the test matrix (`--tests`); returns a doubt for each that fails.

    Their files lie in the folder of the checker.
    """
    if not manner.build.tests:
        return []
    checker = load_checker(folder)
    inputs = Inputs.of(item, places.roots(item, checker.folder))
    target = folder / FOLDER
    rows = await run_scenarios(checker, item, inputs, manner.sandbox, manner.occasion.as_of, target)
    wrong = []
    for row in rows:
        if row.problem:
            wrong.append(row)
    run.progress(f"{len(rows) - len(wrong)} of {len(rows)} scenarios are as expected: {target}")
    return [Doubt(gate=FOLDER, line=None, message=f"{row.file}: {row.problem}") for row in wrong]


@dataclass(frozen=True)
class Judged:
    """A verdict, and the checker folder that it was made with."""

    verdict: Verdict
    checker: Path


async def judge_claim(
    run: Run, item: Item, claim: ClaimRow, places: Places, manner: Manner
) -> BuildResult | Judged:
    """Write the checker of a claim, and judge the current files by it."""
    error = error_of_inputs(run, item, places)
    if error is not None:
        return error
    target = places.out / checker_folder(item.item_id) if places.out else None
    folder = await write_claim_checker(run, item, claim, target)
    return await judge(run, folder, item, places, manner)


def error_of_inputs(run: Run, item: Item, places: Places) -> BuildResult | None:
    """Return the answer if an input file cannot be read.

    Without an input there is no verdict, whatever else lies beside it, so nobody is asked to build.
    """
    unusable = unusable_files(item, places.roots(item, run.folder))
    if not unusable:
        return None
    row = GateRow(gate="inputs", passed=False, findings=unusable)
    return BuildResult(status="ERROR", item_id=item.item_id, gates=(row,), run_id=run.id)


async def judge(run: Run, folder: Path, item: Item, places: Places, manner: Manner) -> Judged:
    """Judge the current files, with the doubts of the scenarios if they were asked for."""
    verdict = await verdict_of(run, load_checker(folder), item, places, manner)
    # Without a verdict on the files there is nothing to vary.
    if verdict.status != "ERROR":
        doubts = await try_scenarios(run, folder, item, places, manner)
        verdict = verdict.model_copy(update={"doubted": (*verdict.doubted, *doubts)})
    return Judged(verdict, folder)


def checker_folder(item_id: str) -> str:
    """Return the name of a checker's folder."""
    return f"{item_id}_checker"
