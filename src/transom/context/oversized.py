"""Replacement of a tool result that is too long for a window, by the role's strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from transom.context.budget import WindowBudget
from transom.context.outline import outline
from transom.context.slices import READ_SLICE
from transom.context.summary import summary_room
from transom.context.tokens import TokenCorrection
from transom.llm import Block, Strategy, Tier, ToolResultPart
from transom.llm.turns import Egress

PURPOSE, SOURCE = "purpose", "source"
"""Names of the blocks that a sub-conversation is given: its purpose, and the text that it reads."""

_OPENS = 0.6  # of a sub-conversation's window, for its source


class BlockSource(Protocol):
    """A source of blocks for each message: a memory, a playbook. It never calls a model."""

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """Return the blocks that fit the query best, in at most so many tokens."""
        ...


@runtime_checkable
class KeepsAnswers(BlockSource, Protocol):
    """A source that keeps answers as well: what the strategy `memory` needs."""

    async def keep(self, place: str, text: str, *, sources: Sequence[str], egress: Egress) -> None:
        """Store an answer; a second one of the same place is ignored.

        Args:
            place: conversation and number of the message, the same whenever the program runs again.
            text: the answer.
            sources: what was called for it.
            egress: of all that was seen by then.
        """
        ...


@dataclass(frozen=True)
class Oversized:
    """A result that is kept as an artifact, and what is done about it.

    Attributes:
        result: as it came.
        source: the name that it is read by.
        tokens: that it would take, as estimated.
        limit: that one result may take.
        remedy: `refer`: an outline stands in its place; `delegate`: a sub-conversation reads it,
            and its summary does.
    """

    result: ToolResultPart
    source: str
    tokens: int
    limit: int
    remedy: Literal["refer", "delegate"]

    def reference(self, tokens: TokenCorrection) -> ToolResultPart:
        """Return the result that the model sees in its place."""
        head = (
            f"The result has about {self.tokens} tokens; one may take {self.limit}. It is kept"
            f" whole as {self.source}. Read the parts that you need with {READ_SLICE.name}.\n"
        )
        outlined = outline(self.result.content, self.limit - tokens.count(head), tokens)
        return replace(self.result, content=head + outlined)

    def opening(
        self, purpose: str, budget: WindowBudget, tokens: TokenCorrection
    ) -> tuple[Block, ...]:
        """Return the first blocks of a sub-conversation about it."""
        content = self.result.content
        # A source that leaves no room to work in is read in parts there as well.
        if tokens.count(content) > int(budget.total * _OPENS):
            content = self.reference(tokens).content
        return (
            Block(PURPOSE, purpose, Tier.SESSION),
            Block(SOURCE, content, Tier.SESSION, self.result.trust, self.result.egress),
        )

    def room(self, tokens: TokenCorrection, ratio: float) -> int:
        """Return the tokens that a summary of it may take: one for `ratio` of the result's."""
        # A heading may not take more than half of a small limit.
        limit = max(self.limit - tokens.count(self._head), self.limit // 2)
        return summary_room(self.tokens, limit, ratio)

    def in_brief(self, summary: str) -> ToolResultPart:
        """Return the result with a summary in place of its content."""
        return replace(self.result, content=f"{self._head}\n{summary}")

    @property
    def _head(self) -> str:
        return (
            f"The result has about {self.tokens} tokens and is kept whole as {self.source}. What it"
            " says in brief:"
        )


def level(sizes: Sequence[int], limit: int) -> int:
    """Return the most that each of several results may take to fit into `limit` tokens: only the
    largest are cut.
    """
    tokens_left = limit
    # From the smallest up: each result that takes less than its share leaves more for the others.
    for number, size in enumerate(sorted(sizes)):
        share = tokens_left // (len(sizes) - number)
        if size > share:
            return share
        tokens_left -= size
    return limit


def oversized(
    result: ToolResultPart,
    source: str,
    strategy: Strategy,
    budget: WindowBudget,
    tokens: TokenCorrection,
) -> Oversized | None:
    """Return the treatment of an oversized result, or None if it fits into the window as it is.

    Args:
        result: of a tool.
        source: the name that it could be kept under.
        strategy: of the role; in a sub-conversation `truncate`, since those do not open further
            ones. budget, tokens: of the window, and how they are estimated.
    """
    size = tokens.count(result.content)
    if size <= budget.result_tokens:
        return None
    remedy: Literal["refer", "delegate"] = "delegate" if strategy == "sub_conversation" else "refer"
    return Oversized(result, source, size, budget.result_tokens, remedy)
