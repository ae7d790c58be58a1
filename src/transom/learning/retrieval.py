"""Retrieval from a playbook: insights for a task within a token limit, and insights that equal a
draft or are near to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.learning.insight import UNTESTED, Insight, InsightCategory
from transom.learning.ledger import InsightLedger
from transom.learning.likeness import (
    NEARLY,
    PARAPHRASE,
    differ_in_a_number,
    fingerprint,
    normalised,
)
from transom.learning.tasks import TaskProfile
from transom.llm import estimate_tokens
from transom.memory.index import Index

_STANDING, _CATEGORY, _TAGS = 0.5, 0.25, 0.25
"""Weights in the score, in which relevance (0 to 1) has the weight 1."""
_CANDIDATES = 4  # for each place of the limit, if relevance leaves places free

HEADING = "Insights from earlier work. Name the id of each that you rely on, in brackets."


@dataclass(frozen=True)
class PlaybookView:
    """The domain, the study and the person for whom a playbook is read.

    Narrower scopes take precedence over wider ones, and insights of the person over those of
    everyone.
    """

    domain: str = ""
    study: str = ""
    user: str = ""

    @property
    def scopes(self) -> list[str]:
        """Return the visible scopes, the narrowest first."""
        scopes = []
        if self.study:
            scopes.append(f"study/{self.study}")
        if self.domain:
            scopes.append(f"domain/{self.domain}")
        return [*scopes, "global"]

    @property
    def visible(self) -> tuple[str, list[Any]]:
        """Return an SQL condition for all visible insights, also retired ones, and its values."""
        scopes = self.scopes
        parameters = ",".join("?" * len(scopes))
        return f"scope IN ({parameters}) AND owner IN ('', ?)", [*scopes, self.user]

    def living(self, time: str, *, before: int | None = None) -> tuple[str, list[Any]]:
        """Return an SQL condition for the insights in use, and its values.

        These are visible, not retired, valid at that time, and not overridden.

        Args:
            time: ISO 8601.
            before: epoch at which they existed; None for now.
        """
        visible, values = self.visible
        condition = (
            f"{visible} AND retired = '' AND valid_from <= ? AND (valid_until = '' OR valid_until"
            " > ?)"
        )
        values = [*values, time, time]
        if before is not None:
            condition = f"{condition} AND number <= ?"
            values.append(before)
        # Only an insight that is in use itself overrides another one.
        overridden = f"SELECT overrides FROM insights WHERE overrides != '' AND {condition}"
        return f"{condition} AND id NOT IN ({overridden})", [*values, *values]

    def rank(self, insight: Insight) -> tuple[bool, int]:
        """Return the precedence of an insight; the smallest takes precedence."""
        # An invisible insight comes first, so that nothing overrides it.
        place = -1
        if insight.scope in self.scopes:
            place = self.scopes.index(insight.scope)
        return not insight.owner, place


@dataclass(frozen=True)
class PlaybookQuery:
    """A query to a playbook: words, filters and a limit.

    Attributes:
        query: the text of a task; "" for the insights with the best scores.
        profile: the preferences of the kind of task.
        category: only insights of this category; None for all.
        tags: insights with one of these tags score higher.
        limit: number of insights at most.
        min_confidence: least confidence.
        fill: whether insights with the best scores fill the places that relevance leaves free.
        before: epoch at which the insights existed; None for now.
        local: whether to include insights that must not reach a remote provider.
    """

    query: str = ""
    profile: TaskProfile = field(default_factory=TaskProfile)
    category: InsightCategory | None = None
    tags: frozenset[str] = frozenset()
    limit: int = 15
    min_confidence: float = 0.0
    fill: bool = True
    before: int | None = None
    local: bool = True


@dataclass(frozen=True)
class Ranked:
    """A chosen insight, its score, and the relevance that is a part of the score."""

    insight: Insight
    score: float
    relevance: float


def choose(
    ledger: InsightLedger, index: Index, view: PlaybookView, wish: PlaybookQuery, time: str
) -> list[Ranked]:
    """Return the insights that match a wish best, best first.

    Insights that match the query precede those that only have a good score.
    """
    condition, values = view.living(time, before=wish.before)
    if wish.category:
        condition = f"{condition} AND category = ?"
        values.append(wish.category.value)
    if not wish.local:
        condition = f"{condition} AND egress = 'any'"
    relevance: dict[str, float] = {}
    candidates: dict[str, Insight] = {}
    if wish.query.strip():
        allowed = f"SELECT number FROM insights WHERE {condition}"
        hits = index.search(wish.query, 3 * wish.limit, allowed, values)
        scores = {hit.item: hit.score for hit in hits}
        for number, insight in ledger.numbered([*scores]).items():
            candidates[insight.id] = insight
            relevance[insight.id] = scores[number]
    if wish.fill and len(candidates) < wish.limit:
        best = f"helpful + harmful - 2 * against DESC, number DESC LIMIT {_CANDIDATES * wish.limit}"
        fillers = ledger.insights(condition, values, order=best)
        # Insights of preferred categories must not be crowded out by the others.
        for category in wish.profile.categories:
            of_category = f"{condition} AND category = ?"
            fillers += ledger.insights(of_category, [*values, category.value], order=best)
        candidates = {insight.id: insight for insight in fillers} | candidates
    ranked = []
    for insight in _nearest(candidates.values(), view):
        if insight.confidence >= wish.min_confidence:
            relevance_score = relevance.get(insight.id, 0.0)
            score = _score(insight, relevance_score, wish, time)
            ranked.append(Ranked(insight, score, relevance_score))
    ranked.sort(
        key=lambda candidate: (not candidate.relevance, -candidate.score, candidate.insight.id)
    )
    return ranked[: wish.limit]


def fit(ranked: Sequence[Ranked], profile: TaskProfile, tokens: int) -> list[Insight]:
    """Return the insights that fit into `tokens`, ordered by the profile's categories."""
    insights: list[Insight] = []
    for candidate in ranked:
        # The loop goes on after an insight that does not fit: shorter ones may.
        if estimate_tokens(text_of([*insights, candidate.insight])) <= tokens:
            insights.append(candidate.insight)
    places = {category: place for place, category in enumerate(profile.categories)}
    return sorted(insights, key=lambda insight: places.get(insight.category, len(places)))


def text_of(insights: Sequence[Insight]) -> str:
    """Return insights as the text of a window; "" for none."""
    if not insights:
        return ""
    return "\n".join([HEADING, *(insight.line for insight in insights)])


def equal_id(ledger: InsightLedger, view: PlaybookView, draft: Insight) -> str | None:
    """Return the id of the insight whose normalised text equals a draft's; living ones first.

    Only equal texts are one insight. Two texts that share most words, or their meaning, may differ
    in the one word that counts: see `near`.
    """
    condition, values = view.visible
    # An override differs on purpose; only another override of the same insight can equal it.
    if draft.overrides:
        condition = "scope = ? AND owner = ? AND overrides = ?"
        values = [draft.scope, draft.owner, draft.overrides]
    equal = equal_insights(ledger, draft, condition, values)
    if not equal:
        return None
    best = min(equal, key=lambda insight: (bool(insight.retired), view.rank(insight)))
    return best.merged_into or best.id


def _alike(insight: Insight, draft: Insight) -> bool:
    """Return whether both or neither are mistakes: advice and a mistake never count as equal."""
    mistake = InsightCategory.MISTAKE
    return (insight.category is mistake) == (draft.category is mistake)


def equal_insights(
    ledger: InsightLedger,
    draft: Insight,
    condition: str,
    values: Sequence[Any],
    order: str = "number",
) -> list[Insight]:
    """Return the insights that match an SQL condition and equal a draft in text and kind."""
    candidates = ledger.insights(
        f"fingerprint = ? AND {condition}", [fingerprint(draft.content), *values], order
    )
    # Texts with the same fingerprint may differ in a symbol.
    text = normalised(draft.content)
    return [
        insight
        for insight in candidates
        if _alike(insight, draft) and normalised(insight.content) == text
    ]


def near(
    ledger: InsightLedger, index: Index, view: PlaybookView, draft: Insight, vector: bytes | None
) -> str | None:
    """Return the id of the visible insight that is nearest to a draft in words, else in meaning.

    A text with another number is not near, since it states another fact. Call it before the draft
    is indexed.
    """
    # An override differs on purpose.
    if draft.overrides:
        return None
    text = draft.content
    condition, values = view.visible
    # Words first: they find typing errors, and need no embedder.
    numbers = index.texts_sharing_stems(text, NEARLY)
    marks = ",".join("?" * len(numbers))
    candidates = ledger.insights(f"number IN ({marks}) AND {condition}", [*numbers, *values])
    if vector is not None:
        among = f"SELECT number FROM insights WHERE {condition}"
        hits = index.search(text, 5, among, values, vector)
        close = [hit.item for hit in hits if (hit.likeness or 0.0) >= PARAPHRASE]
        by_number = ledger.numbered(close)
        candidates += [by_number[number] for number in close]
    # A question about a living insight is worth more than one about a retired one.
    for insight in sorted(candidates, key=lambda candidate: bool(candidate.retired)):
        if _alike(insight, draft) and not differ_in_a_number(insight.content, text):
            return insight.merged_into or insight.id
    return None


def counts_of(insights: Sequence[Insight]) -> dict[str, Any]:
    """Return the numbers of insights by category and scope, and totals of their outcomes."""
    categories = Counter(insight.category.value for insight in insights)
    scopes = Counter(insight.scope for insight in insights)
    tested = [insight for insight in insights if insight.tested]
    average = UNTESTED
    if tested:
        average = sum(insight.confidence for insight in tested) / len(tested)
    # In the order of the categories, which is the same everywhere.
    by_category = {}
    for category in InsightCategory:
        if categories[category.value]:
            by_category[category.value] = categories[category.value]
    return {
        "total_items": len(insights),
        "by_category": by_category,
        "by_scope": dict(sorted(scopes.items())),
        "total_helpful": sum(insight.helpful_count for insight in insights),
        "total_harmful": sum(insight.harmful_count for insight in insights),
        "untested": len(insights) - len(tested),
        "average_confidence": average,
    }


def _score(insight: Insight, relevance: float, wish: PlaybookQuery, time: str) -> float:
    preferred = wish.profile.categories
    # From 1 for the first preferred category downwards; 0 for the others.
    preference = 0.0
    if insight.category in preferred:
        preference = 1 - preferred.index(insight.category) / len(preferred)
    has_tag = not (wish.tags | wish.profile.tags).isdisjoint(insight.tags)
    standing = insight.standing(time)
    return relevance + _STANDING * standing + _CATEGORY * preference + _TAGS * has_tag


def _nearest(insights: Iterable[Insight], view: PlaybookView) -> list[Insight]:
    """Return the insights; of those with the same content, only the one that takes precedence."""
    by_content: dict[str, Insight] = {}
    for insight in sorted(insights, key=view.rank):
        # The same words as advice and as a mistake say the opposite.
        kind = "never " if insight.category is InsightCategory.MISTAKE else ""
        by_content.setdefault(kind + " ".join(insight.content.lower().split()), insight)
    return [*by_content.values()]
