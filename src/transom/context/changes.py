"""Changes from one call to another, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transom.context.segments import Piece, common_length, first_difference, piece_name
from transom.llm import Request

_HOW = {"changed": "another one now", "added": "new", "gone": "not there any more"}


def changes(old: Request, new: Request) -> dict[str, Any]:
    """Return the changes from an earlier request to a later one, as JSON.

    Returns:
        `added`, `gone`, `changed`: names of tools and blocks, in order: `tool look`, `block
        config`; `moved`: names of unchanged ones that are read in another order. `same_turns`:
        how many turns from the beginning are the same; `more_turns` follow in the later request,
        `lost_turns` followed in the earlier one. `dropped`: names of blocks that the later request
        alone leaves out. `broke`: the position at which a cache of the earlier request stops being
        of use; None if all of it still stands.
    """
    before, after = _pieces_by_name(old), _pieces_by_name(new)
    added, changed, unchanged = list[str](), list[str](), list[str]()
    for name, piece in after.items():
        if name not in before:
            added.append(name)
        elif before[name] == piece:
            unchanged.append(name)
        else:
            changed.append(name)
    # An unchanged piece has moved if another one stood at its position among the unchanged.
    moved = []
    earlier_order = iter([name for name in before if name in set(unchanged)])
    for name in unchanged:
        if name != next(earlier_order):
            moved.append(name)
    same_turns = common_length(old.window.turns, new.window.turns)
    dropped_before = {block.name for block in old.window.dropped}
    broke = first_difference(old, new)
    return {
        "added": added,
        "gone": [name for name in before if name not in after],
        "changed": changed,
        "moved": moved,
        "same_turns": same_turns,
        "more_turns": len(new.window.turns) - same_turns,
        "lost_turns": len(old.window.turns) - same_turns,
        "dropped": [block.name for block in new.window.dropped if block.name not in dropped_before],
        "broke": broke.to_json() if broke else None,
    }


def lines_of_changes(difference: Mapping[str, Any]) -> list[str]:
    """Return one line for each kind of change, for people."""
    lines = []
    for kind in ("added", "gone", "changed", "moved", "dropped"):
        if difference[kind]:
            label = "left out now" if kind == "dropped" else kind
            lines.append(f"{label}: {', '.join(difference[kind])}")
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
