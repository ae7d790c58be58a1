"""Feedback from trials to the playbook: outcomes count for the insights that a trial used, and
errors become insights.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transom.learning.exchange import load_playbook, save_playbook
from transom.learning.insight import InsightSource
from transom.learning.playbook import Playbook
from transom.learning.reflector import OptimizationOutcome, Reflector

_SURE_ENOUGH = 0.5  # least confidence of a study's candidates that are added


class FeedbackLoop:
    """The trials of one study, and their effect on the playbook.

    Args:
        playbook: an open playbook, or a JSON file. Events of a file go to a database in the same
            folder, which is safe for several processes, and the file is written when the study
            ends.
        run: id of the study's run. If you pass it again after a restart, no trial counts twice.
            None for a new id.
    """

    def __init__(self, playbook: Playbook | Path, *, run: str | None = None) -> None:
        self._file: Path | None = None
        if not isinstance(playbook, Playbook):
            self._file = Path(playbook)
            playbook = load_playbook(self._file, kept=True)
        self.playbook = playbook
        self.reflector = Reflector(self.playbook)
        self._run = run or f"study-{secrets.token_hex(8)}"
        self._trials: list[tuple[bool, float | None]] = []
        # A dictionary, since it keeps the order.
        self._cited_items: dict[str, None] = {}

    def process_trial_result(
        self,
        trial_number: int,
        success: bool,
        objective_value: float | None = None,
        design_variables: Mapping[str, float] | None = None,
        context_items_used: Sequence[str] | None = None,
        errors: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Count a trial once for the insights that it used, and keep its candidates until the study
        ends.

        Args:
            context_items_used: ids of the insights that the trial relied on, not of all that its
                window had.

        Returns:
            `trial_number`, `success`, `items_updated` (ids), `new_insights_pending` (a number).
        """
        source = InsightSource(self._run, f"trial-{trial_number}", trial_number, by="feedback")
        outcome = OptimizationOutcome(
            trial_number,
            success,
            objective_value,
            solver_errors=[*(errors or ())],
            design_variables=dict(design_variables or {}),
            source=source,
        )
        before = len(self.reflector.pending)
        updated = self.reflector.learn(outcome, context_items_used or ())
        self._trials.append((success, objective_value))
        self._cited_items |= dict.fromkeys(updated)
        pending = len(self.reflector.pending) - before
        result = {"trial_number": trial_number, "success": success}
        return {**result, "items_updated": updated, "new_insights_pending": pending}

    def process_batch(self, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Process several trials; each mapping has the arguments of `process_trial_result`."""
        results = [self.process_trial_result(**trial) for trial in trials]
        return {
            "trials_processed": len(results),
            "successes": sum(bool(result["success"]) for result in results),
            "failures": sum(not result["success"] for result in results),
            "items_updated": sorted(set().union(*[result["items_updated"] for result in results])),
            "new_insights_pending": len(self.reflector.pending),
        }

    def finalize_study(self, study_stats: Mapping[str, Any]) -> dict[str, Any]:
        """End the study: add its candidates, retire insights with much evidence against them, and
        write the file.

        Args:
            study_stats: `name`, `total_trials`, `best_value`, `convergence_rate`, `method`. Missing
                values are computed from the trials.
        """
        trials = self._trials
        items_used = [*self._cited_items]
        # Another study may follow.
        self._trials = []
        self._cited_items = {}
        rate = sum(good for good, _ in trials) / len(trials) if trials else 0.0
        values = [value for good, value in trials if good and value is not None]
        best = min(values, default=None)
        name = str(study_stats.get("name") or "study")
        total = int(study_stats.get("total_trials", len(trials)))
        self.reflector.analyze_study_completion(
            study_name=name,
            total_trials=total,
            best_value=study_stats.get("best_value", best),
            convergence_rate=float(study_stats.get("convergence_rate", rate)),
            method=str(study_stats.get("method") or ""),
        )
        added = self.reflector.commit_insights(_SURE_ENOUGH)
        pruned = self.playbook.prune_harmful()
        if self._file:
            save_playbook(self.playbook, self._file)
        return {
            "insights_added": added,
            "items_pruned": pruned,
            "study_name": name,
            "total_trials": total,
            "success_rate": rate,
            "items_used": items_used,
            "playbook_stats": self.playbook.get_stats(),
        }
