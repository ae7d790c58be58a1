"""Schemas of answers as each vendor is sent them: what it takes, and in words what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from transom.canonical import Json, canonical_json
from transom.llm import (
    AssistantMessage,
    Block,
    Request,
    Text,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
    Turn,
    UserMessage,
    Window,
)
from transom.llm.hosted import Server
from transom.llm.hosted.anthropic import AnthropicVendor
from transom.llm.hosted.models import known_model
from transom.llm.hosted.ollama import OllamaVendor
from transom.llm.hosted.openai import OFFICIAL, OpenAIVendor
from transom.llm.hosted.schema import closed, fits, for_anthropic, without_patterns
from transom.llm.structured import SCHEMA_BLOCK, repair_text, schema_check, with_visible_schema

Schema = dict[str, Json]
LOOK = ToolSpec(
    "look", "Looks.", {"type": "object", "properties": {"at": {"type": "string", "default": "a"}}}
)
TAKEN = {
    *(
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "anyOf",
        "allOf",
        "enum",
        "const",
    ),
    *("$ref", "$defs", "title", "description", "format"),
}
"""Keywords that the Messages API documents for the schema of an answer."""


class Found(BaseModel):
    kind: Literal["found"]
    at: int = Field(ge=0, le=10)


class Missing(BaseModel):
    kind: Literal["missing"]
    why: str = Field(min_length=1, max_length=20, pattern="^x")


class Report(BaseModel):
    count: int = Field(ge=0, description="How many.")
    name: str = Field(min_length=1)
    tags: list[str] = Field(min_length=2, max_length=5)
    part: Annotated[Found | Missing, Field(discriminator="kind")]
    note: str | None = None


ORDINARY: Schema = Report.model_json_schema()
TIGHT: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def of(schema: Any, **more: Any) -> Schema:
    """An object of one property."""
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], **more}


def nested(levels: int) -> Schema:
    return of(nested(levels - 1) if levels > 1 else {"type": "string"})


def asked(output: Schema, *turns: Turn, tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request("r", Window((Block("now", "Answer."),), turns), tools, output=output)


def anthropic(request: Request) -> Any:
    return AnthropicVendor(Server("http://x")).body(
        request, "m", known_model("anthropic", "claude-x")
    )


def openai(
    request: Request, url: str = "http://x/v1", service: str = "", version: str | None = None
) -> Any:
    return OpenAIVendor(Server(url, api_version=version)).body(
        request, "m", known_model(service, "m")
    )


def ollama(request: Request) -> Any:
    return OllamaVendor(Server("http://x")).body(request, "m", known_model("ollama", "m"))


def told_in_words(body: Any, schema: Schema) -> bool:
    text = canonical_json(body["messages"])
    assert text.count(f"<{SCHEMA_BLOCK}>") <= 1
    return canonical_json(canonical_json(schema))[1:-1] in text


def within(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    several = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []),
    ]
    for part in [*several, *([schema["items"]] if "items" in schema else [])]:
        yield from within(part)


def test_anthropic_is_sent_no_keyword_that_it_refuses() -> None:
    body = anthropic(asked(ORDINARY))
    sent = body["output_config"]["format"]["schema"]
    for part in within(sent):
        assert part.keys() <= TAKEN
        assert part.get("type") != "object" or part["additionalProperties"] is False
    assert sent["properties"]["count"]["description"] == "How many.\n\n{minimum: 0}"
    assert "maxItems: 5, minItems: 2" in sent["properties"]["tags"]["description"]
    assert [one["$ref"] for one in sent["properties"]["part"]["anyOf"]] == [
        "#/$defs/Found",
        "#/$defs/Missing",
    ]
    assert not told_in_words(body, ORDINARY)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(of({"type": "object"}), id="an object of which nothing is said"),
        pytest.param(
            of({"type": "object", "additionalProperties": {"type": "integer"}}), id="a table"
        ),
        pytest.param(of({"type": "integer"}, additionalProperties=True), id="an open object"),
        pytest.param(
            of({"type": "object", "properties": {}, "required": ["y"]}),
            id="a property that is not described",
        ),
        pytest.param(of(True), id="anything"),
        pytest.param(of({}), id="anything else"),
        pytest.param(of({"type": "array"}), id="a list of anything"),
        pytest.param(of({"type": "array", "items": {}}), id="a list of anything else"),
        pytest.param(of({"type": "array", "prefixItems": [{"type": "string"}]}), id="a tuple"),
        pytest.param(of({"const": {"a": 1}}), id="a constant object"),
        pytest.param(of({"$ref": "#"}), id="itself"),
        pytest.param(
            of({"$ref": "#/definitions/A"}, definitions={"A": {"type": "string"}}),
            id="old definitions",
        ),
        pytest.param(
            of({"$ref": "#/$defs/A"}, **{"$defs": {"A": of({"$ref": "#/$defs/A"})}}), id="recursion"
        ),
        pytest.param(
            of(
                {"$ref": "#/$defs/A"},
                **{"$defs": {"A": of({"$ref": "#/$defs/B"}), "B": of({"$ref": "#/$defs/A"})}},
            ),
            id="recursion by two",
        ),
        pytest.param(of({"type": ["string", "null"]}), id="several types of one value"),
        pytest.param({"allOf": [of({"type": "string"}), TIGHT]}, id="parts of one object"),
        pytest.param(
            {**TIGHT, "anyOf": [of({"type": "string"}), of({"type": "null"})]},
            id="variants of one object",
        ),
        pytest.param(
            {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(25)}},
            id="25 optional",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    f"p{n}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for n in range(17)
                },
                "required": [f"p{n}" for n in range(17)],
            },
            id="17 unions",
        ),
    ],
)
def test_anthropic_is_told_in_words_what_it_cannot_hold_an_answer_to(schema: Schema) -> None:
    body = anthropic(asked(schema))
    assert "output_config" not in body
    assert told_in_words(body, schema)


Pair = tuple[Schema, Json]
bounded: st.SearchStrategy[Pair] = st.one_of(
    st.integers(0, 9).map(lambda n: ({"type": "integer", "minimum": n}, n)),
    st.integers(1, 9).map(lambda n: ({"type": ["integer", "null"], "multipleOf": n}, n)),
    st.text("xy", min_size=1).map(
        lambda s: ({"type": "string", "minLength": 1, "pattern": "^[xy]"}, s)
    ),
    st.sampled_from(["a", 1, None]).map(lambda v: ({"enum": [v, "b"], "default": "b"}, v)),
    st.just(({"type": "string", "format": "uri"}, "http://x")),
    st.just(
        (
            {"const": {"type": "object", "properties": {"a": {}}}},
            {"type": "object", "properties": {"a": {}}},
        )
    ),
)


def _object(parts: dict[str, Pair], required: bool, more: Json) -> Pair:
    schema: Schema = {
        "type": "object",
        "properties": {name: part for name, (part, _) in parts.items()},
    }
    schema |= {"required": [*parts]} if required else {"minProperties": len(parts)}
    schema |= {} if more is None else {"additionalProperties": more}
    return schema, {name: value for name, (_, value) in parts.items()}


pairs: st.SearchStrategy[Pair] = st.recursive(
    bounded,
    lambda inner: st.one_of(
        st.builds(
            _object,
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.booleans(),
            st.just(False),
        ),
        st.builds(
            _object,
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.booleans(),
            st.none(),
        ),
        st.builds(
            _object,
            st.dictionaries(st.sampled_from("abc"), inner),
            st.booleans(),
            st.just({"type": "null"}),
        ),
        inner.map(
            lambda pair: ({"type": "array", "items": pair[0], "minItems": 2}, [pair[1], pair[1]])
        ),
        st.tuples(inner, inner).map(lambda two: ({"oneOf": [two[0][0], two[1][0]]}, two[0][1])),
        st.tuples(inner, inner).map(lambda two: ({"anyOf": [two[0][0], two[1][0]]}, two[1][1])),
    ),
    max_leaves=8,
)


@given(pairs)
def test_what_a_vendor_is_sent_allows_the_answer_that_the_schema_allows(pair: Pair) -> None:
    schema, value = pair
    if schema_check(schema)(value):  # of two variants it may follow both
        return
    held = for_anthropic(schema)
    if held is not None:
        assert all(part.keys() <= TAKEN for part in within(held))
        jsonschema.Draft202012Validator(held).validate(value)
    sent = openai(asked(schema))["response_format"]["json_schema"]
    jsonschema.Draft202012Validator(sent["schema"]).validate(value)


def strictly(schema: Schema, **more: Any) -> bool:
    told = openai(asked(schema), **more)["response_format"]["json_schema"]
    sent = without_patterns(schema)
    assert told["schema"] == (closed(sent) if told["strict"] else sent)
    return bool(told["strict"])


@pytest.mark.parametrize(
    "schema",
    [
        TIGHT,
        of({"type": "integer", "title": "X", "description": "D"}),
        of({"type": "string", "pattern": "^x"}),
        of({"type": ["string", "null"], "enum": ["a", None]}),
        of({"type": "array", "items": of({"type": "string"})}),
        of({"anyOf": [{"const": "a"}, {"type": "null"}]}),
        of({"$ref": "#"}),
        nested(10),
        of(
            {"$ref": "#/$defs/A"},
            **{"$defs": {"A": of({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]})}},
        ),
        {
            **of({"type": "string"}),
            "properties": {"default": {"type": "string"}},
            "required": ["default"],
        },
        of({"const": {"type": "object", "properties": {}}}),
    ],
    ids=lambda schema: canonical_json(schema)[:80],
)
def test_openai_holds_strictly_to_what_it_knows(schema: Schema) -> None:
    assert strictly(schema, service="openai", url=OFFICIAL)


@pytest.mark.parametrize(
    "schema",
    [
        ORDINARY,
        of({"type": "string", "default": "a"}),
        of({"type": "string", "minLength": 1}),
        of({"type": "integer", "minimum": 0}),
        of({"type": "string", "format": "uuid"}),
        of({"type": "string", "contentEncoding": "base64"}),
        of({"oneOf": [{"type": "string"}, {"type": "null"}]}),
        of({"allOf": [{"type": "string"}]}),
        of({"type": "string", "not": {"const": "a"}}),
        of({"type": "string"}, **{"if": {"required": ["x"]}}),
        of({"type": "string"}, dependentRequired={"x": ["y"]}),
        of({"type": "string"}, dependentSchemas={"x": TIGHT}),
        of({"type": "string"}, patternProperties={"^y": {"type": "string"}}),
        of({"type": "string"}, propertyNames={"pattern": "x"}),
        of({"type": "string"}, minProperties=1),
        of({"type": "string"}, additionalProperties=True),
        of({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        of({"type": "array", "prefixItems": [{"type": "string"}], "items": False}),
        of({"type": "array"}),
        of({}),
        of(True),
        of({"type": "object"}),
        of({"$ref": "#/$defs/A", "description": "D"}, **{"$defs": {"A": TIGHT}}),
    ],
    ids=lambda schema: canonical_json(schema)[:80],
)
def test_openai_is_not_asked_to_hold_strictly_to_what_it_refuses(schema: Schema) -> None:
    assert not strictly(schema, service="openai", url=OFFICIAL)


def test_openai_holds_objects_alone_to_a_schema() -> None:
    listed: Schema = {"type": "array", "items": {"type": "string"}}
    for where in ({"url": OFFICIAL}, {"version": "2024-10-21"}):
        body = openai(asked(listed), service="openai", **where)
        assert "response_format" not in body
        assert told_in_words(body, listed)
    assert not strictly(listed), "others take it as it is"


def test_tools_are_offered_as_they_are_and_strictly_nowhere() -> None:
    """Their arguments are checked here; a vendor that held to them strictly would refuse
    ordinary schemas.
    """
    for made in (
        openai(asked(TIGHT, tools=(LOOK,)), service="openai"),
        ollama(asked(TIGHT, tools=(LOOK,))),
    ):
        assert made["tools"][0]["function"]["parameters"] == LOOK.parameters
        assert "strict" not in canonical_json(made["tools"])
    assert anthropic(asked(TIGHT, tools=(LOOK,)))["tools"][0]["input_schema"] == LOOK.parameters


CALLED: tuple[Turn, ...] = (
    AssistantMessage((ToolCallPart("1", "look", {}),)),
    ToolResults((ToolResultPart("1", "look", "7"),)),
)


def test_a_server_that_would_call_no_tool_beside_a_schema_is_told_of_it_in_words() -> None:
    request = asked(TIGHT, tools=(LOOK,))
    for body, named in ((ollama(request), "format"), (openai(request), "response_format")):
        assert named not in body
        assert body["tools"]
        assert told_in_words(body, TIGHT)
    for body, named in (
        (ollama(asked(TIGHT)), "format"),
        (openai(asked(TIGHT)), "response_format"),
    ):
        assert named in body
        assert not told_in_words(body, TIGHT)
    for body, named in (
        (anthropic(request), "output_config"),
        (openai(request, service="openai"), "response_format"),
    ):
        assert named in body, "with these a schema is for answers alone"
        assert not told_in_words(body, TIGHT)


def test_words_are_said_once_whoever_says_them() -> None:
    caps = known_model("ollama", "m")
    assert told_in_words(ollama(with_visible_schema(asked(TIGHT, tools=(LOOK,)), caps)), TIGHT)


def test_ollama_holds_the_repair_of_what_tools_found_to_the_schema() -> None:
    mend = AssistantMessage((Text("seven"),)), UserMessage(repair_text([]))
    found = asked(TIGHT, UserMessage("How many?"), *CALLED, *mend, tools=(LOOK,))
    assert ollama(found)["format"] == TIGHT
    for turns in (
        (UserMessage("How many?"),),
        (*CALLED, AssistantMessage((Text("7"),)), UserMessage("And now?")),
        (),
    ):
        body = ollama(asked(TIGHT, *turns, *mend, tools=(LOOK,)))
        assert "format" not in body, "it may still want to call a tool"
        assert told_in_words(body, TIGHT)


def test_a_value_that_looks_like_a_schema_is_none() -> None:
    schema = of(
        {
            "const": {"type": "object", "properties": {}},
            "examples": [{"type": "object", "properties": {}}],
        }
    )
    assert closed(schema) == {**schema, "additionalProperties": False}
    assert fits(closed(of({"const": {"oneOf": 1}})))
