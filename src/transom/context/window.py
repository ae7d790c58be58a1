"""Assembly of a window: the blocks and turns that a role may see, within its budget. Pure, no
I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from transom.context.budget import WindowBudget
from transom.context.fitting import Frame, WindowFitter
from transom.context.history import History, turn_size
from transom.context.slices import READ_SLICE
from transom.context.tokens import Measure, TokenCorrection
from transom.errors import VisibilityError, WindowOverflow
from transom.llm import Block, Request, Role, Tier, UserMessage

_TIERS = list(Tier)
UNCORRECTED = TokenCorrection()
_NOTE_TOKENS = 300  # of the note on what is folded


class Assembled(NamedTuple):
    """A request, and the history that the next one goes on from.

    Attributes:
        request: what is asked; its window says how full its shares are.
        history: the one that was given, or that one folded.
        folded: how many events were folded for this request.
        tokens: of the request, as estimated.
        tokens_before: what it would have taken without folding, as estimated.
        size: its measure: with the usage that comes back, the next estimates learn from it
            (`TokenCorrection.learned`).
    """

    request: Request
    history: History
    folded: int
    tokens: int
    tokens_before: int
    size: Measure


def go_on(
    role: Role,
    blocks: Sequence[Block],
    history: History,
    *,
    budget: WindowBudget | None = None,
    tokens: TokenCorrection = UNCORRECTED,
    frame: Frame | None = None,
) -> Assembled:
    """Build the next request of a conversation, whose older part is folded where it has grown too
    long.

    The next call is to be given the history that comes back: what was folded once stays folded the
    same way, so that a vendor's cache goes on being read.

    Args:
        role, blocks: whose call it is, and what it was given, in the order in which it is to be
            read within a tier.
        history: the conversation so far.
        budget, tokens: how many tokens there are, and how they are estimated.
        frame: what `frame_of` says of the same role, blocks and budget; the same for all calls of a
            message.

    Raises:
        VisibilityError: a block that the role does not declare in `sees`, or a name given twice.
        WindowOverflow: it does not fit even after everything droppable was dropped.
    """
    budget = budget or WindowBudget()
    draft = WindowFitter(role, frame or frame_of(role, blocks, budget), history, tokens)
    draft.compact(budget.compaction)
    draft.fit()
    folded = len(history.live) - len(draft.history.live)
    saved = 0
    if folded:
        saved = tokens.tokens(history.size) - tokens.tokens(draft.history.size)
    size = draft.size
    tokens_used = tokens.tokens(size)
    return Assembled(draft.request, draft.history, folded, tokens_used, tokens_used + saved, size)


def frame_of(role: Role, blocks: Sequence[Block], budget: WindowBudget) -> Frame:
    """Return the fixed part of a window, around a conversation; for the arguments and errors see
    `go_on`.
    """
    all_blocks = (*role.prompt, *blocks)
    _check_visible(role, all_blocks)
    # A prompt alone is all stable. The sort keeps the order within a tier.
    if blocks:
        all_blocks = tuple(sorted(all_blocks, key=lambda block: _TIERS.index(block.tier)))
    return Frame.of(role, all_blocks, budget)


def check_message(
    role: Role,
    blocks: Sequence[Block],
    message: str,
    *,
    budget: WindowBudget,
    tokens: TokenCorrection = UNCORRECTED,
) -> None:
    """Check that a message, and a result of its calls, have room once all before it is folded;
    else WindowOverflow.
    """
    reserve = _NOTE_TOKENS
    if role.tools:
        reserve += budget.result_tokens
    reading = role if READ_SLICE in role.tools else replace(role, tools=(*role.tools, READ_SLICE))
    room = WindowFitter(reading, frame_of(reading, blocks, budget), History(), tokens).room(reserve)
    needed = tokens.at_most(turn_size(UserMessage(message)))
    if 0 < room < needed:
        raise WindowOverflow(
            f"the message has about {needed} tokens, and role {role.name} has room for {room}"
            " in one",
            needed=needed,
            limit=room,
            hint=(
                "split it into several messages, let a tool read the long part, choose a model with"
                " a larger window, or state its size (llm.NAME.context_tokens, window.tokens)"
            ),
        )


def _check_visible(role: Role, blocks: Sequence[Block]) -> None:
    names: set[str] = set()
    for block in blocks:
        if block.name not in role.sees:
            raise VisibilityError(
                f"block {block.name} is not among what role {role.name} may see",
                place=role.name,
                hint=f"it sees {', '.join(sorted(role.sees))}",
            )
        if block.name in names:
            raise VisibilityError(f"block {block.name} was given twice", place=role.name)
        names.add(block.name)
