"""One message and its answer: within its time, as one span, and with what the program is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transom.agent.turns import Conversation
from transom.agent.views import Response
from transom.errors import CapReached, OutOfTurns
from transom.llm import Block, Reply, Window
from transom.runs.spans import of_agent
from transom.telemetry import keys


async def answer(talk: Conversation, blocks: Sequence[Block], outer: float | None, seen: Window | None) -> Response:
    """Have the role answer what was said last. A cap that is reached is no error: the response names it.

    Args:
        talk: where it was said.
        blocks: what it is to be answered from.
        outer: the deadline of a message that this one is part of.
        seen: what the last call before saw.

    Raises:
        See `Conversation.ask`.
    """
    talk.deadline = talk.meter.deadline(outer)
    name = talk.role.name
    attributes = of_agent(name, talk.stage.place, talk.name)
    with talk.stage.host.telemetry.span(f"invoke_agent {name}", **attributes) as span:
        span.set(keys.MESSAGES, len(talk.turns))
        try:
            request, reply = await talk.ask(blocks)
            await talk.end_with(request, reply)
        except (CapReached, OutOfTurns) as error:
            cap = error.cap if isinstance(error, CapReached) else "turns"
            span.set(keys.CAP, cap)
            if talk.pending is None:
                return _response(talk, Reply(()), cap, seen)
            return _response(talk, talk.pending[1], cap, talk.pending[0].window)
        finally:
            talk.deadline = None
            await _settled(talk)
    ended = "answered" if reply.stop in ("end", "tool_calls") else reply.stop
    return _response(talk, reply, ended, request.window)


async def _settled(talk: Conversation) -> None:
    """Wait until all of it is in the journal. What comes meanwhile is what the program knows of the message's end."""
    try:
        await talk.stage.host.settle()
    except BaseException as error:
        if talk.left_by or talk.at_rest:  # another end is as the journal has it
            talk.left_by = error
        raise


def _response(talk: Conversation, reply: Reply, ended: Any, window: Window | None) -> Response:
    return Response(reply.text, ended, talk.meter.usage, talk.meter.usd, window, tuple(talk.turns), talk.role.output)
