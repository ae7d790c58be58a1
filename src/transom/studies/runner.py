"""The loop of a study: ask Optuna for a design, judge it, solve it, report the outcome; any number
of workers.

Trials are in Optuna's storage. A trial's lock means that a worker has it. A trial of a killed
worker is taken over by the next one: it is reported if its record is in the storage, and solved
again otherwise.
"""

from __future__ import annotations

import logging
import random
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from transom.studies.advice import Advice
from transom.studies.control import MachineCheck, StudyStopped
from transom.studies.guard import end_marked
from transom.studies.guide import Rejection, StudyGuide
from transom.studies.hooks import HookOccasion, load_hooks
from transom.studies.opening import (
    as_fitting,
    earlier_feasibility,
    open_study,
    sampler_of,
    stored_values,
    stored_violations,
)
from transom.studies.progress import StudyProgress, forget_progress
from transom.studies.rehearsal import rehearsal_lines
from transom.studies.solver import Solved, Solver, make_solver
from transom.studies.solving import DesignSolver
from transom.studies.storage import FileLock
from transom.studies.study import Number, Study
from transom.studies.surrogate import PREDICTED, Surrogate, require_scikit_learn, varying
from transom.studies.taxonomy import load_taxonomy
from transom.studies.trial_queue import ClaimedTrial, TrialQueue, spent
from transom.studies.trials import (
    IMPORT,
    LIMITS,
    RECORD,
    StudyTrial,
    front,
    progress_line,
    running_twin,
    same_design,
)

if TYPE_CHECKING:
    import optuna
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage

_LOST_IN_A_ROW = 3  # trials that the machine failed, after which a run stops
_WAIT = 0.2  # seconds between two looks at the trials of other workers


@dataclass
class StudyRunner:
    """Runs a study's trials.

    Attributes:
        root: the workspace's folder for studies and insights; this study's folder is `folder`.
        storage: storage of the trials; None: a file in the folder.
        progress: called with one line after each trial.
        own_solver: a solver in place of the study's.
    """

    study: Study
    root: Path
    advice: Advice | None = None
    storage: BaseStorage | None = None
    progress: Callable[[str], None] = logging.getLogger("transom.studies").debug
    own_solver: Solver | None = None
    solver: Solver = field(init=False)
    guide: StudyGuide = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.root / self.study.study
        (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        self.taxonomy = load_taxonomy(*(self.study.folder / name for name in self.study.failures))
        self.solver = self.own_solver or make_solver(self.study, self.taxonomy)
        self.guide = StudyGuide(self.study, self.advice or Advice(self.root), self.taxonomy)
        self._lock, self._stop = FileLock(self.folder / "study.lock"), threading.Event()
        self._design_solver = DesignSolver(
            self.study,
            self.folder,
            lambda: self.solver,
            self.taxonomy,
            load_hooks(self.study),
            lambda: self.guide.margin,
            self._stop,
            self._report,
        )
        self._trouble: list[BaseException] = []
        self._ended: dict[int, StudyTrial] = {}
        self._lost, self._done_before, self._began = 0, 0, 0.0
        ranges = {}
        for name, variable in self.study.variables.items():
            ranges[name] = variable.distribution()
        self._ranges = ranges
        with self._lock:
            self._optuna = open_study(self.study, self.folder, self.storage, self.guide.designs)
        self._set_sampler()
        self._queue = TrialQueue(
            self.study,
            self._optuna,
            self.folder,
            self.guide,
            self._ranges,
            lambda: self.machine.forgotten,
            self._reject,
            self._report,
        )
        self.machine = MachineCheck(
            self._optuna, self.taxonomy, self._solve_control, self.guide.take_back
        )
        self._recording, self._recording_lock = FileLock(self.folder / "recording.lock"), Lock()

    @contextmanager
    def recording(self, wait_line: str = "") -> Iterator[None]:
        """Hold the lock under which ends of solves are recorded, forgotten and learned from.

        Each failure is seen once, and what is forgotten stays forgotten.

        Args:
            wait_line: a line of progress if another process has the lock.
        """
        with self._recording_lock:
            if not self._recording.acquire(wait=False):
                if wait_line:
                    self.progress(wait_line)
                self._recording.acquire()
            try:
                yield
            finally:
                self._recording.release()

    def _report(self, line: str) -> None:
        self.progress(line)

    def _solve_control(self, params: Mapping[str, Number]) -> Solved:
        """Solve a design again, to see whether the machine still works."""
        self.progress("solving a good design again, to see whether the machine still works")
        return self._design_solver.solve(self.folder / "control", params)

    def _set_sampler(self) -> None:
        from transom.studies.samplers import (  # noqa: PLC0415  slow: Optuna
            ScreeningSampler,
            SeeingSampler,
        )

        make = sampler_of(self.study)

        def of_trial(number: int, name: str) -> BaseSampler:
            return make(self._queue.place_of(number), name)

        self._fitted: tuple[int, Surrogate | None] | None = None
        if not self.study.sampler.surrogate:
            self._optuna.sampler = SeeingSampler(make(0, ""), self._as_seen, of_trial)
            return
        require_scikit_learn()
        self._optuna.sampler = ScreeningSampler(
            make(0, ""),
            self._as_seen,
            of_trial,
            names=frozenset(varying(self.study)),
            draws=self.study.sampler.surrogate,
            fits=self._fits,
            pick=self._most_promising,
            attribute=PREDICTED,
        )

    def _most_promising(self, designs: Sequence[Mapping[str, Number]]) -> tuple[int, float] | None:
        """Return the design that the surrogate picks, and the objective that it predicts."""
        solves = [trial for trial in self.trials() if trial.kind in ("solved", "failed")]
        # A fit takes longer than a draw, and designs that rules reject tell the model nothing.
        if self._fitted is None or self._fitted[0] != len(solves):
            self._fitted = len(solves), Surrogate.fit(self.study, solves)
        surrogate = self._fitted[1]
        return surrogate.pick(designs) if surrogate else None

    def _fits(self, design: Mapping[str, Number]) -> bool:
        """Return whether requirements and rules let a design pass; the sampler draws a part."""
        only_values = {}
        for name, variable in self.study.variables.items():
            only_values[name] = variable.draw(random.Random(0))
        return self.guide.judge(self.study.values({**only_values, **design})) is None

    def _as_seen(self, frozen: optuna.trial.FrozenTrial) -> optuna.trial.FrozenTrial | None:
        """Return a trial as samplers see it; None if it does not count."""
        forgotten = self.machine.forgotten
        if not frozen.state.is_finished() and frozen.number not in forgotten:
            return as_fitting(frozen, None, self.study, self._ranges)
        trial = StudyTrial.of(frozen, self.study, forgotten)
        return as_fitting(frozen, trial, self.study, self._ranges)

    def trials(self) -> list[StudyTrial]:
        """Return all started trials, by number."""
        forgotten = self.machine.forgotten
        trials = []
        ended = {}
        for frozen in self._optuna.get_trials(deepcopy=False):
            if frozen.state.name == "WAITING":
                continue
            trial = None if frozen.number in forgotten else self._ended.get(frozen.number)
            trial = trial or StudyTrial.of(frozen, self.study, forgotten)
            trials.append(trial)
            if trial.kind != "running" and frozen.number not in forgotten:
                ended[trial.number] = trial
        self._ended = ended
        return trials

    def run(self, trials: int | None = None) -> list[StudyTrial]:
        """Run until the budget is used up; a resumed study uses the rest of it.

        Args:
            trials: total number of solves; overrides the study's budget.

        Raises:
            StudyStopped: the machine or the set-up makes every solve fail.
            InputError: the solver cannot run on this machine.
        """
        self.solver.check()
        budget = trials or self.study.budget.trials
        self._began, self._done_before = time.monotonic(), spent(self.trials())
        forget_progress(self.folder)
        if self._done_before < budget:
            # Of two processes that start at once, the second one sees what the first one found.
            with self.recording():
                self.machine.before_run(self.trials())
        workers = min(self.study.budget.workers, max(1, budget - self._done_before))
        threads = []
        for _ in range(workers - 1):
            threads.append(threading.Thread(target=self._worker, args=(budget,), daemon=True))
        for thread in threads:
            thread.start()
        try:
            self._worker(budget)
            while not self._stop.is_set() and any(
                trial.kind == "running" for trial in self.trials()
            ):
                # another process has the last trials; take them over if it is killed
                time.sleep(_WAIT)
                self._worker(budget)
        except BaseException:
            self.stop()
            raise
        finally:
            for thread in threads:
                thread.join()
        if self._trouble:
            raise self._trouble[0]
        return self.trials()

    def stop(self) -> None:
        """End the running solves and start no more trials; interrupted ones are solved again by
        the next run.
        """
        self._stop.set()
        end_marked(below=str(self.folder))

    def add_ended(self, trial: StudyTrial) -> None:
        """Store a trial that was solved elsewhere; ValueError if it is off a variable's steps."""
        import optuna  # noqa: PLC0415  slow

        frozen = optuna.trial.create_trial(
            params=dict(trial.params),
            distributions=self._ranges,
            values=stored_values(self.study, trial),
            user_attrs={RECORD: trial.to_record(), LIMITS: self.study.limits_digest},
            system_attrs={"constraints": earlier_feasibility(trial)},
            constraints=stored_violations(trial),
        )
        with self._lock:
            self._optuna.add_trial(frozen)

    def call_hooks(self, occasion: HookOccasion) -> None:
        """Call the hooks of a moment; a failure becomes a line of progress."""
        self._design_solver.call_hooks(occasion)

    def _worker(self, budget: int) -> None:
        try:
            while not self._stop.is_set() and (claimed := self._take(budget)):
                try:
                    self._work(claimed.trial, claimed.audited, budget)
                    claimed.claim.path.unlink(missing_ok=True)
                finally:
                    claimed.claim.release()
        except Exception as error:  # noqa: BLE001  `run` raises it
            self._trouble.append(error)
            self._stop.set()

    def _take(self, budget: int) -> ClaimedTrial | None:
        with self._lock:
            return self._queue.take(budget, self.trials, self._stop.is_set)

    def _work(self, trial: optuna.Trial, audited: tuple[str, ...], budget: int) -> None:
        """Solve a trial and record its outcome."""
        source = str(trial.user_attrs.get("source", "sampler"))
        about = {"number": trial.number, "params": trial.params, "source": source, "audit": audited}
        # The sampler stored it while Optuna was making this trial, which does not know it.
        stored = trial.storage.get_trial(trial._trial_id).user_attrs
        about["predicted"] = stored.get(PREDICTED)
        if record := trial.user_attrs.get(RECORD):  # its worker was killed after the solve
            ended = StudyTrial(number=trial.number, params=trial.params, **record)
        else:
            equal_trial, orphan = self._solved_elsewhere(trial)
            try:
                outcome, began = None, time.time()
                if equal_trial is None:
                    outcome = self._design_solver.solve_trial(trial.number, trial.params)
            finally:
                if orphan:
                    orphan.release()
            if equal_trial:
                reason = f"the same design as trial {equal_trial.number}"
                reason += f": {equal_trial.reason}" if equal_trial.reason else ""
                own = {**about, "same_as": equal_trial.number, "reason": reason, "seconds": 0.0}
                ended = equal_trial.model_copy(update={**own, "ended": _timestamp()})
            elif outcome:
                # The machine, not the process: a resumed run goes on with the machine of the last.
                worker = socket.gethostname()
                times = {"ended": _timestamp(), "span": (began, time.time()), "worker": worker}
                ended = StudyTrial(**about, **outcome, **times)
            else:
                return  # stopped by us; the next run takes the trial over
        self._end(trial, ended, is_recorded=bool(record))
        self._progress(ended, budget)

    def _end(self, trial: optuna.Trial, ended: StudyTrial, *, is_recorded: bool) -> None:
        """Record how a trial ended, and act on it.

        Args:
            is_recorded: whether its worker was killed after it had stored the outcome.

        Raises:
            StudyStopped: the machine or the set-up fails, or a person has to look.
        """
        with self.recording():
            if ended.kind == "failed" and ended.same_as is None and not is_recorded:
                try:
                    ended = self.machine.before_recording(ended, self.trials())
                except StudyStopped:
                    # It is forgotten, but a person can still read it.
                    self._record(trial, ended)
                    raise
            self._record(trial, ended)
            if ended.kind in ("solved", "failed") and self._is_first(ended):
                for line in rehearsal_lines(
                    self.study, ended, self._design_solver.trial_folder(ended.number)
                ):
                    self.progress(line)
            is_own = ended.kind in ("solved", "failed") and ended.same_as is None
            if is_own and ended.number not in self.machine.forgotten:
                self.guide.score(ended)
            if is_own and ended.kind == "failed":
                self.machine.after_recording(self.trials())
        if is_own:
            self._clean_up()

    def _record(self, trial: optuna.Trial, ended: StudyTrial) -> None:
        """Store how a trial ended, and report it."""
        trial.set_user_attr(LIMITS, self.study.limits_digest)
        trial.set_user_attr(RECORD, ended.to_record())
        # The result that it took over may have been forgotten meanwhile.
        if ended.same_as in self.machine.forgotten:
            self.machine.forget([ended.number])
        self._tell(trial, ended)

    def _clean_up(self) -> None:
        """Remove the folders of solves that the study does not keep."""
        if self.study.keep == "all":
            return
        trials = self.trials()
        staying = {trial.number for trial in front(self.study, trials)}
        for trial in trials:
            is_failure = self.study.keep == "failed" and trial.kind == "failed"
            if trial.kind != "running" and trial.number not in staying and not is_failure:
                shutil.rmtree(self._design_solver.trial_folder(trial.number), ignore_errors=True)

    def _is_first(self, ended: StudyTrial) -> bool:
        """Return whether the solver of this study has solved no design before this one."""
        return not any(
            trial.kind in ("solved", "failed") and trial.source != IMPORT
            for trial in self.trials()
            if trial.number < ended.number
        )

    def _solved_elsewhere(self, trial: optuna.Trial) -> tuple[StudyTrial | None, FileLock | None]:
        """Return the trial that solved this design, or None; wait while another worker solves it.

        Of two unfinished trials of one design the later one waits. If the worker of the earlier one
        was killed, its lock is returned: held during the solve, it keeps others from solving that
        design at the same time.
        """
        while not self._stop.is_set():
            trials = self.trials()
            if equal_trial := same_design(trial.params, trials):
                return equal_trial, None
            earlier = []
            for other in trials:
                if other.number < trial.number:
                    earlier.append(other)
            twin = running_twin(trial.params, earlier)
            if twin is None:
                return None, None
            claim = self._queue.claim_of(twin.number)
            if claim.acquire(wait=False):
                if equal_trial := same_design(trial.params, self.trials()):  # it has just ended
                    claim.release()
                    return equal_trial, None
                return None, claim
            time.sleep(_WAIT)
        return None, None

    def _reject(self, trial: optuna.Trial, why: Rejection) -> None:
        about: dict[str, Any] = {
            "number": trial.number,
            "params": trial.params,
        }
        rejected = StudyTrial(
            **about,
            kind="rejected",
            failure=why.failure,
            reason=why.reason,
            rules=why.rules,
            ended=_timestamp(),
        )
        trial.set_user_attr(RECORD, rejected.to_record())
        self._tell(trial, rejected)

    def _tell(self, trial: optuna.Trial, ended: StudyTrial) -> None:
        """Report a trial's outcome to the sampler; a failed or rejected design violates a
        constraint.
        """
        import optuna  # noqa: PLC0415  slow

        if ended.kind == "lost":
            self._optuna.tell(trial, state=optuna.trial.TrialState.FAIL)
            self._lost += 1
            if self._lost >= _LOST_IN_A_ROW:
                hint = "repair the machine, then resume the study"
                raise StudyStopped(
                    f"{self._lost} trials in a row were lost: {ended.reason}", hint=hint
                )
            return
        self._lost = 0 if ended.kind != "rejected" else self._lost
        for name, violation in stored_violations(ended).items():
            trial.set_constraint(name, violation)
        feasibility = earlier_feasibility(ended)
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", feasibility)
        self._optuna.tell(trial, stored_values(self.study, ended))

    def _progress(self, ended: StudyTrial, budget: int) -> None:
        trials = self.trials()
        solved = sum(trial.kind in ("solved", "failed") for trial in trials)
        each = (time.monotonic() - self._began) / max(1, solved - self._done_before)
        seconds_left = each * max(0, budget - solved)
        StudyProgress.of(solved, budget, seconds_left).write(self.folder)
        self.progress(progress_line(self.study, trials, ended, budget, seconds_left))


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
