"""Looking in a playbook: what a task is shown within its tokens, and which insight says the same as a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.learning.insight import UNTESTED, Insight, InsightCategory
from transom.learning.ledger import Ledger
from transom.learning.likeness import NEARLY, PARAPHRASE, contradict, fingerprint, may_paraphrase
from transom.learning.tasks import TaskProfile
from transom.llm import estimate_tokens
from transom.memory.index import Index

_STANDING, _CATEGORY, _TAGS = 0.5, 0.25, 0.25
"""What these count beside relevance, which is from 0 to 1."""
_FILLING = 4  # candidates for each place that relevance leaves free

HEADING = "Insights from earlier work. Name the id of each that you rely on, in brackets."


@dataclass(frozen=True)
class View:
    """Whose playbook is looked at, and for what: the narrower goes before the wider, one's own before all others'."""

    domain: str = ""
    study: str = ""
    user: str = ""

    @property
    def scopes(self) -> list[str]:
        """Those that are seen, the narrowest first."""
        named = (("study", self.study), ("domain", self.domain))
        return [*(f"{level}/{name}" for level, name in named if name), "global"]

    @property
    def visible(self) -> tuple[str, list[Any]]:
        """A condition for all insights that are seen, retired ones included, and its values."""
        scopes = self.scopes
        return f"scope IN ({','.join('?' * len(scopes))}) AND owner IN ('', ?)", [*scopes, self.user]

    def living(self, now: str, *, before: int | None = None) -> tuple[str, list[Any]]:
        """The same for those that hold now, are not overridden, and, if wished, were there at an epoch."""
        seen, values = self.visible
        holds = f"{seen} AND retired = '' AND valid_from <= ? AND (valid_until = '' OR valid_until > ?)"
        values = [*values, now, now]
        if before is not None:
            holds = f"{holds} AND number <= ?"
            values.append(before)
        stood_in = f"SELECT overrides FROM insights WHERE overrides != '' AND {holds}"
        return f"{holds} AND id NOT IN ({stood_in})", [*values, *values]

    def rank(self, one: Insight) -> tuple[bool, int]:
        """The smaller the more it counts here; what is not seen from here counts most, so that nothing overrides it."""
        return (not one.owner, self.scopes.index(one.scope) if one.scope in self.scopes else -1)


@dataclass(frozen=True)
class Wish:
    """What is looked for: of one category only, of a confidence at least, at most so many.

    Attributes:
        query: a task's text; "" asks for what stands best.
        tags: insights with one of these are worth more.
        fill: places that relevance leaves free go to what stands best.
        before: only what was there at that epoch.
        local: also what must not reach a remote provider.
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
    """An insight that was chosen, its score, and what of that is relevance."""

    insight: Insight
    score: float
    relevance: float


def choose(ledger: Ledger, index: Index, view: View, wish: Wish, now: str) -> list[Ranked]:
    """The best insights, the best first: those that fit the query before those that only stand well."""
    where, values = view.living(now, before=wish.before)
    if wish.category:
        where, values = f"{where} AND category = ?", [*values, wish.category.value]
    if not wish.local:
        where = f"{where} AND egress = 'any'"
    relevance: dict[str, float] = {}
    found: dict[str, Insight] = {}
    if wish.query.strip():
        hits = index.search(wish.query, 3 * wish.limit, f"SELECT number FROM insights WHERE {where}", values)
        insights, scores = ledger.numbered([hit.item for hit in hits]), {hit.item: hit.score for hit in hits}
        found = {one.id: one for one in insights.values()}
        relevance = {one.id: scores[number] for number, one in insights.items()}
    if wish.fill and len(found) < wish.limit:
        best = f"helpful + harmful - 2 * against DESC, number DESC LIMIT {_FILLING * wish.limit}"
        filling = ledger.insights(where, values, order=best)
        for category in wish.profile.categories:  # many others that stand as well must not crowd them out
            filling += ledger.insights(f"{where} AND category = ?", [*values, category.value], order=best)
        found = {one.id: one for one in filling} | found
    shown = [one for one in _nearest(found.values(), view) if one.confidence >= wish.min_confidence]
    fits = [(one, relevance.get(one.id, 0.0)) for one in shown]
    ranked = [Ranked(one, _score(one, fit, wish, now), fit) for one, fit in fits]
    return sorted(ranked, key=lambda one: (not one.relevance, -one.score, one.insight.id))[: wish.limit]


def fit(ranked: Sequence[Ranked], profile: TaskProfile, tokens: int) -> list[Insight]:
    """Those for which there is room, in the order in which they are shown: by category as the work needs them."""
    kept: list[Insight] = []
    for one in ranked:
        if estimate_tokens(text_of([*kept, one.insight])) <= tokens:
            kept.append(one.insight)
    places = {category: place for place, category in enumerate(profile.categories)}
    return sorted(kept, key=lambda one: places.get(one.category, len(places)))


def text_of(insights: Sequence[Insight]) -> str:
    """Insights as a window shows them; "" for none."""
    return "\n".join([HEADING, *(one.line for one in insights)]) if insights else ""


def same(ledger: Ledger, index: Index, view: View, draft: Insight, vector: bytes | None) -> str | None:
    """Id of an insight that says the same: equal, nearly equal, or a paraphrase; a living one before a retired."""
    text, (where, values) = draft.content, view.visible
    if draft.overrides:  # it says something else on purpose, unless it was said here before
        where, values = "scope = ? AND owner = ? AND overrides = ?", [draft.scope, draft.owner, draft.overrides]
    same_words = ledger.insights(f"fingerprint = ? AND {where}", [fingerprint(text), *values])
    equal = [one for one in same_words if _alike(one, draft)]
    if not equal and not draft.overrides:
        near = index.sharing(text, NEARLY)
        alike = ledger.insights(f"number IN ({','.join('?' * len(near))}) AND {where}", [*near, *values])
        equal = [one for one in alike if _alike(one, draft) and not contradict(one.content, text)]
    if not equal and not draft.overrides and vector is not None:
        hits = index.search(text, 5, f"SELECT number FROM insights WHERE {where}", values, vector)
        close = ledger.numbered([hit.item for hit in hits if (hit.likeness or 0.0) >= PARAPHRASE])
        equal = [one for one in close.values() if _alike(one, draft) and may_paraphrase(one.content, text)]
    best = min(equal, key=lambda one: (bool(one.retired), view.rank(one)), default=None)
    return None if best is None else best.merged_into or best.id


def _alike(one: Insight, draft: Insight) -> bool:
    """What to avoid and what to do are never the same, whatever words they share."""
    return (one.category is InsightCategory.MISTAKE) == (draft.category is InsightCategory.MISTAKE)


def counts_of(insights: Sequence[Insight]) -> dict[str, Any]:
    """How many insights there are of which kind, and what their outcomes come to."""
    categories = Counter(one.category.value for one in insights)
    tested = [one for one in insights if one.tested]
    return {
        "total_items": len(insights),
        "by_category": {one.value: categories[one.value] for one in InsightCategory if categories[one.value]},
        "by_scope": dict(sorted(Counter(one.scope for one in insights).items())),
        "total_helpful": sum(one.helpful_count for one in insights),
        "total_harmful": sum(one.harmful_count for one in insights),
        "untested": len(insights) - len(tested),
        "average_confidence": sum(one.confidence for one in tested) / len(tested) if tested else UNTESTED,
    }


def _score(insight: Insight, relevance: float, wish: Wish, now: str) -> float:
    preferred = wish.profile.categories
    favour = 1 - preferred.index(insight.category) / len(preferred) if insight.category in preferred else 0.0
    tagged = not (wish.tags | wish.profile.tags).isdisjoint(insight.tags)
    return relevance + _STANDING * insight.standing(now) + _CATEGORY * favour + _TAGS * tagged


def _nearest(insights: Iterable[Insight], view: View) -> list[Insight]:
    """Of those that say the same in several scopes the one that counts most here."""
    chosen: dict[str, Insight] = {}
    for one in sorted(insights, key=view.rank):
        kind = "never " if one.category is InsightCategory.MISTAKE else ""
        chosen.setdefault(kind + " ".join(one.content.lower().split()), one)
    return [*chosen.values()]
