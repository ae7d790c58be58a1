"""*Evals*: the suites that were run here, and how their pass rates changed."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.canonical import plain
from transom.evals.stored_evaluations import history, stored_evaluation, suites
from transom.server.rendering import page

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_MOST_ROWS = 50
"""The newest evaluations of a suite that a page shows."""


@router.get("/evals")
def show_suites(request: Request) -> Response:
    """List the suites with their newest evaluations."""
    store = request.app.state.site.runs.store
    rows = {name: history(store, name)[::-1][:_MOST_ROWS] for name in suites(store)}
    return page(request, "evals.html", {"suites": rows})


@router.get("/evals/{run_id}")
def show_evaluation(request: Request, run_id: str) -> Response:
    """Show an evaluation: each scenario with its scores, the failed ones first."""
    evaluation = stored_evaluation(request.app.state.site.runs.store, run_id)
    order = {"error": 0, "fail": 1, "pass": 2}
    scenarios = sorted(evaluation.scenarios, key=lambda row: order[row.status])
    return page(request, "evaluation.html", {"evaluation": evaluation, "scenarios": scenarios})


@api.get("/evals")
def list_suites(request: Request) -> dict[str, Any]:
    """Get the suites with the summaries of their evaluations, the newest first."""
    store = request.app.state.site.runs.store
    documents = []
    for name in suites(store):
        evaluations = [
            {
                "run_id": evaluation.run_id,
                "baselines": baselines,
                "fingerprint": plain(evaluation.fingerprint),
                "summary": plain(evaluation.summary),
            }
            for evaluation, baselines in history(store, name)[::-1]
        ]
        documents.append({"suite": name, "evaluations": evaluations})
    return {"schema": "transom.evals/1", "suites": documents}


@api.get("/evals/{run_id}")
def get_evaluation(request: Request, run_id: str) -> Any:
    """Get an evaluation, as `transom eval run --format json` prints it."""
    return plain(stored_evaluation(request.app.state.site.runs.store, run_id))
