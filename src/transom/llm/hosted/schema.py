"""A JSON Schema as vendors take it who hold answers to it: each knows a part of the language, and refuses the rest.

Answers are held to the whole schema here in any case, so a vendor may be sent less of it; never one without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from transom.canonical import Json

Schema = Mapping[str, Json]

_OF_MANY = ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas")
_OF_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_ONE = (
    *("items", "additionalProperties", "not", "if", "then", "else"),
    *("contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
_STRICTER = frozenset({"not", "if", "then", "else", "maxContains"})
_Change = Callable[[Schema], dict[str, Json]]


def closed(schema: Schema) -> dict[str, Json]:
    """The schema with every object closed that does not say otherwise: no keys beside its properties."""
    made = with_parts(schema, closed)
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def with_parts(schema: Schema, change: _Change) -> dict[str, Json]:
    """The schema with each schema in it changed. A value in it may look like a schema, and is none."""

    def changed(value: Json) -> Json:
        return change(value) if isinstance(value, dict) else value

    made = dict(schema)
    for key in _OF_MANY:
        if isinstance(many := made.get(key), dict):
            made[key] = {name: changed(one) for name, one in many.items()}
    for key in _OF_SEVERAL:
        if isinstance(several := made.get(key), list):
            made[key] = [changed(one) for one in several]
    for key in _OF_ONE:
        if key in made:
            made[key] = changed(made[key])
    return made


def without_patterns(schema: Schema) -> dict[str, Json]:
    """The schema with its patterns told in descriptions: many servers refuse a whole request for one that they do not
    know. Answers and calls are held to them here in any case.
    """
    told: list[str] = []
    made = _without_patterns(schema, told)
    return _loosened(made) if told else made


def _without_patterns(schema: Schema, told: list[str]) -> dict[str, Json]:
    made = with_parts(schema, lambda part: _without_patterns(part, told))
    if isinstance(pattern := made.get("pattern"), str):
        del made["pattern"]
        told.append(f"It matches the regular expression {pattern}")
        about = made.get("description")
        made["description"] = f"{about} {told[-1]}" if isinstance(about, str) and about else told[-1]
    return made


def _loosened(schema: Schema) -> dict[str, Json]:
    """The schema without what becomes stricter where a part says less: one of several alone, none, not so many."""
    made = with_parts(schema, _loosened)
    several = made.pop("oneOf", None)
    if several is not None:
        made.setdefault("anyOf", several)
    return {key: value for key, value in made.items() if key not in _STRICTER}


def _parts(schema: Schema) -> Iterator[Json]:
    """The schemas in it, which may be no objects but true or false."""
    for key in _OF_MANY:
        if isinstance(many := schema.get(key), dict):
            yield from many.values()
    for key in _OF_SEVERAL:
        if isinstance(several := schema.get(key), list):
            yield from several
    yield from (schema[key] for key in _OF_ONE if key in schema and key != "additionalProperties")


@dataclass(frozen=True)
class Strict:
    """What may stand in a schema that answers are held to strictly by those who speak like OpenAI.

    Attributes:
        words: keywords that it may have.
        levels: of objects and lists, one in another.
        properties: of all its objects together.
    """

    words: frozenset[str]
    levels: int
    properties: int

    def fits(self, schema: Schema) -> bool:
        """Whether a schema is within all that."""
        return schema.get("type") == "object" and self._fits(dict(schema), self.levels) and self._size(schema)

    def _fits(self, schema: Json, levels: int) -> bool:
        if not isinstance(schema, dict) or not self.words.issuperset(schema):
            return False
        if "$ref" in schema:
            return len(schema) == 1  # it stands alone
        if not schema.keys() & {"type", "anyOf", "enum", "const"} or schema.get("format", "date") not in _FORMATS:
            return False
        types = _types(schema)
        if ("object" in types and not _is_whole(schema)) or ("array" in types and "items" not in schema):
            return False
        left = levels - ("object" in types or "array" in types)
        return left >= 0 and all(self._fits(part, left) for part in _parts(schema))

    def _size(self, schema: Schema) -> bool:
        return sum(_count(one.get("properties")) for one in _within(schema)) <= self.properties and (
            sum(_count(one.get("enum")) for one in _within(schema)) <= _MOST_VALUES
        )


_MOST_VALUES = 1_000
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
_SHAPES = frozenset(
    [
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"),
        *("$ref", "$defs", "definitions", "title", "description"),
    ]
)
_BOUNDS = frozenset(
    [
        *("format", "minItems", "maxItems"),
        *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    ]
)
OPENAI = Strict(_SHAPES | _BOUNDS, 10, 5_000)
AZURE = Strict(_SHAPES, 5, 100)


def _types(schema: Schema) -> list[Json]:
    told = schema.get("type")
    return told if isinstance(told, list) else [told]


def _is_whole(schema: Schema) -> bool:
    """Whether an object is closed and requires all its properties."""
    properties, required = schema.get("properties"), schema.get("required")
    named = isinstance(properties, dict) and isinstance(required, list) and set(properties) == set(required)
    return named and schema.get("additionalProperties") is False


def _count(value: Json) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _within(schema: Schema) -> Iterator[Schema]:
    """The schema, and all that is in it."""
    yield schema
    for part in _parts(schema):
        if isinstance(part, dict):
            yield from _within(part)


_MOST_OPTIONAL = 24
_MOST_UNIONS = 16


def for_anthropic(schema: Schema) -> dict[str, Json] | None:
    """The schema as Anthropic takes it: what it refuses is told in descriptions.

    None where that would be another schema: it closes all objects and knows no recursion, so that of a table with keys
    of any name nothing would be left, for example. None as well where it is more than it takes.
    """
    from anthropic import transform_schema  # noqa: PLC0415  (3 s of CPU)

    split = _split(schema)
    if not all(_can_be_closed(one) for one in _within(split)) or _refers_to_itself(split):
        return None
    try:
        made = cast(dict[str, Json], transform_schema(split))
    except (ValueError, TypeError, AttributeError):  # of a part that says no type, or says it in no way that it knows
        return None
    optional = sum(_count(one.get("properties")) - _count(one.get("required")) for one in _within(made))
    unions = sum("anyOf" in one for one in _within(made))
    return None if optional > _MOST_OPTIONAL or unions > _MOST_UNIONS else made


def _split(schema: Schema) -> dict[str, Json]:
    """The schema with several types of one value as a union of them."""
    made = with_parts(schema, _split)
    types = made.get("type")
    if not isinstance(types, list) or made.keys() & {"enum", "const"}:
        return made
    about: dict[str, Json] = {key: made.pop(key) for key in ("title", "description", "$defs") if key in made}
    return {**about, "anyOf": [{**made, "type": one} for one in types]}


def _can_be_closed(schema: Schema) -> bool:
    """Whether what is left of it, taken literally and with each object closed, allows an answer as the whole does."""
    if not all(isinstance(part, dict) for part in _parts(schema)):
        return False
    if schema.keys() & {"allOf", "patternProperties", "definitions"}:
        return False  # parts of one object cannot be closed each for itself
    if schema.keys() & {"anyOf", "oneOf"}:
        return not schema.keys() & {"properties", "items", "additionalProperties"}
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required", [])
        named = isinstance(properties, dict) and isinstance(required, list) and properties.keys() >= set(required)
        return named and schema.get("additionalProperties", False) is False
    return schema.get("type") != "array" or "items" in schema


def _refers_to_itself(schema: Schema) -> bool:
    """Whether a definition leads back to itself, or to one that is not in it."""
    defs = schema.get("$defs")
    left = {f"#/$defs/{name}": part for name, part in defs.items()} if isinstance(defs, dict) else {}
    told = {name: set(_targets(part)) for name, part in left.items() if isinstance(part, dict)}
    if any(target not in told for target in _targets(schema)):
        return True
    while ends := [name for name, targets in told.items() if not targets & told.keys()]:
        for name in ends:
            del told[name]
    return bool(told)


def _targets(schema: Schema) -> list[str]:
    return [target for one in _within(schema) if isinstance(target := one.get("$ref"), str)]
