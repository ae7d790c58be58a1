"""Patterns as servers take them, and where the others are told."""

from __future__ import annotations

import json
import re
import warnings

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.canonical import Json
from transom.llm.hosted.patterns import grammar_pattern, openai_pattern, with_patterns

DECIMAL = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        ("^[a-z]+$", "^[a-z]+$"),
        (r"^\d{4}-\d{2}$", "^[0-9]{4}-[0-9]{2}$"),
        (r"^[\w.]+@x\.org$", r"^[A-Za-z0-9_.]+@x\.org$"),
        ("^(?:a|b)*c?$", "^(a|b)*c?$"),
        (r"^\(?:a$", r"^\(?:a$"),
        ("[0-9]", None),
        ("^a", None),
        ("a$", None),
        (r"^a\$", None),
        (DECIMAL, None),
        (r"^\S+$", None),
        (r"^a\b$", None),
        (r"^(a)\1$", None),
        ("^(?P<x>a)$", None),
        ("^a+?$", None),
        ("^a$|^b$", None),
        ('^"$', None),
        (r"^[\]]$", None),
        ("^a{1000}$", None),
        ("", None),
    ],
)
def test_a_pattern_of_which_a_server_makes_a_grammar(pattern: str, made: str | None) -> None:
    assert grammar_pattern(pattern) == made


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("[0-9]", True),
        (r"^\d+(?:\.\d+)?$", True),
        (r"^\(?=a$", True),
        (DECIMAL, False),
        ("(?=a)", False),
        ("(?<=a)b", False),
        ("(?<!a)b", False),
        (r"(a)\1", False),
        (r"\bword\b", False),
        (r"\p{L}", False),
    ],
)
def test_a_pattern_that_openai_takes(pattern: str, taken: bool) -> None:
    assert openai_pattern(pattern) == (pattern if taken else None)


@given(st.text("ab0-9.^$[](){}?:*+|\\dw,", max_size=14), st.text("ab01-.", max_size=5))
def test_what_a_grammar_allows_the_pattern_allows(pattern: str, text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of sets in sets, which are none yet
            asked = re.compile(pattern)
    except re.error:
        return
    made = grammar_pattern(pattern)
    if made is not None and re.fullmatch(made[1:-1], text):
        assert asked.search(text)


def test_what_is_left_out_is_told_and_a_property_of_that_name_stays() -> None:
    of: dict[str, Json] = {"type": "string", "pattern": "(?=a)", "description": "A word."}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"pattern": of, "b": {"type": "array", "items": {"pattern": "^b$"}}},
    }
    assert with_patterns(schema, grammar_pattern) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "A word. It matches the regular expression (?=a)"},
            "b": {"type": "array", "items": {"pattern": "^b$"}},
        },
    }
    assert of["pattern"] == "(?=a)"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"oneOf": [{"type": "string", "pattern": "y"}, {"type": "string", "maxLength": 3}]}, "x"),
        ({"anyOf": [{"type": "string"}], "oneOf": [{"type": "string", "pattern": "y"}, {"maxLength": 3}]}, "x"),
        ({"not": {"type": "string", "pattern": "y"}}, "x"),
        ({"if": {"pattern": "y"}, "then": {"maxLength": 2}, "else": {"minLength": 1}}, "xxx"),
        ({"type": "array", "contains": {"pattern": "y"}, "maxContains": 1}, ["y", "x"]),
        ({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {"a": {"pattern": "y"}, "b": {}}}, "x"),
        ({"type": "object", "properties": {"not": {"type": "string", "pattern": "y"}, "if": {"const": 1}}}, {"if": 1}),
    ],
    ids=lambda one: str(one)[:30],
)
def test_where_a_pattern_is_left_out_nothing_becomes_stricter(schema: dict[str, Json], value: Json) -> None:
    jsonschema.Draft202012Validator(schema).validate(value)
    sent = with_patterns(schema, grammar_pattern)
    assert '"pattern"' not in json.dumps(sent)
    jsonschema.Draft202012Validator(sent).validate(value)


def test_where_all_patterns_are_taken_all_else_stands() -> None:
    schema: dict[str, Json] = {"oneOf": [{"pattern": "^y$"}, {"not": {"maxLength": 3}}], "if": {}, "then": {}}
    assert with_patterns(schema, grammar_pattern) == schema
