"""*Playbook*: what was learned, where each insight comes from, and how it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from transom.errors import InputError, NotFoundError
from transom.learning import Curator, Insight, InsightSource, Playbook
from transom.learning.curator import ReviewQuestion
from transom.learning.ledger import scores_of
from transom.learning.provenance import provenance_graph
from transom.learning.score_chart import score_chart
from transom.server.forms import form_of
from transom.server.names import keep_name, name_of, signature_of
from transom.server.rendering import page
from transom.server.schemas import InsightItem, Offset
from transom.server.site import PAGE_ROWS

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


@dataclass(frozen=True)
class InsightFilter:
    """Which insights a page lists.

    Attributes:
        query: words that all stand in an insight.
        scope: only this scope.
        origin: only what came of this run or study: what it taught, and what its outcomes count
            for.
        retired: the retired ones instead of those in use.
    """

    query: str = ""
    scope: str = ""
    origin: str = ""
    retired: bool = False

    @property
    def address(self) -> str:
        """The filter as it stands in an address."""
        return urlencode({name: value for name, value in asdict(self).items() if value})


Filter = Annotated[InsightFilter, Depends()]


def matching(book: Playbook, only: InsightFilter) -> list[Insight]:
    """Return the insights of all scopes that a filter lets through, best first."""
    words = only.query.lower().split()
    counted = _counted_by(book, only.origin) if only.origin else set()
    insights: list[Insight] = []
    for insight in book.everywhere(only.scope, is_retired=only.retired):
        text = " ".join([insight.id, insight.content, *insight.tags]).lower()
        is_taught = any(_is_from(source, only.origin) for source in insight.sources)
        if only.origin and not is_taught and insight.id not in counted:
            continue
        if all(word in text for word in words):
            insights.append(insight)
    return insights


def _is_from(source: InsightSource, origin: str) -> bool:
    return origin in (source.run, source.study)


def _counted_by(book: Playbook, origin: str) -> set[str]:
    """Return the ids of the insights that an outcome of a run or a study counts for or against."""
    counted: set[str] = set()
    for event in book.events():
        if _is_from(InsightSource.from_json(event.data.get("source") or {}), origin):
            counted.add(event.insight)
    return counted


def review_questions(book: Playbook) -> list[ReviewQuestion]:
    """Return the questions about insights of all scopes that a person should answer first."""
    living = {insight.id: insight for insight in book.everywhere()}
    return Curator(book).questions(None, living)


def visible(book: Playbook, item_id: str) -> Insight:
    """Return an insight, living or retired; NotFoundError if it is unknown, or another person's."""
    insight = book.require(item_id)
    if insight.owner not in ("", book.view.user):
        raise NotFoundError(f"unknown insight {item_id!r}", hint="see: transom playbook list")
    return insight


@router.get("/playbook")
def show_playbook(request: Request, only: Filter, offset: Offset = 0, note: str = "") -> Response:
    """List insights, the best first, by words, by scope and by what they came of."""
    book: Playbook = request.app.state.playbook
    insights = matching(book, only)
    values = {
        "insights": insights[offset : offset + PAGE_ROWS],
        "total": len(insights),
        "scopes": sorted({one.scope for one in book.everywhere(is_retired=only.retired)}),
        "questions": [] if only.address else review_questions(book),
        "only": only,
        "offset": offset,
        "rows": PAGE_ROWS,
        "name": name_of(request),
        "note": note,
    }
    return page(request, "playbook.html", values)


@router.post("/playbook")
async def forget_origin(request: Request) -> Response:
    """Retire all that came of a run or a study, and take its outcomes back."""
    book: Playbook = request.app.state.playbook
    form = form_of(await request.body())
    person, origin = _signed(request, form), form.get("origin", "")
    forgotten = Curator(book).forget(origin, by=person)
    retired, count = len(forgotten.retired), forgotten.withdrawn
    note = f"{origin} is forgotten. Retired insights: {retired}; outcomes taken back: {count}."
    if forgotten.shared:
        note += f" Still in use, since they also came of others: {', '.join(forgotten.shared)}."
    address = f"/playbook?{urlencode({'note': note})}"
    return keep_name(RedirectResponse(address, 303), person)


def _signed(request: Request, form: Mapping[str, str]) -> str:
    """Return the name under a change; InputError if there is none."""
    person = signature_of(request, form)
    if not person:
        raise InputError("the change has no name", hint="write your name; it is kept with it")
    return person


@router.get("/playbook/{item_id}")
def show_insight(request: Request, item_id: str, note: str = "") -> Response:
    """Show an insight: its score over time, its sources, and its history."""
    book: Playbook = request.app.state.playbook
    insight = visible(book, item_id)
    events = book.events(item_id)
    retired = book.everywhere(insight.scope, is_retired=True)
    merged = [other for other in retired if other.merged_into == insight.id]
    asked = [question for question in review_questions(book) if question.insight.id == insight.id]
    values = {
        "insight": insight,
        "events": events,
        "questions": asked,
        "chart": score_chart(scores_of(events)),
        "graph": provenance_graph(insight, events, merged),
        "name": name_of(request),
        "note": note,
    }
    return page(request, "insight.html", values)


@router.post("/playbook/{item_id}")
async def change_insight(request: Request, item_id: str) -> Response:
    """Count an outcome for or against an insight, retire it, or restore it."""
    book: Playbook = request.app.state.playbook
    form = form_of(await request.body())
    insight, person = visible(book, item_id), _signed(request, form)
    match form.get("change"):
        case "helpful" | "harmful" as word:
            source = InsightSource(by=person)
            book.record_outcome(insight.id, word == "helpful", followed=True, source=source)
            note = f"Counted as {word}."
        case "retire":
            Curator(book).retire(insight.id, form.get("why", "").strip(), by=person)
            note = "Retired: models do not see it any more."
        case "restore":
            Curator(book).restore(insight.id, by=person)
            note = "Restored: models see it again."
        case "confirm":
            Curator(book).confirm(insight.id, by=person)
            note = "Confirmed: it counts as one outcome for it."
        case "keep both":
            Curator(book).distinguish(insight.id, by=person)
            note = "Both are kept: they say different things."
        case "edit":
            Curator(book).edit(insight.id, content=form.get("content", ""), by=person)
            note = "Edited: models see the new text."
        case str(word) if word.startswith("merge "):
            other = visible(book, word.removeprefix("merge "))
            Curator(book).merge(insight.id, other.id, by=person)
            note = f"Merged: {other.id} is part of it, with its outcomes."
        case _:
            raise InputError("an unknown change", hint="use the buttons of the page")
    address = f"/playbook/{quote(insight.id, safe='')}?note={quote(note)}"
    return keep_name(RedirectResponse(address, 303), person)


@api.get("/playbook")
def list_insights(request: Request, only: Filter, offset: Offset = 0) -> dict[str, Any]:
    """Get insights of all scopes, the best first, and the questions about them."""
    book: Playbook = request.app.state.playbook
    insights = matching(book, only)
    items = [_document(insight) for insight in insights[offset : offset + PAGE_ROWS]]
    questions = [question.to_json() for question in review_questions(book)]
    return {
        "schema": "transom.playbook/1",
        "total": len(insights),
        "items": items,
        "questions": questions,
    }


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
