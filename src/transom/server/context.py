"""The twelve endpoints under /api/context: playbook, session, cache, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.security import HTTPBearer

from transom.learning import Curator, Insight, Playbook, Source
from transom.learning.caching import cache_stats
from transom.learning.curator import learning_report
from transom.learning.session import session_of
from transom.server.problems import documented
from transom.server.shapes import (
    CacheStats,
    Context,
    ContextQuery,
    Deleted,
    Feedback,
    FeedbackIn,
    InsightIn,
    Item,
    ItemQuery,
    LearningReport,
    PlaybookStats,
    Pruned,
    PruneQuery,
    SessionContext,
    SessionView,
)

BY = "rest"
"""The author of changes by this API, in the history of an insight."""


async def _playbook(request: Request) -> Playbook:
    return request.app.state.playbook  # type: ignore[no-any-return]  # set by `build_app`


async def _workspace(request: Request) -> Path:
    return request.app.state.workspace  # type: ignore[no-any-return]  # likewise


Book = Annotated[Playbook, Depends(_playbook)]
Root = Annotated[Path, Depends(_workspace)]

router = APIRouter(
    prefix="/api/context",
    # for the OpenAPI document; `Door` checks the token
    dependencies=[Depends(HTTPBearer(auto_error=False))],
    responses=documented(401, 403, 413, 422, 503),
)


@router.get("/playbook")
def summary(book: Book) -> PlaybookStats:
    """Count the insights."""
    return PlaybookStats(**book.get_stats())


@router.get("/playbook/items")
def list_items(book: Book, query: Annotated[ItemQuery, Query()], response: Response) -> list[Item]:
    """List insights; the header `X-Total-Count` has their number on all pages."""
    found = [
        one
        for one in book.items.values()
        if query.category in (None, one.category)
        and (query.min_score is None or one.net_score >= query.min_score)
        and (query.min_confidence is None or one.confidence >= query.min_confidence)
    ]
    found.sort(key=lambda one: (-getattr(one, query.sort), one.id))
    response.headers["X-Total-Count"] = str(len(found))
    return [Item.of(one) for one in found[query.offset : query.offset + query.limit]]


@router.get("/playbook/items/{item_id}", responses=documented(404))
def get_item(book: Book, item_id: str) -> Item:
    """Get one insight."""
    return Item.of(_living(book, item_id))


@router.delete("/playbook/items/{item_id}", responses=documented(404))
def delete_item(book: Book, item_id: str) -> Deleted:
    """Retire an insight. It stays as a tombstone; `transom playbook retire --undo` restores it."""
    return Deleted(deleted=Curator(book).retire(_living(book, item_id).id, "deleted", by=BY).id)


@router.post("/playbook/feedback", responses=documented(400, 404))
def record_feedback(book: Book, given: FeedbackIn) -> Feedback:
    """Count one outcome for or against an insight."""
    key = _living(book, given.item_id).id
    book.record_outcome(key, given.helpful, followed=True, source=Source(by=BY))
    one = book.require(key)
    return Feedback(
        item_id=one.id,
        new_score=one.net_score,
        new_confidence=one.confidence,
        helpful_count=one.helpful_count,
        harmful_count=one.harmful_count,
    )


@router.post(
    "/playbook/insights",
    status_code=201,
    responses={
        200: {"description": "An equal insight exists", "model": Item},
        **documented(400, 409),
    },
)
def add_insight(book: Book, given: InsightIn, response: Response) -> Item:
    """Add an insight; an equal one gets its tags and its source instead."""
    epoch = book.epoch
    source = Source(trial=given.source_trial, by=BY)
    one = book.add_insight(given.category, given.content, tags=given.tags, source=source)
    if one.retired:
        detail = (
            f"{one.id} says the same and is retired ({one.retired}); transom playbook retire"
            f" {one.id} --undo"
        )
        raise HTTPException(409, detail)
    if not any(event.kind == "added" for event in book.ledger.events(one.id, epoch)):
        response.status_code = 200
    return Item.of(one)


@router.post("/playbook/prune")
def prune(book: Book, query: Annotated[PruneQuery, Query()]) -> Pruned:
    """Retire the insights with low net scores."""
    return Pruned(items_pruned=book.prune_harmful(query.threshold), threshold=query.threshold)


@router.get("/playbook/context")
def playbook_context(book: Book, query: Annotated[ContextQuery, Query()]) -> Context:
    """Get the playbook's text for a task, as a model's window shows it."""
    text = book.get_context_for_task(
        query.task_type, query.max_items, query.min_confidence, query.tags
    )
    return Context(context=text, items_included=text.count("\n"))


@router.get("/session")
def session(root: Root) -> SessionView:
    """Get the session's state, as every window shows it."""
    state = session_of(root)
    return SessionView(session_id=state.session_id, **state.exposed.model_dump())


@router.get("/session/context")
def session_context(root: Root) -> SessionContext:
    """Get the session's text, as every window shows it."""
    state = session_of(root)
    return SessionContext(session_id=state.session_id, context=state.get_llm_context())


@router.get("/cache/stats")
def cache(root: Root) -> CacheStats:
    """Get the statistics of vendors' prompt caches for the newest calls."""
    return CacheStats(**cache_stats(root))


@router.get("/learning/report")
def report(book: Book) -> LearningReport:
    """Get the best and worst insights, and questions for a person."""
    return LearningReport.of(learning_report(book))


def _living(book: Playbook, item_id: str) -> Insight:
    """Return a visible insight that is not retired, or answer 404."""
    where, values = book.view.visible
    found = book.ledger.insights(f"id = ? AND {where}", [item_id, *values])
    if not found or found[0].retired:
        why = (
            f"{item_id} is retired ({found[0].retired})" if found else f"unknown insight {item_id}"
        )
        raise HTTPException(404, f"{why}; see /api/context/playbook/items")
    return found[0]
