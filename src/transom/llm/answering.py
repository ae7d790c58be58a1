"""One answer, in as many replies as it takes: gone on with where its server paused, and mended once for its schema.

Nothing here asks anybody. Who does is told what to ask next, and says what came. How the answer stands after a reply
follows from what came so far, so that it is known before that reply is kept. Where a reply is read back, what was kept
beside it counts: what was said stays said, whatever its schema is today.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from transom.errors import InputError, ProviderError, ReplyError, TransomError
from transom.llm.deltas import Again, OnDelta
from transom.llm.reply import Reply
from transom.llm.shapes import Request
from transom.llm.structured import Complaint, complaints, mending, schema_check
from transom.llm.turns import AssistantMessage, Turn, UserMessage

Then = Literal["whole", "more", "mend", "failed"]
"""How an answer stands after a reply. `more`: it paused, and is to go on. `mend`: it does not follow its schema, and is
to be repaired. `failed`: nor does its repair, or it paused too often."""

VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it was cut off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""What is said to a model that stopped without a word."""
_MOST_PAUSES = 10
_IN_VAIN = "the answer does not follow its schema, nor does its repair"


class Answering:
    """What came so far to a request.

    A model that has nothing to add to what its tools found may stop without a word, and would again if it were asked
    the same. It is asked once to go on; where it has nothing to say then either, that is its answer. Tool calls and
    replies that were cut off or refused are held to no schema: they are no answers.

    Args:
        request: what is asked first.

    Attributes:
        request: the same; what is asked later is made of it.
        then: how it stands; None before anything came.
        reply: once it is whole, all of it, with the usage of all that it took; before that, of the answer or of its
            repair, what came so far.
        replayed: whether the last reply was read back.

    Raises:
        InputError: its schema is none.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.then: Then | None = None
        self.reply: Reply | None = None
        self.replayed = False
        self._held = None if request.output is None else schema_check(request.output)
        self._bad: Reply | None = None
        self._silent = self._urged = False
        self._pauses = 0

    def ask_as(self, request: Request) -> None:
        """Ask what is left as this request has it; what came stays."""
        self._held = None if request.output is None else schema_check(request.output)
        self.request = request

    @property
    def is_open(self) -> bool:
        """Whether anything is to be asked."""
        return self.then in (None, "more", "mend")

    @property
    def next(self) -> Request:
        """What is to be asked now."""
        request = self.request
        if self._bad:
            request = mending(request, self._bad, self._wrong(self._bad))
        if self.reply is None:
            return request
        said: tuple[Turn, ...] = (AssistantMessage(self.reply.parts),) if self.reply.parts else ()
        turns = (*request.window.turns, *said, *((GO_ON,) if self._silent else ()))
        return replace(request, window=replace(request.window, turns=turns))

    def judge(self, reply: Reply) -> Then:
        """How the answer will stand after a reply. Whatever is wrong with that, it is said by `outcome`."""
        if self._held is None and reply.stop != "pause":
            return "whole"
        came = self._joined(reply)
        if _is_paused(came):
            return "more" if self._pauses < _MOST_PAUSES else "failed"
        try:
            wrong = self._wrong(came)
        except InputError:
            return "failed"
        return "whole" if not wrong else "failed" if self._bad else "mend"

    def take(self, reply: Reply, then: Then, *, replayed: bool = False) -> None:
        """A reply came, after which the answer stands so; or it was read back."""
        self.replayed = replayed
        silent = not reply.parts
        if self.then:
            reply = self._joined(reply)
        self.reply, self.then = reply, then
        if then == "more":
            self._silent, self._urged = silent, self._urged or silent
            self._pauses += 1
        elif then == "mend":
            self.reply, self._bad = None, reply
            self._silent = self._urged = False
            self._pauses = 0
        elif self._bad:
            self.reply = replace(reply, usage=self._bad.usage + reply.usage)

    def outcome(self) -> Reply:
        """The whole reply.

        Raises:
            ReplyError: the repair does not follow the schema either.
            ProviderError: it paused too often.
            InputError: the schema leads to one that is not in it.
        """
        if self.reply is None:
            raise ValueError("nothing came yet")
        if self.then == "failed":
            raise self._error(self.reply)
        return self.reply

    def _error(self, reply: Reply) -> TransomError:
        if _is_paused(reply):
            hint = "ask for less at once, or choose another model"
            what = f"it paused {_MOST_PAUSES + 1} times and came to no end"
            return ProviderError(what, where=reply.by, hint=hint)
        try:
            wrong = self._wrong(reply)
        except InputError as error:
            return error
        if not wrong:  # by the schema of today
            return ReplyError(_IN_VAIN, where=self.request.role)
        what, bare = f"{_IN_VAIN}: {wrong[0].text}", f"{_IN_VAIN}: {wrong[0].bare}"
        return ReplyError(what, where=self.request.role, bare=bare)

    def _wrong(self, reply: Reply) -> list[Complaint]:
        return complaints(reply, self._held) if self._held else []

    def _joined(self, reply: Reply) -> Reply:
        """With what came before it."""
        before, ended = self.reply, self._urged and not reply.parts and _is_paused(reply)
        if before is None:
            return reply
        usage, stop = before.usage + reply.usage, "end" if ended else reply.stop
        return replace(reply, parts=(*before.parts, *reply.parts), usage=usage, stop=stop)


def _is_paused(reply: Reply) -> bool:
    return reply.stop == "pause" and not reply.calls


async def answered(
    ask: Callable[[Request], Awaitable[Reply]], request: Request, on_delta: OnDelta | None = None
) -> Reply:
    """Ask until an answer is whole, and follows `request.output`.

    Args:
        ask: puts one request.
        request: what is asked first.
        on_delta: hears that an answer is void.

    Raises:
        See `Answering` and its `outcome`.
    """
    answering = Answering(request)
    while answering.is_open:
        reply = await ask(answering.next)
        answering.take(reply, answering.judge(reply))
        if answering.then == "mend" and on_delta:
            on_delta(VOID)
    return answering.outcome()
