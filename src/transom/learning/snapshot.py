"""A fixed state of the playbook for a session, so that new insights do not change the session's
prefix.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from transom.learning.insight import Insight
from transom.learning.retrieval import Ranked, Wish, fit, text_of
from transom.llm import Block, Tier
from transom.llm.turns import strictest

BLOCK = "playbook"
"""Name of the block, for a role's `sees`."""

_ID = re.compile(r"\[([^\[\]]{1,400})\]")
_SHAPE = re.compile(r"[a-z]{2,4}-\d{5,}")
_SHOWN = re.compile(rf"^\[({_SHAPE.pattern})\]", re.MULTILINE)
_CITATION = re.compile(rf" ?\[(?:{_SHAPE.pattern}[, ]*)+\]")


class Snapshot:
    """A `BlockSource` over a playbook at the wish's epoch; equal queries give equal bytes."""

    def __init__(self, choose: Callable[[Wish], list[Ranked]], wish: Wish) -> None:
        self._choose = choose
        self._wish = wish
        self._answered: dict[tuple[str, int], tuple[Insight, ...]] = {}

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """Return the insights for a query in one untrusted block of at most `tokens` estimated
        tokens, or no block.

        Insights may come from models and logs, so they are untrusted data, and as local as their
        sources.
        """
        # the embedding takes a while
        insights = await asyncio.to_thread(self.insights, query, tokens)
        if not insights:
            return ()
        egress = strictest(*[one.egress for one in insights])
        return (Block(BLOCK, text_of(insights), Tier.SESSION, "untrusted", egress),)

    def insights(self, query: str, tokens: int) -> tuple[Insight, ...]:
        """Return the insights that `blocks` shows for a query; the answer is cached."""
        key = (query, tokens)
        if key not in self._answered:
            profile = self._wish.profile
            found = self._choose(replace(self._wish, query=query))
            self._answered[key] = tuple(fit(found, profile, int(tokens * profile.share)))
        return self._answered[key]


def cited_in(text: str, shown: Collection[str]) -> tuple[str, ...]:
    """Return the ids of shown insights that a text cites: `[str-00001]`, `[str-00001,
    mis-00002]`; each once.
    """
    return tuple(key for key in ids_in(text) if key in shown)


def ids_in(text: str) -> tuple[str, ...]:
    """Return everything in brackets that has the form of an insight's id, each once."""
    return tuple(
        dict.fromkeys(key for match in _ID.finditer(text) for key in _SHAPE.findall(match[1]))
    )


def shown_in(text: str) -> tuple[str, ...]:
    """Return the ids of the insights that a playbook's text shows: ids at the start of a line,
    not quoted ones.
    """
    return tuple(dict.fromkeys(_SHOWN.findall(text)))


def uncited(text: str) -> str:
    """Return a text without its citations, for readers that search it for numbers."""
    return _CITATION.sub("", text)
