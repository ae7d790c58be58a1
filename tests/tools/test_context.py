"""The model can neither see nor set the context of a tool, however its type hint is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NewType, Optional, TypeVar, Union

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType, TypedDict

from transom import Agent, ToolContext, tool
from transom.errors import ToolError
from transom.llm import ToolResults
from transom.testing import ScriptedProvider, asks


@dataclass
class Shop:
    stock: dict[str, int]


class Connection:
    """An object that has no JSON Schema."""


class ShopContext(ToolContext[Shop]):
    pass


T = TypeVar("T")
Bound = TypeVar("Bound", bound=ToolContext[Shop])
Alias = ToolContext[Shop]
NamedAlias = TypeAliasType("NamedAlias", ToolContext[Shop])
MarkedAlias = TypeAliasType("MarkedAlias", Annotated[ToolContext[Shop], "of Ann"])
GenericAlias = TypeAliasType("GenericAlias", ToolContext[T], type_params=(T,))
OwnContext = NewType("OwnContext", ToolContext[Shop])


class Order(BaseModel):
    item: str
    context: ToolContext[Shop]


@dataclass
class Line:
    context: Optional[ToolContext[Shop]]  # noqa: UP045  as older code writes it


class Basket(TypedDict):
    contexts: list[ShopContext]


class Pair(NamedTuple):
    item: str
    context: ToolContext[Shop]


@dataclass
class Box:
    """Holds the context two levels down."""

    order: Order


def second(item: str, context: ToolContext[Shop]) -> str:
    return f"{item} {context.deps.stock}"


def second_without_schema(item: str, context: ToolContext[Connection]) -> str:
    return f"{item} {context.deps}"


def second_bare(item: str, context: ToolContext) -> str:  # type: ignore[type-arg]  # the test
    return f"{item} {context.deps}"


def second_marked(item: str, context: Annotated[ToolContext[Shop], "x"]) -> str:
    return f"{item} {context.deps}"


def second_of_alias(item: str, context: Alias) -> str:
    return f"{item} {context.deps}"


def second_of_named_alias(item: str, context: NamedAlias) -> str:
    return f"{item} {context.deps}"


def second_with_default(
    item: str,
    context: ToolContext[Shop] = ToolContext(Shop({})),  # noqa: B008  a default on purpose
) -> str:
    return f"{item} {context.deps}"


def both(context: ToolContext[Shop], other: ToolContext[Shop]) -> str:
    return f"{context.deps} {other.deps}"


def optional(context: ToolContext[Shop] | None, item: str) -> str:
    return f"{item} {context}"


def older_optional(context: Optional[ToolContext[Shop]], item: str) -> str:  # noqa: UP045
    return f"{item} {context}"


def union(context: Union[str, ToolContext[Shop]], item: str) -> str:  # noqa: UP007
    return f"{item} {context}"


def marked_optional(context: Annotated[ToolContext[Shop] | None, "x"], item: str) -> str:
    return f"{item} {context}"


def listed(contexts: list[ToolContext[Shop]], item: str) -> str:
    return f"{item} {contexts}"


def quoted_list(contexts: list["ToolContext[Shop]"], item: str) -> str:  # noqa: UP037
    return f"{item} {contexts}"


def mapped(item: str, contexts: dict[str, tuple[int, ToolContext[Shop]]]) -> str:
    return f"{item} {contexts}"


def subclass(context: ShopContext, item: str) -> str:
    return f"{item} {context.deps}"


def generic_alias(context: GenericAlias[Shop], item: str) -> str:
    return f"{item} {context.deps}"


def new_type(context: OwnContext, item: str) -> str:
    return f"{item} {context.deps}"


def bound_variable(context: Bound, item: str) -> str:
    return f"{item} {context}"


def of_class(kind: type[ToolContext[Shop]], item: str) -> str:
    return f"{item} {kind}"


def of_callable(work: Callable[[ToolContext[Shop]], int], item: str) -> str:
    return f"{item} {work}"


def keyword_only(*, context: ToolContext[Shop], item: str) -> str:
    return f"{item} {context.deps}"


def keyword_after_star(item: str, *, context: ToolContext[Shop]) -> str:
    return f"{item} {context.deps}"


def any_number(*contexts: ToolContext[Shop]) -> str:
    return f"{contexts}"


def any_number_after(item: str, *contexts: ToolContext[Shop]) -> str:
    return f"{item} {contexts}"


def any_name(item: str, **contexts: ToolContext[Shop]) -> str:
    return f"{item} {contexts}"


def in_model(order: Order) -> str:
    return f"{order}"


def in_dataclass(item: str, line: Line) -> str:
    return f"{item} {line}"


def in_typed_dict(basket: Basket) -> str:
    return f"{basket}"


def in_named_tuple(context: ToolContext[Shop], pair: Pair) -> str:
    return f"{context} {pair}"


def in_nested_models(boxes: list[Box]) -> str:
    return f"{boxes}"


def in_return_and_second(_item: str, context: ToolContext[Shop]) -> ToolContext[Shop]:
    return context


REFUSED: list[Callable[..., Any]] = [
    second,
    second_without_schema,
    second_bare,
    second_marked,
    second_of_alias,
    second_of_named_alias,
    second_with_default,
    both,
    optional,
    older_optional,
    union,
    marked_optional,
    listed,
    quoted_list,
    mapped,
    subclass,
    generic_alias,
    new_type,
    bound_variable,
    of_class,
    of_callable,
    keyword_only,
    keyword_after_star,
    any_number,
    any_number_after,
    any_name,
    in_model,
    in_dataclass,
    in_typed_dict,
    in_named_tuple,
    in_nested_models,
    in_return_and_second,
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_a_context_that_the_model_could_set_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(ToolError) as refusal:
        tool(function)
    line = str(refusal.value)
    assert line.startswith(f"{function.__name__}: its parameter")
    assert line.endswith(f"by itself: def {function.__name__}(context: ToolContext[...], ...)")
    assert "\n" not in line
    with pytest.raises(ToolError, match="ToolContext"):
        Agent("You count.", deps=Shop({}), tools=[function], provider=ScriptedProvider({}))


def test_a_method_is_held_to_the_same_rule() -> None:
    class Shelf:
        def top(self, item: str, context: ToolContext[Shop]) -> str:
            return f"{item} {context.deps}"

    with pytest.raises(ToolError, match="top: its parameter context cannot hold a ToolContext"):
        tool(Shelf().top)


def plain(context: ToolContext[Shop], item: str) -> int:
    return context.deps.stock[item]


def bare(context: ToolContext, item: str) -> int:  # type: ignore[type-arg]  # the test
    return int(context.deps.stock[item])


def marked(context: Annotated[ToolContext[Shop], "of Ann"], item: str) -> int:
    return context.deps.stock[item]


def marked_twice(context: Annotated[Annotated[ToolContext[Shop], "x"], "y"], item: str) -> int:
    return context.deps.stock[item]


def quoted(context: "ToolContext[Shop]", item: str) -> int:  # noqa: UP037
    return context.deps.stock[item]


def of_alias(context: Alias, item: str) -> int:
    return context.deps.stock[item]


def of_named_alias(context: NamedAlias, item: str) -> int:
    return context.deps.stock[item]


def of_marked_alias(context: Annotated[MarkedAlias, "x"], item: str) -> int:
    return context.deps.stock[item]


def positional_only(context: ToolContext[Shop], /, item: str) -> int:
    return context.deps.stock[item]


async def later(context: ToolContext[Shop], *, item: str) -> int:
    return context.deps.stock[item]


PASSED: list[Callable[..., Any]] = [
    plain,
    bare,
    marked,
    marked_twice,
    quoted,
    of_alias,
    of_named_alias,
    of_marked_alias,
    positional_only,
    later,
]


@pytest.mark.parametrize("function", PASSED, ids=lambda function: function.__name__)
async def test_a_context_that_comes_first_holds_the_dependencies_of_the_agent(
    function: Callable[..., Any],
) -> None:
    name = function.__name__
    forged = asks(name, item="bolts", context={"deps": {"stock": {"bolts": 999}}})
    script = ScriptedProvider({"agent": [forged, asks(name, item="bolts"), "Done."]})
    agent = Agent("You count.", deps=Shop({"bolts": 7}), tools=[function], provider=script)
    async with agent:
        await agent.send("How many?")
    (spec,) = script.requests[0].tools
    assert list(spec.parameters["properties"]) == ["item"]  # type: ignore[arg-type]  # JSON
    turns = script.requests[-1].window.turns
    answers = [turn.results[0] for turn in turns if isinstance(turn, ToolResults)]
    assert [answer.is_error for answer in answers] == [True, False]
    assert answers[1].content == "7"


@pytest.mark.parametrize(
    "function",
    [entry for entry in PASSED if entry is not bare],
    ids=lambda function: function.__name__,
)
def test_dependencies_of_another_type_are_refused_in_each_spelling(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(ToolError, match=r"takes a ToolContext\[Shop\], and its agent has deps"):
        Agent("You count.", deps=3, tools=[function], provider=ScriptedProvider({}))
