"""An answer in several replies: what is asked next, and that what was kept of it reads back as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import ProviderError, ReplyError, TransomError
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
from transom.llm.answering import Answering, Then

COUNT: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK = Request("p.seat", Window((Block("role", "You count."),), (UserMessage("How many?"),)))
STRICT = Request(ASK.role, ASK.window, output=COUNT)
OTHER = Request(ASK.role, ASK.window, output={"type": "string"})
CAME = [
    Reply((Text('{"n": 7}'),), usage=Usage(1, 1)),
    Reply((Text("seven"),), usage=Usage(1, 2)),
    Reply((Text('{"n":'),), "pause", Usage(1, 3)),
    Reply((Text(" 7}"),), usage=Usage(1, 4)),
    Reply((), "pause", Usage(1, 5)),
    Reply((ToolCall("1", "look", {}),), "pause", Usage(1, 6)),
    Reply((Text('{"n"'),), "length", Usage(1, 7)),
]


def ended(answering: Answering) -> Reply | type[TransomError]:
    try:
        return answering.outcome()
    except TransomError as error:
        return type(error)


@given(st.lists(st.sampled_from(CAME), min_size=30, max_size=30))
def test_what_was_kept_of_an_answer_reads_back_as_it_was(replies: list[Reply]) -> None:
    first, kept, requests = Answering(STRICT), list[tuple[Reply, Then]](), []
    for reply in replies:
        requests.append(first.next)
        kept.append((reply, first.judge(reply)))
        assert first.judge(reply) == kept[-1][1], "to judge changes nothing"
        first.take(*kept[-1])
        if not first.is_open:
            break
    assert not first.is_open, "eleven pauses twice are its end"
    assert [then for _, then in kept].count("mend") <= 1
    outcome = ended(first)
    if isinstance(outcome, Reply):
        assert outcome.usage == sum((reply.usage for reply, _ in kept), Usage())
    for request in (STRICT, OTHER, ASK):
        again = Answering(request)
        for (reply, then), asked in zip(kept, requests, strict=True):
            assert again.is_open and (request is not STRICT or again.next == asked)
            again.take(reply, then)
        assert not again.is_open and ended(again) == outcome
    for at in range(len(kept)):  # left there, and asked as somebody else asks
        left = Answering(STRICT)
        for reply, then in kept[:at]:
            left.take(reply, then)
        left.ask_as(OTHER)
        left.ask_as(STRICT)
        assert left.next == requests[at]


def test_a_repair_may_pause_too() -> None:
    answering = Answering(STRICT)
    for reply, then in zip([CAME[2], CAME[1], CAME[2], CAME[3]], ["more", "mend", "more", "whole"], strict=True):
        assert answering.judge(reply) == then
        answering.take(reply, answering.judge(reply))
    whole = answering.outcome()
    assert (whole.text, whole.usage) == ('{"n": 7}', Usage(4, 12))


def test_who_says_nothing_is_asked_once_to_go_on() -> None:
    answering = Answering(ASK)
    answering.take(CAME[4], answering.judge(CAME[4]))
    assert [type(turn) for turn in answering.next.window.turns] == [UserMessage, UserMessage]
    answering.take(CAME[4], answering.judge(CAME[4]))
    assert (answering.outcome().stop, answering.outcome().parts) == ("end", ())


def test_what_failed_says_so_whatever_the_schema_is_today() -> None:
    answering = Answering(ASK)
    answering.take(CAME[1], "mend")
    assert "answer_repair" in [block.name for block in answering.next.window.blocks]
    answering.take(CAME[1], "failed")
    with pytest.raises(ReplyError, match="nor does its repair"):
        answering.outcome()


async def test_a_chain_goes_on_where_a_server_paused() -> None:
    provider = ScriptedProvider({"p.seat": [CAME[2], CAME[3], *[CAME[2]] * 11]})
    assert (await Chain((provider,)).complete(STRICT)).text == '{"n": 7}'
    assert provider.requests[1].window.turns == (*STRICT.window.turns, AssistantMessage(CAME[2].parts))
    with pytest.raises(ProviderError, match="it paused 11 times"):
        await Chain((provider,)).complete(STRICT)
