"""The pipeline of a study as stages of a run: set-up, verification, report. Optuna stores the
trials.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from pathlib import Path

from transom.canonical import Json
from transom.errors import InputError, Paused, TransomError
from transom.learning import Playbook
from transom.runs import Run, model_file, text_file
from transom.studies.advice import Advice
from transom.studies.advisor import Advised, Advisor
from transom.studies.guide import design_key
from transom.studies.hooks import HookOccasion
from transom.studies.result import End, StudyResult, result_of
from transom.studies.runner import StudyRunner
from transom.studies.solver import write_json
from transom.studies.storage import TRIALS
from transom.studies.study import Study
from transom.studies.study_file import load_study
from transom.studies.trials import StudyTrial, failures
from transom.studies.verify import Verification, verify

STUDY, RESULT = "study.json", "result.json"
_DAY = 86400.0


def find_study(name: str, root: Path) -> Study:
    """Find a study by its file, or by its name in the workspace's folder for studies; InputError
    if unknown.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return load_study(path)
    # A study that ran here is known by its name, wherever its file was.
    study_file = root / name / STUDY
    if not study_file.is_file():
        known_studies = (
            ", ".join(sorted(study_json.parent.name for study_json in root.glob(f"*/{STUDY}")))
            or "none"
        )
        raise InputError(
            f"unknown study {name!r}",
            place=str(root),
            hint=f"name its file, or one of: {known_studies}",
        )
    data = json.loads(study_file.read_text("utf-8"))
    return Study.model_validate_json(data["study"]).model_copy(
        update={"folder": Path(data["folder"])}
    )


def runner_of(
    study: Study,
    root: Path,
    playbook: Playbook | None,
    progress: Callable[[str], None],
    *,
    must_have_run: bool = False,
) -> StudyRunner:
    """Return the runner of a study; InputError if `must_have_run` is set and it did not run in this
    workspace yet.
    """
    if must_have_run and not has_trials(study, root / study.study):
        hint = "run it with: transom study run STUDY.yaml"
        raise InputError(
            f"the study {study.study} was not run in this workspace", place=str(root), hint=hint
        )
    return StudyRunner(study, root, Advice(root, playbook), progress=progress)


def has_trials(study: Study, folder: Path) -> bool:
    """Return whether a study was run in this folder, whichever storage has its trials."""
    if study.storage is not None:
        return (folder / STUDY).is_file()
    return (folder / TRIALS).is_file()


def standing(runner: StudyRunner) -> StudyResult:
    """Return the current result of a study; verification and advice come from its last end."""
    end = ended(runner.folder, runner.study)
    return result_of(runner.study, runner.trials(), end, runner.solver.by)


def ended(folder: Path, study: Study) -> End:
    """Return the data of a study's last end; of one that did not end, nothing is verified yet."""
    path = folder / RESULT
    if path.is_file():
        return End.model_validate_json(path.read_bytes())
    return End(verification=Verification(asked=study.verify is not None))


def forget(runner: StudyRunner, numbers: Collection[int]) -> int:
    """Make trials count for nothing: for samplers, for rules, and for the budget.

    Returns:
        How many trials that counted until now are forgotten.

    Raises:
        InputError: a trial is unknown.
    """
    # A run may end solves, and learn from them, at the same time.
    with runner.recording("waiting until a run of this study has recorded a solve"):
        return _forget(runner, numbers)


def _forget(runner: StudyRunner, numbers: Collection[int]) -> int:
    trials_by_number = {trial.number: trial for trial in runner.trials()}
    if unknown := sorted(set(numbers) - trials_by_number.keys()):
        raise InputError(
            f"unknown trial {unknown[0]}",
            place=runner.study.study,
            hint=f"the study has {len(trials_by_number)} trials, from 0; see transom study export",
        )
    guide, scope = runner.guide, runner.study.scope
    rules_before = guide.advice.rules_with_rows(scope)
    # The storage first: a kill from here on leaves rows that the next end replaces.
    runner.machine.forget(numbers)
    guide.keep_rows(runner.trials())
    # A rule that had rows and has none now came from these trials alone.
    orphans = rules_before - guide.advice.rules_with_rows(scope)
    forgotten = runner.machine.forgotten & trials_by_number.keys()
    keys = [design_key(runner.study, number) for number in sorted(forgotten)]
    guide.advice.forget(keys=keys, ids=sorted(orphans))
    return sum(trials_by_number[number].kind != "lost" for number in forgotten)


def forgotten_best(runner: StudyRunner) -> int | None:
    """Return the number of a forgotten trial that Optuna still calls the best, or None."""
    # Optuna cannot change a trial that has ended, so its own tools go on showing it.
    for frozen in runner.machine.study.best_trials:
        if frozen.number in runner.machine.forgotten:
            return frozen.number
    return None


def conclude(runner: StudyRunner, verification: Verification) -> End:
    """Store the study's findings for the next one, and call the hooks of its end."""
    guide = runner.guide
    with runner.recording():
        # Trials may have been forgotten during the verification.
        trials = runner.trials()
        added = len(guide.learn(trials, verification.among(trials)))
    acting = {insight.id for insight in guide.advice.insights(runner.study.scope) if insight.acts}
    pruned = len(guide.acting_at_start - acting)
    summary = {"trials": len(trials), "insights_added": added, "items_pruned": pruned}
    runner.call_hooks(HookOccasion("study_end", runner.study, runner.folder, summary=summary))
    return End(verification=verification, added=added, pruned=pruned)


async def run_study(
    run: Run, runner: StudyRunner, trials: int | None = None, *, advise: bool = False
) -> StudyResult:
    """Run a study inside a run; after a kill the same call resumes it.

    Args:
        trials: total number of solves; overrides the study's budget.
        advise: whether the run's model explains the failures and proposes rules at the end.

    Raises:
        StudyStopped: the study cannot go on before a person acts.
    """
    from transom.studies.pictures import write_pictures  # noqa: PLC0415  slow: Optuna
    from transom.studies.report import report_html  # noqa: PLC0415  slow

    # A day is no limit for a study: each of its solves has one.
    study = runner.study
    run.stage_seconds = max(run.stage_seconds, _DAY)  # the study has its own limits for solves

    async def set_up(_: object, text: str) -> str:
        return text

    async def verified(*_: object) -> Verification:
        return await asyncio.to_thread(
            verify, study, runner.solver, runner.folder / "verified", trials_done
        )

    async def report(_: object, result: StudyResult, *__: object) -> str:
        pictures = await asyncio.to_thread(
            write_pictures, runner, trials_done, run.folder / "report", result.best
        )
        return report_html(
            study, trials_done, result, runner.guide.advice.insights(study.scope), pictures
        )

    # Commands find the study by this file, also while it runs.
    write_json(
        runner.folder / STUDY,
        {"folder": str(study.folder), "study": study.model_dump_json(by_alias=True)},
    )
    await run.stage(
        "set-up",
        set_up,
        study.model_dump_json(indent=2, by_alias=True),
        out=text_file("study.json"),
    )
    trials_done = await _solve(runner, trials)
    records: list[Json] = []
    for trial in trials_done:
        records.append(trial.to_record() | {"number": trial.number, "params": dict(trial.params)})
    verification_file = model_file("verification.json", Verification)
    end = conclude(
        runner,
        (await run.stage("verification", verified, records, out=verification_file)).value,
    )
    trials_done = runner.trials()
    if advise and failures(trials_done) and (advice := await _advised(run, runner, trials_done)):
        end = end.model_copy(update={"advice": advice, "added": end.added + len(advice.added)})
    # without the run's id, which must not change the report
    result = result_of(study, trials_done, end, runner.solver.by)
    write_json(
        runner.folder / RESULT,
        end.model_copy(update={"session_id": run.id}).model_dump(mode="json"),
    )
    await run.stage("report", report, result, records, out=text_file("report.html"))
    return result.model_copy(update={"session_id": run.id})


async def _advised(run: Run, runner: StudyRunner, trials: list[StudyTrial]) -> Advised | None:
    """Ask a model for advice; without an answer the study still gets its report."""
    try:
        return await Advisor(runner.folder, trials, runner.guide).advise(run)
    except Paused:
        raise
    except TransomError as error:
        run.progress(f"no advice: {error}")
        return None


async def _solve(runner: StudyRunner, trials: int | None) -> list[StudyTrial]:
    """Run the solves in a thread; a cancellation ends the running solves."""
    work = asyncio.ensure_future(asyncio.to_thread(runner.run, trials))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        runner.stop()
        await asyncio.wait([work], timeout=10)
        raise
