"""*Releases*: features and criteria of the newest investigations, and who has to act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.investigator.result import CriterionResult, Investigation
from transom.runs.summarising import RunSummary
from transom.server.rendering import page
from transom.server.run_results import investigation_of
from transom.server.site import Site
from transom.store import SummaryFilter

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

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

    def to_json(self) -> dict[str, Any]:
        investigation = self.investigation
        actions: dict[str, list[str]] = {}
        for criterion in investigation.criteria:
            if criterion.status in ("fail", "unknown"):
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


def features_of(site: Site) -> list[JudgedFeature]:
    """Return each feature by its newest investigation, in the order of their names."""
    features: dict[str, JudgedFeature] = {}
    only = SummaryFilter(kinds=("investigate",))
    # By the last change: an earlier investigation that a person judged today is the newest word.
    for summary in site.runs.page(only, limit=_MOST_RUNS, by_start=False):
        investigation = investigation_of(site, site.runs.row(summary))
        if investigation is not None:
            feature = JudgedFeature(summary, investigation)
            features.setdefault(investigation.feature_id, feature)
    return sorted(features.values(), key=lambda feature: feature.investigation.feature_name)


@router.get("/releases")
def show_releases(request: Request) -> Response:
    """Show features and criteria as one table."""
    features = features_of(request.app.state.site)
    names: dict[str, str] = {}
    tasks: list[dict[str, Any]] = []
    for feature in features:
        for key, criterion in feature.criteria.items():
            names.setdefault(key, criterion.name)
            if criterion.required and criterion.status in ("fail", "unknown"):
                tasks.append({"owner": criterion.owner, "feature": feature, "criterion": criterion})
    return page(request, "releases.html", {"features": features, "criteria": names, "tasks": tasks})


@api.get("/releases")
def list_features(request: Request) -> dict[str, Any]:
    """Get each feature by its newest investigation: criteria, and who has to act."""
    features = features_of(request.app.state.site)
    return {"schema": "transom.releases/1", "features": [entry.to_json() for entry in features]}
