"""Request and response models of the endpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from transom.learning import ExposedState, InsightCategory
from transom.learning.curator import Report

Tag = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_VISIBLE = r"[^\s\x1c-\x1f\x85]"
"""A text with a character that Python does not take for a blank; patterns know fewer blanks."""
# Larger numbers are mistakes, and some would not fit the database.
_MANY = 1_000_000

Offset = Annotated[int, Query(ge=0, le=_MANY * 1_000)]
"""The number of rows of a list that stand before a page."""


def _no_bool(value: object) -> object:
    """Reject a JSON `true`, which Python would take for a number."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


class _Given(BaseModel):
    """Base of requests; unknown fields are errors."""

    # A misspelt filter would list everything.
    model_config = ConfigDict(extra="forbid")


class ScopeQuery(_Given):
    """The scope of insights: `global`, `domain/NAME` or `study/NAME`; "" for all."""

    scope: str = Field(default="", max_length=200, examples=["domain/study"])


class ItemQuery(ScopeQuery):
    """Filters, order and page of a list of insights.

    Attributes:
        scope: only this scope.
        category: only this category.
        min_score: least net score.
        min_confidence: least confidence.
        limit, offset: the page of the list.
        sort: the sort key, greatest first.
    """

    category: InsightCategory | None = None
    min_score: int | None = None
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    limit: int = Field(default=50, ge=1, le=1_000)
    offset: int = Field(default=0, ge=0)
    sort: Literal["lower_bound", "net_score", "confidence"] = "lower_bound"


class ContextQuery(_Given):
    """A query for a model's context.

    Attributes:
        task_type: a kind of task, e.g. `debug_error`, or free words, which then are the query.
        max_items: number of insights, at most.
        min_confidence: least confidence.
        tags: insights with one of these tags score higher.
    """

    task_type: str = Field(default="optimization", max_length=2_000)
    max_items: int = Field(default=20, ge=1, le=1_000)
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    tags: list[Tag] = Field(default_factory=list, max_length=50)


class PruneQuery(_Given):
    """The highest net score that is retired."""

    threshold: int = Field(default=-3, ge=-_MANY, le=-1)


class FeedbackIn(_Given):
    """The outcome of using an insight."""

    item_id: str = Field(max_length=100, examples=["mis-00001"])
    # Strict: pydantic would also read texts such as "yes" and "off".
    helpful: bool = Field(strict=True, examples=[True])


class DecisionIn(_Given):
    """A person's decision on the verdict of a run."""

    decision: Literal["confirm", "overturn"]
    by: str = Field(min_length=1, max_length=100, pattern=_VISIBLE, examples=["Ann Lee"])
    reason: str = Field(default="", max_length=2_000, examples=["the line is an echo"])


class InsightIn(_Given):
    """An insight to add: one fact or rule."""

    category: InsightCategory
    content: str = Field(
        min_length=1,
        max_length=4_000,
        pattern=_VISIBLE,
        examples=["Check the hold corner before the setup corner."],
    )
    source_trial: Annotated[int | None, BeforeValidator(_no_bool)] = Field(
        default=None, ge=0, le=_MANY * _MANY
    )
    tags: list[Tag] = Field(default_factory=list, max_length=50)


class InsightItem(BaseModel):
    """An insight.

    Attributes:
        scope: `global`, `domain/NAME` or `study/NAME`.
        lower_bound: 95 % lower bound of its confidence: 8 of 9 is worth more than 1 of 1.
        last_used: None if it was never used.
    """

    model_config = ConfigDict(from_attributes=True)

    id: str
    category: InsightCategory
    scope: str
    content: str
    helpful_count: int
    harmful_count: int
    net_score: int
    confidence: float
    lower_bound: float
    tags: list[str]
    created_at: str
    last_used: Annotated[str | None, BeforeValidator(lambda time: time or None)]


class Feedback(BaseModel):
    """The score of an insight after feedback."""

    item_id: str
    new_score: int
    new_confidence: float
    helpful_count: int
    harmful_count: int


class Deleted(BaseModel):
    """The id of a retired insight, which stays as a retired entry and is not learned again."""

    deleted: str


class Pruned(BaseModel):
    """Number of retired insights, and the threshold."""

    items_pruned: int
    threshold: int


class Context(BaseModel):
    """The text for a model, and the number of its insights."""

    context: str
    items_included: int


class PlaybookStats(BaseModel):
    """Counts of insights."""

    total_items: int
    by_category: dict[str, int]
    by_scope: dict[str, int]
    total_helpful: int
    total_harmful: int
    untested: int
    average_confidence: float
    retired: int


class SessionView(ExposedState):
    """The state of the session that every window shows, without the isolated state."""

    session_id: str


class SessionContext(BaseModel):
    """The session's text for a window."""

    session_id: str
    context: str


class CacheFigures(BaseModel):
    """Statistics of vendors' prompt caches for the newest calls, as reported by the vendors.

    Attributes:
        total_requests: answered calls, at most the newest 100.
        cache_hits: calls that read from a cache.
        cache_misses: the other calls.
        hit_rate: hits divided by calls.
        input_tokens, cached_tokens: tokens of those calls.
        estimated_savings_percent: share of the input's cost that is saved, at usual prices, cache
            writes included.
    """

    total_requests: int
    cache_hits: int
    cache_misses: int
    hit_rate: float
    input_tokens: int
    cached_tokens: int
    estimated_savings_percent: float


class LearningReport(BaseModel):
    """The best and worst insights, and questions for a person.

    Attributes:
        generated_at: time of the report, UTC.
        playbook_stats: counts.
        top_performers: tested insights with the best score.
        worst_performers: insights with more outcomes against than for them.
        questions: questions to ask a person first.
    """

    generated_at: str
    playbook_stats: PlaybookStats
    top_performers: list[InsightItem]
    worst_performers: list[InsightItem]
    questions: list[dict[str, Any]]

    @classmethod
    def of(cls, report: Report) -> LearningReport:
        """Convert a report."""
        return cls(
            generated_at=report.created_at,
            playbook_stats=PlaybookStats(**report.stats),
            top_performers=[InsightItem.model_validate(insight) for insight in report.best],
            worst_performers=[InsightItem.model_validate(insight) for insight in report.worst],
            questions=[question.to_json() for question in report.questions],
        )
