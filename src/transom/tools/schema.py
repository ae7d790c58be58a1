"""Checks of tool arguments against JSON Schema (2020-12). Nothing is fetched for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from transom.errors import InputError, InvalidArgumentsError, ToolError
from transom.llm.structured import Check as SchemaCheck
from transom.llm.structured import schema_check

Check: TypeAlias = Callable[[Any], list[str]]
"""Arguments -> their problems; [] for valid arguments."""

_LONGEST = 65_536  # characters of a schema; it stands in every window
_ONLY = frozenset({"type", "properties", "required", "additionalProperties", "description"})
_PLAIN = frozenset({"type", "description", "default"})
_TYPES = {"string": str, "integer": int, "boolean": bool}
AT_THE_TOP = ("$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const")


def schema_text(schema: object, tool: str) -> str:
    """Return the parameters of a tool as JSON.

    Raises:
        ToolError: they do not describe an object, or not every vendor takes them.
    """
    try:
        text = json.dumps(dict(schema) if isinstance(schema, Mapping) else schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"its parameters are no JSON: {error}", place=tool) from error
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        hint = 'the outermost needs "type": "object", and `properties` that name the arguments'
        raise ToolError("its parameters are no JSON Schema of an object", place=tool, hint=hint)
    if len(text) > _LONGEST:
        problem = f"its parameters are {len(text)} characters long, and {_LONGEST} may be"
        raise ToolError(problem, place=tool, hint="a model reads all of it")
    for key in AT_THE_TOP:
        if key in schema:
            problem = f"its parameters are of the form {key!r} at the top"
            hint = "hosted models refuse it there; put it into one of the `properties`"
            raise ToolError(problem, place=tool, hint=hint)
    return text


def check_of(text: str, tool: str) -> Check:
    """Return a function that checks arguments against the text of a schema, but for `format`.

    Raises:
        ToolError: the text is not a schema.
    """
    try:
        full_check = _full_check(text)
    except InputError as error:
        hint = "see json-schema.org, draft 2020-12"
        raise ToolError(f"its parameters are {error.problem}", place=tool, hint=hint) from error

    schema = json.loads(text)
    plain, required = _plain_types(schema), set(schema.get("required", ()))

    def check(arguments: Any) -> list[str]:
        # Most calls have the required arguments, each of the one type that the schema names. The
        # full check would take a hundred times as long.
        if plain and type(arguments) is dict and arguments.keys() >= required:
            for name, value in arguments.items():
                if type(value) is not plain.get(name):
                    break
            else:
                return []
        try:
            return [complaint.text for complaint in full_check(arguments)]
        except (ArithmeticError, ValueError) as error:  # a number is too large for Python
            problem = "the arguments hold a number that is too large"
            hint = "give less at once, and call it again"
            raise InvalidArgumentsError(problem, hint=hint) from error
        except InputError as error:
            problem = f"its parameters are not whole: {error.problem}"
            raise ToolError(problem, place=tool, hint=error.hint) from error

    return check


def _plain_types(schema: dict[str, Any]) -> dict[str, type]:
    """Return the types of the arguments whose schemas name a type and demand nothing else."""
    types: dict[str, type] = {}
    # Another keyword at the top may demand something of every argument.
    if not _ONLY.issuperset(schema):
        return types
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and _PLAIN.issuperset(part):
            kind = part.get("type")
            if isinstance(kind, str) and kind in _TYPES:
                types[name] = _TYPES[kind]
    return types


# Conversation after conversation has tools of the same few schemas.
@lru_cache(maxsize=256)
def _full_check(text: str) -> SchemaCheck:
    return schema_check(json.loads(text))
