"""The first program of a newcomer: a text, a function, a name; and what is said where these are
wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transom import Agent, Role, SubAgent
from transom.errors import InputError, ProviderError, ToolError
from transom.llm import Block, Reply, Text, Tier
from transom.llm.scripted import Answer
from transom.testing import ScriptedProvider, asks


def count(item: str) -> str:
    """Count what is in stock."""
    return f"{item}: 7 left"


async def test_a_text_is_a_role_and_a_function_is_a_tool() -> None:
    provider = ScriptedProvider({"agent": [asks("count", item="bolts"), "There are 7."]})
    async with Agent("You know the stock.", tools=[count], provider=provider) as agent:
        assert (await agent.send("How many bolts?")).text == "There are 7."
    assert "You know the stock." in provider.requests[0].window.text("role")
    assert "bolts: 7 left" in str(provider.requests[1].window.turns)
    full = Role("clerk", (Block("role", "You know the stock.", Tier.STABLE),), frozenset({"role"}))
    assert Role("clerk", "You know the stock.") == full
    assert Role("clerk", "You know the stock.").digest == full.digest


async def test_functions_are_tools_wherever_tools_are_given() -> None:
    script: dict[str, list[Answer]] = {
        "agent": [
            asks("read", task="Count the bolts."),
            asks("price", item="bolts"),
            "All is well.",
        ],
        "reader": [asks("count", item="bolts"), "7 bolts."],
    }
    provider = ScriptedProvider(script)

    async def price(item: str) -> dict[str, int]:
        """Look up what it costs."""
        return {item: 2}

    reader = SubAgent(Role("reader", "You read."), "read", "Have something counted.", [count])
    async with Agent("You decide.", tools=[reader], provider=provider) as agent:
        agent.register_tool(price)
        assert (await agent.send("Is all well?")).text == "All is well."
    assert [r.content for r in provider.requests[-1].window.turns[-1].results] == ['{"bolts": 2}']  # type: ignore[union-attr]  # results of a call


OWN = """
from transom.llm import Provider, Reply, Text

class Echo(Provider):
    name = "echo"
    local = True
    async def complete(self, request, *, on_delta=None):
        return Reply((Text("heard"),))

class NeedsMore(Echo):
    def __init__(self, key):
        self.key = key

shouting = Echo()
shouting.name = "shouting"
nothing = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of a provider, in the folder that one stands in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    name = f"own_{abs(hash(request.node.name))}"
    Path(f"{name}.py").write_text(OWN)
    return name


async def test_a_provider_of_ones_own_is_named_by_its_class(own: str) -> None:
    for name in ("Echo", "shouting"):
        async with Agent("You repeat.", provider=f"{own}:{name}") as agent:
            assert (await agent.send("hi")).text == "heard"
            assert (await agent.send("hi again")).text == "heard"
            view = agent.conversation()
            assert view and (agent.context().provider, view.model_dump()["metadata"]["by"]) == (
                name.lower(),
                [name.lower()],
            )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Ecko", "cannot be made: AttributeError: module"),
        ("NeedsMore", "is called without arguments"),
        ("nothing", "a provider is expected, and this is of type int"),
    ],
)
def test_a_class_that_is_none_is_told(own: str, name: str, told: str) -> None:
    with pytest.raises(InputError, match=f"provider {own}:{name}|{own}:{name} cannot") as caught:
        Agent("You repeat.", provider=f"{own}:{name}")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "returned",
    ["hello", None, Reply("hello"), Reply(("hello",)), Reply((Text("a"),), usage=3)],  # type: ignore[arg-type]  # what is tried
)
@pytest.mark.parametrize("plain", [False, True])
async def test_what_a_provider_returns_wrongly_is_one_clear_error(
    returned: Any, plain: bool
) -> None:
    provider = ScriptedProvider({})

    async def complete(request: object, *, on_delta: object = None) -> Any:
        return returned

    def at_once(request: object, *, on_delta: object = None) -> Any:
        return returned

    provider.complete = at_once if plain else complete  # type: ignore[method-assign]  # a provider of somebody else's
    with pytest.raises(
        ProviderError,
        match=r"scripted: its complete\(\) returned .*; write async def complete, and",
    ) as caught:
        await Agent("You repeat.", provider=provider).send("hi")
    assert repr(returned)[:100] in str(caught.value)


def test_ordinary_mistakes_say_what_to_write() -> None:
    provider = ScriptedProvider({})
    wrong: list[tuple[Any, list[Any], type[Exception], str]] = [
        (3, [], InputError, 'write "You know the stock.", or Role("clerk", "You know the stock.")'),
        ("You know.", [lambda item: item], ToolError, "its parameter item has no type hint"),
        (
            "You know.",
            [count, count],
            ToolError,
            "count: there is a tool of that name already; give it another",
        ),
        ("You know.", ["count"], ToolError, "give the function itself, tools=[count]"),
    ]
    for role, tools, kind, told in wrong:
        with pytest.raises(kind) as caught:
            Agent(role, tools=tools, provider=provider)
        assert told in str(caught.value)
