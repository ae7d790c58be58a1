"""Tell failures of the machine from failures of designs, without knowing the machine's words.

A solver that has lost its licence, its network folder or its library fails for every design, and
says so in words that no list foresees. What shows it is a *control*: a design that was solved
before is solved again. If it fails now, the design cannot be the cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from transom.errors import TransomError
from transom.studies.failures import Taxonomy
from transom.studies.solver import Solved
from transom.studies.study import Number
from transom.studies.trials import IMPORT, RECORD, StudyTrial

if TYPE_CHECKING:
    import optuna

CONTROLLED = 3
"""Failures in a row with one text that lead to a control; then after twice as many, and so on."""
_CONTROLLED_OF_ANY_TEXT = 5  # the same, if the texts differ
ASKED = 5
"""Solves that all end alike, after which a study without a good design asks a person."""
_ASKED_IF_NAMED = 10  # the same, if the taxonomy names a cause that lies in the design

# Attributes of the study in the storage: trials that tell nothing about their designs, and the
# trial whose repetition failed, which the next run repeats first.
FORGOTTEN, _WAITING = "forgotten", "waiting"

_VARYING = re.compile(r"[-+]?\d[\w.+-]*")  # numbers, and names with a number in front


def symptom(trial: StudyTrial) -> tuple[str, str]:
    """Return the class of a failure and its text without numbers, which differ between designs."""
    return trial.failure or "", " ".join(_VARYING.sub("#", trial.reason).split())


def failures_in_a_row(trials: Sequence[StudyTrial], taxonomy: Taxonomy) -> list[StudyTrial]:
    """Return the newest solves if they failed and their classes leave the cause open, the newest
    first.
    """
    streak: list[StudyTrial] = []
    for trial in sorted(_own(trials), key=lambda trial: trial.number, reverse=True):
        if trial.kind != "failed" or not taxonomy.leaves_cause_open(trial.failure):
            break
        streak.append(trial)
    return streak


def learnable(trials: Sequence[StudyTrial], taxonomy: Taxonomy) -> list[StudyTrial]:
    """Return the trials without the failures that the machine may have caused.

    A failure of an unclear class counts against its design only if the machine was seen to work:
    a control followed a failure with this text, or a solve succeeded between two of them.
    """
    solved_before = 0
    periods: dict[tuple[str, str], set[int]] = {}
    controlled: set[tuple[str, str]] = set()
    for trial in sorted(_solves(trials), key=lambda trial: trial.number):
        if trial.kind == "solved":
            solved_before += 1
            continue
        # A text that comes before and after a good solve belongs to designs: the machine worked.
        periods.setdefault(symptom(trial), set()).add(solved_before)
        if trial.control is not None:
            controlled.add(symptom(trial))
    counting = []
    for trial in trials:
        is_unclear = trial.kind == "failed" and taxonomy.leaves_cause_open(trial.failure)
        text = symptom(trial)
        if not is_unclear or text in controlled or len(periods.get(text, ())) > 1:
            counting.append(trial)
    return counting


def good_design(trials: Iterable[StudyTrial]) -> StudyTrial | None:
    """Return the newest trial with results, which a control solves again; or None."""
    solved = []
    for trial in _own(trials):
        if trial.kind == "solved":
            solved.append(trial)
    return max(solved, key=lambda trial: trial.number, default=None)


def needs_control(streak: Sequence[StudyTrial]) -> bool:
    """Return whether so many failures in a row, the newest first, call for a control.

    Classes that say what is wrong with a design, such as a mesh error, need none.
    """
    alike = 0
    for trial in streak:
        if symptom(trial) != symptom(streak[0]):
            break
        alike += 1
    # The texts of an outage may differ in a host's or a temporary name, or by the tool that fails.
    return _is_due(alike, CONTROLLED) or _is_due(len(streak), _CONTROLLED_OF_ANY_TEXT)


def failures_alike(trials: Sequence[StudyTrial], taxonomy: Taxonomy) -> list[StudyTrial]:
    """Return the failures with the newest one's text, if no solve succeeded and a person must look.

    A cause that lies in the design is only doubted if every solve failed of it.
    """
    # Only solves of this machine count: imported ones say nothing about the set-up.
    solves = sorted(_own(trials), key=lambda trial: trial.number)
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
    """

    def __init__(
        self,
        study: optuna.Study,
        taxonomy: Taxonomy,
        solve: Callable[[Mapping[str, Number]], Solved],
    ) -> None:
        self.study = study
        self.taxonomy = taxonomy
        self.solve = solve

    @property
    def forgotten(self) -> frozenset[int]:
        """Numbers of the trials that tell nothing about their designs."""
        return frozenset(self.study.user_attrs.get(FORGOTTEN, ()))

    def forget(self, numbers: Iterable[int]) -> None:
        """Keep trials, and those that took over their results, from all that learns and counts."""
        forgotten = self.forgotten.union(numbers)
        # Stored before others are looked for: a trial that is recorded meanwhile sees it.
        self.study.set_user_attr(FORGOTTEN, sorted(forgotten))
        heirs = set()
        for frozen in self.study.get_trials(deepcopy=False):
            if frozen.user_attrs.get(RECORD, {}).get("same_as") in forgotten:
                heirs.add(frozen.number)
        if not heirs <= forgotten:
            self.study.set_user_attr(FORGOTTEN, sorted(forgotten | heirs))

    def before_run(self, trials: Sequence[StudyTrial]) -> None:
        """Repeat the control that stopped the last run.

        Raises:
            StudyStopped: it fails again.
        """
        waiting = self.study.user_attrs.get(_WAITING)
        control = next((trial for trial in trials if trial.number == waiting), None)
        if control is not None:
            self._control(control, "the machine or the set-up still fails")
        self.study.set_user_attr(_WAITING, None)

    def before_recording(self, failed: StudyTrial, trials: Sequence[StudyTrial]) -> StudyTrial:
        """Make a control if this failure and those before it look like the machine's.

        Returns:
            The failed trial, with the number of the design that was solved again, if there was one.

        Raises:
            StudyStopped: the control failed, so the failures in a row are forgotten, this one with
                them.
        """
        # Another worker's control has failed meanwhile.
        if self.study.user_attrs.get(_WAITING) is not None:
            self.forget([failed.number])
            raise StudyStopped("another worker found that the machine or the set-up fails")
        streak = failures_in_a_row([*trials, failed], self.taxonomy)
        control = good_design(trials)
        if control is not None and needs_control(streak):
            problem = f"{len(streak)} solves in a row failed, and not because of their designs"
            self._control(control, problem, [trial.number for trial in streak])
            return failed.model_copy(update={"control": control.number})
        return failed

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
        raise StudyStopped(
            f"{problem}: trial {control.number}, which was solved before, now ends with:"
            f" {diagnosed.reason}",
            hint="repair the machine or the set-up, then resume the study; nothing was learned"
            " from these failures",
        )
