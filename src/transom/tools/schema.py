"""Arguments of tools held against JSON Schema (2020-12). Nothing is fetched for it, and it comes to an end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from transom.canonical import Json
from transom.errors import InvalidArgumentsError, ToolError
from transom.tools.complaints import complaints_of
from transom.tools.schema_parts import led_to, parts_of, pointer, sizes_of

MOST_COMPLAINTS = 5
_LONGEST = 65_536  # characters of a schema; it stands in every window
_MOST_REFERENCES = 10_000  # followed for one call
_MOST_PARTS = 120_000  # of a foreign schema, that references and items lead to in one call: within about a second
AT_THE_TOP = ("$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const")
_SLOW = ("pattern", "patternProperties", "uniqueItems")
_FOR_EACH: dict[str, type[Any]] = {"items": list, "additionalProperties": dict, "propertyNames": dict}
_TURNING = ("not", "if", "contains", "unevaluatedItems", "unevaluatedProperties")

_PLAIN = {"object": dict, "array": list, "string": str, "integer": int, "number": float, "boolean": bool}


@dataclass(slots=True)
class _Followed:
    """What one call was led to: by references, and in a foreign schema by whatever holds for each of several values.

    Attributes:
        sizes: see `sizes_of`.
    """

    sizes: Mapping[int | str, int]
    references: int = 0
    parts: int = 0

    def refer(self, reference: str) -> None:
        self.references += 1
        if self.references > _MOST_REFERENCES:
            raise RecursionError
        self.parts += self.sizes.get(reference, 0)
        if self.parts > _MOST_PARTS:
            raise RecursionError

    def repeat(self, part: Any, times: int) -> None:
        self.parts += self.sizes.get(id(part), 1) * times
        if self.parts > _MOST_PARTS:
            raise RecursionError


_followed: ContextVar[_Followed] = ContextVar("what was followed for one call")


class Check:
    """The parameters of a tool, ready to hold arguments against.

    Args:
        schema: must describe an object. `$ref`s lead to a place in it (`#/...`); `format` is a remark.
        where: the tool, for the message.
        foreign: whether somebody else wrote it and checks the arguments once more, such as a server. An expression or a
            comparison that is slow on purpose would hold up the whole program, so `pattern`s and `uniqueItems` are left
            to whoever wrote them, and with them what would mean something else without them (`not`, `if`, ...).

    Raises:
        ToolError: naming what is wrong with the schema, and where in it.
    """

    def __init__(self, schema: object, where: str, *, foreign: bool = False) -> None:
        self._validator, self._sizes = _made(_text(schema, where), where, foreign)

    def complaints(self, value: Json) -> list[str]:
        """What is wrong with arguments, at five places at most; [] where nothing is.

        Raises:
            InvalidArgumentsError: they cannot be checked.
        """
        if self._sizes is not None:
            _followed.set(_Followed(self._sizes))
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
def _made(text: str, where: str, foreign: bool) -> tuple[Any, Mapping[int | str, int] | None]:
    """A validator, and what is counted of what it is led to; None where it is led nowhere. See `Check`."""
    from jsonschema import SchemaError  # noqa: PLC0415  only where there is a tool
    from referencing import Registry  # noqa: PLC0415  only where there is a tool

    own = _own(text, where)
    dialect = _dialect(foreign)
    try:
        # Whether an expression is one is not asked of what is not run.
        dialect.check_schema(own, **({"format_checker": None} if foreign else {}))
    except SchemaError as error:
        said = "; ".join(complaints_of(error)) or error.message
        raise _none(where, f"no JSON Schema: {said[:500]}") from error
    except RecursionError as error:
        raise _none(where, "nested too deeply to be checked") from error
    refers = _hold_references(own, where)
    sizes = sizes_of(own) if foreign else {} if refers else None
    return dialect(own, registry=Registry()), sizes  # the library's own registry fetches what is remote


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


def _hold_references(schema: dict[str, Any], where: str) -> bool:
    """Whether there are any; each leads to a schema within this one."""
    parts = dict(parts_of(schema))
    refers = False
    for path, part in parts.items():
        if path and not {"$schema", "$id"}.isdisjoint(part):
            raise _none(where, f"of two documents: {pointer(path)} has a `$schema` or `$id` of its own")
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if key in part:
                refers = True
                if led_to(str(part[key])) not in parts:
                    hint = "put what it refers to into `$defs`, and refer to it as '#/$defs/NAME'"
                    raise _none(where, f"not whole: {part[key]!r} in {pointer(path)} is not in it", hint=hint)
    return refers


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
def _dialect(foreign: bool) -> Any:
    """A validator class of the library, with the few keywords of ours."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415  only where there is a tool
    from jsonschema.validators import extend  # noqa: PLC0415  only where there is a tool

    theirs: Mapping[str, Any] = Draft202012Validator.VALIDATORS
    ours: dict[str, Any] = {"properties": _properties, "type": _unless_plain(theirs["type"])}
    ours |= {key: _counted(theirs[key]) for key in ("$ref", "$dynamicRef")}
    if foreign:
        ours |= dict.fromkeys((*_SLOW, *_TURNING), _left_out)
        ours |= {key: _repeated(theirs[key], kind) for key, kind in _FOR_EACH.items()}
        ours |= {"oneOf": theirs["anyOf"], "additionalProperties": _unless_patterns(ours["additionalProperties"])}
    make: Any = extend  # it has no types
    return make(Draft202012Validator, ours)


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


def _counted(follow: Any) -> Any:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _followed.get().refer(value)
        return follow(validator, value, instance, schema)

    return counted


def _repeated(follow: Any, kind: type[Any]) -> Any:
    def repeated(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if isinstance(instance, kind):
            _followed.get().repeat(value, len(instance))
        return follow(validator, value, instance, schema)

    return repeated


def _left_out(validator: Any, value: Any, instance: Any, schema: Any) -> None:
    """Checks nothing."""


def _unless_plain(follow: Any) -> Any:
    """Most values are of the very type that is named; the library looks that up in a table that is made for more."""

    def typed(validator: Any, name: Any, instance: Any, schema: Any) -> Any:
        plain = type(name) is str and type(instance) is _PLAIN.get(name)
        return None if plain else follow(validator, name, instance, schema)

    return typed


def _unless_patterns(follow: Any) -> Any:
    def held(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return None if "patternProperties" in schema else follow(validator, value, instance, schema)

    return held
