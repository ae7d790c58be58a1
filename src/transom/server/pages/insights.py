"""*Playbook*: what was learned, where each insight comes from, and how it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from transom.errors import InputError, NotFoundError
from transom.learning import Curator, Insight, InsightSource, Playbook
from transom.learning.ledger import scores_of
from transom.learning.score_chart import score_chart
from transom.server.forms import form_of
from transom.server.names import keep_name, name_of, signature_of
from transom.server.rendering import page
from transom.server.schemas import InsightItem, Offset
from transom.server.site import PAGE_ROWS

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


def matching(book: Playbook, query: str, scope: str, is_retired: bool) -> list[Insight]:
    """Return the insights of all scopes in which every word of a query stands, best first."""
    words = query.lower().split()
    insights: list[Insight] = []
    for insight in book.everywhere(scope, is_retired=is_retired):
        text = " ".join([insight.id, insight.content, *insight.tags]).lower()
        if all(word in text for word in words):
            insights.append(insight)
    return insights


def visible(book: Playbook, item_id: str) -> Insight:
    """Return an insight, living or retired; NotFoundError if it is unknown, or another person's."""
    insight = book.require(item_id)
    if insight.owner not in ("", book.view.user):
        raise NotFoundError(f"unknown insight {item_id!r}", hint="see: transom playbook list")
    return insight


@router.get("/playbook")
def show_playbook(
    request: Request, query: str = "", scope: str = "", retired: bool = False, offset: Offset = 0
) -> Response:
    """List insights, the best first, by words and by scope."""
    book: Playbook = request.app.state.playbook
    insights = matching(book, query, scope, retired)
    values = {
        "insights": insights[offset : offset + PAGE_ROWS],
        "total": len(insights),
        "scopes": _scopes(book.everywhere(is_retired=retired)),
        "query": query,
        "scope": scope,
        "retired": retired,
        "offset": offset,
        "rows": PAGE_ROWS,
    }
    return page(request, "playbook.html", values)


def _scopes(insights: Sequence[Insight]) -> list[str]:
    return sorted({insight.scope for insight in insights})


@router.get("/playbook/{item_id}")
def show_insight(request: Request, item_id: str, done: str = "") -> Response:
    """Show an insight: its score over time, its sources, and its history."""
    book: Playbook = request.app.state.playbook
    insight = visible(book, item_id)
    events = book.events(item_id)
    values = {
        "insight": insight,
        "events": events,
        "chart": score_chart(scores_of(events)),
        "name": name_of(request),
        "done": done,
    }
    return page(request, "insight.html", values)


@router.post("/playbook/{item_id}")
async def change_insight(request: Request, item_id: str) -> Response:
    """Count an outcome for or against an insight, retire it, or restore it."""
    book: Playbook = request.app.state.playbook
    form = form_of(await request.body())
    insight, person = visible(book, item_id), signature_of(request, form)
    if not person:
        raise InputError("the change has no name", hint="write your name; it is kept with it")
    match form.get("change"):
        case "helpful" | "harmful" as word:
            source = InsightSource(by=person)
            book.record_outcome(insight.id, word == "helpful", followed=True, source=source)
            done = f"Counted as {word}."
        case "retire":
            Curator(book).retire(insight.id, form.get("why", "").strip(), by=person)
            done = "Retired: models do not see it any more."
        case "restore":
            Curator(book).restore(insight.id, by=person)
            done = "Restored: models see it again."
        case _:
            raise InputError("an unknown change", hint="use the buttons of the page")
    address = f"/playbook/{quote(insight.id, safe='')}?done={quote(done)}"
    return keep_name(RedirectResponse(address, 303), person)


@api.get("/playbook")
def list_insights(
    request: Request, query: str = "", scope: str = "", retired: bool = False, offset: Offset = 0
) -> dict[str, Any]:
    """Get insights of all scopes, the best first."""
    insights = matching(request.app.state.playbook, query, scope, retired)
    items = [_document(insight) for insight in insights[offset : offset + PAGE_ROWS]]
    return {"schema": "transom.playbook/1", "total": len(insights), "items": items}


@api.get("/playbook/{item_id}")
def get_insight(request: Request, item_id: str) -> dict[str, Any]:
    """Get an insight with its sources and its history."""
    book: Playbook = request.app.state.playbook
    insight = visible(book, item_id)
    history = [
        {"at": event.at, "kind": event.kind, "data": dict(event.data)}
        for event in book.events(item_id)
    ]
    sources = [source.to_json() for source in insight.sources]
    return _document(insight) | {"sources": sources, "history": history}


def _document(insight: Insight) -> dict[str, Any]:
    facts = InsightItem.model_validate(insight).model_dump(mode="json")
    return facts | {"scope": insight.scope, "retired": insight.retired}
