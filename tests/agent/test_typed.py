"""The types of an agent: its answers, the dependencies of its tools, and what a tool says back.

`assert_type` is checked by the type checker, and `type: ignore` marks what it must refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Optional,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Union,
    assert_type,
)
from unittest.mock import Mock

import pytest
from pydantic import BaseModel, field_validator, model_validator

from transom import Agent, Budget, Role, SubAgent, SyncAgent, ToolContext, ToolRetry, tool
from transom.errors import InputError, ReplyError, ToolError
from transom.llm import Reply, Text, ToolResults, Usage
from transom.testing import ScriptedProvider, asks
from transom.tools import Toolbox, ToolDefinition, ToolLimits


class Item(BaseModel):
    name: str
    left: int


@dataclass
class Shop:
    stock: dict[str, int]
    asked: int = 0


@tool(effect="pure")
def count(shop: ToolContext[Shop], item: str) -> int:
    """Count what is in stock.

    Args:
        item: its name.
    """
    shop.deps.asked += 1
    return shop.deps.stock[item]


def provider(*answers: Any, **more: Any) -> ScriptedProvider:
    return ScriptedProvider({"agent": [*answers], **more})


def results(script: ScriptedProvider, request: int = -1) -> list[str]:
    last = script.requests[request].window.turns[-1]
    assert isinstance(last, ToolResults)
    return [result.content for result in last.results]


async def test_an_answer_has_the_type_of_the_output() -> None:
    script = provider('{"name": "bolts", "left": 7}')
    async with Agent("You know the stock.", output=Item, provider=script) as agent:
        answer = await agent.send("How many bolts?")
        assert_type(answer.value, Item)
        assert answer.value == Item(name="bolts", left=7)
    assert script.requests[0].output == Item.model_json_schema()
    plain = Agent("You know the stock.", provider=provider())
    assert_type(plain, Agent[Any, Any])


def test_an_answer_of_another_form_is_an_error() -> None:
    script = provider('{"name": "a"}', "b")
    with SyncAgent(Agent("You count.", output=Item, provider=script)) as agent:
        assert_type(agent, SyncAgent[Any, Item])
        with pytest.raises(ReplyError, match="does not follow its schema"):
            agent.send("How many?")


@dataclass
class Count:
    left: int
    items: list[str]


async def test_a_dataclass_can_be_the_output() -> None:
    script = provider('{"left": "7"}', '{"left": 7, "items": ["bolts"]}')
    async with Agent("You count.", output=Count, provider=script) as agent:
        answer = await agent.send("How many?")
        assert_type(answer.value, Count)
        assert answer.value == Count(7, ["bolts"])
    assert len(script.requests) == 2, "the first answer does not follow the class"


class Order(BaseModel):
    item: str

    @field_validator("item")
    @classmethod
    def check(cls, value: str) -> str:
        if value == "anvil":
            raise TypeError("an anvil is no item")
        if not value.endswith("s"):
            raise ValueError("an item is named in the plural")
        return value.upper()


@dataclass
class Span:
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError("it ends before it begins")


class Trip(BaseModel):
    spans: list[Span]

    @model_validator(mode="after")
    def check(self) -> Self:
        assert len(self.spans) > 1, "one span is no trip"
        return self


@pytest.mark.parametrize(
    ("output", "wrong", "right", "value", "told"),
    [
        (Order, '{"item": "bolt"}', '{"item": "bolts"}', Order(item="bolts"), "in the plural"),
        (
            Span,
            '{"first": 2, "last": 1}',
            '{"first": 1, "last": 2}',
            Span(1, 2),
            "all of it: Value",
        ),
        (
            Trip,
            '{"spans": [{"first": 3, "last": 1}]}',
            '{"spans": [{"first": 1, "last": 1}, {"first": 2, "last": 2}]}',
            Trip(spans=[Span(1, 1), Span(2, 2)]),
            "spans.0: Value error, it ends before it begins",
        ),
        (
            Trip,
            '{"spans": []}',
            '```json\n{"spans": [{"first": 1, "last": 1}, {"first": 2, "last": 2}]}\n```\n',
            Trip(spans=[Span(1, 1), Span(2, 2)]),
            "one span is no trip",
        ),
    ],
)
async def test_what_a_validator_refuses_is_sent_back(
    output: Any, wrong: str, right: str, value: Any, told: str
) -> None:
    script = provider(wrong, right, wrong, wrong, right)
    async with Agent("You order.", output=output, provider=script) as agent:
        assert (await agent.send("Order.")).value == value
        assert told in str(script.requests[1].window.turns[-1])
        with pytest.raises(ReplyError, match="nor does its repair") as caught:
            await agent.send("Order more.")
        assert told in str(caught.value)
        again = await agent.resume()
        assert again is not None and again.value == value


async def test_a_validator_that_breaks_is_an_error_that_names_the_class() -> None:
    async with Agent("You order.", output=Order, provider=provider('{"item": "anvil"}')) as agent:
        with pytest.raises(InputError, match=r"Order cannot check an answer: .* raised TypeError"):
            await agent.send("Order.")


async def test_a_schema_as_output_gives_data() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ["n"]}
    async with Agent("You count.", output=schema, provider=provider('{"n": 7}')) as agent:
        assert (await agent.send("How many?")).value == {"n": 7}


async def test_there_is_no_value_without_an_answer() -> None:
    long = Reply((Text('{"name": "bo'),), stop="length", usage=Usage(1, 1))
    async with Agent("You count.", output=Item, provider=provider(long)) as agent:
        answer = await agent.send("How many?")
    assert answer.ended == "length"
    with pytest.raises(ReplyError, match=r"no answer: it ended with length; read \.ended"):
        _ = answer.value


def test_an_output_is_said_once() -> None:
    role = Role("clerk", "You know the stock.", output={"type": "object"})
    with pytest.raises(InputError, match="the role has an output, and the agent another"):
        Agent(role, output=Item, provider=provider())
    Agent(role, output={"type": "object"}, provider=provider())
    with pytest.raises(InputError, match="its output is of type str"):
        Agent("You count.", output="Item", provider=provider())  # type: ignore[arg-type]  # the test


async def test_a_tool_gets_the_dependencies_of_its_agent_and_the_model_sees_none() -> None:
    shop = Shop({"bolts": 7})
    script = provider(asks("count", item="bolts"), "There are 7.")
    agent = Agent("You know the stock.", deps=shop, tools=[count], provider=script)
    assert_type(agent, Agent[Shop, Any])
    async with agent:
        assert (await agent.send("How many?")).text == "There are 7."
    assert (results(script), shop.asked, agent.deps) == (["7"], 1, shop)
    (spec,) = script.requests[0].tools
    assert spec.parameters == {
        "type": "object",
        "properties": {"item": {"type": "string", "description": "its name."}},
        "required": ["item"],
        "additionalProperties": False,
    }


async def test_dependencies_reach_functions_methods_sub_agents_and_later_tools() -> None:
    shop = Shop({"bolts": 7, "nuts": 3})

    async def look(context: ToolContext[Shop]) -> str:
        """Look around."""
        return " ".join(context.deps.stock)

    class Shelf:
        def top(self, context: ToolContext[Any], item: str) -> int:
            """Look at the top shelf."""
            return int(context.deps.stock[item])

    reader = SubAgent(Role("reader", "You count."), "read", "Have it counted.", [count])
    script = provider(
        asks("look"),
        asks("top", item="nuts"),
        asks("read", task="Count the bolts."),
        "All is well.",
        reader=[asks("count", item="bolts"), "7 bolts."],
    )
    async with Agent("You decide.", deps=shop, tools=[look, reader], provider=script) as agent:
        agent.register_tool(Shelf().top)
        assert (await agent.send("Is all well?")).text == "All is well."
    assert [results(script, number) for number in (1, 2, -1)] == [
        ["bolts nuts"],
        ["3"],
        ["7 bolts."],
    ]


class Counter(Protocol):
    def tally(self) -> int: ...


@pytest.mark.parametrize(
    ("deps", "reason"),
    [
        (None, r"count: it takes a ToolContext\[Shop\], and its agent has none; write Agent\("),
        (
            {"bolts": 7},
            r"count: it takes a ToolContext\[Shop\], and its agent has deps of type dict",
        ),
    ],
)
def test_dependencies_of_another_type_are_refused_when_the_agent_is_made(
    deps: Any, reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        Agent("You count.", deps=deps, tools=[count], provider=provider())
    sub_agent = SubAgent(Role("reader", "You count."), "read", "Have it counted.", [count])
    with pytest.raises(ToolError, match=reason):
        Agent("You decide.", deps=deps, tools=[sub_agent], provider=provider())


@dataclass
class Library:
    books: int


@tool
def tally_books(context: ToolContext[Library]) -> int:
    """Tally the books."""
    return context.deps.books


@tool(effect="pure")
def add(a: object, b: int = 2) -> int:
    """Add."""
    return int(str(a)) + b


class Branch(Shop):
    pass


def test_a_type_checker_takes_tools_that_fit_the_dependencies() -> None:
    assert_type(count, ToolDefinition[Shop])
    assert_type(tally_books, ToolDefinition[Library])
    assert_type(add, ToolDefinition[object])
    reader = SubAgent(Role("reader", "You count."), "read", "Have it counted.", [count, add])
    # mypy takes a list of unlike tools for a `list[object]` unless its type stands there.
    tools: list[ToolDefinition[Shop]] = [count, add]
    agent = Agent("You count.", deps=Shop({}), tools=[reader, count, add], provider=provider())
    assert_type(agent, Agent[Shop, Any])
    Agent("You count.", deps=Branch({}), tools=tools, provider=provider())
    agent.register_tool(count)
    Agent("You add.", tools=[add], provider=provider())
    with SyncAgent(Agent("Count.", deps=Shop({}), tools=[count], provider=provider())) as door:
        assert_type(door, SyncAgent[Shop, Any])

    def is_main(agent: Agent) -> bool:
        return agent.id == "main"

    assert is_main(agent)
    assert is_main(Agent("You count.", deps=Shop({}), tools=tools, provider=provider()))


def test_a_type_checker_refuses_a_tool_for_other_dependencies() -> None:
    # Each `type: ignore` is a line that mypy refuses: it reports those that it has no use for.
    with pytest.raises(ToolError, match="count: it takes"):
        Agent("Tally.", deps=Library(7), tools=[count], provider=provider())  # type: ignore[misc]
    with pytest.raises(ToolError, match="tally_books: it takes"):
        Agent("Tally.", deps=Shop({}), tools=[count, tally_books], provider=provider())  # type: ignore[list-item]
    with pytest.raises(ToolError, match="count: it takes"):
        Agent("Tally.", deps=Library(7), tools=[add, count], provider=provider())  # type: ignore[list-item]
    with pytest.raises(ToolError, match="count: it takes"):
        Agent("Tally.", tools=[add, count], provider=provider())  # mypy does not notice this one
    agent = Agent("Tally.", deps=Shop({}), provider=provider())
    with pytest.raises(ToolError, match="tally_books: it takes"):
        agent.register_tool(tally_books)  # type: ignore[arg-type]


class Address(TypedDict):
    street: str


Meters = NewType("Meters", float)
T = TypeVar("T")


Bound = TypeVar("Bound", bound=Shop)
Constrained = TypeVar("Constrained", int, str)


class Clerk:
    """An object whose member is a property that must not run."""

    @property
    def tally(self) -> int:
        raise AssertionError("read too early")


class Lazy:
    def __getattr__(self, name: str) -> Any:
        if name == "tally":
            return lambda: 7
        raise AttributeError(name)


def tool_with(hint: Any) -> ToolDefinition:
    def tally(context: Any) -> int:
        """Tally."""
        return len(str(context))

    tally.__annotations__["context"] = ToolContext[hint]
    return tool(tally)


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (Counter, [Clerk(), Lazy(), Mock()], [None, 3, Shop({})]),
        (Shop | None, [None, Shop({})], [3]),
        (Optional[Counter], [None, Clerk()], ["Ann"]),  # noqa: UP045  as older code writes it
        (Union[int, str], [3, "Ann"], [None, 3.5]),  # noqa: UP007  as older code writes it
        (dict[str, int], [{"bolts": 7}], [None, ["bolts"]]),
        (float, [3, 3.5], [None, "3"]),
        (Address, [{"street": "High"}], [{}, None, "High"]),
        (Meters, [3.5], ["far"]),
        (Literal["eu", "us"], ["eu"], ["uk", None]),
        (Annotated[Shop, "of Ann"], [Shop({})], [None]),
        (Callable[[int], str], [str], [3, None]),
        (type[Shop], [Shop], [Shop({})]),
        (Any, [None, 3], []),
        (T, [None, 3], []),
        (Bound, [Shop({}), Branch({})], [None, 3]),
        (Constrained, [3, "Ann"], [None, 3.5]),
        (list[int], [[], [3, 4]], [["Ann"], [3, "Ann"], (3,), None]),
        (list[Shop | None], [[Shop({}), None]], [[3]]),
        (dict[str, list[int]], [{"bolts": [7]}], [{"bolts": 7}, {7: [7]}, {"bolts": ["7"]}]),
        (set[float], [{3, 4.5}], [{"3"}]),
        (tuple[int, str], [(3, "Ann")], [(3, 4), (3,), (3, "Ann", 4), [3, "Ann"]]),
        (tuple[int, ...], [(), (3, 4, 5)], [("Ann",)]),
        (Sequence[int], [[3], (3, 4), range(3)], [["Ann"], 3]),
        (Mapping[str, Counter], [{"ann": Clerk()}], [{"ann": 3}]),
        (list[Any], [[3, "Ann"]], [3]),
        (type[Shop], [Branch], [Clerk, 3]),
        (type[Shop | Clerk], [Branch, Clerk], [Lazy, 3]),
        (type[Annotated[Shop, "of Ann"]], [Branch], [Clerk]),
        (list[type[Shop | Clerk]], [[Shop, Clerk]], [[Lazy], [3]]),
        (tuple[int, *tuple[str, ...]], [(3, "Ann", "Bob"), (3,)], [[3], None]),
        (ToolContext[list[int]], [ToolContext([3])], [3]),
    ],
)
def test_any_type_of_dependencies_is_checked(
    hint: Any, right: list[object], wrong: list[object]
) -> None:
    for deps in right:
        Agent("You count.", deps=deps, tools=[tool_with(hint)], provider=provider())
    for deps in wrong:
        with pytest.raises(ToolError, match=r"it takes a ToolContext\[.+\], and its agent has "):
            Agent("You count.", deps=deps, tools=[tool_with(hint)], provider=provider())


def test_an_object_without_a_member_of_the_protocol_is_named_with_it() -> None:
    with pytest.raises(
        ToolError, match=r"\[Counter\], and its agent has deps of type int without tally; write"
    ):
        Agent("You count.", deps=3, tools=[tool_with(Counter)], provider=provider())


def test_a_toolbox_without_an_agent_refuses_a_tool_with_dependencies() -> None:
    with pytest.raises(ToolError, match="count: its function takes a ToolContext; give the tool"):
        Toolbox([count])  # type: ignore[list-item]  # the test


async def test_a_tool_asks_for_a_better_call() -> None:
    @tool(effect="once", limits=ToolLimits(calls=1))
    def order(amount: int) -> str:
        """Order."""
        if amount > 10:
            raise ToolRetry("the shelf holds 10 at most")
        return f"ordered {amount}"

    script = provider(asks("order", amount=12), asks("order", amount=9), "Done.")
    async with Agent("You order.", tools=[order], provider=script) as agent:
        assert (await agent.send("Order.")).text == "Done."
    told = '{"error": "the shelf holds 10 at most", "hint": "correct the arguments and call it'
    assert results(script, 1)[0].startswith(told)
    assert results(script, 2) == ["ordered 9"], "a refused call does not count"


async def test_results_of_ones_own_pure_function_stand_without_a_fence() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    ours: ToolDefinition = tool(effect="pure", trust="ours", name="ours")(add)
    script = provider(asks("ours", a=1, b=2), asks("add", a=1, b=2), "3")
    async with Agent("You add.", tools=[ours, add], provider=script) as agent:
        await agent.send("1 + 2?")
    turns = script.requests[-1].window.turns
    marks = [turn.results[0].trust for turn in turns if isinstance(turn, ToolResults)]
    assert marks == ["ours", "untrusted"]
    with pytest.raises(InputError, match="its trust is 'mine'"):
        Agent("You add.", tools=[tool(trust="mine")(add)], provider=provider())  # type: ignore[call-overload]  # the test


async def test_a_cap_leaves_the_value_for_later() -> None:
    script = provider(Reply((Text("seven"),), usage=Usage(9, 9)), '{"name": "a", "left": 1}')
    async with Agent("Count.", output=Item, provider=script, budget=Budget(tokens=9)) as agent:
        assert (await agent.send("How many?")).ended == "tokens"
        agent.budget = Budget()
        answer = await agent.resume()
    assert answer is not None
    assert_type(answer.value, Item)
    assert answer.value.left == 1
