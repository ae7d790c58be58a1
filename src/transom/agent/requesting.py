"""A conversation's requests: each is asked until its answer is whole, and every reply is counted and told by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.agent.asking import Asking
from transom.agent.events import Heard, Replied
from transom.agent.late import tell_registered
from transom.context.tokens import Measure
from transom.context.window import UNCORRECTED
from transom.errors import CapReached, Unanswered
from transom.llm import Block, Reply, Request
from transom.llm.answering import CUT_OFF, VOID, Answering
from transom.llm.deltas import Again, Delta
from transom.runs.models import AskOptions

if TYPE_CHECKING:
    from transom.agent.turns import Conversation


class Requests:
    """Those of one conversation.

    Args:
        talk: whose they are.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._asking = Asking(talk)
        self._came = 0  # replies
        self._stop: BaseException | None = None
        self._settled = False  # whether it stays so who answers
        self._half = False  # whether a part was heard of a reply that has not come

    async def answered(self, blocks: tuple[Block, ...]) -> tuple[Request, Reply]:
        """A request, and the whole reply to it, however many it takes.

        Raises:
            See `Conversation.ask`.
        """
        talk = self._talk
        talk.failed = False
        while True:
            answering = await self._next(blocks)
            if answering.then == "whole":
                return answering.request, self._asking.outcome(answering)
            self._asking.leave(answering)
            if answering.then == "mend":
                self._heard(VOID)
            if stop := self.take_stop():
                raise stop
            if answering.then == "failed":
                talk.failed = True
                return answering.request, self._asking.outcome(answering)

    async def _next(self, blocks: tuple[Block, ...]) -> Answering:
        """The answer, with one reply more."""
        talk = self._talk
        if talk.findings.ready:
            await talk.findings.tell(talk)
        await talk.before()
        if not self._settled:
            self.count()
        if talk.late:
            tell_registered(talk.stage, talk.name, talk.late)
        seconds = self._seconds()
        answering = self._asking.now(blocks)
        first = answering.then is None
        if answering.then != "failed":  # which a stop came together with
            reply = await self._paid(answering, seconds)
            if first:
                self._learn(reply, self._asking.size)
            if self._asking.folded:
                self._asking.folded = False
                talk.folded()
        return answering

    def count(self) -> None:
        """Have tokens estimated as the model counts that answers next."""
        talk = self._talk
        by, self._settled = talk.stage.answering(talk.role.name, talk.name)
        talk.tokens = talk.learned.get(by, UNCORRECTED)

    def take_stop(self) -> BaseException | None:
        """What came while a reply was written; it is taken once."""
        stop, self._stop = self._stop, None
        return stop

    def _learn(self, reply: Reply, size: Measure) -> None:
        """From what a model says that it read; conversations that begin later in this run begin with it."""
        talk = self._talk
        known = talk.learned.get(reply.by, UNCORRECTED)
        talk.tokens = talk.learned[reply.by] = known.learned(size, reply.usage.input_tokens)
        talk.stage.host.learned[reply.by] = talk.tokens

    def _seconds(self) -> float | None:
        """That are left for the next reply; a cap takes away nothing that the journal has."""
        talk = self._talk
        if talk.meter.behind and talk.lasting and not (talk.left_then or talk.stage.answered_next(talk.name)):
            talk.meter.catch_up()
        try:
            return talk.meter.left(talk.deadline)
        except CapReached:
            if talk.stage.answered_next(talk.name):
                return None
            raise

    async def _paid(self, answering: Answering, seconds: float | None) -> Reply:
        """One request and its reply; each is journaled, counted and told by itself."""
        talk = self._talk
        talk.requests += 1
        options = AskOptions(
            lasting=talk.lasting,
            answering=answering,
            on_delta=self._heard,
            seconds=seconds,
            else_raise=talk.end_as_then() if talk.left_then else None,
            held=self._hold,
        )
        if self._half:  # an error, a stop or a cap cut it off
            self._heard(CUT_OFF)
        asked = self._asking.next(answering)
        try:
            reply = await talk.stage.ask(asked, talk.role, conversation=talk.name, options=options)
        except TimeoutError as error:
            raise error if isinstance(error, Unanswered) else talk.meter.late() from error
        if reply.egress != "any":
            talk.egress = "local"
        talk.meter.add(reply, (talk.name, self._came))
        self._came, self._half = self._came + 1, False
        talk.hear(Replied(talk.name, reply))
        return reply

    def _hold(self, stop: BaseException) -> None:
        """What comes while a reply is written is raised when that is in its place: it is paid for."""
        self._stop = stop

    def _heard(self, piece: Delta) -> None:
        self._half = piece.__class__ is not Again
        self._talk.hear(Heard(self._talk.name, piece))
