"""A call that is tried again goes to the end of what is said where others talk, too, before it says anything there.

In a conversation that a program opened, the program and several calls may talk. When the code runs again, they may come
in another order than they stand there, and what one of them says can be left behind by the other ones. So whoever comes
first goes through all of it, as the journal has it; each finds what it said, and its answer, when it comes to say it.
What was left without an answer is said anew at the end, see `agent.in_calls`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from transom.agent.in_calls import InCall
from transom.agent.left import left_then
from transom.agent.passing import ENDS, pass_by, stands_before, take_in_found
from transom.agent.saying import Message, as_told, is_same
from transom.agent.turns import Conversation
from transom.agent.views import Response
from transom.errors import CapReached, Paused, StoreError, Unanswered
from transom.llm import Block, UserMessage
from transom.runs.doubts import owner
from transom.runs.opened import Call, call_in, in_no_call

_Answer: TypeAlias = Callable[[tuple[Block, ...]], Awaitable[Response]]


def stands_ahead(talk: Conversation) -> Call | None:
    """The call that this is done in, where it comes to a program's conversation before what was said there then."""
    told = talk.stage.told(talk.name)
    if not told or told[-1]["event"] == "completed" or not _is_of_program(talk):
        return None
    return call_in(talk.stage)


async def go_ahead(talk: Conversation, answer: _Answer) -> bool:
    """Have a call go through what stands in a conversation of a program before it does anything there.

    Args:
        talk: it.
        answer: has the role answer what was said last, which came with those blocks.

    Returns:
        Whether anything stood there.

    Raises:
        Paused, CapReached: a message of another call waits there, and has no answer today either.
    """
    if call := stands_ahead(talk):
        await _Walk(talk, call, answer).to(0)
    return call is not None


async def make_way(talk: Conversation, message: Message, answer: _Answer) -> None:
    """Go through what stands in a conversation of a program before a message comes to be said there.

    Before a call's that is all of it, up to where it is completed, and what of another call waits there. Before a
    program's it is what calls said before that same message.

    Args:
        talk: it.
        message: what is to be said.
        answer: see `go_ahead`.

    Raises:
        Paused, CapReached: see `go_ahead`.
    """
    call = call_in(talk.stage) if message.in_call else None
    stands = talk.stage.told_next(talk.name) is not None and _is_of_program(talk)
    if not call and not stands:
        return
    told = as_told(message, talk.name)
    if stands:
        await _Walk(talk, call, answer).to(0 if call else _stays(talk, told))
    if call and not talk.in_calls.before(talk.name, told, call, at_rest=talk.at_rest):
        await _finish_other(talk, call, answer)


def _is_of_program(talk: Conversation) -> bool:
    return talk.lasting and owner(talk.stage.host.state, (talk.stage.name, talk.stage.epoch, talk.name)) is None


def _stays(talk: Conversation, told: Any) -> int:
    """How much of what was told stands behind what calls said before a program's message, that included."""
    there = talk.stage.told(talk.name)
    mine = next((at for at, one in enumerate(there) if not one.get("call")), len(there))
    return len(there) - mine if mine < len(there) and is_same(there[mine], told) else len(there)


async def _finish_other(talk: Conversation, call: Call, answer: _Answer) -> None:
    """Have another call's message answered first that a pause or a cap left: it is tried again beside this one.

    Said behind it, this one's would leave it without its answer, and what a person said to it would be in vain.
    """
    last = talk.in_calls.last
    if last is None or last.is_answered or talk.at_rest:
        return
    others = last.call not in (None, tuple(call.in_stage)) and not talk.stage.is_over(last.call or ())
    if last in talk.in_calls.ahead or (others and isinstance(talk.left_by, Paused | CapReached)):
        await _finished(talk, last, answer)


async def _finished(talk: Conversation, said: InCall, answer: _Answer) -> None:
    try:
        with in_no_call():
            await answer(said.blocks)
    except ENDS as error:
        if not said.call or isinstance(error, Paused | CapReached):
            raise  # else its call says it anew
    else:
        if isinstance(talk.left_by, CapReached):
            raise talk.left_by


class _Walk:
    """Through what the journal has of a conversation that lasts, and was not said in this life."""

    def __init__(self, talk: Conversation, call: Call | None, answer: _Answer) -> None:
        self._talk, self._call, self._answer = talk, call, answer

    async def to(self, stays: int) -> None:
        """Take in all of it but the last so many."""
        talk = self._talk
        while len(there := talk.stage.told(talk.name)) > stays and there[0]["event"] != "completed":
            if stands_before(talk):
                await pass_by(talk, lambda: self._answer(()))
            elif there[0]["event"] == "found":
                await take_in_found(talk, there[0], comes_again=True)
            else:
                await talk.give_up()
                if len(talk.stage.told(talk.name)) == len(there):  # else that told something
                    await talk.stage.tell(talk.name, there[0])
                    talk.ask_for(UserMessage(there[0]["text"], there[0].get("egress", "any")), there[0])
                    await self._take_in(there[0], there[1:])

    async def _take_in(self, told: Any, behind: list[Any]) -> None:
        """What came of a message. The last one may be under way still: it is gone on with."""
        talk, said = self._talk, self._talk.in_calls.last
        assert said is not None
        is_last = not any(one["event"] == "asked" for one in behind)
        if not said.call:
            talk.in_calls.ahead.append(said)
        elif is_last and self._call and said.call == tuple(self._call.in_stage):
            return  # its handler goes on with it, or says something else
        if is_last and not told.get("blocks"):
            await _finished(talk, said, self._answer)
            return
        before, talk.left_then = talk.before, left_then(behind)
        talk.before = self._nobody_is_asked
        try:
            with in_no_call():
                response = await self._answer(())
            if not said.call:  # at a cap, too
                said.take(response)
        except ENDS as error:
            said.left = error
        except StoreError as error:
            if error is not talk.as_then:  # it is today's
                raise
            said.left = error
        finally:
            talk.before = before

    async def _nobody_is_asked(self) -> None:
        talk = self._talk
        if not talk.stage.answered_next(talk.name) and not talk.left_then:
            raise Unanswered(asyncio.CancelledError.__name__, where=talk.name)
