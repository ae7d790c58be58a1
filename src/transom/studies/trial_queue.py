"""The queue of a study's trials: which one a worker solves next.

Trials of killed workers come first. Then come queued designs and those of the sampler, as far as
requirements and rules let them pass.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from transom.studies.control import StudyStopped
from transom.studies.guard import end_marked
from transom.studies.guide import Rejection, StudyGuide
from transom.studies.repair import repaired
from transom.studies.steps import next_step
from transom.studies.storage import FileLock
from transom.studies.study import Number, Study
from transom.studies.trials import IMPORT, STEP, StudyTrial

if TYPE_CHECKING:
    import optuna

# Designs in a row that rules may reject; the next one is solved to test the rules.
_REJECTIONS = 100
_PLACE = "place"  # attribute of a trial that took the place of a forgotten one
# Attribute of the study: forgotten trials whose designs were queued again, if need be.
_REPEATED = "repeated"
_FIXED = "fixed_params"  # attribute in which Optuna keeps the design of a queued trial
_SILENCE = 5.0  # seconds without a line while designs are rejected


class ClaimedTrial(NamedTuple):
    """A trial that this worker has.

    Attributes:
        trial: the trial in Optuna's storage.
        claim: its lock, which the kernel frees if the worker is killed.
        audited: ids of rules that would have rejected it; it is solved to score them.
    """

    trial: optuna.Trial
    claim: FileLock
    audited: tuple[str, ...] = ()


@dataclass
class TrialQueue:
    """Hands out the trials of a study; the study's lock is held meanwhile.

    Attributes:
        optuna_study: the study in its storage.
        folder: the study's folder, which has the locks of its trials.
        ranges: name -> distribution of each variable.
        forgotten: returns the numbers of the trials that tell nothing about their designs.
        reject: stores a trial as rejected.
        progress: called with one line every few seconds while designs are rejected.
    """

    study: Study
    optuna_study: optuna.Study
    folder: Path
    guide: StudyGuide
    ranges: Mapping[str, Any]
    forgotten: Callable[[], frozenset[int]]
    reject: Callable[[optuna.Trial, Rejection], None]
    progress: Callable[[str], None]

    def claim_of(self, number: int) -> FileLock:
        """Return the lock of a trial."""
        return FileLock(self.folder / "locks" / f"{number:05d}")

    def place_of(self, number: int) -> int:
        """Return a trial's place among the trials that count, which decides its random numbers.

        It is the trial's number, unless trials were forgotten: the next ones take their places. So
        a study goes on after an outage as if there had been none.
        """
        forgotten = self.forgotten()
        if not forgotten:
            return number
        taken = set()
        for frozen in self.optuna_study.get_trials(deepcopy=False)[: number + 1]:
            place = frozen.user_attrs.get(_PLACE)
            if frozen.number == number and place is not None:
                return int(place)
            if frozen.number < number and frozen.number not in forgotten:
                taken.add(frozen.number if place is None else place)
        return min(place for place in range(number + 1) if place not in taken)

    def take(
        self, budget: int, trials: Callable[[], list[StudyTrial]], is_stopping: Callable[[], bool]
    ) -> ClaimedTrial | None:
        """Return a trial to solve; None at the budget's end.

        Args:
            budget: total number of solves.
            trials: returns all started trials.
            is_stopping: returns whether the run is stopping.

        Raises:
            StudyStopped: requirements or rules reject each design.
        """
        self.guide.refresh()
        reported = time.monotonic()
        for rejected in range(20 * _REJECTIONS):
            claimed = self._unfinished()
            if claimed is None:
                forgotten = self.forgotten()
                started = [trial for trial in trials() if trial.number not in forgotten]
                if is_stopping() or spent(started) >= budget:
                    return None
                self._queue_again()
                if design := next_step(self.study, started, budget, self._fits):
                    self.optuna_study.enqueue_trial(design, user_attrs={"source": STEP})
                claimed = self._fresh()
            trial = claimed.trial
            rejection = self.guide.judge(self.study.values(trial.params))
            if rejection is None:
                return claimed
            if rejection.rules and self._is_solved_anyway(trial.number, rejected):
                return claimed._replace(audited=rejection.rules)
            self.reject(trial, rejection)
            claimed.claim.release()
            # A sampler would need many draws for a narrow requirement, and learns rules by itself.
            if not rejection.rules:
                self._enqueue_repaired(trial)
            if time.monotonic() - reported > _SILENCE:
                reported = time.monotonic()
                self.progress(f"{rejected + 1} designs in a row rejected: {rejection.reason}")
        hint = "widen the bounds, relax `require`, or name rules under learning.veto"
        raise StudyStopped(
            f"{20 * _REJECTIONS} designs in a row were rejected", place=self.study.study, hint=hint
        )

    def _is_solved_anyway(self, number: int, rejected: int) -> bool:
        """Return whether a design that rules reject is solved to score them."""
        # A killed worker had begun it, or its number is drawn for an audit.
        has_begun = (self.folder / "trials" / f"{number:05d}").exists()
        seed = f"{self.study.study}/{self.study.sampler.seed}/{self.place_of(number)}"
        is_audit = random.Random(seed).random() < self.study.learning.audit
        return has_begun or is_audit or rejected >= _REJECTIONS

    def _enqueue_repaired(self, trial: optuna.Trial) -> None:
        """Let the next design be the nearest one that meets the requirements, if one is found."""
        place = self.place_of(trial.number)
        pick = random.Random(f"{self.study.study}/{self.study.sampler.seed}/{place}")
        design = repaired(self.study, trial.params, pick)
        if design is not None:
            self.optuna_study.enqueue_trial(design)

    def _queue_again(self) -> None:
        """Queue the first designs whose trials were forgotten once more, before the other ones.

        What the sampler and the steps proposed is proposed anew, from the trials that count.
        """
        import optuna  # noqa: PLC0415  slow

        forgotten = self.forgotten()
        repeated = self.optuna_study.user_attrs.get(_REPEATED, ())
        if not forgotten.difference(repeated):
            return
        queue: list[tuple[dict[str, Number], str]] = []
        trials = self.optuna_study.get_trials(deepcopy=False)
        waiting = []
        for frozen in trials:
            source = frozen.user_attrs.get("source", "sampler")
            design = frozen.system_attrs.get(_FIXED, frozen.params)
            is_new = frozen.number in forgotten and frozen.number not in repeated
            if frozen.state == optuna.trial.TrialState.WAITING:
                waiting.append(frozen)
            elif is_new and source not in ("sampler", STEP) and (design, source) not in queue:
                queue.append((design, source))
        if queue:
            self._put_before(queue, waiting)
        self.optuna_study.set_user_attr(_REPEATED, sorted(forgotten))

    def _put_before(
        self, queue: list[tuple[dict[str, Number], str]], waiting: list[optuna.trial.FrozenTrial]
    ) -> None:
        """Put designs before those that wait; if this is cut short, each design stays queued."""
        for frozen in waiting:
            fixed = frozen.system_attrs.get(_FIXED, {})
            queue.append((fixed, frozen.user_attrs.get("source", "sampler")))
        # Optuna takes waiting trials by number, so the designs move up, and the last ones are new.
        for design, source in queue[len(waiting) :]:
            self.optuna_study.enqueue_trial(design, user_attrs={"source": source})
        for frozen, (design, source) in zip(waiting, queue, strict=False):
            # Optuna has no public API for this.
            storage = self.optuna_study._storage
            storage.set_trial_system_attr(frozen._trial_id, _FIXED, design)
            storage.set_trial_user_attr(frozen._trial_id, "source", source)

    def _fresh(self) -> ClaimedTrial:
        trial = self.optuna_study.ask(dict(self.ranges))
        claim = self.claim_of(trial.number)
        claim.acquire()
        place = self.place_of(trial.number)
        if place != trial.number:
            trial.set_user_attr(_PLACE, place)
        return ClaimedTrial(trial, claim)

    def _unfinished(self) -> ClaimedTrial | None:
        """Return an unfinished trial without a worker, or None."""
        import optuna  # noqa: PLC0415  slow

        running = (optuna.trial.TrialState.RUNNING,)
        for frozen in self.optuna_study.get_trials(deepcopy=False, states=running):
            claim = self.claim_of(frozen.number)
            if not claim.acquire(wait=False):
                continue
            # Its worker may have finished it between the two looks.
            if self.optuna_study.get_trials(deepcopy=False)[frozen.number].state.is_finished():
                claim.release()
                continue
            # Processes of the killed worker may still write into the folder.
            end_marked(folder=str(self.folder / "trials" / f"{frozen.number:05d}"))
            # Optuna has no public API for this.
            trial = optuna.Trial(self.optuna_study, frozen._trial_id)
            # Its worker may have been killed before it had all of a design.
            for name, variable in self.study.variables.items():
                variable.suggest(trial, name)
            return ClaimedTrial(trial, claim)
        return None

    def _fits(self, design: Mapping[str, Number]) -> bool:
        return self.guide.judge(self.study.values(design)) is None


def spent(trials: Sequence[StudyTrial]) -> int:
    """Return how many trials use the budget; those that were solved elsewhere do not."""
    used = 0
    for trial in trials:
        has_budget = trial.kind in ("solved", "failed", "running")
        used += has_budget and trial.source != IMPORT
    return used
