"""Tell failures of the machine from failures of designs, without knowing the machine's words.

A solver that has lost its licence, its network folder or its library fails for every design, and
says so in words that no list foresees. What shows it is a *control*: a design that was solved
before is solved again. If it fails now, the design cannot be the cause.

A solve that succeeds shows that its own worker's machine worked while it ran, and nothing more: not
before it began, and not on another machine. A worker is known by the name of its machine, so what
one run of a study found out holds for the next one.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from transom.errors import TransomError
from transom.studies.solver import Solved
from transom.studies.study import Number
from transom.studies.taxonomy import Taxonomy
from transom.studies.trials import IMPORT, RECORD, StudyTrial

if TYPE_CHECKING:
    import optuna

CONTROLLED = 3
"""Failures in a row with one text that lead to a control; then after twice as many, and so on."""
_CONTROLLED_OF_ANY_TEXT = 5  # the same, if the texts differ
_IMPROBABLE = 0.01  # probability of a row of failures, below which their texts are not believed
ASKED = 5
"""Solves that all end alike, after which a study without a good design asks a person."""
_ASKED_IF_NAMED = 10  # the same, if the taxonomy names a cause that lies in the design

# Attributes of the study in the storage: trials that tell nothing about their designs, the trial
# whose repetition failed, which the next run repeats first, and when such a repetition succeeded.
FORGOTTEN, _WAITING, _REPAIRED = "forgotten", "waiting", "repaired"

_VARYING = re.compile(r"[-+]?\d[\w.+-]*")  # numbers, and names with a number in front


def symptom(trial: StudyTrial) -> tuple[str, str]:
    """Return the class of a failure and its text without numbers, which differ between designs."""
    return trial.failure or "", " ".join(_VARYING.sub("#", trial.reason).split())


def failures_in_a_row(trials: Sequence[StudyTrial], worker: str | None = None) -> list[StudyTrial]:
    """Return the failures of a worker since a solve of it succeeded, the newest first; without a
    worker, those of all.
    """
    streak: list[StudyTrial] = []
    # In the order in which they ended: with several workers, numbers have another one.
    for trial in sorted(_own(trials), key=_end, reverse=True):
        if worker is not None and trial.worker != worker:
            continue
        if trial.kind != "failed":
            break
        streak.append(trial)
    return streak


def learnable(trials: Sequence[StudyTrial], taxonomy: Taxonomy) -> list[StudyTrial]:
    """Return the trials without the failures that the machine may have caused.

    A failure of an unclear class counts against its design only if the machine was seen to work:
    a control followed a failure with this text, or a solve succeeded between two of them.
    """
    failures: dict[tuple[str, tuple[str, str]], list[StudyTrial]] = {}
    for trial in _solves(trials):
        if trial.kind == "failed":
            failures.setdefault((trial.worker, symptom(trial)), []).append(trial)
    # What one worker's machine can do says nothing about another one's.
    proven = set()
    for (worker, text), alike in failures.items():
        first, last = min(map(_end, alike)), max(map(_begin, alike))
        if any(trial.control is not None for trial in alike) or any(
            trial.worker == worker and first <= _begin(trial) and _end(trial) <= last
            for trial in _solves(trials)
            if trial.kind == "solved"
        ):
            proven.add((worker, text))
    counting = []
    for trial in trials:
        is_unclear = trial.kind == "failed" and taxonomy.leaves_cause_open(trial.failure)
        if not is_unclear or (trial.worker, symptom(trial)) in proven:
            counting.append(trial)
    return counting


def unproven(trials: Sequence[StudyTrial], streak: Sequence[StudyTrial]) -> list[StudyTrial]:
    """Return the failures that an outage may have caused which a streak of one worker shows.

    Those are what that worker ended, and what others ended with the same texts, since a solve of
    theirs began that succeeded.
    """
    texts, broken = {symptom(trial) for trial in streak}, {trial.worker for trial in streak}
    worked: dict[str, float] = {}
    for trial in _own(trials):
        if trial.kind == "solved":
            worked[trial.worker] = max(_begin(trial), worked.get(trial.worker, -math.inf))
    found = []
    for trial in _own(trials):
        is_suspect = trial.worker in broken or symptom(trial) in texts
        # A long solve may succeed during an outage: what failed since it began stays unproven.
        is_later = _end(trial) > worked.get(trial.worker, -math.inf)
        if trial.kind == "failed" and is_suspect and is_later:
            found.append(trial)
    return found


def good_design(trials: Iterable[StudyTrial]) -> StudyTrial | None:
    """Return the newest trial with results, which a control solves again; or None."""
    solved = []
    for trial in _own(trials):
        if trial.kind == "solved":
            solved.append(trial)
    return max(solved, key=lambda trial: trial.number, default=None)


def needs_control(
    streak: Sequence[StudyTrial], trials: Sequence[StudyTrial], taxonomy: Taxonomy
) -> bool:
    """Return whether failures in a row, the newest first, call for a control.

    Classes that say what is wrong with a design, such as a mesh error, are believed for as long as
    so many failures in a row are not much less probable than the trials before them suggest.
    """
    alike, unclear = 0, 0
    for trial in streak:
        if not taxonomy.leaves_cause_open(trial.failure):
            break
        unclear += 1
        # So far all have one text.
        if alike == unclear - 1 and symptom(trial) == symptom(streak[0]):
            alike += 1
    # The texts of an outage may differ in a host's or a temporary name, or by the tool that fails;
    # and its words may be those of a class that names designs.
    return (
        _is_due(alike, CONTROLLED)
        or _is_due(unclear, _CONTROLLED_OF_ANY_TEXT)
        or _is_due(len(streak), _improbable_length(streak, trials))
    )


def _improbable_length(streak: Sequence[StudyTrial], trials: Sequence[StudyTrial]) -> int:
    """Return from which length failures in a row are improbable, by the solves before them."""
    numbers = {trial.number for trial in streak}
    before = [trial for trial in _own(trials) if trial.number not in numbers]
    failed = sum(trial.kind == "failed" for trial in before)
    # Laplace's rule, which needs no solves: one success and one failure are added.
    rate = (failed + 1) / (len(before) + 2)
    return max(CONTROLLED, math.ceil(math.log(_IMPROBABLE) / math.log(rate)))


def failures_alike(trials: Sequence[StudyTrial], taxonomy: Taxonomy) -> list[StudyTrial]:
    """Return the failures with the newest one's text, if no solve succeeded and a person must look.

    A cause that lies in the design is only doubted if every solve failed of it.
    """
    # Only solves of this machine count: imported ones say nothing about the set-up.
    solves = sorted(_own(trials), key=_end)
    if not solves or any(trial.kind == "solved" for trial in solves):
        return []
    newest = solves[-1]
    alike = []
    for trial in solves:
        if symptom(trial) == symptom(newest):
            alike.append(trial)
    # A message that names the design is believed sooner than one that may be the machine's.
    if taxonomy.leaves_cause_open(newest.failure):
        is_due = _is_due(len(alike), ASKED)
    else:
        is_due = len(alike) == len(solves) and _is_due(len(alike), _ASKED_IF_NAMED)
    return alike if is_due else []


def _is_due(length: int, first: int) -> bool:
    """Return whether a length is `first`, or twice, four, eight times as much."""
    # Doubling keeps a study that goes on from being stopped again and again.
    times, remainder = divmod(length, first)
    return not remainder and times.bit_count() == 1


def _begin(trial: StudyTrial) -> float:
    """Return when the solve of a trial began; the number of a trial without times."""
    return trial.span[0] if trial.span else trial.number


def _end(trial: StudyTrial) -> float:
    """Return when the solve of a trial ended; the number of a trial without times."""
    return trial.span[1] if trial.span else trial.number


def _solves(trials: Iterable[StudyTrial]) -> list[StudyTrial]:
    """Return the trials with an outcome of their own, not taken over from an equal design."""
    solves = []
    for trial in trials:
        if trial.kind in ("solved", "failed") and trial.same_as is None:
            solves.append(trial)
    return solves


def _own(trials: Iterable[StudyTrial]) -> list[StudyTrial]:
    """Return the trials that were solved here; others tell nothing about this machine."""
    own_solves = []
    for trial in _solves(trials):
        if trial.source != IMPORT:
            own_solves.append(trial)
    return own_solves


class StudyStopped(TransomError):
    """A study cannot go on before a person acts; resumed, it continues."""


class MachineCheck:
    """Ends a study whose machine or set-up fails, before its failures are learned from.

    Args:
        study: the study in Optuna's storage, which keeps what this class finds out.
        solve: solves a design in a folder of its own.
        take_back: called with the numbers of trials that are forgotten, to take back what came of
            them.
    """

    def __init__(
        self,
        study: optuna.Study,
        taxonomy: Taxonomy,
        solve: Callable[[Mapping[str, Number]], Solved],
        take_back: Callable[[Sequence[int]], None],
    ) -> None:
        self.study = study
        self.taxonomy = taxonomy
        self.solve = solve
        self._take_back = take_back
        self._is_broken = False  # a control of this process failed
        # The outage of another worker during which a control of this process succeeded.
        self._outlived: tuple[int | None, float] = (None, 0.0)

    @property
    def forgotten(self) -> frozenset[int]:
        """Numbers of the trials that tell nothing about their designs."""
        return frozenset(self.study.user_attrs.get(FORGOTTEN, ()))

    def forget(self, numbers: Iterable[int]) -> None:
        """Keep trials, and those that took over their results, from all that learns and counts.

        The study's `recording` lock is held, so that no other process changes the list meanwhile.
        """
        before = self.forgotten
        forgotten = before.union(numbers)
        for frozen in self.study.get_trials(deepcopy=False):
            if frozen.user_attrs.get(RECORD, {}).get("same_as") in forgotten:
                forgotten |= {frozen.number}
        self.study.set_user_attr(FORGOTTEN, sorted(forgotten))
        self._take_back(sorted(forgotten - before))

    def before_run(self, trials: Sequence[StudyTrial]) -> None:
        """Repeat the control that stopped the last run.

        Raises:
            StudyStopped: it fails again.
        """
        self._is_broken = False
        waiting = self.study.user_attrs.get(_WAITING)
        if waiting is None:
            return
        solved = {trial.number: trial for trial in trials if trial.kind == "solved"}
        # The one that stopped the run may have been forgotten since.
        control = solved.get(waiting) or good_design(trials)
        if control is not None:
            self._control(control, "the machine or the set-up still fails")
        self.study.set_user_attr(_REPAIRED, time.time())
        self.study.set_user_attr(_WAITING, None)

    def before_recording(self, failed: StudyTrial, trials: Sequence[StudyTrial]) -> StudyTrial:
        """Make a control if this failure and those before it look like the machine's.

        Returns:
            The failed trial, with the number of the design that was solved again, if there was one.

        Raises:
            StudyStopped: the control failed, so the failures in a row are forgotten, this one with
                them.
        """
        if self._is_broken:
            self.forget([failed.number])
            raise StudyStopped("another worker found that the machine or the set-up fails")
        # Its solve was already under way when the machine was not yet repaired.
        if _begin(failed) < self.study.user_attrs.get(_REPAIRED, 0.0):
            self.forget([failed.number])
            return failed
        control = good_design(trials)
        waiting = self.study.user_attrs.get(_WAITING)
        outage = (waiting, self.study.user_attrs.get(_REPAIRED, 0.0))
        if control is None:
            return failed
        # The control of another process has failed, whose machine may be another one.
        if waiting is not None and outage != self._outlived:
            self._control(control, "another worker found an outage", [failed.number])
            self._outlived = outage
        elif streak := self._suspicious_row([*trials, failed], failed.worker):
            suspects = {trial.number for trial in unproven([*trials, failed], streak)}
            problem = f"{len(streak)} solves in a row failed, and not because of their designs"
            self._control(control, problem, sorted(suspects))
            if self.taxonomy.leaves_cause_open(failed.failure) and not self._fails_again(failed):
                # The machine failed for a moment only.
                self.forget(suspects)
                return failed
            return failed.model_copy(update={"control": control.number})
        return failed

    def _suspicious_row(self, trials: Sequence[StudyTrial], worker: str) -> list[StudyTrial]:
        """Return failures in a row, of this worker or of all, that call for a control; or none."""
        # A machine may have another name in each run, such as a container: then the failures of
        # its runs only come in a row if no name is asked for.
        for name in (worker, None):
            streak = failures_in_a_row(trials, name)
            if needs_control(streak, trials[:-1], self.taxonomy):
                return streak
        return []

    def after_recording(self, trials: Sequence[StudyTrial]) -> None:
        """Ask a person to look if every solve so far ended alike.

        Raises:
            StudyStopped: a person has to look.
        """
        alike = failures_alike(trials, self.taxonomy)
        if alike:
            hint = (
                "if the set-up is wrong, correct it, and forget these solves with: transom study"
                " forget STUDY; if the designs are to blame, resume the study"
            )
            raise StudyStopped(
                f"no solve succeeded, and {len(alike)} ended alike: {alike[-1].reason}", hint=hint
            )

    def _control(self, control: StudyTrial, problem: str, failed: Sequence[int] = ()) -> None:
        """Solve a good design again; if it fails, forget the failures, and stop."""
        diagnosed = self.solve(control.params).diagnosis
        if diagnosed.failure is None:
            return
        # What is forgotten stays in the storage, so a person can still read it.
        self.forget(failed)
        self.study.set_user_attr(_WAITING, control.number)
        self._is_broken = True
        raise StudyStopped(
            f"{problem}: trial {control.number}, which was solved before, now ends with:"
            f" {diagnosed.reason}",
            hint="repair the machine or the set-up, then resume the study; nothing was learned"
            " from these failures",
        )

    def _fails_again(self, failed: StudyTrial) -> bool:
        """Solve a failed design again, and return whether it ends with the same text."""
        diagnosed = self.solve(failed.params).diagnosis
        again = failed.model_copy(update={"failure": diagnosed.failure, "reason": diagnosed.reason})
        return symptom(again) == symptom(failed)
