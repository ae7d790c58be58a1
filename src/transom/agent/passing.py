"""What others said in a conversation before whoever says something now: it stands there, and is not said again.

A program that runs again says in its turn what it said before. What a handler said between does not come again, since
its call has its outcome in the journal. So it is passed by, with what came of it, before anything else is said. What
others said there that do come again a handler goes through by `agent.ahead`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from transom.agent.left import left_then
from transom.errors import (
    CapReached,
    OutOfTurns,
    Paused,
    ProviderError,
    ReplyError,
    RunBusy,
    StoreError,
    Unanswered,
)
from transom.llm import UserMessage
from transom.runs.doubts import owner
from transom.runs.opened import call_in

if TYPE_CHECKING:
    from transom.agent.turns import Conversation
    from transom.agent.views import Response

ENDS = (CapReached, Unanswered, OutOfTurns, Paused, ProviderError, ReplyError, RunBusy)
"""How a message may have ended without an answer; its handler went on, or came to its end with it."""


def stands_before(talk: Conversation) -> Any | None:
    """What was told next when the code ran before, where nobody tells it again; else None."""
    told = talk.stage.told_next(talk.name)
    return told if told and _is_of_others(talk, told) else None


def _is_of_others(talk: Conversation, told: Any) -> bool:
    stage, state, call = talk.stage, talk.stage.host.state, told.get("call")
    if told["event"] == "found":
        if talk.findings.is_ready(told["sub"]):
            return True
        call = call or owner(state, (stage.name, stage.epoch, told["sub"]))
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
            await take_in_found(talk, told)
            continue
        await talk.give_up()
        if stands_before(talk) != told:  # that told something
            continue
        await talk.stage.tell(talk.name, told)
        talk.ask_for(UserMessage(told["text"], told.get("egress", "any")), told)
        await end_as_then(talk, answer)


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


async def take_in_found(talk: Conversation, told: Any, *, comes_again: bool = False) -> None:
    """Take in what was found, unless it is told with what waits to be.

    Args:
        talk: where it was told.
        told: it, as it was told next when the code ran before.
        comes_again: whether the program found it that comes to it again; else a call did that is over.
    """
    await talk.findings.tell(talk)
    if talk.stage.told_next(talk.name) != told:
        return
    await talk.stage.tell(talk.name, told)
    if comes_again:
        talk.findings.tell_ahead(told["sub"])
    else:
        talk.stage.names.is_over(told["sub"])
    talk.find(UserMessage(told["text"], told.get("egress", "any")))


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
            await take_in_found(mine, told)

    return before
