"""Retrieval from a playbook: insights for a task within a token limit, and the insights that equal
a new one or are near to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.learning.insight import UNTESTED, Insight, InsightCategory
from transom.learning.ledger import Ledger
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
"""Weights in the score beside relevance, which is from 0 to 1."""
_FILLING = 4  # candidates for each place of the limit, where relevance leaves places free

HEADING = "Insights from earlier work. Name the id of each that you rely on, in brackets."


@dataclass(frozen=True)
class View:
    """Domain, study and person that a playbook is viewed from; narrower scopes and own insights
    take precedence.
    """

    domain: str = ""
    study: str = ""
    user: str = ""

    @property
    def scopes(self) -> list[str]:
        """The visible scopes, the narrowest first."""
        named = (("study", self.study), ("domain", self.domain))
        return [*(f"{level}/{name}" for level, name in named if name), "global"]

    @property
    def visible(self) -> tuple[str, list[Any]]:
        """SQL condition for all visible insights, retired ones included, and its parameters."""
        scopes = self.scopes
        return f"scope IN ({','.join('?' * len(scopes))}) AND owner IN ('', ?)", [
            *scopes,
            self.user,
        ]

    def living(self, now: str, *, before: int | None = None) -> tuple[str, list[Any]]:
        """Return the same for insights that are valid now, not overridden and, with `before`,
        existed at that epoch.
        """
        seen, values = self.visible
        holds = (
            f"{seen} AND retired = '' AND valid_from <= ? AND (valid_until = '' OR valid_until > ?)"
        )
        values = [*values, now, now]
        if before is not None:
            holds = f"{holds} AND number <= ?"
            values.append(before)
        overridden = f"SELECT overrides FROM insights WHERE overrides != '' AND {holds}"
        return f"{holds} AND id NOT IN ({overridden})", [*values, *values]

    def rank(self, one: Insight) -> tuple[bool, int]:
        """Return the precedence, smallest first; an invisible insight comes first, so that
        nothing overrides it.
        """
        return (not one.owner, self.scopes.index(one.scope) if one.scope in self.scopes else -1)


@dataclass(frozen=True)
class Wish:
    """A query to a playbook: words, filters and a limit.

    Attributes:
        query: a task's text; "" for the insights with the best standing.
        tags: insights with one of these tags score higher.
        fill: whether insights with the best standing fill the places that relevance leaves free.
        before: only insights that existed at that epoch.
        local: also insights that must not reach a remote provider.
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
    """A chosen insight, its score, and its relevance, which is part of the score."""

    insight: Insight
    score: float
    relevance: float


def choose(ledger: Ledger, index: Index, view: View, wish: Wish, now: str) -> list[Ranked]:
    """Return the best insights, best first; those that match the query precede those that only
    have a good standing.
    """
    where, values = view.living(now, before=wish.before)
    if wish.category:
        where, values = f"{where} AND category = ?", [*values, wish.category.value]
    if not wish.local:
        where = f"{where} AND egress = 'any'"
    relevance: dict[str, float] = {}
    found: dict[str, Insight] = {}
    if wish.query.strip():
        hits = index.search(
            wish.query, 3 * wish.limit, f"SELECT number FROM insights WHERE {where}", values
        )
        insights, scores = (
            ledger.numbered([hit.item for hit in hits]),
            {hit.item: hit.score for hit in hits},
        )
        found = {one.id: one for one in insights.values()}
        relevance = {one.id: scores[number] for number, one in insights.items()}
    if wish.fill and len(found) < wish.limit:
        best = f"helpful + harmful - 2 * against DESC, number DESC LIMIT {_FILLING * wish.limit}"
        filling = ledger.insights(where, values, order=best)
        for category in wish.profile.categories:  # preferred categories must not be crowded out
            filling += ledger.insights(
                f"{where} AND category = ?", [*values, category.value], order=best
            )
        found = {one.id: one for one in filling} | found
    shown = [one for one in _nearest(found.values(), view) if one.confidence >= wish.min_confidence]
    fits = [(one, relevance.get(one.id, 0.0)) for one in shown]
    ranked = [Ranked(one, _score(one, fit, wish, now), fit) for one, fit in fits]
    return sorted(ranked, key=lambda one: (not one.relevance, -one.score, one.insight.id))[
        : wish.limit
    ]


def fit(ranked: Sequence[Ranked], profile: TaskProfile, tokens: int) -> list[Insight]:
    """Return the insights that fit into `tokens`, ordered by the profile's categories."""
    kept: list[Insight] = []
    for one in ranked:
        if estimate_tokens(text_of([*kept, one.insight])) <= tokens:
            kept.append(one.insight)
    places = {category: place for place, category in enumerate(profile.categories)}
    return sorted(kept, key=lambda one: places.get(one.category, len(places)))


def text_of(insights: Sequence[Insight]) -> str:
    """Return insights as the text of a window; "" for none."""
    return "\n".join([HEADING, *(one.line for one in insights)]) if insights else ""


def same(ledger: Ledger, view: View, draft: Insight) -> str | None:
    """Return the id of the insight whose normalised text equals a draft's; living ones first.

    Only equal texts are one insight. Two texts that share most words, or their meaning, may differ
    in the one word that counts: see `near`.
    """
    where, values = view.visible
    # An override differs on purpose; only another override of the same insight can equal it.
    if draft.overrides:
        where = "scope = ? AND owner = ? AND overrides = ?"
        values = [draft.scope, draft.owner, draft.overrides]
    equal = equal_insights(ledger, draft, where, values)
    best = min(equal, key=lambda one: (bool(one.retired), view.rank(one)), default=None)
    return None if best is None else best.merged_into or best.id


def _alike(insight: Insight, draft: Insight) -> bool:
    """Whether both or neither are mistakes: advice and a mistake never count as equal."""
    mistake = InsightCategory.MISTAKE
    return (insight.category is mistake) == (draft.category is mistake)


def equal_insights(
    ledger: Ledger, draft: Insight, where: str, values: Sequence[Any], order: str = "number"
) -> list[Insight]:
    """Return the insights that match an SQL condition and equal a draft in text and kind."""
    candidates = ledger.insights(
        f"fingerprint = ? AND {where}", [fingerprint(draft.content), *values], order
    )
    text = normalised(draft.content)
    return [
        insight
        for insight in candidates
        if _alike(insight, draft) and normalised(insight.content) == text
    ]


def near(
    ledger: Ledger, index: Index, view: View, draft: Insight, vector: bytes | None
) -> str | None:
    """Return the id of the visible insight that is nearest to a draft in words, else in meaning.

    A text with another number is not near, since it states another fact. Call it before the draft
    is indexed.
    """
    if draft.overrides:  # it differs on purpose
        return None
    text, (where, values) = draft.content, view.visible
    numbers = index.sharing(text, NEARLY)
    marks = ",".join("?" * len(numbers))
    candidates = ledger.insights(f"number IN ({marks}) AND {where}", [*numbers, *values])
    if vector is not None:
        among = f"SELECT number FROM insights WHERE {where}"
        hits = index.search(text, 5, among, values, vector)
        close = [hit.item for hit in hits if (hit.likeness or 0.0) >= PARAPHRASE]
        by_number = ledger.numbered(close)
        candidates += [by_number[number] for number in close]
    for insight in sorted(candidates, key=lambda candidate: bool(candidate.retired)):
        if _alike(insight, draft) and not differ_in_a_number(insight.content, text):
            return insight.merged_into or insight.id
    return None


def counts_of(insights: Sequence[Insight]) -> dict[str, Any]:
    """Count insights by category and scope, with totals of their outcomes."""
    categories = Counter(one.category.value for one in insights)
    tested = [one for one in insights if one.tested]
    return {
        "total_items": len(insights),
        "by_category": {
            one.value: categories[one.value] for one in InsightCategory if categories[one.value]
        },
        "by_scope": dict(sorted(Counter(one.scope for one in insights).items())),
        "total_helpful": sum(one.helpful_count for one in insights),
        "total_harmful": sum(one.harmful_count for one in insights),
        "untested": len(insights) - len(tested),
        "average_confidence": sum(one.confidence for one in tested) / len(tested)
        if tested
        else UNTESTED,
    }


def _score(insight: Insight, relevance: float, wish: Wish, now: str) -> float:
    preferred = wish.profile.categories
    favour = (
        1 - preferred.index(insight.category) / len(preferred)
        if insight.category in preferred
        else 0.0
    )
    tagged = not (wish.tags | wish.profile.tags).isdisjoint(insight.tags)
    return relevance + _STANDING * insight.standing(now) + _CATEGORY * favour + _TAGS * tagged


def _nearest(insights: Iterable[Insight], view: View) -> list[Insight]:
    """Return one insight for each content that occurs in several scopes: the one that takes
    precedence.
    """
    chosen: dict[str, Insight] = {}
    for one in sorted(insights, key=view.rank):
        kind = "never " if one.category is InsightCategory.MISTAKE else ""
        chosen.setdefault(kind + " ".join(one.content.lower().split()), one)
    return [*chosen.values()]
