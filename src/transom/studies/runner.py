"""The loop of a study: ask Optuna for a design, judge it, solve it, tell how it ended; any number of workers.

Trials live in Optuna's storage. A trial's folder holds what its solver left and `solved.json`, written before the
storage is told; its lock says that a worker is at it. So a trial whose worker was killed is taken over by the next
worker: told from `solved.json` where the solve was over, solved again where it was not; never lost or counted twice.
"""

from __future__ import annotations

import json
import logging
import math
import random
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError, TransomError
from transom.studies.failures import Diagnosis, Evidence, Taxonomy, diagnosis
from transom.studies.guard import end_marked
from transom.studies.guide import Guide, Rejection
from transom.studies.hooks import Hooks, Moment, Occasion
from transom.studies.solver import Solved, Solver, write_json
from transom.studies.storage import FileLock, open_storage
from transom.studies.study import Number, Study
from transom.studies.trials import FAILED_BY, RECORD, Trial, Wanted, counts

if TYPE_CHECKING:
    import optuna
    from optuna.storages import BaseStorage

RETRIES = 2
_PAUSES = (0.5, 3.0)  # seconds before a solve that the machine failed is tried again
_LOST_IN_A_ROW = 3
_REJECTIONS = (
    100  # proposals in a row that may be rejected; then one is solved all the same, to see whether they are right
)
_SOLVED = "solved.json"
_log = logging.getLogger("transom.studies")


class StudyStopped(TransomError):
    """A study cannot go on as things are; resumed, it goes on where it was."""


@dataclass
class StudyRunner:
    """Runs a study's trials.

    Attributes:
        study: what is asked.
        folder: the study's folder in the workspace.
        solver: who computes.
        guide: what earlier studies found out.
        taxonomy: classes of failure.
        hooks: called around solves.
        storage: where trials are kept; the folder's own file where None.
        tell: is given one line after each trial.
    """

    study: Study
    folder: Path
    solver: Solver
    guide: Guide
    taxonomy: Taxonomy
    hooks: Hooks
    storage: BaseStorage | None = None
    tell: Callable[[str], None] = _log.debug
    wanted: Wanted = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.wanted = Wanted.of(self.study)
        self._lock = FileLock(self.folder / "study.lock")
        self._stop = threading.Event()
        self._trouble: list[BaseException] = []
        self._lost = 0
        self._began = time.monotonic()
        self._done_before = 0
        self._optuna = self._open()

    # -- the storage --------------------------------------------------------------------------------------------------

    def _open(self) -> optuna.Study:
        storage = self.storage or open_storage(self.folder)
        import optuna  # noqa: PLC0415  slow

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        directions = [one.direction for one in self.study.objectives]
        with self._lock.held():
            opened = optuna.create_study(
                storage=storage, study_name=self.study.study, directions=directions, load_if_exists=True,
                sampler=self._sampler(),
            )  # fmt: skip
            problem = opened.user_attrs.get("problem")
            if problem is None:
                opened.set_user_attr("problem", self.study.problem)
                for insight_id, design in self.guide.designs():
                    opened.enqueue_trial(design, user_attrs={"source": insight_id})
            elif problem != self.study.problem:
                hint = "give this one another name under `study`, or remove that folder"
                what = "trials of another problem are kept under this name: variables, settings or solver differ"
                raise InputError(what, where=str(self.folder), hint=hint)
        opened.sampler = self._sampler(len(opened.get_trials(deepcopy=False)))
        return opened

    def _sampler(self, done: int = 0) -> Any:
        import optuna  # noqa: PLC0415  slow

        spec = self.study.sampler
        seed = None if spec.seed is None else spec.seed + 7919 * done  # a resumed study must not repeat its designs
        if spec.kind == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        if spec.kind == "nsga2":
            return optuna.samplers.NSGAIISampler(seed=seed)
        return optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=spec.startup, multivariate=True, constant_liar=True
        )

    def trials(self) -> list[Trial]:
        """All trials that were begun, by number."""
        return [
            Trial.of(one, self.study) for one in self._optuna.get_trials(deepcopy=False) if one.state.name != "WAITING"
        ]

    # -- the loop -----------------------------------------------------------------------------------------------------

    def run(self, trials: int | None = None) -> list[Trial]:
        """Run until the budget is used up; resumed, only what is left of it.

        Args:
            trials: solves in all, in the place of the study's budget.

        Raises:
            StudyStopped: the machine or the set-up fails every solve.
        """
        budget = trials or self.study.budget.trials
        self._began, self._done_before = time.monotonic(), self._spent()
        workers = min(self.study.budget.workers, max(1, budget - self._done_before))
        if workers == 1:
            self._worker(budget)
        else:
            threads = [threading.Thread(target=self._worker, args=(budget,), daemon=True) for _ in range(workers)]
            for thread in threads:
                thread.start()
            try:
                while any(thread.is_alive() for thread in threads):
                    for thread in threads:
                        thread.join(0.1)
            except BaseException:
                self.stop()
                for thread in threads:
                    thread.join(5)
                raise
        if self._trouble:
            raise self._trouble[0]
        return self.trials()

    def stop(self) -> None:
        """End the running solves and take no more trials; what was under way is solved again by the next run."""
        self._stop.set()
        end_marked(folder="", below=str(self.folder))

    def _worker(self, budget: int) -> None:
        try:
            while not self._stop.is_set() and (taken := self._take(budget)):
                trial, claim, audited = taken
                try:
                    self._work(trial, audited, budget)
                    claim.path.unlink(missing_ok=True)
                finally:
                    claim.release()
        except Exception as error:  # noqa: BLE001  told by `run`, also where this is a thread
            self._trouble.append(error)
            self._stop.set()

    def _spent(self) -> int:
        return sum(trial.kind in ("solved", "failed", "running") for trial in self.trials())

    def _take(self, budget: int) -> tuple[optuna.Trial, FileLock, tuple[str, ...]] | None:
        """A trial to solve, its lock, and the rules that would have rejected it; None at the budget's end.

        What a killed worker left comes first.
        """
        with self._lock.held():
            for rejected in range(20 * _REJECTIONS):
                left = self._left_over()
                if self._stop.is_set() or (left is None and (self._out_of_time() or self._spent() >= budget)):
                    return None
                trial, claim = left or self._fresh()
                rejection = self.guide.judge(self.study.values(self._suggest(trial)))
                if rejection is None:
                    return trial, claim, ()
                begun = self._trial_folder(trial.number).exists()
                if rejection.rules and (begun or self._audits(trial.number) or rejected >= _REJECTIONS):
                    return trial, claim, tuple(rule.id for rule in rejection.rules)
                self._reject(trial, rejection)
                claim.release()
        hint = "widen the bounds, relax `require`, or veto rules: transom playbook list"
        raise StudyStopped(f"{20 * _REJECTIONS} designs in a row were rejected", where=self.study.study, hint=hint)

    def _fresh(self) -> tuple[optuna.Trial, FileLock]:
        trial = self._optuna.ask()
        claim = self._claim(trial.number)
        claim.acquire()
        return trial, claim

    def _left_over(self) -> tuple[optuna.Trial, FileLock] | None:
        """A trial that nobody works on any more."""
        import optuna  # noqa: PLC0415  slow

        for frozen in self._optuna.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
            claim = self._claim(frozen.number)
            if claim.acquire(wait=False):
                end_marked(folder=str(self._trial_folder(frozen.number)))
                return optuna.Trial(self._optuna, frozen._trial_id), claim  # Optuna has no public way to take one over
        return None

    def _claim(self, number: int) -> FileLock:
        folder = self.folder / "locks"
        folder.mkdir(exist_ok=True)
        return FileLock(folder / f"{number:05d}")

    def _trial_folder(self, number: int) -> Path:
        return self.folder / "trials" / f"{number:05d}"

    def _out_of_time(self) -> bool:
        limit = self.study.budget.seconds
        return limit is not None and time.monotonic() - self._began > limit

    def _audits(self, number: int) -> bool:
        seed = f"{self.study.study}/{self.study.sampler.seed}/{number}"
        return random.Random(seed).random() < self.study.learning.audit

    def _suggest(self, trial: optuna.Trial) -> dict[str, Number]:
        design: dict[str, Number] = {}
        for name, one in self.study.variables.items():
            if one.choices:
                chosen: Any = trial.suggest_categorical(name, one.choices)
                design[name] = chosen
            elif one.integer:
                step = int(one.step or 1)
                design[name] = trial.suggest_int(name, int(one.low or 0), int(one.high or 0), step=step, log=one.log)
            else:
                design[name] = trial.suggest_float(
                    name, float(one.low or 0), float(one.high or 0), step=one.step, log=one.log
                )
        return design

    # -- one trial ----------------------------------------------------------------------------------------------------

    def _work(self, trial: optuna.Trial, audited: tuple[str, ...], budget: int) -> None:
        """Solve a trial and tell how it ended."""
        number, params = trial.number, trial.params
        folder = self._trial_folder(number)
        solved, attempts = self._kept(folder), 1
        if solved is None:
            self._call("pre_solve", number, params, None, folder)
            for attempts in range(1, RETRIES + 2):
                solved = self._solve(folder, params)
                if self._stop.is_set() and solved.diagnosis.failure:
                    return  # we ended it; the next run takes the trial over
                if solved.diagnosis.severity != "machine":
                    break
                if attempts <= RETRIES:
                    time.sleep(_PAUSES[attempts - 1])
            assert solved is not None
            write_json(folder / _SOLVED, _to_json(solved))
        if solved.diagnosis.severity == "study":
            (folder / _SOLVED).unlink(missing_ok=True)
            raise StudyStopped(
                solved.diagnosis.reason,
                where=f"trial {number}",
                hint=f"{solved.diagnosis.advice}; then resume the study",
            )
        self._call("post_solve", number, params, solved, folder)
        if solved.diagnosis.failure:
            self._call("on_failure", number, params, solved, folder)
        done = self._record(trial, solved, audited, attempts)
        self._tell(trial, done)
        if audited and done.kind in ("solved", "failed"):
            self.guide.score(audited, done.kind == "failed", f"{self.study.study}/{number}")
        self._progress(done, budget)

    def _solve(self, folder: Path, params: Mapping[str, Number]) -> Solved:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            return self.solver.solve(folder, self.study.values(params), self.study.limits)
        except TransomError:
            raise
        except Exception as error:  # noqa: BLE001  a plug-in may raise anything; the design failed then
            (folder / "traceback.txt").write_text(traceback.format_exc(), "utf-8")
            said = Evidence("message", f"{type(error).__name__}: {error}")
            return Solved(diagnosis("solver_error", self.taxonomy, said))

    def _kept(self, folder: Path) -> Solved | None:
        """What a worker left that was killed between the solve and the storage."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return _from_json(json.loads((folder / _SOLVED).read_text("utf-8")))
        return None

    def _record(self, trial: optuna.Trial, solved: Solved, audited: tuple[str, ...], attempts: int) -> Trial:
        source = str(trial.user_attrs.get("source", "sampler"))
        done = Trial(
            trial.number,
            "failed",
            dict(trial.params),
            failure=solved.diagnosis.failure,
            reason=solved.diagnosis.reason,
            audit=audited,
            seconds=round(solved.seconds, 3),
            by=solved.by,
            attempts=attempts,
            ended=_now(),
            source=source,
        )
        if solved.diagnosis.severity == "machine":
            return replace(done, kind="lost")
        if solved.diagnosis.failure:
            return done
        names = {**self.study.values(trial.params), **solved.outputs}
        values = self.wanted.values(names)
        if not all(map(math.isfinite, values)):
            return replace(done, failure="not_finite", reason=f"the objectives are {values}")
        violations = self.wanted.violations(names, self.guide.margin)
        outputs = dict(solved.outputs)
        return replace(done, kind="solved", outputs=outputs, values=values, violations=violations, reason="")

    def _reject(self, trial: optuna.Trial, rejection: Rejection) -> None:
        rules = tuple(rule.id for rule in rejection.rules)
        done = Trial(trial.number, "rejected", dict(trial.params), failure=rejection.failure, rules=rules, ended=_now())
        self._tell(trial, replace(done, reason=rejection.reason))

    def _tell(self, trial: optuna.Trial, done: Trial) -> None:
        """Tell the storage: to samplers a failed or rejected design is one that violates a constraint."""
        import optuna  # noqa: PLC0415  slow

        trial.set_user_attr(RECORD, done.to_record())
        if done.kind == "lost":
            self._optuna.tell(trial, state=optuna.trial.TrialState.FAIL)
            self._lost += 1
            if self._lost >= _LOST_IN_A_ROW:
                hint = "mend the machine, then resume the study"
                raise StudyStopped(f"{self._lost} trials in a row were lost: {done.reason}", hint=hint)
            return
        self._lost = 0 if done.kind != "rejected" else self._lost
        trial.set_constraint("solved", -1.0 if done.kind == "solved" else FAILED_BY)
        for name, violation in done.violations.items():
            trial.set_constraint(name, violation)
        worst = [-math.inf if one.direction == "maximize" else math.inf for one in self.study.objectives]
        self._optuna.tell(trial, list(done.values) or worst)

    def _call(
        self, moment: Moment, number: int, params: Mapping[str, Number], solved: Solved | None, folder: Path
    ) -> None:
        for line in self.hooks(Occasion(moment, self.study, self.folder, number, params, solved, folder)):
            self.tell(line)

    def _progress(self, done: Trial, budget: int) -> None:
        trials = self.trials()
        finished = sum(trial.kind in ("solved", "failed") for trial in trials)
        fresh = max(1, finished - self._done_before)
        left = (time.monotonic() - self._began) / fresh * max(0, budget - finished)
        ranked = self.wanted.ranked(trials)
        best = f"best {ranked[0].values[0]:.4g} (trial {ranked[0].number})" if ranked else "nothing feasible yet"
        how = "solved" if done.feasible else "violates a constraint" if done.kind == "solved" else done.reason
        rejected = counts(trials)["pruned"]
        self.tell(f"{finished}/{budget} trial {done.number}: {how}; {best}; {rejected} rejected; {duration(left)} left")


def duration(seconds: float) -> str:
    """A time span for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _to_json(solved: Solved) -> dict[str, Any]:
    data = asdict(solved)
    data["outputs"] = dict(solved.outputs)
    return data


def _from_json(data: dict[str, Any]) -> Solved:
    diagnosis = dict(data["diagnosis"])
    for name in ("evidence", "warnings"):
        diagnosis[name] = tuple(Evidence(**one) for one in diagnosis[name])
    return Solved(**{**data, "diagnosis": Diagnosis(**diagnosis)})
