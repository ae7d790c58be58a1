"""Checks of tool arguments against JSON Schema (2020-12). Nothing is fetched for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from transom.errors import InputError, InvalidArgumentsError, ToolError
from transom.llm.structured import Check as Held
from transom.llm.structured import schema_check

Check: TypeAlias = Callable[[Any], list[str]]
"""Arguments -> what is wrong with them; [] where nothing is."""

_LONGEST = 65_536  # characters of a schema; it stands in every window
_ONLY = frozenset({"type", "properties", "required", "additionalProperties", "description"})
_PLAIN = frozenset({"type", "description", "default"})
_TYPES = {"string": str, "integer": int, "boolean": bool}
AT_THE_TOP = ("$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const")


def schema_text(schema: object, where: str) -> str:
    """The parameters of a tool as JSON; ToolError where they describe no object, or not every
    vendor takes them.
    """
    try:
        text = json.dumps(dict(schema) if isinstance(schema, Mapping) else schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"its parameters are no JSON: {error}", where=where) from error
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        hint = 'the outermost needs "type": "object", and `properties` that name the arguments'
        raise ToolError("its parameters are no JSON Schema of an object", where=where, hint=hint)
    if len(text) > _LONGEST:
        what = f"its parameters are {len(text)} characters long, and {_LONGEST} may be"
        raise ToolError(what, where=where, hint="a model reads all of it")
    if found := [key for key in AT_THE_TOP if key in schema]:
        hint = "hosted models refuse it there; put it into one of the `properties`"
        raise ToolError(
            f"its parameters are of the form {found[0]!r} at the top", where=where, hint=hint
        )
    return text


def check_of(text: str, where: str) -> Check:
    """A function that checks arguments against the text of a schema, but for `format`; ToolError
    where it is none.
    """
    try:
        held = _held(text)
    except InputError as error:
        hint = "see json-schema.org, draft 2020-12"
        raise ToolError(f"its parameters are {error.what}", where=where, hint=hint) from error

    schema = json.loads(text)
    plain, required = _plain_types(schema), set(schema.get("required", ()))

    def check(arguments: Any) -> list[str]:
        if plain and type(arguments) is dict and arguments.keys() >= required:
            for name, value in arguments.items():
                if type(value) is not plain.get(name):
                    break
            else:  # as most calls: what is required, each of the very type that is all that is said
                return []
        try:
            return [one.text for one in held(arguments)]
        except (ArithmeticError, ValueError) as error:  # sizes of numbers beyond those of Python
            what = "the arguments hold a number that is too large"
            raise InvalidArgumentsError(
                what, hint="give less at once, and call it again"
            ) from error
        except InputError as error:
            raise ToolError(
                f"its parameters are not whole: {error.what}", where=where, hint=error.hint
            ) from error

    return check


def _plain_types(schema: dict[str, Any]) -> dict[str, type]:
    """The type of each argument of which nothing else is said; none where the schema says more
    of all of them.
    """
    parts = schema.get("properties", {}) if _ONLY.issuperset(schema) else {}
    plain = {
        name: part.get("type")
        for name, part in parts.items()
        if isinstance(part, dict) and _PLAIN.issuperset(part)
    }
    return {
        name: _TYPES[kind]
        for name, kind in plain.items()
        if isinstance(kind, str) and kind in _TYPES
    }


@lru_cache(maxsize=256)  # conversation after conversation has tools of the same few schemas
def _held(text: str) -> Held:
    return schema_check(json.loads(text))
