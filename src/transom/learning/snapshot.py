"""A fixed state of the playbook for a session: new insights do not change the session's prefix."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from transom.learning.insight import Insight
from transom.learning.retrieval import PlaybookQuery, Ranked, fit, text_of
from transom.llm import Block, Tier
from transom.llm.turns import strictest

BLOCK = "playbook"
"""Name of the block, for a role's `sees`."""

_ID = re.compile(r"\[([^\[\]]{1,400})\]")
# The code of a category, and a number that may outgrow five digits.
_SHAPE = re.compile(r"[a-z]{2,4}-\d{5,}")
_FIRST_ID = re.compile(rf"^\[({_SHAPE.pattern})\]", re.MULTILINE)
_CITATION = re.compile(rf" ?\[(?:{_SHAPE.pattern}[, ]*)+\]")


class Snapshot:
    """A `BlockSource` over a playbook at the epoch of a wish. Equal queries give equal bytes."""

    def __init__(
        self, choose: Callable[[PlaybookQuery], list[Ranked]], wish: PlaybookQuery
    ) -> None:
        self._choose = choose
        self._wish = wish
        self._answered: dict[tuple[str, int], tuple[Insight, ...]] = {}

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """Return the insights for a query in one untrusted block, or no block.

        The block has at most `tokens` estimated tokens. Insights may come from models and logs, so
        they are untrusted data, and as local as their sources.
        """
        # In a thread, since the embedding of the query takes a while.
        insights = await asyncio.to_thread(self.insights, query, tokens)
        if not insights:
            return ()
        egress = strictest(*[insight.egress for insight in insights])
        return (Block(BLOCK, text_of(insights), Tier.SESSION, "untrusted", egress),)

    def insights(self, query: str, tokens: int) -> tuple[Insight, ...]:
        """Return the insights of the block for a query."""
        key = (query, tokens)
        if key not in self._answered:
            profile = self._wish.profile
            ranked = self._choose(replace(self._wish, query=query))
            # Kept, so that a second call is cheap and has the same bytes.
            self._answered[key] = tuple(fit(ranked, profile, int(tokens * profile.share)))
        return self._answered[key]


def cited_in(text: str, ids: Collection[str]) -> tuple[str, ...]:
    """Return those of some ids that a text cites, each once: `[str-00001]`, `[str-00001,
    mis-00002]`.
    """
    # A model may also invent ids.
    return tuple(key for key in ids_in(text) if key in ids)


def ids_in(text: str) -> tuple[str, ...]:
    """Return all texts in brackets with the form of an insight's id, each once."""
    return tuple(
        dict.fromkeys(key for match in _ID.finditer(text) for key in _SHAPE.findall(match[1]))
    )


def shown_in(text: str) -> tuple[str, ...]:
    """Return the ids of the insights in a playbook's text, each once.

    They begin a line; ids that an insight quotes do not.
    """
    return tuple(dict.fromkeys(_FIRST_ID.findall(text)))


def uncited(text: str) -> str:
    """Return a text without its citations, for a search for numbers."""
    return _CITATION.sub("", text)
