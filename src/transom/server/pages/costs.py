"""*Costs*: what model calls cost, by product, by model and by day."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from transom.runs.spending import Costs, costs_of
from transom.server.rendering import page
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_PERIODS = (1, 7, 30, 365)

Days = Annotated[int, Query(ge=1, le=3_650)]


@router.get("/costs")
def show_costs(request: Request, days: Days = 30) -> Response:
    """Show what model calls cost, by product, by model and by day."""
    return page(request, "costs.html", {"costs": _costs(request, days), "periods": _PERIODS})


@api.get("/costs")
def get_costs(request: Request, days: Days = 30) -> dict[str, Any]:
    """Get what model calls cost, by product, by model and by day."""
    return _costs(request, days).to_json()


def _costs(request: Request, days: int) -> Costs:
    site: Site = request.app.state.site
    return costs_of(site.runs, site.prices, days)
