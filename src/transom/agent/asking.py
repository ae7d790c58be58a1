"""The request of a conversation that is under way: made once, and gone on with where an error or a stop left it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from transom.agent.compacted import tell_compaction
from transom.context import Assembled, go_on
from transom.context.fitting import Frame
from transom.context.tokens import Measure
from transom.context.window import frame_of, with_shares
from transom.errors import ReplyError, TransomError
from transom.llm import Block, Reply, Request, Role
from transom.llm.answering import Answering
from transom.llm.unquoted import unquote
from transom.runs.calls import tell_unread

if TYPE_CHECKING:
    from transom.agent.turns import Conversation


class Asking:
    """What makes the requests of a conversation.

    Attributes:
        size: of the last one's window.
        folded: whether the conversation was folded for it, and nobody was told yet: where the request fails it is
            asked again as it was, in later lives, too, and that brings a tool.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self.size = Measure()
        self.folded = False
        self._frame: tuple[Role, tuple[Block, ...], Frame] | None = None
        self._made: tuple[int, Role, tuple[Block, ...]] = 0, talk.role, ()
        self._left: Answering | None = None

    def now(self, blocks: tuple[Block, ...]) -> Answering:
        """The request that is to be asked now, with what came of it so far.

        What came to one that was left counts as long as nothing is said behind it. It is made anew where it would be
        another one today, with other blocks or tools, or where what came is local; what came stays.

        Raises:
            InputError: the role's schema is none.
            VisibilityError, WindowOverflow: see `context.go_on`.
        """
        if self._left is None:
            return Answering(self._assembled(blocks).request)
        left, (turns, role, made_with) = self._left, self._made
        if turns != len(self._talk.turns):
            self._left = None
            return self.now(blocks)
        is_local = left.request.window.egress == "local"
        if role is not self._talk.role or made_with != blocks or (self._talk.egress == "local" and not is_local):
            left.ask_as(self._assembled(blocks).request)
        return left

    def next(self, answering: Answering) -> Request:
        """What is to be asked now. What asks for the rest of an answer, or for its repair, has shares of its own."""
        if answering.then is None:
            return answering.next
        talk = self._talk
        return with_shares(answering.next, talk.role, budget=talk.window, tokens=talk.tokens)

    def leave(self, answering: Answering) -> None:
        """Something came, and more is to be asked. Where that fails or is stopped, it is gone on with from there."""
        self._left = answering

    def outcome(self, answering: Answering) -> Reply:
        """What came of the request in the end.

        Raises:
            See `Answering.outcome`.
        """
        self._left = None
        try:
            return answering.outcome()
        except TransomError as error:
            chain = self._talk.stage.host.chain
            unquote(error, answering.request, chain.policy)
            if isinstance(error, ReplyError) and not answering.replayed:  # which was logged then
                tell_unread(answering.request, error, chain, 2)
            raise

    def _assembled(self, blocks: tuple[Block, ...]) -> Assembled:
        talk = self._talk
        began = time.time_ns()
        frame = self._frame_of(blocks)
        made = go_on(talk.role, blocks, talk.history, budget=talk.window, tokens=talk.tokens, frame=frame)
        assembled = self._marked(made)
        self.size = assembled.size
        talk.history = assembled.history
        if assembled.folded:
            tell_compaction(talk.stage, talk.name, assembled, began)
            self.folded = True
        self._made = len(talk.turns), talk.role, blocks
        return assembled

    def _frame_of(self, blocks: tuple[Block, ...]) -> Frame:
        """What stands around the conversation; found anew where a tool came, or something else is asked with."""
        role = self._talk.role
        if self._frame is None or self._frame[0] is not role or self._frame[1] is not blocks:
            self._frame = role, blocks, frame_of(role, blocks, self._talk.window)
        return self._frame[2]

    def _marked(self, assembled: Assembled) -> Assembled:
        """As local as all that it rests on: what was said may repeat what windows do not hold any more."""
        window, policy = assembled.request.window, self._talk.stage.host.chain.policy
        if self._talk.egress == "any" and not [block for block in window.blocks if policy.is_local(block)]:
            return assembled
        return replace(assembled, request=replace(assembled.request, window=replace(window, egress="local")))
