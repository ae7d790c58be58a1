"""A person confirms or overturns the verdict of a run, on its page or by the REST API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from transom.checklist.verdict_review import decide_check
from transom.errors import InputError
from transom.investigator.verdict_review import decide_investigation
from transom.learning.verdict_decisions import GivenDecision, VerdictDecision
from transom.server.forms import form_of
from transom.server.names import keep_name, signature_of
from transom.server.problems import documented
from transom.server.schemas import DecisionIn
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_CONFIRM, _OVERTURN = "confirm", "overturn"


def _decide(request: Request, run_id: str, decision: GivenDecision) -> VerdictDecision:
    """Do what `transom check confirm` and `transom check overturn` do."""
    site: Site = request.app.state.site
    runs = site.runs
    row = runs.row(runs.summary(run_id))
    folder = runs.workspace.run_folder(row.name, row.id)
    if row.kind == "investigate":
        return decide_investigation(site.playbook, folder, row, decision)
    return decide_check(site.playbook, runs.store, folder, row, decision)


@router.post("/runs/{run_id}/verdict")
async def decide_on_page(request: Request, run_id: str) -> Response:
    """Confirm or overturn the verdict of a run."""
    form = form_of(await request.body())
    word, person = form.get("decision"), signature_of(request, form)
    # A form that was cut off decides nothing.
    if word not in (_CONFIRM, _OVERTURN):
        raise InputError("an unknown decision", hint="use the buttons of the page")
    decision = GivenDecision(word == _CONFIRM, person, form.get("reason", "").strip())
    note = f"{_decide(request, run_id, decision).lines[0]}."
    address = f"/runs/{quote(run_id, safe='')}?note={quote(note)}"
    return keep_name(RedirectResponse(address, 303), person)


@api.post("/runs/{run_id}/verdict", responses=documented(400, 413))
def decide_verdict(request: Request, run_id: str, body: DecisionIn) -> dict[str, Any]:
    """Confirm or overturn the verdict of a check or an investigation."""
    person = signature_of(request, {"by": body.by})
    decision = GivenDecision(body.decision == _CONFIRM, person, body.reason.strip())
    return _decide(request, run_id, decision).to_json()
