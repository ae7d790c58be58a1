"""Changes from one call to another, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transom.context.segments import Piece, first_difference, piece_name
from transom.llm import Request

_HOW = {"changed": "another one now", "added": "new", "gone": "not there any more"}


def changes(old: Request, new: Request) -> dict[str, Any]:
    """Return the changes from an earlier request to a later one, as JSON.

    Returns:
        `added`, `gone`, `changed`: names of tools and blocks, in order: `tool look`, `block
        config`; `moved`: of those that are as they were, and are read in another order.
        `same_turns`: how many turns from the beginning are the same; `more_turns` follow in the
        later one, `lost_turns` followed in the earlier one. `dropped`: names of what the later one
        alone leaves out. `broke`: where a cache that kept the earlier one stops being of use; None
            where all of it still stands.
    """
    before, after = _pieces_by_name(old), _pieces_by_name(new)
    common = [name for name in after if name in before]
    unchanged = [name for name in common if before[name] == after[name]]
    order = [name for name in before if name in set(unchanged)]
    pairs = list(zip(old.window.turns, new.window.turns, strict=False))
    same_turns = next(
        (index for index, (old_turn, other) in enumerate(pairs) if old_turn != other), len(pairs)
    )
    left_out = {block.name for block in old.window.dropped}
    broke = first_difference(old, new)
    return {
        "added": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
        "changed": [name for name in common if before[name] != after[name]],
        "moved": [name for name, was in zip(unchanged, order, strict=True) if name != was],
        "same_turns": same_turns,
        "more_turns": len(new.window.turns) - same_turns,
        "lost_turns": len(old.window.turns) - same_turns,
        "dropped": [block.name for block in new.window.dropped if block.name not in left_out],
        "broke": broke.to_json() if broke else None,
    }


def lines_of_changes(difference: Mapping[str, Any]) -> list[str]:
    """One line for each kind of change, for people."""
    kinds = ("added", "gone", "changed", "moved", "dropped")
    lines = [
        f"{'left out now' if kind == 'dropped' else kind}: {', '.join(difference[kind])}"
        for kind in kinds
        if difference[kind]
    ]
    if difference["more_turns"] or difference["lost_turns"]:
        lost = f", {difference['lost_turns']} gone" if difference["lost_turns"] else ""
        lines.append(
            f"turns: {difference['same_turns']} the same{lost}, {difference['more_turns']} more"
        )
    if broke := difference["broke"]:
        lines.append(f"a cache is of use up to {broke['name']}, which is {_HOW[broke['how']]}")
    return lines


def _pieces_by_name(request: Request) -> Mapping[str, Piece]:
    pieces: tuple[Piece, ...] = (*request.tools, *request.window.blocks)
    return {piece_name(piece): piece for piece in pieces}
