"""The playbook as it is when a session begins: what is learned meanwhile does not break the session's prefix."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence

from transom.learning.insight import Insight
from transom.learning.retrieval import HEADING, Ranked, Wish, fit
from transom.learning.tasks import TaskType, profile_of
from transom.llm import Block, Tier
from transom.llm.turns import strictest

BLOCK = "playbook"
"""The name of the block, for a role's `sees`."""

_ID = re.compile(r"\[([^\[\]]{1,400})\]")
_SHAPE = re.compile(r"[a-z]{2,4}-\d{5,}")
_CITATION = re.compile(rf" ?\[(?:{_SHAPE.pattern}[, ]*)+\]")


class Snapshot:
    """A `BlockSource` over a playbook at one epoch: an equal question is answered with equal bytes.

    Args:
        choose: see `Playbook.choose`.
        epoch: insights that came later are not shown.
        task: the kind of work.
        limit: insights at most.
        tags: insights with one of these are worth more.
        local: whether insights are shown that must not reach a remote provider.
    """

    def __init__(
        self,
        choose: Callable[[Wish], list[Ranked]],
        epoch: int,
        *,
        task: TaskType | str,
        limit: int,
        tags: frozenset[str],
        local: bool,
    ) -> None:
        self.epoch = epoch
        self._choose = choose
        self._profile = profile_of(task)
        self._limit = limit
        self._tags = tags
        self._local = local
        self._answered: dict[tuple[str, int], tuple[Insight, ...]] = {}

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """The insights that fit a query, in one untrusted block of at most so many tokens, as estimated; or no block.

        What was learned may come from what a model or a log said, so it is data, and as local as what it came from.
        """
        insights = await asyncio.to_thread(self.insights, query, tokens)  # the embedding takes a while
        if not insights:
            return ()
        text = "\n".join([HEADING, *(one.line for one in insights)])
        egress = strictest(*[one.egress for one in insights])
        return (Block(BLOCK, text, Tier.SESSION, "untrusted", egress),)

    def insights(self, query: str, tokens: int) -> tuple[Insight, ...]:
        """Those that `blocks` shows."""
        asked = (query, tokens)
        if asked not in self._answered:
            wish = Wish(query, self._profile, None, self._tags, self._limit, 0.5, before=self.epoch, local=self._local)
            room = int(tokens * self._profile.share)
            self._answered[asked] = tuple(fit(self._choose(wish), self._profile, room))
        return self._answered[asked]

    @property
    def shown(self) -> frozenset[str]:
        """Ids of all insights that it ever showed."""
        return frozenset(one.id for insights in self._answered.values() for one in insights)


def cited_in(text: str, shown: Collection[str]) -> tuple[str, ...]:
    """The ids of shown insights that a text names in brackets: `[str-00001]`, `[str-00001, mis-00002]`; each once."""
    return tuple(key for key in ids_in(text) if key in shown)


def ids_in(text: str) -> tuple[str, ...]:
    """All that looks like ids of insights in brackets, each once."""
    return tuple(dict.fromkeys(key for match in _ID.finditer(text) for key in _SHAPE.findall(match[1])))


def uncited(text: str) -> str:
    """A text without the brackets that name insights, for whoever reads numbers in it."""
    return _CITATION.sub("", text)
