"""*Releases*: features and criteria of the newest investigations, and who has to act."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.investigator.judged_features import features_of
from transom.server.rendering import page

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


@router.get("/releases")
def show_releases(request: Request) -> Response:
    """Show features and criteria as one table."""
    features = features_of(request.app.state.site.runs)
    names: dict[str, str] = {}
    for feature in features:
        for key, criterion in feature.criteria.items():
            names.setdefault(key, criterion.name)
    return page(request, "releases.html", {"features": features, "criteria": names})


@api.get("/releases")
def list_features(request: Request) -> dict[str, Any]:
    """Get each feature by its newest investigation: criteria, and who has to act."""
    features = features_of(request.app.state.site.runs)
    return {"schema": "transom.releases/1", "features": [entry.to_json() for entry in features]}
