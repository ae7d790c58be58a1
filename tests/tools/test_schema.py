"""Arguments are held against the whole of JSON Schema; nothing is fetched, nothing hangs, and a
model can mend them.
"""

from __future__ import annotations

import json
import socket
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from transom.errors import InvalidArgumentsError, ToolError
from transom.llm import ToolCallPart
from transom.tools import Toolbox, ToolDefinition


class Spot(BaseModel):
    file: str
    line: int = Field(ge=1)


class Range(BaseModel):
    kind: Literal["range"]
    first: Spot
    last: Spot | None = None


class Word(BaseModel):
    kind: Literal["word"]
    word: str = Field(pattern="^[a-z]+$")


class Look(BaseModel):
    """Optional, nested, one of several, and lists of them: what a model of pydantic makes."""

    where: Range | Word
    more: list[Word] = []
    note: str | None = None
    limits: dict[str, int] = {}


LOOK = Look.model_json_schema()
FIRST: dict[str, Any] = {"kind": "range", "first": {"file": "a", "line": 1}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"where": FIRST}, []),
        (
            {
                "where": FIRST,
                "note": None,
                "more": [{"kind": "word", "word": "x"}],
                "limits": {"a": 1},
            },
            [],
        ),
        ({}, ["$: 'where' is a required property"]),
        ({"where": FIRST, "limits": {"a": "b"}}, ["$.limits.a: 'b' is not of type 'integer'"]),
    ],
)
def test_what_a_model_of_pydantic_says_is_held_and_told(arguments: Any, said: list[str]) -> None:
    assert checked(LOOK, arguments) == said


def checked(schema: Any, arguments: Any) -> list[str]:
    return ToolDefinition("t", "", schema, print).check(arguments)


def test_of_several_forms_it_is_told_what_keeps_a_value_from_each() -> None:
    (said,) = checked(LOOK, {"where": {"kind": "range", "first": {"file": "a", "line": 0}}})
    assert (
        "$.where.first.line: 0 is less than the minimum of 1; $.where.kind: 'word' was expected"
        in said
    )


SIMPLE = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "bb", 0.5, 1.0])
VALUES = st.recursive(
    SIMPLE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "."]), inner, max_size=1),
        "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "uniqueItems": st.booleans(),
        "enum": st.lists(SIMPLE, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": st.integers(-1, 2),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$"]),
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
        **dict.fromkeys(
            ["additionalProperties", "unevaluatedProperties", "not", "if", "then", "else"], inner
        ),
        **dict.fromkeys(["anyOf", "oneOf", "allOf"], st.lists(inner, min_size=1, max_size=2)),
    }
    return st.lists(st.sampled_from(sorted(keywords)), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


SCHEMAS = st.recursive(
    st.booleans() | TYPES.map(lambda kind: {"type": kind}), _schemas, max_leaves=6
)


@pytest.mark.slow
@given(SCHEMAS, SCHEMAS, VALUES)
def test_it_takes_what_the_library_takes(at: Any, one: Any, value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"at": at},
        "$defs": {"one": one, "two": {"type": "string"}},
    }
    arguments = {"at": value}
    try:
        said = checked(schema, arguments)
    except ToolError:
        with pytest.raises(jsonschema.SchemaError):
            jsonschema.Draft202012Validator.check_schema(schema)
        return
    try:
        assert (said == []) == jsonschema.Draft202012Validator(schema).is_valid(arguments)
    except RecursionError:  # a form that is its own form has no end
        assert said
    assert all(": " in one for one in said)


def test_what_refers_to_itself_comes_to_an_end() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "name": {"type": "string"}},
    }
    assert checked(node, {"next": {"next": {"name": 3}}}) == [
        "$.next.next.name: 3 is not of type 'string'"
    ]
    circle: dict[str, Any] = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/a"}},
    }
    (said,) = checked(circle, {"at": 1})
    assert "refers to itself" in said


def test_a_number_beyond_all_bounds_is_a_complaint() -> None:
    schema = {"type": "object", "properties": {"at": {"multipleOf": 0.1}}}
    with pytest.raises(InvalidArgumentsError, match="number that is too large"):
        checked(schema, {"at": 10**400})


def test_nobody_is_asked_for_a_schema() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.json"
        for key in ("$ref", "$dynamicRef"):
            with pytest.raises(ToolError, match="t: its parameters are not whole: "):
                checked({"type": "object", "properties": {"at": {key: address}}}, {"at": 1})
        checked(
            {"$schema": address, "$id": address, "type": "object", "properties": {"at": {}}},
            {"at": 1},
        )
        with pytest.raises(TimeoutError):
            server.accept()


async def test_a_schema_is_checked_once_however_many_conversations_there_are() -> None:
    look = ToolDefinition("look", "Looks.", LOOK, lambda arguments: arguments)
    Toolbox([look])
    LOOK["properties"]["late"] = {"type": "string"}  # what is changed later changes nothing
    check = look.check
    assert Toolbox([look]).tools[0].check is check
    ran = await Toolbox([look]).run(ToolCallPart("1", "look", {"where": FIRST, "late": 3}))
    assert json.loads(ran.result.content)["where"] == FIRST
    del LOOK["properties"]["late"]


async def test_a_complaint_repeats_no_schema_that_fills_a_window() -> None:
    wide: dict[str, Any] = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string"} for n in range(1_000)},
    }
    box = Toolbox([ToolDefinition("wide", "Wide.", wide, lambda arguments: "x")])
    ran = await box.run(ToolCallPart("1", "wide", {"p7": 7}))
    assert "$.p7: 7 is not of type 'string'" in ran.result.content and len(ran.result.content) < 300
