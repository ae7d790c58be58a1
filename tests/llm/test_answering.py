"""An answer in several replies: what is asked next, and when there is no end to it."""

from __future__ import annotations

from typing import Any

import pytest

from transom.errors import ProviderError, ReplyError
from transom.llm import (
    AssistantMessage,
    Block,
    Chain,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCall,
    Usage,
    UserMessage,
    Window,
)
from transom.llm.answering import GO_ON

COUNT: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK = Request("p.seat", Window((Block("role", "You count."),), (UserMessage("How many?"),)))
STRICT = Request(ASK.role, ASK.window, output=COUNT)
WHOLE = Reply((Text('{"n": 7}'),), usage=Usage(1, 1))
BAD = Reply((Text("seven"),), usage=Usage(1, 2))
HALF = Reply((Text('{"n":'),), "pause", Usage(1, 3))
REST = Reply((Text(" 7}"),), usage=Usage(1, 4))
SILENT = Reply((), "pause", Usage(1, 5))
CALLS = Reply((ToolCall("1", "look", {}),), "pause", Usage(1, 6))
CUT = Reply((Text('{"n"'),), "length", Usage(1, 7))


async def answer(request: Request, *replies: Reply) -> tuple[Reply, list[Request]]:
    provider = ScriptedProvider({"p.seat": list(replies)})
    reply = await Chain((provider,)).complete(request)
    return reply, provider.requests


@pytest.mark.parametrize("reply", [WHOLE, CALLS, CUT], ids=["whole", "calls", "cut"])
async def test_an_answer_and_what_is_none_are_taken_as_they_are(reply: Reply) -> None:
    came, requests = await answer(STRICT, reply)
    assert (came.parts, came.stop, len(requests)) == (reply.parts, reply.stop, 1)


async def test_a_pause_is_gone_on_with_also_in_a_repair() -> None:
    came, requests = await answer(STRICT, HALF, BAD, HALF, REST)
    assert (came.text, came.usage) == ('{"n": 7}', Usage(4, 12))
    assert requests[1].window.turns == (*STRICT.window.turns, AssistantMessage(HALF.parts))
    assert "answer_repair" in [block.name for block in requests[2].window.blocks]


async def test_who_says_nothing_is_asked_once_to_go_on() -> None:
    came, requests = await answer(ASK, SILENT, SILENT)
    assert (came.stop, came.parts) == ("end", ())
    assert requests[1].window.turns == (*ASK.window.turns, GO_ON)


async def test_what_comes_to_no_end_says_so() -> None:
    with pytest.raises(ProviderError, match="it paused 11 times"):
        await answer(STRICT, *[HALF] * 11)
    with pytest.raises(ReplyError, match="nor does its repair: it is no JSON"):
        await answer(STRICT, BAD, BAD)
