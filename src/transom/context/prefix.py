"""The stable prefix of a role: blocks that are the same in every call, always in the same order."""

from __future__ import annotations

from dataclasses import dataclass

from transom.llm import Block, Tier

ORDER = ("identity", "capabilities")
"""The first blocks, in this order; others follow by name. Tools precede all blocks."""


@dataclass(frozen=True)
class StablePrefix:
    """The prefix of all calls of a role, for a vendor's cache. Its bytes do not depend on the order of building.

    Attributes:
        blocks: for `Role.prompt`.
    """

    blocks: tuple[Block, ...] = ()

    def with_block(self, name: str, text: str) -> StablePrefix:
        """With one more block, or with another text in one of that name."""
        others = (block for block in self.blocks if block.name != name)
        return StablePrefix(tuple(sorted((*others, Block(name, text, Tier.STABLE)), key=_place)))


def _place(block: Block) -> tuple[int, str]:
    return (ORDER.index(block.name) if block.name in ORDER else len(ORDER), block.name)
