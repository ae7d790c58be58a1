"""Arguments of tools held against JSON Schema (2020-12). Nothing is fetched for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

from transom.canonical import Json
from transom.errors import InvalidArgumentsError, ToolError
from transom.tools.complaints import complaints_of

MOST_COMPLAINTS = 5
_LONGEST = 65_536  # characters of a schema; it stands in every window
AT_THE_TOP = ("$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const")
_VALUES = ("enum", "const", "default", "examples")  # hold values and no schemas
_PLAIN = {"object": dict, "array": list, "string": str, "integer": int, "number": float, "boolean": bool}


class Check:
    """The parameters of a tool, ready to hold arguments against.

    Args:
        schema: must describe an object. `$ref`s lead to a place in it (`#/...`); `format` is a remark.
        where: the tool, for the message.
        foreign: whether a server checks the arguments itself. Nothing is held against the schema then: an expression
            in it that is slow on purpose would hold up the whole program.

    Raises:
        ToolError: naming what is wrong with the schema, and where in it.
    """

    def __init__(self, schema: object, where: str, *, foreign: bool = False) -> None:
        self._validator = _made(_text(schema, where), where, foreign)

    def complaints(self, value: Json) -> list[str]:
        """What is wrong with arguments, at five places at most; [] where nothing is.

        Raises:
            InvalidArgumentsError: they cannot be checked.
        """
        if self._validator is None:
            return []
        try:
            found = list(islice(self._validator.iter_errors(value), MOST_COMPLAINTS))
            return list(dict.fromkeys(one for error in found for one in complaints_of(error))) if found else found
        except (RecursionError, ArithmeticError, ValueError) as error:  # sizes of numbers beyond those of Python
            what = "the arguments are nested too deeply, or hold a number that is too large"
            raise InvalidArgumentsError(what, hint="give less at once, and call it again") from error


def _text(schema: object, where: str) -> str:
    try:
        return json.dumps(dict(schema) if isinstance(schema, Mapping) else schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"its parameters are no JSON: {error}", where=where) from error


@lru_cache(maxsize=256)  # conversation after conversation has tools of the same few schemas
def _made(text: str, where: str, foreign: bool) -> Any:
    """A validator; None for a foreign schema. See `Check`."""
    own = _own(text, where)
    if foreign:
        if not isinstance(own.get("properties", {}), dict):
            raise _none(where, "no JSON Schema")
        _hold_references(own, where)
        return None
    from jsonschema import SchemaError  # noqa: PLC0415  only where there is a tool
    from referencing import Registry  # noqa: PLC0415  only where there is a tool

    dialect = _dialect()
    try:
        dialect.check_schema(own)
    except SchemaError as error:
        said = "; ".join(complaints_of(error)) or error.message
        raise _none(where, f"no JSON Schema: {said[:500]}") from error
    except RecursionError as error:
        raise _none(where, "nested too deeply to be checked") from error
    _hold_references(own, where)
    return dialect(own, registry=Registry())  # the library's own registry fetches what is remote


def _own(text: str, where: str) -> dict[str, Any]:
    """A copy that nobody changes, whose parts are made ready once."""
    try:
        own = json.loads(text, object_hook=_ready)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"its parameters are no JSON: {error}", where=where) from error
    if not isinstance(own, dict) or own.get("type") != "object":
        hint = 'the outermost needs "type": "object", and `properties` that name the arguments'
        raise _none(where, "no JSON Schema of an object", hint=hint)
    if len(text) > _LONGEST:
        raise _none(where, f"{len(text)} characters long, and {_LONGEST} may be", hint="a model reads all of it")
    for key in AT_THE_TOP:
        if key in own:
            hint = "hosted models refuse it there; put it into one of the `properties`"
            raise _none(where, f"of the form {key!r} at the top", hint=hint)
    own.pop("$schema", None)
    own.pop("$id", None)
    return own


def _hold_references(schema: dict[str, Any], where: str) -> None:
    """Each reference leads to a place of the schema itself, which is one document."""
    left: list[tuple[str, Any]] = [("#", schema)]
    while left:
        path, part = left.pop()
        if isinstance(part, list):
            left += [(f"{path}/{number}", one) for number, one in enumerate(part)]
        if not isinstance(part, dict):
            continue
        named = path.endswith("/properties")
        left += [(f"{path}/{key}", one) for key, one in part.items() if named or key not in _VALUES]
        if isinstance(part.get("$schema"), str) or isinstance(part.get("$id"), str):
            raise _none(where, f"of two documents: {path} has a `$schema` or `$id` of its own")
        for reference in (part.get("$ref"), part.get("$dynamicRef")):
            if isinstance(reference, str) and not _leads_within(reference, schema):
                hint = "put what it refers to into `$defs`, and refer to it as '#/$defs/NAME'"
                raise _none(where, f"not whole: {reference!r} in {path} is not in it", hint=hint)


def _leads_within(reference: str, schema: Any) -> bool:
    at: Any = schema if reference.partition("/")[0] == "#" else None
    for step in unquote(reference).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list):
            at = dict(enumerate(at)).get(int(name)) if name.isdecimal() else None
        else:
            at = at.get(name) if isinstance(at, dict) else None
    return isinstance(at, dict | bool)


def _none(where: str, what: str, hint: str = "see json-schema.org, draft 2020-12") -> ToolError:
    return ToolError(f"its parameters are {what}", where=where, hint=hint)


class _Properties(dict[str, Any]):
    """The `properties` of a schema; a validator for each is made once, which is most of what a check costs."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.validators: dict[str, Any] = {}


def _ready(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("properties"), dict):
        node["properties"] = _Properties(node["properties"])
    return node


@cache
def _dialect() -> Any:
    """A validator class of the library, with two keywords made quicker."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415  only where there is a tool
    from jsonschema.validators import extend  # noqa: PLC0415  only where there is a tool

    theirs: Mapping[str, Any] = Draft202012Validator.VALIDATORS
    make: Any = extend  # it has no types
    return make(Draft202012Validator, {"properties": _properties, "type": _unless_plain(theirs["type"])})


def _properties(validator: Any, properties: _Properties, instance: Any, schema: Any) -> Iterator[Any]:
    """As the library does it, without making validators anew: none has an `$id`, so all resolve alike."""
    del schema
    if not isinstance(instance, dict):
        return
    for name in properties:
        if name in instance:
            held = properties.validators.get(name)
            if held is None:
                part = properties[name]
                held = properties.validators[name] = validator.evolve(schema=part)
            for error in held.iter_errors(instance[name]):
                error.path.appendleft(name)
                error.schema_path.appendleft(name)
                yield error


def _unless_plain(follow: Any) -> Any:
    """Most values are of the very type that is named; the library looks that up in a table that is made for more."""

    def typed(validator: Any, name: Any, instance: Any, schema: Any) -> Any:
        plain = type(name) is str and type(instance) is _PLAIN.get(name)
        return None if plain else follow(validator, name, instance, schema)

    return typed
