"""Solves one design of a study: its hooks, its retries, and what its outputs amount to."""

from __future__ import annotations

import math
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transom.errors import InputError, TransomError
from transom.studies.control import StudyStopped
from transom.studies.failures import FailureEvidence, diagnosis
from transom.studies.hooks import Hook, HookOccasion, call_hooks
from transom.studies.solver import Solved, Solver
from transom.studies.study import Moment, Number, Study
from transom.studies.taxonomy import Taxonomy
from transom.studies.trials import objective_values, violations

RETRIES = 2
_PAUSES = (0.5, 3.0)  # seconds before a solve that the machine failed is tried again


@dataclass
class DesignSolver:
    """The solver of a study, with everything that happens around one of its solves.

    Attributes:
        folder: the study's folder.
        solver: returns the solver, which the owner of a runner may replace.
        margin: returns output -> factor between finer and coarse settings, as known now.
        stop: set if the run is stopping.
        progress: called with one line about each hook that failed.
    """

    study: Study
    folder: Path
    solver: Callable[[], Solver]
    taxonomy: Taxonomy
    hooks: Mapping[Moment, Mapping[str, Hook]]
    margin: Callable[[], Mapping[str, float]]
    stop: threading.Event
    progress: Callable[[str], None]

    def trial_folder(self, number: int) -> Path:
        """Return the folder of a trial's solve."""
        return self.folder / "trials" / f"{number:05d}"

    def call_hooks(self, occasion: HookOccasion) -> None:
        """Call the hooks of a moment; a failure becomes a line of progress."""
        for line in call_hooks(self.hooks, occasion):
            self.progress(line)

    def solve_trial(self, number: int, params: Mapping[str, Number]) -> dict[str, Any] | None:
        """Solve a trial's design, with retries if the machine fails.

        Returns:
            Fields of the ended trial; None if the run is stopping, so that there is no outcome.

        Raises:
            StudyStopped: the set-up is wrong, so each further solve would fail the same way.
        """
        folder = self.trial_folder(number)
        about = HookOccasion(
            "pre_solve", self.study, self.folder, number, params, trial_folder=folder
        )
        if self.stop.is_set():
            return None
        self.call_hooks(about)
        solved, attempts = self.solve(folder, params), 1
        while self._is_worth_a_retry(solved, attempts):
            time.sleep(_PAUSES[attempts - 1])
            solved, attempts = self.solve(folder, params), attempts + 1
        diagnosed = solved.diagnosis
        # A stopping run kills its solves: their failure tells nothing about the design.
        if self.stop.is_set() and diagnosed.failure:
            return None
        if diagnosed.severity == "study":
            raise StudyStopped(
                diagnosed.reason,
                place=f"trial {number}",
                hint=f"{diagnosed.advice}; then resume the study",
            )
        about.solved = solved
        self.call_hooks(replace(about, moment="post_solve"))
        if diagnosed.failure:
            self.call_hooks(replace(about, moment="on_failure"))
        fields = {"by": solved.by, "seconds": round(solved.seconds, 3), "attempts": attempts}
        return fields | self._outcome(params, solved)

    def solve(self, folder: Path, params: Mapping[str, Number]) -> Solved:
        """Solve a design once, in an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            return self.solver().solve(folder, self.study.values(params), self.study.limits)
        except TransomError:
            raise
        except Exception as error:  # noqa: BLE001  an exception of a plug-in fails the design
            (folder / "traceback.txt").write_text(traceback.format_exc(), "utf-8")
            raised = FailureEvidence("message", f"{type(error).__name__}: {error}")
            return Solved(diagnosis("solver_error", self.taxonomy, raised))

    def _is_worth_a_retry(self, solved: Solved, attempts: int) -> bool:
        is_machine = solved.diagnosis.severity == "machine"
        return is_machine and attempts <= RETRIES and not self.stop.is_set()

    def _outcome(self, params: Mapping[str, Number], solved: Solved) -> dict[str, Any]:
        """Return kind, failure or results of a solve as fields of a trial."""
        diagnosed, names = solved.diagnosis, {**self.study.values(params), **solved.outputs}
        if diagnosed.failure:
            kind = "lost" if diagnosed.severity == "machine" else "failed"
            return {"kind": kind, "failure": diagnosed.failure, "reason": diagnosed.reason}
        # Only a plug-in can get here: the outputs of a command are checked with its study file.
        if unknown := sorted(self.study.needed_outputs - names.keys()):
            problem = (
                f"the solver {solved.by} has no output {unknown[0]}, which objectives or"
                " constraints use"
            )
            raise InputError(
                problem,
                place=self.study.study,
                hint=f"its outputs: {', '.join(sorted(solved.outputs))}",
            )
        values = objective_values(self.study, names)
        if not all(map(math.isfinite, values)):
            return {
                "kind": "failed",
                "failure": "not_finite",
                "reason": f"the objectives are {values}",
            }
        return {
            "kind": "solved",
            "outputs": dict(solved.outputs),
            "values": values,
            "violations": violations(self.study, names, self.margin()),
        }
