"""What others said in a conversation before whoever says something now: it stands there, and is not said again.

A program that runs again says in its turn what it said before. What a handler said between does not come again, since
its call has its outcome in the journal. So it is passed by, with what came of it, before anything else is said. And so
is, before a handler says something, what the program said there when it ran before, see `agent.ahead`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from transom.agent.ahead import Ahead
from transom.agent.left import left_then
from transom.errors import (
    CapReached,
    LeftUnanswered,
    OutOfTurns,
    Paused,
    ProviderError,
    ReplyError,
    RunBusy,
    StoreError,
)
from transom.llm import Asked
from transom.runs.doubts import owner
from transom.runs.opened import call_in

if TYPE_CHECKING:
    from transom.agent.turns import Conversation
    from transom.agent.views import Response

ENDS = (CapReached, LeftUnanswered, OutOfTurns, Paused, ProviderError, ReplyError, RunBusy)
"""How a message may have ended without an answer; its handler went on, or came to its end with it."""


def stands_before(talk: Conversation) -> Any | None:
    """What was told next when the code ran before, where nobody tells it again; else None."""
    told = talk.stage.told_next(talk.name)
    return told if told and (_is_of_others(talk, told) or _is_of_program(talk, told)) else None


def _is_of_program(talk: Conversation, told: Any) -> bool:
    """Whether a handler comes to what a program said in a conversation of its own, and comes to again."""
    stage = talk.stage
    if not talk.lasting or told["event"] not in ("asked", "found") or told.get("call") or not call_in(stage):
        return False
    said = _all_told(talk, talk.name)
    if said[-1]["event"] == "completed" or _is_of_call(said):
        return False
    return told["event"] == "asked" or not _is_of_call(_all_told(talk, told["sub"]))


def _all_told(talk: Conversation, name: str) -> list[Any]:
    """Of a conversation in the same place; from its beginning, in whatever life."""
    return talk.stage.host.state.told.get((talk.stage.name, talk.stage.epoch, name), [])


def _is_of_call(told: list[Any]) -> bool:
    """Whether a call opened or completed a conversation of which that was told."""
    return any((one["event"] == "opened" and "call" in one) or "within" in one for one in told)


def _is_of_others(talk: Conversation, told: Any) -> bool:
    stage, state, call = talk.stage, talk.stage.host.state, told.get("call")
    if told["event"] == "found":
        if talk.findings.is_ready(told["sub"]):
            return True
        call = owner(state, (stage.name, stage.epoch, told["sub"]))
    if told["event"] not in ("asked", "found") or not call:
        return False
    mine, place = call_in(stage), (stage.name, stage.epoch, *call)
    if mine and talk.name in mine.named:
        return False  # it is said again by an equal call, which opens it anew
    return place in state.tools and (talk.lasting or stage.has_met(place))


async def pass_by(talk: Conversation, answer: Callable[[], Awaitable[Response]]) -> None:
    """Take in what stands before whatever is said now, and its answers as the journal has them; nobody is asked.

    Args:
        talk: where it was said.
        answer: has the role answer what was said last.

    Raises:
        See `Conversation.ask`, but for how a message may have ended.
    """
    while told := stands_before(talk):
        if told["event"] == "found":
            await _take_in(talk, told)
            continue
        await talk.give_up()
        if stands_before(talk) != told:  # that told something
            continue
        await talk.stage.tell(talk.name, told)
        talk.ask_for(Asked(told["text"], told.get("egress", "any")), told.get("call"))
        if _is_of_program(talk, told):
            await _go_ahead(talk, told, answer)
        else:
            await end_as_then(talk, answer)


async def _go_ahead(talk: Conversation, told: Any, answer: Callable[[], Awaitable[Response]]) -> None:
    """Have what the program said answered; nobody is asked where it was left then, or came with what is not kept.

    Raises:
        See `Conversation.ask`.
    """
    left = left_then(talk.stage.told(talk.name))
    if left is None and told.get("blocks") and not talk.stage.answered_next(talk.name):
        left = {"left": asyncio.CancelledError.__name__}
    ahead = Ahead(told, len(_all_told(talk, talk.name)) - len(talk.stage.told(talk.name)) - 1)
    talk.ahead.append(ahead)
    talk.left_then = left
    try:
        ahead.answer = await answer()
    except ENDS:
        if left is None:
            raise
    except StoreError as error:
        if error is not talk.as_then:  # it is today's
            raise


async def end_as_then(talk: Conversation, answer: Callable[[], Awaitable[Response]]) -> None:
    """Take in what came of the last message when the code ran before; nobody is asked.

    Args:
        talk: where it was said.
        answer: has the role answer it.

    Raises:
        See `pass_by`.
    """
    left = left_then(talk.stage.told(talk.name))
    talk.left_then = left or {"left": asyncio.CancelledError.__name__}
    try:
        await answer()
    except ENDS:
        return
    except StoreError as error:
        if error is not talk.as_then:  # it is today's
            raise
    finally:
        talk.left_then = left


async def _take_in(talk: Conversation, told: Any) -> None:
    """What was found: by a call that is over, or by a program, which comes to that again."""
    await talk.findings.tell(talk)
    if stands_before(talk) == told:  # else that told it
        await talk.stage.tell(talk.name, told)
        if _is_of_program(talk, told):
            talk.findings.tell_ahead(told["sub"])
        else:
            talk.stage.names.is_over(told["sub"])
        talk.find(Asked(told["text"], told.get("egress", "any")))


def found_before(talk: Conversation) -> Callable[[], Awaitable[None]]:
    """Before each request that is to be sent now: has what such calls found be told, which its answer else would void.

    They found it behind a message that was left without an answer then, and is answered now.
    """
    mine = weakref.proxy(talk)  # which holds this

    async def before() -> None:
        stage, name = mine.stage, mine.name
        while (told := stands_before(mine)) and told["event"] == "found":
            if mine.left_then or stage.answered_next(name):
                return
            await _take_in(mine, told)

    return before
