"""Answers that follow a schema: the repair is a call of its own, journaled with its window,
never paid for twice.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, resumed, scripted, sent, share_of_window, tool
from tests.cli.helpers import transom
from transom.agent import Agent, Budget, Home
from transom.agent.models import Event, ReplyDelta, ReplyReceived
from transom.context import History, WindowBudget, go_on
from transom.errors import ProviderError, ReplyError, WindowOverflow
from transom.llm import (
    Again,
    AssistantMessage,
    Capabilities,
    Chain,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Usage,
    UserMessage,
    Window,
    estimate_tokens,
    render,
)
from transom.llm.codec import request_from_json

COUNT: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
COUNTER: Role = replace(SEAT, output=COUNT)
GOOD = '{"n": 7}'


async def test_the_schema_of_the_answer_takes_room_in_the_window() -> None:
    """It is sent with each request, so it is counted, and what does not fit beside it is not
    sent.
    """
    properties: dict[str, Any] = {
        f"field_{number}": {"type": "string", "description": "What was found. " * 5}
        for number in range(40)
    }
    wide = replace(SEAT, output={"type": "object", "properties": properties})
    history = History.of([UserMessage("How many?")])
    plain, made = (
        go_on(role, [], history, budget=WindowBudget(total=40_000)) for role in (SEAT, wide)
    )
    # whose server does not hold to a schema: it is told in words
    untaught = Capabilities(structured_output=False)
    seen = ScriptedProvider(lambda request: "{}", caps=untaught)
    await Chain((seen,)).answer(made.request)
    assert (
        made.tokens == estimate_tokens(render(seen.requests[0]).as_text()) > plain.tokens + 1_000
    ), "as it is sent"
    small = WindowBudget(total=20_000)
    assert go_on(SEAT, [], history, budget=small).tokens == plain.tokens
    with pytest.raises(WindowOverflow, match="stable_prefix 17"):
        go_on(wide, [], history, budget=small)
    async with Agent(wide, provider=ScriptedProvider(lambda request: "{}", caps=untaught)) as agent:
        used = share_of_window(await agent.send("How many?"))[0]
    async with Agent(SEAT, provider=ScriptedProvider(lambda request: "{}", caps=untaught)) as agent:
        assert used > share_of_window(await agent.send("How many?"))[0] + 1_000


@pytest.mark.slow
async def test_an_answer_that_does_not_follow_is_mended_once_and_each_call_is_kept(
    tmp_path: Path,
) -> None:
    events: list[Event] = []
    runs: list[str] = []

    async def program(*answers: Any) -> tuple[Any, list[Request]]:
        provider = scripted(*answers)
        home = Home(tmp_path / ".transom", "t")
        async with Agent(
            COUNTER, provider=provider, tools=[tool()], at=home, on_event=events.append
        ) as agent:
            response = await agent.send("How many?")
            runs.append(agent.context().run_id)
            return response, provider.requests

    answers = [
        Reply(asks(look("a")).parts, stop="tool_calls", usage=Usage(50, 0)),
        Reply((Text("seven"),), usage=Usage(100, 10)),
        Reply((Text(GOOD),), usage=Usage(200, 20)),
    ]
    response, requests = await program(*answers)
    assert (response.text, len(requests)) == (GOOD, 3)
    assert all(request.output == COUNT for request in requests)
    _, asked, mending = requests
    *before, answer, complaint = mending.window.turns
    assert (tuple(before), answer) == (asked.window.turns, AssistantMessage((Text("seven"),)))
    assert isinstance(complaint, UserMessage) and "it is not JSON" in complaint.text
    assert response.usage.output_tokens == 30, "both were paid for"
    assert answer in response.turns, (
        "an answer that was mended stays in the history until it is folded"
    )
    assert [type(event) for event in events if isinstance(event, ReplyReceived)] == [
        ReplyReceived
    ] * 3
    assert any(isinstance(event, ReplyDelta) and isinstance(event.piece, Again) for event in events)
    again, requests = await program()
    assert (again.text, again.usage, requests) == (GOOD, response.usage, [])

    seen = transom("window", "show", runs[0], "--call", "3", cwd=tmp_path)
    assert seen.returncode == 0 and "cannot be used" in seen.stdout, seen


async def test_a_kill_between_the_two_costs_one_call() -> None:
    """The first answer is in the journal when the second cannot be had; asked again, only the
    second is.
    """
    provider = scripted("seven", ProviderError("away"), GOOD)
    async with Agent(COUNTER, provider=provider) as agent:
        with pytest.raises(ProviderError, match="away"):
            await agent.send("How many?")
        assert (await resumed(agent)).text == GOOD


async def test_a_kill_between_the_two_is_gone_on_with(tmp_path: Path) -> None:
    async def program(*answers: Any) -> tuple[str, list[Request]]:
        provider = scripted(*answers)
        async with Agent(COUNTER, provider=provider, at=Home(tmp_path, "t")) as agent:
            return (await agent.send("How many?")).text, provider.requests

    with pytest.raises(ProviderError, match="away"):
        await program("seven", ProviderError("away"))
    text, requests = await program(GOOD)
    assert (text, len(requests)) == (GOOD, 1)
    assert "cannot be used" in sent(requests[0]), "what was paid for is not asked again"


async def test_what_cannot_be_mended_is_an_error_and_the_conversation_goes_on() -> None:
    provider = scripted("seven", '{"n": "7"}', GOOD)
    async with Agent(COUNTER, provider=provider) as agent:
        with pytest.raises(
            ReplyError, match=r"t\.seat: the answer does not follow .*, nor does its repair: \$\.n"
        ):
            await agent.send("How many?")
        assert (await agent.send("Once more.")).text == GOOD


async def test_a_cap_holds_between_answer_and_repair() -> None:
    provider = scripted(Reply((Text("seven"),), usage=Usage(100, 10)), GOOD)
    async with Agent(COUNTER, provider=provider, budget=Budget(tokens=50)) as agent:
        assert (await agent.send("How many?")).ended == "tokens"
        agent.budget = Budget()
        assert (await resumed(agent)).text == GOOD


async def test_a_server_without_schemas_is_told_in_words() -> None:
    provider = ScriptedProvider({SEAT.name: [GOOD]}, caps=Capabilities())
    async with Agent(COUNTER, provider=provider) as agent:
        assert (await agent.send("How many?")).text == GOOD
    assert '"required":["n"]' in provider.requests[0].window.text("answer_schema")


def test_a_schema_is_part_of_role_and_request() -> None:
    assert COUNTER.digest != SEAT.digest
    request = Request("r", Window(()), output=COUNT)
    assert request_from_json(json.loads(json.dumps(request.to_json()))) == request


@pytest.mark.parametrize("answer", ['{"n": 1e999}', '{"n": "seven", "n": 7}', '{"n": NaN}'])
async def test_an_answer_that_python_alone_would_read_does_not_follow(answer: str) -> None:
    loose = replace(SEAT, output={"type": "object", "properties": {"n": {"type": "number"}}})
    async with Agent(loose, provider=scripted(answer, '{"n": 7}')) as agent:
        assert (await agent.send("How many?")).text == '{"n": 7}'


@pytest.mark.parametrize(
    ("tree", "answer"),
    [
        ({"type": "array", "items": {"$ref": "#/$defs/t"}}, "[" * 400 + "]" * 400),
        ({"$ref": "#/$defs/t"}, "{}"),
    ],
    ids=["a deep answer", "a schema that goes round"],
)
async def test_an_answer_that_cannot_be_checked_does_not_follow(
    tree: dict[str, Any], answer: str
) -> None:
    round_about = replace(SEAT, output={"$defs": {"t": tree}, "$ref": "#/$defs/t"})
    async with Agent(round_about, provider=scripted(answer, answer)) as agent:
        with pytest.raises(ReplyError, match="nested too deeply"):
            await agent.send("go")
