"""The playbook as it is when a session begins: what is learned meanwhile does not break the session's prefix."""

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
"""The name of the block, for a role's `sees`."""

_ID = re.compile(r"\[([^\[\]]{1,400})\]")
_SHAPE = re.compile(r"[a-z]{2,4}-\d{5,}")
_SHOWN = re.compile(rf"^\[({_SHAPE.pattern})\]", re.MULTILINE)
_CITATION = re.compile(rf" ?\[(?:{_SHAPE.pattern}[, ]*)+\]")


class Snapshot:
    """A `BlockSource` over a playbook at the wish's epoch: an equal question is answered with equal bytes."""

    def __init__(self, choose: Callable[[Wish], list[Ranked]], wish: Wish) -> None:
        self._choose = choose
        self._wish = wish
        self._answered: dict[tuple[str, int], tuple[Insight, ...]] = {}

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """The insights that fit a query, in one untrusted block of at most so many tokens, as estimated; or no block.

        What was learned may come from what a model or a log said, so it is data, and as local as what it came from.
        """
        insights = await asyncio.to_thread(self.insights, query, tokens)  # the embedding takes a while
        if not insights:
            return ()
        egress = strictest(*[one.egress for one in insights])
        return (Block(BLOCK, text_of(insights), Tier.SESSION, "untrusted", egress),)

    def insights(self, query: str, tokens: int) -> tuple[Insight, ...]:
        """Those that `blocks` shows."""
        asked = (query, tokens)
        if asked not in self._answered:
            profile = self._wish.profile
            found = self._choose(replace(self._wish, query=query))
            self._answered[asked] = tuple(fit(found, profile, int(tokens * profile.share)))
        return self._answered[asked]


def cited_in(text: str, shown: Collection[str]) -> tuple[str, ...]:
    """The ids of shown insights that a text names in brackets: `[str-00001]`, `[str-00001, mis-00002]`; each once."""
    return tuple(key for key in ids_in(text) if key in shown)


def ids_in(text: str) -> tuple[str, ...]:
    """All that looks like ids of insights in brackets, each once."""
    return tuple(dict.fromkeys(key for match in _ID.finditer(text) for key in _SHAPE.findall(match[1])))


def shown_in(text: str) -> tuple[str, ...]:
    """The ids of the insights that a text of a playbook shows: those that begin a line, not those that one quotes."""
    return tuple(dict.fromkeys(_SHOWN.findall(text)))


def uncited(text: str) -> str:
    """A text without the brackets that name insights, for whoever reads numbers in it."""
    return _CITATION.sub("", text)
