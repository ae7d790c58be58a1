"""*Releases*: features and criteria of the newest investigations, and who has to act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.investigator.result import CriterionResult, Investigation
from transom.runs.summarising import RunSummary
from transom.server.rendering import page
from transom.server.run_results import actions_of, investigation_of
from transom.server.site import Site
from transom.store import SummaryFilter

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_MOST_RUNS = 200
"""Investigations that are looked through for the newest one of each feature."""


@dataclass(frozen=True)
class JudgedFeature:
    """A feature by its newest investigation.

    Attributes:
        criteria: its criteria by their ids.
        actions: the criteria that are not met, by the owner who has to act.
    """

    run: RunSummary
    investigation: Investigation
    criteria: dict[str, CriterionResult]
    actions: dict[str, list[CriterionResult]]

    def to_json(self) -> dict[str, Any]:
        investigation = self.investigation
        return {
            "run_id": self.run.id,
            "feature_id": investigation.feature_id,
            "feature_name": investigation.feature_name,
            "target_stage": investigation.target_stage,
            "status": self.run.status,
            "at": self.run.last_at,
            "changed_since": investigation.changed_since,
            "criteria": {key: criterion.status for key, criterion in self.criteria.items()},
            "actions": {
                owner: [criterion.id for criterion in criteria]
                for owner, criteria in self.actions.items()
            },
        }


def features_of(site: Site) -> list[JudgedFeature]:
    """Return each feature by its newest investigation, in the order of their names."""
    features: dict[str, JudgedFeature] = {}
    only = SummaryFilter(kinds=("investigate",))
    # By the last change: an earlier investigation that a person judged today is the newest word.
    for summary in site.runs.page(only, limit=_MOST_RUNS, by_start=False):
        investigation = investigation_of(site, site.runs.row(summary))
        if investigation is None or investigation.feature_id in features:
            continue
        criteria = {criterion.id: criterion for criterion in investigation.criteria}
        feature = JudgedFeature(summary, investigation, criteria, actions_of(investigation))
        features[investigation.feature_id] = feature
    return sorted(features.values(), key=lambda feature: feature.investigation.feature_name)


@router.get("/releases")
def show_releases(request: Request) -> Response:
    """Show features and criteria as one table."""
    features = features_of(request.app.state.site)
    names: dict[str, str] = {}
    owners: dict[str, list[tuple[JudgedFeature, CriterionResult]]] = {}
    for feature in features:
        for key, criterion in feature.criteria.items():
            names.setdefault(key, criterion.name)
        for owner, criteria in feature.actions.items():
            rows = owners.setdefault(owner, [])
            rows += [(feature, criterion) for criterion in criteria if criterion.required]
    values = {"features": features, "criteria": names}
    actions = {owner: rows for owner, rows in owners.items() if rows}
    return page(request, "releases.html", values | {"actions": actions})


@api.get("/releases")
def list_features(request: Request) -> dict[str, Any]:
    """Get each feature by its newest investigation: criteria, and who has to act."""
    features = features_of(request.app.state.site)
    return {"schema": "transom.releases/1", "features": [entry.to_json() for entry in features]}
