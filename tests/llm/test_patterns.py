"""Patterns are told in words, since many servers refuse what they do not know of them."""

from __future__ import annotations

import json

import jsonschema
import pytest

from transom.canonical import Json
from transom.llm.hosted.schema import without_patterns


def test_what_is_left_out_is_told_and_a_property_of_that_name_stays() -> None:
    of: dict[str, Json] = {"type": "string", "pattern": "(?=a)", "description": "A word."}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"pattern": of, "b": {"type": "array", "items": {"pattern": "^b$"}}},
    }
    assert without_patterns(schema) == {
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "A word. It matches the regular expression (?=a)",
            },
            "b": {
                "type": "array",
                "items": {"description": "It matches the regular expression ^b$"},
            },
        },
    }
    assert of["pattern"] == "(?=a)"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"oneOf": [{"type": "string", "pattern": "y"}, {"type": "string", "maxLength": 3}]}, "x"),
        (
            {
                "anyOf": [{"type": "string"}],
                "oneOf": [{"type": "string", "pattern": "y"}, {"maxLength": 3}],
            },
            "x",
        ),
        ({"not": {"type": "string", "pattern": "y"}}, "x"),
        ({"if": {"pattern": "y"}, "then": {"maxLength": 2}, "else": {"minLength": 1}}, "xxx"),
        ({"type": "array", "contains": {"pattern": "y"}, "maxContains": 1}, ["y", "x"]),
        (
            {
                "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
                "$defs": {"a": {"pattern": "y"}, "b": {}},
            },
            "x",
        ),
        (
            {
                "type": "object",
                "properties": {"not": {"type": "string", "pattern": "y"}, "if": {"const": 1}},
            },
            {"if": 1},
        ),
    ],
    ids=lambda one: str(one)[:30],
)
def test_where_a_pattern_is_left_out_nothing_becomes_stricter(
    schema: dict[str, Json], value: Json
) -> None:
    jsonschema.Draft202012Validator(schema).validate(value)
    sent = without_patterns(schema)
    assert '"pattern"' not in json.dumps(sent)
    jsonschema.Draft202012Validator(sent).validate(value)
