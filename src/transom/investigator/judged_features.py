"""The features of a workspace, each by its newest investigation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transom.investigator.concluding import kept_answer
from transom.investigator.result import CriterionResult, Investigation
from transom.runs.history import RunHistory
from transom.runs.summarising import RunSummary
from transom.store import SummaryFilter

_MOST_RUNS = 200
"""Investigations that are looked through for the newest one of each feature."""


@dataclass(frozen=True)
class JudgedFeature:
    """A feature by its newest investigation."""

    run: RunSummary
    investigation: Investigation

    @property
    def criteria(self) -> dict[str, CriterionResult]:
        """The criteria by their ids."""
        return {criterion.id: criterion for criterion in self.investigation.criteria}

    @property
    def open_criteria(self) -> list[CriterionResult]:
        """The criteria that somebody has to act for."""
        return [
            criterion
            for criterion in self.investigation.criteria
            if criterion.status in ("fail", "unknown")
        ]

    def to_json(self) -> dict[str, Any]:
        investigation = self.investigation
        actions: dict[str, list[str]] = {}
        for criterion in self.open_criteria:
            actions.setdefault(criterion.owner, []).append(criterion.id)
        return {
            "run_id": self.run.id,
            "feature_id": investigation.feature_id,
            "feature_name": investigation.feature_name,
            "target_stage": investigation.target_stage,
            "status": self.run.status,
            "at": self.run.last_at,
            "changed_since": investigation.changed_since,
            "criteria": {key: criterion.status for key, criterion in self.criteria.items()},
            "actions": actions,
        }


def features_of(history: RunHistory) -> list[JudgedFeature]:
    """Return each feature by its newest investigation, in the order of their names."""
    features: dict[str, JudgedFeature] = {}
    only = SummaryFilter(kinds=("investigate",))
    # By the last change: an earlier investigation that a person judged today is the newest word.
    for summary in history.page(only, limit=_MOST_RUNS, by_start=False):
        row = history.row(summary)
        answer = kept_answer(history.workspace.run_folder(row.name, row.id))
        if answer is not None:
            feature = JudgedFeature(summary, answer.investigation)
            features.setdefault(answer.investigation.feature_id, feature)
    return sorted(features.values(), key=lambda feature: feature.investigation.feature_name)
