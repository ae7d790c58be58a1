"""Changes from one call to another, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transom.canonical import Json
from transom.context.segments import Difference, Piece, first_difference, piece_name
from transom.llm import Request


@dataclass(frozen=True)
class Changes:
    """The changes from an earlier request to a later one.

    Attributes:
        added: names of tools and blocks that are new, in order: `tool look`, `block config`.
        gone: of those that are not there any more.
        changed: of those with another text.
        moved: of those that are as they were, and are read in another order.
        same_turns: how many turns from the beginning are the same.
        more_turns: how many follow those in the later one.
        lost_turns: how many followed them in the earlier one, and do not stand any more.
        dropped: names of what the later one leaves out and the earlier one did not.
        first_difference: where a cache that kept the earlier one stops being of use; None where all of it still stands.
    """

    added: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[str, ...]
    same_turns: int
    more_turns: int
    lost_turns: int
    dropped: tuple[str, ...]
    first_difference: Difference | None

    @classmethod
    def between(cls, old: Request, new: Request) -> Changes:
        """Compare two requests."""
        before, after = _named(old), _named(new)
        both = [name for name in after if name in before]
        unchanged = [name for name in both if before[name] == after[name]]
        order = [name for name in before if name in set(unchanged)]
        pairs = zip(old.window.turns, new.window.turns, strict=False)
        same = next((index for index, (one, other) in enumerate(pairs) if one != other), None)
        if same is None:
            same = min(len(old.window.turns), len(new.window.turns))
        left_out = {one.name for one in old.window.dropped}
        return cls(
            added=tuple(name for name in after if name not in before),
            gone=tuple(name for name in before if name not in after),
            changed=tuple(name for name in both if before[name] != after[name]),
            moved=tuple(name for name, was in zip(unchanged, order, strict=True) if name != was),
            same_turns=same,
            more_turns=len(new.window.turns) - same,
            lost_turns=len(old.window.turns) - same,
            dropped=tuple(one.name for one in new.window.dropped if one.name not in left_out),
            first_difference=first_difference(old, new),
        )

    def lines(self) -> list[str]:
        """One line for each kind of change, for people."""
        listed = {
            "added": self.added,
            "gone": self.gone,
            "changed": self.changed,
            "moved": self.moved,
            "left out now": self.dropped,
        }
        lines = [f"{how}: {', '.join(names)}" for how, names in listed.items() if names]
        if self.more_turns or self.lost_turns:
            gone = f", {self.lost_turns} gone" if self.lost_turns else ""
            lines.append(f"turns: {self.same_turns} the same{gone}, {self.more_turns} more")
        if self.first_difference:
            lines.append(
                f"a cache is of use up to {self.first_difference.name}, which is {_HOW[self.first_difference.how]}"
            )
        return lines

    def to_json(self) -> dict[str, Json]:
        return {
            "added": [*self.added],
            "gone": [*self.gone],
            "changed": [*self.changed],
            "moved": [*self.moved],
            "same_turns": self.same_turns,
            "more_turns": self.more_turns,
            "lost_turns": self.lost_turns,
            "dropped": [*self.dropped],
            "broke": self.first_difference.to_json() if self.first_difference else None,
        }


_HOW = {"changed": "another one now", "added": "new", "gone": "not there any more"}


def _named(request: Request) -> Mapping[str, Piece]:
    pieces: tuple[Piece, ...] = (*request.tools, *request.window.blocks)
    return {piece_name(piece): piece for piece in pieces}
