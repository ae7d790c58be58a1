"""What is learned of a model's tokens: from its own replies, for all conversations of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.helpers import SEAT
from transom.agent import Agent, Home
from transom.context import TokenCorrection
from transom.errors import NetworkFailed
from transom.llm import Chain, Provider, Reply, Request, ScriptedProvider, Text, Usage, render
from transom.runs import Workspace

SUB = f"{SEAT.name}.sub"


def model(name: str, each: float) -> ScriptedProvider:
    """One that counts so many tokens for a byte."""

    def answer(request: Request) -> Reply:
        size = len(render(request).as_text().encode())
        return Reply((Text("It is so."),), usage=Usage(int(size * each), 4))

    return ScriptedProvider(answer, name=name)


def tokens(agent: Agent) -> TokenCorrection:
    assert agent._life.talk is not None
    return agent._life.talk.tokens


def each(correction: TokenCorrection) -> float:
    """Tokens for a byte of ordinary text."""
    return correction.count("some ordinary words of a prompt\n" * 1000) / 32_000


async def test_a_new_conversation_begins_with_what_the_run_learned_of_its_model(tmp_path: Path) -> None:
    async with Agent(SEAT, provider=model("a:1", 0.6)) as agent:
        await agent.send("Is it so?")
        sub = await agent.create_sub_conversation("Look.")
        await sub._life.open()
        assert tokens(sub) == tokens(agent)
        assert tokens(sub).seen == 1
        await sub.send("Well?")
        assert (tokens(sub).seen, tokens(agent).seen) == (2, 1), "what is under way is left alone"
        assert each(tokens(sub)) > 0.35


async def test_models_do_not_teach_each_other() -> None:
    chain = Chain((model("a:1", 0.6),), seats={SUB: Chain((model("b:1", 0.2),))})
    async with Agent(SEAT, provider=chain) as agent:
        await agent.send("Is it so?")
        sub = await agent.create_sub_conversation("Look.")
        await sub._life.open()
        assert tokens(sub).seen == 0, "nothing is known of b:1"
        await sub.send("Well?")
        await agent.complete_sub_conversation(sub.id)
        await agent.send("And?")
        assert each(tokens(sub)) < 0.2
        assert each(tokens(agent)) > 0.35


async def test_yesterdays_model_does_not_teach_todays(tmp_path: Path) -> None:
    async def life(*providers: Provider, say: str) -> list[TokenCorrection]:
        async with Agent(SEAT, provider=Chain(providers), at=Home(tmp_path, "t")) as agent:
            await agent.resume()
            walked = tokens(agent)
            await agent.send(say)
            return [walked, tokens(agent)]

    await life(model("a:1", 0.6), say="one")
    walked, then = await life(model("b:1", 0.2), say="two")
    assert each(walked) > 0.35, "what a:1 said is estimated as a:1 counts"
    assert (then.seen, each(then) < 0.2) == (1, True)
    walked, then = await life(model("a:1", 0.6), say="three")
    assert (then.seen, each(then) > 0.35) == (2, True), "what a:1 taught at first is still known"


async def test_who_falls_back_counts_as_who_answers() -> None:
    down = ScriptedProvider({SEAT.name: [NetworkFailed("down")]}, name="a:1")
    async with Agent(SEAT, provider=Chain((down, model("b:1", 0.2)))) as agent:
        for number in range(3):
            await agent.send(f"number {number}")
        assert tokens(agent).seen == 3
        sub = await agent.create_sub_conversation("Look.")
        await sub._life.open()
        assert tokens(sub).seen == 3


async def test_what_a_conversation_began_with_is_the_same_in_every_life(tmp_path: Path) -> None:
    async def program(provider: Provider, more: Callable[[Agent], Any]) -> tuple[str, TokenCorrection, TokenCorrection]:
        async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t")) as agent:
            await agent.send("Is it so?")
            sub = await agent.create_sub_conversation("Look.")
            await more(agent)
            begun = (await sub._life.open()).tokens
            await sub.send("Well?")
            return sub.id, begun, tokens(sub)

    async def nothing(agent: Agent) -> None:
        pass

    async def teach(agent: Agent) -> None:
        agent._life.talk.stage.host.learned["a:1"] = TokenCorrection(9, (9.0,) * 6)  # type: ignore[union-attr]  # it is open

    provider = model("a:1", 0.6)
    first = await program(provider, nothing)
    asked = len(provider.requests)
    assert await program(provider, teach) == first, "whatever else was learned before it is walked through"
    assert len(provider.requests) == asked
    async with Workspace.at(tmp_path).open_store() as store:
        (stream,) = store.streams("run/")
        counted: list[Any] = [record.data for record in store.read(stream) if record.kind == "counted"]
    assert [(one["conversation"], list(one["tokens"])) for one in counted] == [(first[0], ["a:1"])]
