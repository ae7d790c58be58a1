"""The providers of an agent by a name and the settings, each role by its own model; against a
real server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, tool
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, Budget, Home, Setup
from transom.config import Settings, load_settings
from transom.errors import InputError, SettingsError
from transom.llm import Chain, ScriptedProvider, Text, ToolCallPart
from transom.llm.naming import seat_spec

(OPENAI,) = [dialect for dialect in DIALECTS if dialect.name == "openai"]
DELEGATING = replace(SEAT, strategy="sub_conversation")


class Desk:
    """A folder with settings to stand in, and a server of any model's that says `NAME here`."""

    def __init__(self, folder: Path, server: LocalServer) -> None:
        self.folder, self.server = folder, server

    def settle(self, **more: Any) -> None:
        llm = {
            "openai": {"base_url": f"{self.server.url}/v1", "context_tokens": 100_000},
            **more.pop("llm", {}),
        }
        (self.folder / "transom.yaml").write_text(json.dumps({**more, "llm": llm}), "utf-8")

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in self.server.seen]


def whole(*parts: Text | ToolCallPart) -> bytes:
    return json.dumps(OPENAI.whole(parts)).encode()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)

    def answer(wire: Wire, seen: Seen) -> None:
        wire.answer(200, whole(Text(f"{seen.body['model']} here")))

    with LocalServer(answer) as server:
        yield Desk(tmp_path, server)


async def said(agent: Agent) -> str:
    async with agent:
        return (await agent.send("hi")).text


@pytest.mark.slow
async def test_one_string_names_provider_and_model(desk: Desk) -> None:
    desk.settle(execution={"enable_streaming": False})
    async with Agent(SEAT, provider="openai:big") as agent:
        assert (await agent.send("hi")).text == "big here"
        assert agent.context().provider == "openai:big"
    assert (len(desk.bodies), desk.bodies[0]["stream"]) == (1, False), "as the settings have it"


async def test_without_a_string_the_settings_name_who_answers(desk: Desk) -> None:
    desk.settle(
        execution={"enable_streaming": False}, llm={"agent": {"provider": "openai", "model": "big"}}
    )
    assert await said(Agent(SEAT)) == "big here"
    assert await said(Agent(SEAT, provider="openai:told")) == "told here", (
        "what the program says counts more"
    )
    desk.settle(
        execution={"enable_streaming": False}, model="openai:all", llm={"agent": {"model": "mine"}}
    )
    assert await said(Agent(SEAT)) == "mine here"


WRONG = {
    "opnai:big": "provider: unknown provider 'opnai:big'; use replay:PATH, anthropic:NAME, ",
    "anthropic:claude-sonnet-4-5": (
        "anthropic:claude-sonnet-4-5: there is no key: ANTHROPIC_API_KEY is not set"
    ),
    "openai": "openai: this provider needs the name of a model; write openai:NAME",
    "replay:none.json": "none.json: cannot read the recording",
    "openai:big,olama:b": "provider: unknown provider 'olama:b'; use replay:PATH",
    "": "provider: unknown provider ''; use replay:PATH",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_says_what_to_write(desk: Desk, name: str) -> None:
    desk.settle()
    with pytest.raises(InputError) as caught:
        Agent(SEAT, provider=name)
    assert WRONG[name] in str(caught.value)


MINE = (
    "schema: transom.prices/1\nas_of: 2026-01-31\nmodels:\n  openai:corp: {input: 2, output: 10}\n"
)


async def test_a_price_list_of_ones_own_is_a_setting(desk: Desk) -> None:
    Path("mine.yaml").write_text(MINE)
    desk.settle(paths={"prices": "mine.yaml"})
    async with Agent(SEAT, provider="openai:corp", budget=Budget(usd=1.0)) as agent:
        response = await agent.send("hi")
    usage = response.usage
    assert response.usd == pytest.approx((usage.input_tokens * 2 + usage.output_tokens * 10) / 1e6)
    assert response.usd
    desk.settle()
    with pytest.raises(InputError, match="no price of it is known"):
        Agent(SEAT, provider="openai:corp", budget=Budget(usd=1.0))


def test_settings_that_are_wrong_say_so_before_anything_begins(desk: Desk) -> None:
    desk.settle(llm={"agent": {"modell": "x"}})
    with pytest.raises(
        SettingsError, match=r"unknown setting llm\.agent\.modell; did you mean llm\.agent\.model\?"
    ):
        Agent(SEAT, provider="openai:big")
    Agent(SEAT, provider=ScriptedProvider({}))  # who brings an object needs no settings


async def test_each_role_has_its_own_model(desk: Desk) -> None:
    desk.settle(
        execution={"enable_streaming": False},
        llm={
            "agent": {"temperature": 0.25, "max_tokens": 777},
            "sub_conversation": {"model": "small", "temperature": 0.5, "max_tokens": 55},
        },
    )
    answers = iter(
        [whole(ToolCallPart("1", "delegate", {"purpose": "Look."})), whole(Text("found"))]
    )
    desk.server.answer = lambda wire, seen: wire.answer(200, next(answers, whole(Text("done"))))
    async with Agent(
        DELEGATING, provider="openai:big", at=Home(desk.folder / "kept", "t")
    ) as agent:
        assert (await agent.send("go")).text == "done"
        sub = await agent.open_sub("Count.")
        assert (await sub.send("How many?")).text == "done"
    asked = [(body["model"], body["temperature"], body["max_tokens"]) for body in desk.bodies]
    assert asked == [("big", 0.25, 777), ("small", 0.5, 55), ("big", 0.25, 777), ("small", 0.5, 55)]


async def test_two_scripted_providers_answer_each_its_role(tmp_path: Path) -> None:
    sub = f"{SEAT.name}.sub"

    async def program(
        big: list[Any], small: list[Any]
    ) -> tuple[ScriptedProvider, ScriptedProvider]:
        first = ScriptedProvider({SEAT.name: big}, name="big")
        second = ScriptedProvider({sub: small}, name="small")
        chain = Chain((first,), seats={sub: Chain((second,))})
        async with Agent(
            DELEGATING, provider=chain, tools=[tool()], at=Home(tmp_path, "t")
        ) as agent:
            assert (await agent.send("go")).text == "done"
            view = agent.conversation()
            assert view is not None and view.model_dump()["metadata"]["by"] == ["big"]
            inner = agent.conversation(view.sub_conversations[0])
            assert inner is not None and inner.model_dump()["metadata"]["by"] == ["small"]
        return first, second

    delegate = asks(ToolCallPart("1", "delegate", {"purpose": "Look."}))
    first, second = await program([delegate, "done"], [asks(look("a")), "found"])
    assert (len(first.requests), len(second.requests)) == (2, 2)
    first, second = await program([], [])
    assert (first.requests, second.requests) == ([], []), "each is found in the journal"


def test_a_seats_own_provider_and_model() -> None:
    def spec(names: str, **seat: str) -> str | None:
        settings = Settings.model_validate({"llm": {"agent_a": seat}})
        return seat_spec(settings.llm.agent_a, names.split(","))

    assert spec("rules") is None
    assert spec("rules", provider="openai", model="b") == "openai:b"
    assert spec("rules", provider="openai:b,rules") == "openai:b,rules"
    assert spec("rules,ollama:a", model="b:7") == "ollama:b:7"
    with pytest.raises(SettingsError, match="model b has no provider"):
        spec("rules", model="b")
    with pytest.raises(SettingsError, match="names a model already"):
        spec("rules", provider="openai:a", model="b")


async def test_limits_are_kept_in_the_agents_own_store(desk: Desk) -> None:
    """Two agents of a workspace, as two processes would, wait for each other's minute."""
    from transom.runs import Workspace

    desk.settle(execution={"enable_streaming": False})
    limited = load_settings(desk.folder, environ={"TRANSOM_LLM__OPENAI__REQUESTS_PER_MINUTE": "5"})
    workspace = desk.folder / ".transom"
    for name in ("one", "two"):
        await said(Agent(SEAT, provider=Setup("openai:big", limited), at=Home(workspace, name)))
    async with Workspace.at(workspace).open_store() as store:
        (row,) = store.items("buckets").values()
    spent: Any = row
    assert sum(requests for _, requests, _ in spent["spent"]) == 2


@pytest.mark.slow
async def test_limits_hold_among_the_agents_of_a_workspace_and_among_those_without_one(
    desk: Desk,
) -> None:
    """An agent that has spent the minute elsewhere waits here: under another name, in another
    loop.
    """
    desk.settle(execution={"enable_streaming": False}, llm={})
    limited = load_settings(desk.folder, environ={"TRANSOM_LLM__OPENAI__REQUESTS_PER_MINUTE": "3"})

    def agent(model: str, at: Home | None = None, settings: Settings = limited) -> Agent:
        return Agent(SEAT, provider=Setup(f"openai:{model}", settings), at=at)

    def home(name: str) -> Home:
        return Home(desk.folder / "one", name)

    for places in ((None, None, None, None), (home("x"), home("y"), home("z"), home("w"))):
        first, *others, last = places
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(asyncio.run, said(agent("a", first))).result()
        for at in others:
            await said(agent("b", at))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(said(agent("d", last)), 0.2)
    assert [body["model"] for body in desk.bodies] == ["a", "b", "b", "a", "b", "b"]
    free = load_settings(desk.folder, environ={"TRANSOM_LLM__OPENAI__REQUESTS_PER_MINUTE": "9"})
    assert await said(agent("e", settings=free)) == "e here", "each is held to its own limit"


async def test_a_sub_conversation_may_have_another_vendor(desk: Desk) -> None:
    (ollama,) = [dialect for dialect in DIALECTS if dialect.name == "ollama"]
    desk.settle(
        execution={"enable_streaming": False},
        llm={
            "sub_conversation": {"provider": "ollama", "model": "small"},
            "ollama": {"base_url": desk.server.url},
        },
    )

    def answer(wire: Wire, seen: Seen) -> None:
        small = json.dumps(ollama.whole([Text("small here")])).encode()
        wire.answer(
            200,
            (
                small
                if "messages" in seen.body and "options" in seen.body
                else whole(Text("big here"))
            ),
        )

    desk.server.answer = answer
    async with Agent(SEAT, provider="openai:big") as agent:
        assert (await agent.send("hi")).text == "big here"
        sub = await agent.open_sub("Count.")
        assert (await sub.send("hi")).text == "small here"
    assert [body["model"] for body in desk.bodies] == ["big", "small"]


@pytest.mark.parametrize(
    ("strategy", "tools"), [("truncate", ["look"]), ("sub_conversation", ["look", "delegate"])]
)
async def test_the_strategy_is_a_setting(desk: Desk, strategy: str, tools: list[str]) -> None:
    desk.settle(execution={"enable_streaming": False}, llm={"agent": {"strategy": strategy}})
    async with Agent(SEAT, provider="openai:big", tools=[tool()]) as agent:
        await agent.send("hi")
    assert [one["function"]["name"] for one in desk.bodies[0]["tools"]] == tools
