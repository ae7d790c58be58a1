"""A plain function is a tool: its hints are the schema, its docstring the description."""

from __future__ import annotations

import json
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from transom.errors import ToolError, TransomError
from transom.llm import ToolCallPart
from transom.tools import Toolbox, ToolDefinition, ToolReturn, as_tools, tool


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    title: str
    since: date


async def run(one: ToolDefinition, **arguments: Any) -> tuple[bool, Any]:
    result = (await Toolbox([one]).run(ToolCallPart("1", one.name, arguments))).result
    return result.is_error, json.loads(result.content)


async def test_hints_are_the_schema_and_the_docstring_says_what_each_is() -> None:
    @tool(effect="pure")
    def stock(
        item: str,
        copy: Annotated[int, Field(ge=1)] = 3,
        colour: Colour = Colour.RED,
        part: Part | None = None,
    ) -> dict[str, Any]:
        """Count what is in stock.

        All shelves count.

        Args:
            item: its name: as on
                the shelf.
            copy (int): how many of it.

        Returns:
            item: nothing that is an argument.
        """
        assert isinstance(colour, Colour)
        return {"item": item, "copy": copy, "colour": colour, "part": part}

    assert (stock.name, stock.effect, stock.plain) == ("stock", "pure", True)
    assert stock.description == "Count what is in stock.\n\nAll shelves count."
    properties: Any = stock.parameters["properties"]
    assert properties["item"] == {"type": "string", "description": "its name: as on the shelf."}
    assert properties["copy"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "how many of it.",
    }
    assert (stock.parameters["required"], stock.parameters["additionalProperties"]) == (
        ["item"],
        False,
    )
    assert await run(stock, item="bolts") == (
        False,
        {"item": "bolts", "copy": 3, "colour": "red", "part": None},
    )
    part = {"title": "M8", "since": "2026-01-31"}
    assert (await run(stock, item="bolts", colour="blue", part=part))[1]["part"] == part
    low = "copy: Input should be greater than or equal to 1"
    for wrong, told in (({}, "item: Field required"), ({"item": "a", "copy": 0}, low)):
        failed, content = await run(stock, **wrong)
        assert failed and told in content["error"]
    failed, content = await run(stock, item="a", part={"title": "M8", "since": "2026-13-01"})
    assert failed and content["error"].startswith("part.since: Input should be a valid date")


class Shop:
    """A method is a function of its arguments."""

    async def order(self, items: list[str]) -> ToolReturn:
        return ToolReturn(len(items), note="ordered")


async def test_methods_and_coroutines_are_tools_and_nothing_is_declared_of_their_effect() -> None:
    (order,) = as_tools([Shop().order])
    assert (order.description, order.effect, order.plain) == ("order", "unknown", False)
    ran = await Toolbox([order]).run(ToolCallPart("1", "order", {"items": ["a", "b"]}))
    assert (ran.result.content, ran.note) == ("2", "ordered")


def no_hint(item):  # type: ignore[no-untyped-def]  # what is tried
    return item


def any_number(*items: str) -> str:
    return "".join(items)


def of_no_json(shop: Shop) -> str:
    return str(shop)


def unknown_name(shop: Shp) -> str:  # type: ignore[name-defined]  # noqa: F821  what is tried
    return str(shop)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            no_hint,
            (
                "no_hint: its parameter item has no type hint; write its type: def no_hint(item:"
                " str, ...)"
            ),
        ),
        (
            any_number,
            (
                "any_number: its parameter *items: 'str' cannot be given by name; a model names"
                " each argument"
            ),
        ),
        (
            of_no_json,
            (
                "of_no_json: no schema can be made of its type hints: Unable to generate"
                " pydantic-core schema"
            ),
        ),
        (unknown_name, "unknown_name: its type hints cannot be read: name 'Shp' is not defined"),
        (Shop, "tools: a tool is a function or a ToolDefinition, and this is <class"),
        (
            "count",
            (
                "tools: a tool is a function or a ToolDefinition, and this is 'count'; give the"
                " function itself"
            ),
        ),
    ],
)
def test_an_ordinary_mistake_says_what_to_write(function: Any, told: str) -> None:
    with pytest.raises(ToolError) as caught:
        as_tools([function])
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(
        ToolError, match=r"order: there is a tool of that name already; give it another"
    ):
        Toolbox(as_tools([Shop().order, Shop().order]))
    Toolbox(as_tools([Shop().order, tool(name="order_again")(Shop().order)]))


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"effct": "pure"}, "@tool has no term effct; it takes name, effect, needs_approval"),
        ({"description": "Counts."}, "@tool has no term description"),
        ({"effect": "sometimes"}, "@tool: its effect is 'sometimes'; write 'pure' or"),
        ({"name": "look", "effect": None}, "look: its effect is None"),
    ],
)
def test_a_term_that_does_not_exist_is_refused_where_it_stands(
    terms: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TransomError) as caught:
        tool(**terms)
    assert str(caught.value).startswith(reason)
