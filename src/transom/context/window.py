"""Assembling a window: what a role may see, within its budget. Pure, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from transom.context.budget import Budget
from transom.errors import VisibilityError, WindowOverflow
from transom.llm import Block, Dropped, Request, Role, Tier, Turn, Window, estimate_tokens, render
from transom.llm.tokens import BYTES_PER_TOKEN


def assemble(
    role: Role, blocks: Sequence[Block], *, turns: Sequence[Turn] = (), budget: Budget | None = None
) -> Request:
    """Build the request of one call from a role's own prompt and the blocks it was given.

    Args:
        role: whose call it is.
        blocks: what it was given, in the order in which it is to be read within a tier.
        turns: the call's own conversation so far.
        budget: how many tokens there are; the default budget where None.

    Raises:
        VisibilityError: a block that the role does not declare in `sees`, or a name given twice.
        WindowOverflow: it does not fit even after everything droppable was dropped.
    """
    given = (*role.prompt, *blocks)
    _check_visible(role, given)
    ordered = tuple(sorted(given, key=lambda block: list(Tier).index(block.tier)))
    window = _fit(Window(ordered, tuple(turns)), role, budget or Budget())
    return Request(role.name, window, role.tools, role.settings)


def _check_visible(role: Role, blocks: Sequence[Block]) -> None:
    seen: set[str] = set()
    for block in blocks:
        if block.name not in role.sees:
            raise VisibilityError(
                f"block {block.name} is not among what role {role.name} may see",
                where=role.name,
                hint=f"it sees {', '.join(sorted(role.sees))}",
            )
        if block.name in seen:
            raise VisibilityError(f"block {block.name} was given twice", where=role.name)
        seen.add(block.name)


def _fit(window: Window, role: Role, budget: Budget) -> Window:
    """Drop whole blocks, last turn block first, until the window fits; never a stable one, never our own task."""
    limit = budget.window_tokens(role.settings.max_tokens)
    kept = list(window.blocks)
    dropped: list[Dropped] = []
    needed = _tokens(role, kept, window.turns)
    droppable = [block for block in kept if block.tier is Tier.TURN and block.trust == "untrusted"]
    while needed > limit and droppable:
        block = droppable.pop()
        kept.remove(block)
        dropped.append(Dropped(block.name, estimate_tokens(block.text), f"over the limit of {limit} tokens"))
        needed = _tokens(role, kept, window.turns)
    if needed > limit:
        raise WindowOverflow(
            f"the window of role {role.name} needs about {needed} tokens and has room for {limit}",
            needed=needed,
            limit=limit,
            hint="shorten the item or its inputs, or choose a model with a larger window",
        )
    return Window(tuple(kept), window.turns, tuple(dropped))


def _tokens(role: Role, blocks: Sequence[Block], turns: Sequence[Turn]) -> int:
    text = render(Request(role.name, Window(tuple(blocks)), role.tools)).as_text()
    return estimate_tokens(text) + -(-sum([turn.bytes for turn in turns]) // BYTES_PER_TOKEN)
