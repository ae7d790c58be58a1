"""What the endpoints take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from transom.learning import ExposedState, Insight, InsightCategory
from transom.learning.curator import Report

Tag = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_MANY = 1_000_000


def _no_bool(value: object) -> object:
    """JSON's `true` is no number, though Python's is."""
    if isinstance(value, bool):
        raise ValueError("a number is wanted")
    return value


class _Given(BaseModel):
    """What a client sends; a field that is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class ItemQuery(_Given):
    """Which insights are listed, and in what order.

    Attributes:
        category: of this one only.
        min_score: net score at least.
        min_confidence: confidence at least.
        limit, offset: which part of the list.
        sort: the greatest first.
    """

    category: InsightCategory | None = None
    min_score: int | None = None
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    limit: int = Field(default=50, ge=1, le=1_000)
    offset: int = Field(default=0, ge=0)
    sort: Literal["lower_bound", "net_score", "confidence"] = "lower_bound"


class ContextQuery(_Given):
    """What a model is to be shown.

    Attributes:
        task_type: a kind of work, e.g. `debug_error`, or free words, which are then searched for.
        max_items: insights at most.
        min_confidence: others are left out.
        tags: insights with one of these are worth more.
    """

    task_type: str = Field(default="optimization", max_length=2_000)
    max_items: int = Field(default=20, ge=1, le=1_000)
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    tags: list[Tag] = Field(default_factory=list, max_length=50)


class PruneQuery(_Given):
    """The net score from which insights are retired."""

    threshold: int = Field(default=-3, ge=-_MANY, le=-1)


class FeedbackIn(_Given):
    """What an insight did, as whoever used it judges it."""

    item_id: str = Field(max_length=100)
    helpful: bool = Field(strict=True)


class InsightIn(_Given):
    """An insight to be added: one fact or rule."""

    category: InsightCategory
    content: str = Field(min_length=1, max_length=4_000, pattern=r"\S")
    source_trial: Annotated[int | None, BeforeValidator(_no_bool)] = Field(default=None, ge=0, le=_MANY * _MANY)
    tags: list[Tag] = Field(default_factory=list, max_length=50)


class Item(BaseModel):
    """An insight. `lower_bound` says what its confidence is at least, probably: 8 of 9 counts more than 1 of 1."""

    id: str
    category: InsightCategory
    content: str
    helpful_count: int
    harmful_count: int
    net_score: int
    confidence: float
    lower_bound: float
    tags: list[str]
    created_at: str
    last_used: str | None

    @classmethod
    def of(cls, one: Insight) -> Item:
        """An insight as it stands."""
        return cls(
            id=one.id,
            category=one.category,
            content=one.content,
            helpful_count=one.helpful_count,
            harmful_count=one.harmful_count,
            net_score=one.net_score,
            confidence=one.confidence,
            lower_bound=one.lower_bound,
            tags=[*one.tags],
            created_at=one.created_at,
            last_used=one.last_used or None,
        )


class Feedback(BaseModel):
    """How an insight stands after feedback."""

    item_id: str
    new_score: int
    new_confidence: float
    helpful_count: int
    harmful_count: int


class Deleted(BaseModel):
    """The id of an insight that is not shown any more. It stays as a tombstone, and is not learned again."""

    deleted: str


class Pruned(BaseModel):
    """How many insights were retired, and from which net score."""

    items_pruned: int
    threshold: int


class Context(BaseModel):
    """What a model is shown, and how many insights that holds."""

    context: str
    items_included: int


class PlaybookStats(BaseModel):
    """Counts over the insights that are shown."""

    total_items: int
    by_category: dict[str, int]
    by_scope: dict[str, int]
    total_helpful: int
    total_harmful: int
    untested: int
    average_confidence: float
    retired: int


class SessionView(ExposedState):
    """What every window shows of the session; what lies isolated is not given out."""

    session_id: str


class SessionContext(BaseModel):
    """The session's text for a window."""

    session_id: str
    context: str


class CacheStats(BaseModel):
    """What vendors' caches did for the newest calls, as they reported it.

    Attributes:
        total_requests: calls that were answered, at most the newest 100.
        cache_hits: those for which something was read from the cache.
        cache_misses: the others.
        hit_rate: hits to calls.
        input_tokens, cached_tokens: of those calls.
        estimated_savings_percent: of the cost of the input, at usual terms; writing into the cache costs more.
    """

    total_requests: int
    cache_hits: int
    cache_misses: int
    hit_rate: float
    input_tokens: int
    cached_tokens: int
    estimated_savings_percent: float


class LearningReport(BaseModel):
    """What was learned, and what a person should look at.

    Attributes:
        generated_at: UTC.
        playbook_stats: counts.
        top_performers: insights with outcomes that stand best.
        worst_performers: insights that more outcomes speak against than for.
        questions: what is best asked of a person.
    """

    generated_at: str
    playbook_stats: PlaybookStats
    top_performers: list[Item]
    worst_performers: list[Item]
    questions: list[dict[str, Any]]

    @classmethod
    def of(cls, found: Report) -> LearningReport:
        """A report as it is sent."""
        return cls(
            generated_at=found.at,
            playbook_stats=PlaybookStats(**found.stats),
            top_performers=[Item.of(one) for one in found.best],
            worst_performers=[Item.of(one) for one in found.worst],
            questions=[one.to_json() for one in found.questions],
        )
