"""*Studies*: the studies of the workspace, and one with its charts, failures and rules."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from transom.errors import NotFoundError
from transom.server.dashboard import Dashboards
from transom.server.door import LOOPBACK
from transom.server.rendering import page
from transom.server.run_results import RunResult, studies_of, study_result
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


def results_of(site: Site) -> list[RunResult]:
    """Return the results of all studies, by name."""
    return [study_result(site, name) for name in studies_of(site)]


@router.get("/studies")
def show_studies(request: Request) -> Response:
    """List the studies with their best designs."""
    return page(request, "studies.html", {"results": results_of(request.app.state.site)})


@router.get("/studies/{name}")
def show_study(request: Request, name: str) -> Response:
    """Show a study as it stands, also while it runs."""
    result = study_result(request.app.state.site, name)
    has_dashboard = Dashboards.is_offered(request.url)
    values = {"name": name, "result": result, "has_dashboard": has_dashboard}
    return page(request, "study.html", values | result.values)


@router.get("/studies/{name}/dashboard")
def open_dashboard(request: Request, name: str) -> Response:
    """Lead to optuna-dashboard on a study."""
    dashboards: Dashboards = request.app.state.dashboards
    host = request.url.hostname or ""
    # The dashboard listens on this machine only, whatever this server listens on.
    if host not in LOOPBACK:
        hint = "open this page on the machine that serves it"
        raise NotFoundError("the dashboard is served on this machine only", hint=hint)
    return RedirectResponse(dashboards.address(name, host), 307)


@api.get("/studies")
def list_studies(request: Request) -> dict[str, Any]:
    """Get the studies with their results so far."""
    results = results_of(request.app.state.site)
    return {"schema": "transom.studies/1", "studies": [result.document for result in results]}


@api.get("/studies/{name}")
def get_study(request: Request, name: str) -> dict[str, Any]:
    """Get the result of a study so far, as `transom study run` prints it."""
    return study_result(request.app.state.site, name).document
