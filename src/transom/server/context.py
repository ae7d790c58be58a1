"""The twelve endpoints under /api/context: playbook, session, cache, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.security import HTTPBearer

from transom.learning import Curator, Insight, InsightSource, Playbook
from transom.learning.caching import cache_stats
from transom.learning.curator import learning_report
from transom.learning.retrieval import counts_of
from transom.learning.session import session_of
from transom.server.problems import documented
from transom.server.schemas import (
    CacheFigures,
    Context,
    ContextQuery,
    Deleted,
    Feedback,
    FeedbackIn,
    InsightIn,
    InsightItem,
    ItemQuery,
    LearningReport,
    PlaybookStats,
    Pruned,
    PruneQuery,
    ScopeQuery,
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
    # For the OpenAPI document: `Door` checks the token.
    dependencies=[Depends(HTTPBearer(auto_error=False))],
    responses=documented(401, 403, 413, 422, 503),
)


@router.get("/playbook")
def summary(book: Book, query: Annotated[ScopeQuery, Query()]) -> PlaybookStats:
    """Count the insights of all scopes, or of one."""
    living = book.everywhere(query.scope)
    retired = book.everywhere(query.scope, is_retired=True)
    return PlaybookStats(**counts_of(living), retired=len(retired))


@router.get("/playbook/items")
def list_items(
    book: Book, query: Annotated[ItemQuery, Query()], response: Response
) -> list[InsightItem]:
    """List insights of all scopes, or of one; the header `X-Total-Count` has their number on all
    pages.
    """
    insights = [insight for insight in book.everywhere(query.scope) if _matches(insight, query)]
    # By id at last, so that the pages of a list neither overlap nor leave anything out.
    insights.sort(key=lambda insight: (-getattr(insight, query.sort), insight.id))
    response.headers["X-Total-Count"] = str(len(insights))
    page = insights[query.offset : query.offset + query.limit]
    return [InsightItem.model_validate(insight) for insight in page]


def _matches(insight: Insight, query: ItemQuery) -> bool:
    if query.category not in (None, insight.category):
        return False
    if query.min_score is not None and insight.net_score < query.min_score:
        return False
    return query.min_confidence is None or insight.confidence >= query.min_confidence


@router.get("/playbook/items/{item_id}", responses=documented(404))
def get_item(book: Book, item_id: str) -> InsightItem:
    """Get one insight."""
    return InsightItem.model_validate(_living(book, item_id))


@router.delete("/playbook/items/{item_id}", responses=documented(404))
def delete_item(book: Book, item_id: str) -> Deleted:
    """Retire an insight. `transom playbook retire --undo` restores it."""
    return Deleted(deleted=Curator(book).retire(_living(book, item_id).id, "deleted", by=BY).id)


@router.post("/playbook/feedback", responses=documented(400, 404))
def record_feedback(book: Book, feedback: FeedbackIn) -> Feedback:
    """Count one outcome for or against an insight."""
    key = _living(book, feedback.item_id).id
    # A client that reports an outcome has followed the insight.
    book.record_outcome(key, feedback.helpful, followed=True, source=InsightSource(by=BY))
    insight = book.require(key)
    return Feedback(
        item_id=insight.id,
        new_score=insight.net_score,
        new_confidence=insight.confidence,
        helpful_count=insight.helpful_count,
        harmful_count=insight.harmful_count,
    )


@router.post(
    "/playbook/insights",
    status_code=201,
    responses={
        200: {"description": "An equal insight exists", "model": InsightItem},
        **documented(400, 409),
    },
)
def add_insight(book: Book, draft: InsightIn, response: Response) -> InsightItem:
    """Add an insight; an equal one gets its tags and its source instead."""
    epoch = book.epoch
    source = InsightSource(trial=draft.source_trial, by=BY)
    insight = book.add_insight(draft.category, draft.content, tags=draft.tags, source=source)
    # It was retired for a reason, and a program must not bring it back unnoticed.
    if insight.retired:
        detail = (
            f"{insight.id} says the same and is retired ({insight.retired}); transom playbook"
            f" retire {insight.id} --undo"
        )
        raise HTTPException(409, detail)
    # The events since the call tell whether the insight is new or was there before.
    if not any(event.kind == "added" for event in book.ledger.events(insight.id, epoch)):
        response.status_code = 200
    return InsightItem.model_validate(insight)


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
    # One heading, and then a line for each insight.
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
def cache(root: Root) -> CacheFigures:
    """Get the statistics of vendors' prompt caches for the newest calls."""
    return CacheFigures(**cache_stats(root))


@router.get("/learning/report")
def report(book: Book) -> LearningReport:
    """Get the best and worst insights, and questions for a person."""
    return LearningReport.of(learning_report(book))


def _living(book: Playbook, item_id: str) -> Insight:
    """Return an insight of any scope that is not retired, or answer 404."""
    hint = "see /api/context/playbook/items"
    insight = book.get(item_id)
    # Own insights of other people stay hidden.
    if insight is None or insight.owner not in ("", book.view.user):
        raise HTTPException(404, f"unknown insight {item_id}; {hint}")
    if insight.retired:
        raise HTTPException(404, f"{item_id} is retired ({insight.retired}); {hint}")
    return insight
