"""*Checks*: the items that were checked, and the batches of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.server.pages.runs import list_page, list_runs
from transom.server.schemas import Offset
from transom.server.site import Site
from transom.store import SummaryFilter

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


@router.get("/checks")
def show_checks(request: Request, status: str = "", offset: Offset = 0) -> Response:
    """List the checks, the newest first, below the newest batches."""
    site: Site = request.app.state.site
    batches = site.runs.page(SummaryFilter(kinds=("check-batch",)), limit=5)
    return list_page(request, "/checks", "check", status, offset, site.rows(batches))


@api.get("/checks")
def list_checks(request: Request, status: str = "", offset: Offset = 0) -> dict[str, Any]:
    """List checks, the newest first."""
    return list_runs(request, "check", status, offset)
