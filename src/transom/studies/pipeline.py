"""A study from its file to its report, as the stages of a run: set-up, verification, report. Trials are Optuna's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transom.canonical import Json
from transom.errors import InputError, Paused, TransomError
from transom.runs import Run, model_file, text_file
from transom.studies.advice import RULE, AdviceStore, FileAdvice, FileRows, active_rules
from transom.studies.advisor import Advised, Advisor
from transom.studies.failures import load_taxonomy
from transom.studies.guide import Guide
from transom.studies.hooks import Hook, Hooks, Moment, Occasion
from transom.studies.result import InsightCounts, StudyResult, result_of
from transom.studies.runner import StudyRunner
from transom.studies.solver import make_solver, write_json
from transom.studies.storage import TRIALS, open_storage
from transom.studies.study import Study, load_study
from transom.studies.trials import Trial, failures
from transom.studies.verify import Verification, verify

STUDIES, STUDY, VERIFICATION, ADVICE = "studies", "study.json", "verification.json", "advice.json"
_DAY = 86400.0


@dataclass
class OpenStudy:
    """A study with all that it works with.

    Attributes:
        root: the workspace's folder for studies.
        advice: where insights are kept; files below `root` where None.
        hooks: added to those of the study's file.
        progress: is called with a line after each trial.
    """

    study: Study
    root: Path
    advice: AdviceStore | None = None
    hooks: Mapping[Moment, tuple[Hook, ...]] = field(default_factory=dict)
    progress: Callable[[str], None] | None = None
    runner: StudyRunner = field(init=False)

    def __post_init__(self) -> None:
        taxonomy = load_taxonomy(*(self.study.folder / name for name in self.study.failures))
        solver = make_solver(self.study, taxonomy)
        self.advice = self.advice or FileAdvice(self.root)
        guide = Guide(self.study, self.advice, FileRows(self.root))
        hooks = Hooks(self.study, self.hooks)
        self.runner = StudyRunner(self.study, self.folder, solver, guide, taxonomy, hooks)
        if self.progress:
            self.runner.progress = self.progress

    @property
    def folder(self) -> Path:
        return self.root / self.study.study

    @property
    def solver(self) -> str:
        return self.runner.solver.by

    def solve(self, trials: int | None = None) -> list[Trial]:
        """Run the trials; see `StudyRunner.run`."""
        write_json(
            self.folder / STUDY, {"folder": str(self.study.folder), "study": self.study.model_dump_json(by_alias=True)}
        )
        return self.runner.run(trials)

    def used(self, trials: list[Trial]) -> InsightCounts:
        """The insights that acted on trials."""
        started = {trial.source for trial in trials if trial.source != "sampler"}
        return InsightCounts(used=sorted(started.union(*({*trial.rules, *trial.audit} for trial in trials))))

    def verify(self, trials: list[Trial]) -> Verification:
        """Solve the incumbents again with finer settings."""
        found = verify(self.study, self.runner.solver, self.folder / "verified", trials)
        write_json(self.folder / VERIFICATION, found.model_dump(mode="json"))
        return found

    def conclude(self, trials: list[Trial], verification: Verification) -> InsightCounts:
        """Leave for the next study what this one found, call the hooks of its end, and count insights."""
        guide = self.runner.guide
        before = {one.id for one in active_rules(guide.insights)}
        added = guide.learn(trials, verification)
        now = self.runner.guide.advice.insights(self.study.scope)
        standing = {one.id for one in active_rules(now)} | {one.id for one in now if one.kind != RULE}
        found = InsightCounts(used=self.used(trials).used, added=len(added), pruned=len(before - standing))
        summary = {"trials": len(trials), "insights_added": found.added, "items_pruned": found.pruned}
        for line in self.runner.hooks(Occasion("study_end", self.study, self.folder, summary=summary)):
            self.runner.progress(line)
        return found


def find_study(name: str, root: Path) -> Study:
    """A study by its file, or by its name in the workspace's folder for studies.

    Raises:
        InputError: there is neither.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return load_study(path)
    kept = root / name / STUDY
    if not kept.is_file():
        there = ", ".join(sorted(one.parent.name for one in root.glob(f"*/{STUDY}"))) or "none"
        raise InputError(f"there is no study {name!r}", where=str(root), hint=f"name its file, or one of: {there}")
    data = json.loads(kept.read_text("utf-8"))
    return Study.model_validate_json(data["study"]).model_copy(update={"folder": Path(data["folder"])})


def kept_trials(study: Study, root: Path) -> list[Trial]:
    """The trials of a study that was run, without making anything.

    Raises:
        InputError: it was never run here.
    """
    folder = root / study.study
    if not (folder / TRIALS).is_file():
        hint = "run it with: transom study run STUDY.yaml"
        raise InputError(f"the study {study.study} was not run in this workspace", where=str(root), hint=hint)
    import optuna  # noqa: PLC0415  slow

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    loaded = optuna.load_study(study_name=study.study, storage=open_storage(folder))
    return [Trial.of(one, study) for one in loaded.get_trials(deepcopy=False) if one.state.name != "WAITING"]


def standing(study: Study, root: Path) -> tuple[OpenStudy, list[Trial], StudyResult]:
    """A study as it stands, without solving anything: what was verified when it last ended is taken from its folder.

    Raises:
        InputError: it was never run here.
    """
    trials = kept_trials(study, root)
    opened = OpenStudy(study, root)
    kept = opened.folder / VERIFICATION
    asked = study.verify is not None
    verification = Verification.model_validate_json(kept.read_bytes()) if kept.is_file() else Verification(asked=asked)
    result = result_of(study, trials, verification, opened.used(trials), opened.solver)
    advice = opened.folder / ADVICE
    if advice.is_file():
        result = result.model_copy(update={"advice": Advised.model_validate_json(advice.read_bytes())})
    return opened, trials, result


async def run_study(run: Run, opened: OpenStudy, trials: int | None = None, *, advise: bool = False) -> StudyResult:
    """Run a study inside a run; killed at any moment, the same call goes on.

    Args:
        run: of kind `study`.
        opened: the study.
        trials: solves in all, in the place of the study's budget.
        advise: whether the run's model explains the failures and proposes rules at the end.

    Raises:
        StudyStopped: it cannot go on as things are.
    """
    from transom.studies.report import report_html, write_pictures  # noqa: PLC0415  slow: matplotlib

    study = opened.study
    run.stage_seconds = max(run.stage_seconds, _DAY)  # how long solves may take is the study's to say

    async def set_up(_: object, text: str) -> str:
        return text

    async def verified(*_: object) -> Verification:
        return await asyncio.to_thread(opened.verify, done)

    async def report(_: object, result: StudyResult, *__: object) -> str:
        pictures = await asyncio.to_thread(
            write_pictures, study, done, run.folder / "report", result.best, opened.runner.solver
        )
        return report_html(study, done, result, insights, pictures)

    text = study.model_dump_json(indent=2, by_alias=True)
    await run.stage("set-up", set_up, text, out=text_file("study.json"))
    done = await _in_thread(opened, trials)
    records: Json = [trial.to_record() | {"number": trial.number, "params": dict(trial.params)} for trial in done]
    verification = (
        await run.stage("verification", verified, records, out=model_file("verification.json", Verification))
    ).value
    counted = opened.conclude(done, verification)
    advised = await _advised(run, opened, done, counted, records) if advise and failures(done) else None
    if advised:
        counted = counted.model_copy(update={"added": counted.added + len(advised.added)})
    insights = list(opened.runner.guide.advice.insights(study.scope))
    result = result_of(study, done, verification, counted, opened.solver).model_copy(update={"advice": advised})
    await run.stage("report", report, result, records, out=text_file("report.html"))
    return result.model_copy(update={"session_id": run.id})


async def _advised(
    run: Run, opened: OpenStudy, trials: list[Trial], counted: InsightCounts, records: Json
) -> Advised | None:
    """What a model has to say; a study has its report also where nobody can advise."""
    advisor = Advisor(opened.study, opened.folder, trials, opened.runner.guide)
    try:
        advised = await advisor.advise(run, counted.used, records)
        write_json(opened.folder / ADVICE, advised.model_dump(mode="json"))
        return advised
    except Paused:
        raise
    except TransomError as error:
        run.progress(f"no advice: {error}")
        return None


async def _in_thread(opened: OpenStudy, trials: int | None) -> list[Trial]:
    """Solve beside the event loop; when that is cancelled, the running solves are ended."""
    work = asyncio.ensure_future(asyncio.to_thread(opened.solve, trials))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        opened.runner.stop()
        await asyncio.wait([work], timeout=10)
        raise
