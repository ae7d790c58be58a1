"""Whether a playbook says something already: in equal words, in nearly equal ones, or in other words."""

from __future__ import annotations

from transom.learning.insight import Draft, Insight, InsightCategory
from transom.learning.likeness import NEARLY, PARAPHRASE, contradict, fingerprint, may_paraphrase
from transom.learning.reader import PlaybookReader


def same(playbook: PlaybookReader, text: str, draft: Draft, vector: bytes | None) -> str | None:
    """Id of an insight that says the same: equal, nearly equal, or a paraphrase; a living one before a retired."""
    where, values = playbook.view.visible
    if draft.overrides:  # it says something else on purpose, unless it was said here before
        where, values = "scope = ? AND owner = ? AND overrides = ?", [draft.scope, draft.owner, draft.overrides]
    equal = playbook.ledger.insights(f"fingerprint = ? AND {where}", [fingerprint(text), *values])
    if not equal and not draft.overrides:
        near = playbook.index.sharing(text, NEARLY)
        marks = ",".join("?" * len(near))
        alike = playbook.ledger.insights(f"number IN ({marks}) AND {where}", [*near, *values])
        equal = [one for one in alike if _alike(one, draft) and not contradict(one.content, text)]
    if not equal and not draft.overrides and vector is not None:
        hits = playbook.index.search(text, 5, f"SELECT number FROM insights WHERE {where}", values, vector)
        close = [hit.item for hit in hits if (hit.likeness or 0.0) >= PARAPHRASE]
        insights = playbook.ledger.numbered(close)
        alike = [insights[number] for number in close if number in insights]
        equal = [one for one in alike if _alike(one, draft) and may_paraphrase(one.content, text)]
    best = min(equal, key=lambda one: (bool(one.retired), playbook.view.rank(one)), default=None)
    return None if best is None else best.merged_into or best.id


def adds_nothing(one: Insight, draft: Draft) -> bool:
    """Whether a draft adds nothing to an insight, not even where it was learned."""
    sources = not draft.source.to_json() or draft.source in one.sources
    return sources and {*draft.tags} <= {*one.tags} and draft.egress in ("any", one.egress)


def _alike(one: Insight, draft: Draft) -> bool:
    """What to avoid and what to do are never the same, whatever words they share."""
    return (one.category is InsightCategory.MISTAKE) == (draft.category is InsightCategory.MISTAKE)
