"""A request as pieces, in the order in which they are sent; and the first difference of two
requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from transom.canonical import Json
from transom.context.history import SEPARATOR
from transom.context.tokens import Measure, measure
from transom.llm import Block, Request, Tier, ToolSpec, Turn, Window, render
from transom.llm.render import render_block

Piece = ToolSpec | Block | Turn
How = Literal["changed", "added", "gone"]
_T = TypeVar("_T")
_MEDIA_BYTES = 4  # for each token of an image, as for plain text


@dataclass(frozen=True)
class Ordered:
    """The pieces of a request in groups: each group ends at a possible cache breakpoint."""

    stable: tuple[ToolSpec | Block, ...]
    session: tuple[Block, ...]
    turns: tuple[Turn, ...]
    tail: tuple[Block, ...]

    @classmethod
    def of(cls, request: Request) -> Ordered:
        """Return the pieces of a request in groups."""
        blocks: dict[Tier, list[Block]] = {tier: [] for tier in Tier}
        for block in request.window.blocks:
            blocks[block.tier].append(block)
        # Vendors read tools before everything else, so they belong to the stable prefix.
        return cls(
            stable=(*request.tools, *blocks[Tier.STABLE]),
            session=tuple(blocks[Tier.SESSION]),
            turns=request.window.turns,
            tail=tuple(blocks[Tier.TURN]),
        )

    @property
    def lasting(self) -> tuple[Piece, ...]:
        """The pieces that may begin a later request, too."""
        return (*self.stable, *self.session, *self.turns)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (*self.lasting, *self.tail)


@dataclass(frozen=True)
class Difference:
    """The first difference of a request from an earlier one.

    Attributes:
        common_pieces: how many pieces from the beginning are the same.
        name: of the first that is not, `tool look`, `block playbook`, `turn 7`; of the earlier
            one's where it is gone.
        change: whether it is another text, is new, or is not there any more.
    """

    common_pieces: int
    name: str
    change: How

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "how": self.change}


def piece_text(piece: Piece) -> str:
    """Return the text of a piece as it is sent."""
    if isinstance(piece, Block):
        return render_block(piece)
    if isinstance(piece, ToolSpec):
        return render(Request("", Window(()), (piece,))).as_text()
    return render(Request("", Window((), (piece,)))).as_text()


def piece_size(piece: Piece) -> Measure:
    """Return the size that a piece adds to a window."""
    if isinstance(piece, Block):
        return block_size(piece).plus(SEPARATOR)
    return measure(piece_text(piece)).plus(SEPARATOR)


def block_size(block: Block) -> Measure:
    """Return the size of a block: of its text, and of its image or file as a model reads it."""
    size = measure(render_block(block))
    if block.media is not None:
        size = size.plus(Measure(plain=_MEDIA_BYTES * block.media.tokens))
    return size


def first_difference(old: Request, new: Request) -> Difference | None:
    """Return the first difference of two requests, or None if `new` begins with all of `old`.

    The tail of `old` is not compared: the blocks of one call are new in every call.
    """
    before, after = Ordered.of(old), Ordered.of(new)
    common_pieces = 0
    for group in ("stable", "session", "turns"):
        old_pieces, other = getattr(before, group), getattr(after, group)
        common = common_length(old_pieces, other)
        common_pieces += common
        # A conversation may grow at its end; a longer prefix moves everything behind it.
        if common < len(old_pieces) or (group != "turns" and common < len(other)):
            return _difference(old_pieces, other, common, common_pieces)
    return None


def common_length(old: Sequence[_T], new: Sequence[_T]) -> int:
    """Return how many elements from the beginning are equal."""
    # Nearly always `new` begins with all of `old`, and then one comparison suffices.
    if old == new[: len(old)]:
        return len(old)
    count = 0
    for pair in zip(old, new, strict=False):
        if pair[0] != pair[1]:
            break
        count += 1
    return count


def _difference(
    old_pieces: Sequence[Piece], other: Sequence[Piece], common: int, common_pieces: int
) -> Difference:
    """Return the first difference.

    If both requests have the piece, it was changed; otherwise one was added or is gone.
    """
    old = piece_name(old_pieces[common], common) if common < len(old_pieces) else ""
    new = piece_name(other[common], common) if common < len(other) else ""
    if old == new:
        return Difference(common_pieces, new, "changed")
    if new and new not in {piece_name(piece, index) for index, piece in enumerate(old_pieces)}:
        return Difference(common_pieces, new, "added")
    return Difference(common_pieces, old, "gone")


def piece_name(piece: Piece, index: int = 0) -> str:
    """Return the name of a piece, for people; a turn is named by its place in the conversation."""
    if isinstance(piece, Block):
        return f"block {piece.name}"
    if isinstance(piece, ToolSpec):
        return f"tool {piece.name}"
    return f"turn {index + 1}"
