"""The stable prefix of a role: blocks that are the same in every call, always in the same order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from transom.canonical import digest
from transom.context.segments import Piece, piece_text
from transom.context.tokens import TokenCorrection
from transom.llm import Block, Tier, ToolSpec

ORDER = ("identity", "capabilities")
"""What stands first, in this order; other blocks follow by their names. Tools stand before all of it."""


@dataclass(frozen=True)
class StablePrefix:
    """What a vendor's cache is to keep for all calls of a role. In whatever order it is built, its bytes are the same.

    Attributes:
        blocks: for `Role.prompt`.
        tools: for `Role.tools`, by name.
    """

    blocks: tuple[Block, ...] = ()
    tools: tuple[ToolSpec, ...] = ()

    def with_block(self, name: str, text: str) -> Self:
        """With one more block, or with another text in one of that name."""
        others = (block for block in self.blocks if block.name != name)
        blocks = sorted((*others, Block(name, text, Tier.STABLE)), key=_place)
        return replace(self, blocks=tuple(blocks))

    def with_tools(self, *tools: ToolSpec) -> Self:
        """With these tools too; of two of one name the later counts."""
        named = {tool.name: tool for tool in (*self.tools, *tools)}
        return replace(self, tools=tuple(named[name] for name in sorted(named)))

    @property
    def digest(self) -> str:
        """Of its bytes: a call whose prefix has another one cannot be read from the cache of this one."""
        return digest(self._text)

    def count(self, tokens: TokenCorrection) -> int:
        """Its tokens, as estimated."""
        return tokens.count(self._text)

    @property
    def _text(self) -> str:
        pieces: tuple[Piece, ...] = (*self.tools, *self.blocks)
        return "\n\n".join(piece_text(piece) for piece in pieces)


def _place(block: Block) -> tuple[int, str]:
    return (ORDER.index(block.name) if block.name in ORDER else len(ORDER), block.name)
