"""*Runs* and *Run*: every run, filtered and page by page; and one with its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from transom.errors import NotFoundError
from transom.runs.attempts import attempts_of
from transom.runs.history import RUNNING, FollowedRun, RunView
from transom.runs.open_questions import questions_of
from transom.runs.stage_rows import stages_of
from transom.runs.summarising import RunSummary
from transom.server.children import resume
from transom.server.names import name_of
from transom.server.rendering import page, render
from transom.server.run_results import result_of
from transom.server.schemas import Offset
from transom.server.site import PAGE_ROWS, RunRowView, Site, label_of
from transom.store import SummaryCount, SummaryFilter

_STOPPED = ("failed", "paused", "interrupted")
router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


@dataclass(frozen=True)
class Facet:
    """A filter of the list: a value, how many runs have it, and the address that turns it on, or
    off again.
    """

    value: str
    count: int
    is_on: bool
    address: str


def _filter(kind: str, status: str) -> SummaryFilter:
    return SummaryFilter(kinds=(kind,) if kind else (), statuses=(status,) if status else ())


@router.get("/runs")
def show_runs(request: Request, kind: str = "", status: str = "", offset: Offset = 0) -> Response:
    """List the runs, the newest first."""
    return list_page(request, "/runs", kind, status, offset)


def list_page(
    request: Request,
    path: str,
    kind: str,
    status: str,
    offset: int,
    batches: Sequence[RunRowView] = (),
) -> Response:
    """Return a list of runs, filtered by links that count; its first page begins with `batches`."""
    site: Site = request.app.state.site
    # Counts come from summaries, so that a list of many thousand runs reads no journal.
    counts = site.runs.store.count_summaries()
    chosen = {"kind": kind, "status": status}
    facets = {"status": _facets(path, counts, chosen, "status", "kind")}
    # The list of one kind has an address of its own.
    if path == "/runs":
        facets = {"kind": _facets(path, counts, chosen, "kind", "status"), **facets}
    rows = site.rows(site.runs.page(_filter(kind, status), limit=PAGE_ROWS, offset=offset))
    total = _total(counts, kind, status)
    values = {"rows": rows, "facets": facets, "total": total, "offset": offset, "list_path": path}
    values |= {"chosen": chosen, "page_rows": PAGE_ROWS, "query": _query(path, chosen)}
    values["batches"] = () if status or offset else batches
    return page(request, "runs.html", values)


def _total(counts: Sequence[SummaryCount], kind: str, status: str) -> int:
    """Return how many runs a filter lets through."""
    fitting = [group for group in counts if kind in ("", group.kind)]
    return sum(group.count for group in fitting if status in ("", group.status))


def _facets(
    path: str, counts: Sequence[SummaryCount], chosen: Mapping[str, str], name: str, other: str
) -> list[Facet]:
    totals: dict[str, int] = {}
    for group in counts:
        # A filter's own value does not hide the values beside it.
        if not chosen[other] or getattr(group, other) == chosen[other]:
            value = getattr(group, name)
            totals[value] = totals.get(value, 0) + group.count
    facets: list[Facet] = []
    for value in sorted(totals):
        if value:
            address = _address(path, chosen, name, value)
            facets.append(Facet(value, totals[value], value == chosen[name], address))
    return facets


def _address(path: str, chosen: Mapping[str, str], name: str, value: str) -> str:
    # Without the offset: another filter has other pages.
    query = _query(path, {**chosen, name: "" if chosen[name] == value else value})
    return f"{path}?{query}" if query else path


def _query(path: str, chosen: Mapping[str, str]) -> str:
    """Return the filters of a list as they stand in its address."""
    known = {key: text for key, text in chosen.items() if text}
    # The list of one kind has an address of its own.
    if path != "/runs":
        known.pop("kind", None)
    return urlencode(known)


@router.get("/runs/{run_id}")
def show_run(request: Request, run_id: str, note: str = "") -> Response:
    """Show the result of a run; while it has none, its stages."""
    site: Site = request.app.state.site
    run = site.runs.run(run_id)
    result = result_of(site, run)
    values = _head_of(site, run)
    if result is None:
        return page(request, "stages.html", values | {"shows_stages": True})
    values |= {"result": result, "shows_stages": False, "note": note, "name": name_of(request)}
    return page(request, "run.html", values | result.values)


@router.get("/runs/{run_id}/stages")
def show_stages(request: Request, run_id: str) -> Response:
    """Show how a run came to its result: its stages, its inputs, and where its files are."""
    site: Site = request.app.state.site
    values = _head_of(site, site.runs.run(run_id)) | {"shows_stages": True}
    return page(request, "stages.html", values)


@router.get("/runs/{run_id}/events")
def run_events(request: Request, run_id: str, stages: bool = False) -> StreamingResponse:
    """Stream the head of the page of a run, and its stages, whole, whenever they change."""
    site: Site = request.app.state.site

    def begin() -> Callable[[], str]:
        # A long journal takes too long to be read as a whole at each change.
        run = FollowedRun(site.runs, run_id)
        return lambda: render("_run_live.html", **_head_of(site, run.view()), shows_stages=stages)

    # No feed is kept for a run that there is not.
    site.runs.summary(run_id)
    feed = request.app.state.feeds.feed(f"{run_id}?{stages}", begin)
    return StreamingResponse(feed.events(), media_type="text/event-stream")


def _head_of(site: Site, run: RunView) -> dict[str, Any]:
    """Return what every view of a run shows."""
    row = _row(site, run.row.id)
    folder = site.runs.workspace.run_folder(run.row.name, run.row.id)
    is_stopped = run.status != RUNNING and (bool(row.run.waits) or run.status in _STOPPED)
    return {
        "row": row,
        "attempts": attempts_of(run, folder),
        "stages": stages_of(run, label_of(run.row.kind)),
        "questions": [*questions_of(run)],
        "folder": str(folder),
        "inputs": run.row.inputs,
        "is_resumable": row.run.is_resumable and is_stopped,
        "status": run.status,
    }


@router.post("/runs/{run_id}/resume")
def resume_run(request: Request, run_id: str) -> Response:
    """Go on with a run in a process of its own."""
    site: Site = request.app.state.site
    resume(site.runs, site.runs.run(run_id))
    # 303 makes the browser load the page with GET, so that a reload does not resume again.
    return RedirectResponse(f"/runs/{run_id}", 303)


@router.post("/runs/{run_id}/cancel")
def cancel_run(request: Request, run_id: str) -> Response:
    """Interrupt the process that works on a run; the run can be resumed."""
    site: Site = request.app.state.site
    site.runs.interrupt(site.runs.summary(run_id).id)
    return RedirectResponse(f"/runs/{quote(run_id, safe='')}", 303)


@api.get("/runs")
def list_runs(
    request: Request, kind: str = "", status: str = "", offset: Offset = 0, limit: int = PAGE_ROWS
) -> dict[str, Any]:
    """List runs, the newest first."""
    site: Site = request.app.state.site
    limit = min(max(1, limit), 1_000)
    total = _total(site.runs.store.count_summaries(), kind, status)
    runs = site.runs.page(_filter(kind, status), limit=limit, offset=offset)
    rows = [row.to_json() for row in site.rows(runs)]
    return {"schema": "transom.runs/1", "total": total, "runs": rows}


@api.get("/runs/{run_id}/stages")
@api.get("/runs/{run_id}")
def get_run(request: Request, run_id: str) -> dict[str, Any]:
    """Get a run with its stages, its open questions, what it was given, and where its files are."""
    site: Site = request.app.state.site
    run = site.runs.run(run_id)
    head = _head_of(site, run)
    document = {"schema": "transom.run/1", **head["row"].to_json(), "status": run.status}
    document["stages"] = [stage.described() for stage in head["stages"]]
    for name in ("attempts", "questions"):
        document[name] = [entry.to_json() for entry in head[name]]
    return document | {name: head[name] for name in ("inputs", "folder")}


@api.get("/runs/{run_id}/result")
def get_result(request: Request, run_id: str) -> dict[str, Any]:
    """Get the result of a run: the document that its command prints with `--format json`."""
    site: Site = request.app.state.site
    result = result_of(site, site.runs.run(run_id))
    if result is None:
        raise NotFoundError(f"run {run_id} has no result", hint=f"see: transom runs show {run_id}")
    return result.document | {"run_id": run_id}


def _row(site: Site, run_id: str) -> RunRowView:
    summary: RunSummary = site.runs.summary(run_id)
    return site.rows([summary], {})[0]
