"""A JSON Schema as vendors accept it for structured output: each knows a part of the language,
refuses the rest.

Answers are held to the whole schema here in any case, so a vendor may be sent less of it; never one
without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    """The schema with every object closed that does not say otherwise: no keys beside its
    properties.
    """
    made = with_parts(schema, closed)
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def with_parts(schema: Schema, change: _Change) -> dict[str, Json]:
    """The schema with each schema in it changed. A value in it may look like a schema, and is
    none.
    """

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
    """The schema with its patterns moved to descriptions: many servers refuse a request for a
    pattern that they do not know. Answers and calls are held to them here in any case.
    """
    moved: list[str] = []
    made = _without_patterns(schema, moved)
    return _loosened(made) if moved else made


def _without_patterns(schema: Schema, moved: list[str]) -> dict[str, Json]:
    made = with_parts(schema, lambda part: _without_patterns(part, moved))
    if isinstance(pattern := made.get("pattern"), str):
        del made["pattern"]
        moved.append(f"It matches the regular expression {pattern}")
        about = made.get("description")
        made["description"] = (
            f"{about} {moved[-1]}" if isinstance(about, str) and about else moved[-1]
        )
    return made


def _loosened(schema: Schema) -> dict[str, Json]:
    """The schema without what becomes stricter where a part says less: one of several alone,
    none, not so many.
    """
    made = with_parts(schema, _loosened)
    several = made.pop("oneOf", None)
    if several is not None:
        made.setdefault("anyOf", several)
    return {key: value for key, value in made.items() if key not in _STRICTER}


_STRICT = frozenset(
    [
        *(
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "const",
        ),
        *("$ref", "$defs", "definitions", "title", "description"),
    ]
)
"""Keywords that OpenAI and Azure both take where an answer is held to a schema strictly."""
_ANTHROPIC = (_STRICT - {"definitions"}) | frozenset(
    [
        *(
            "format",
            "minItems",
            "maxItems",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ),
        *("default", "examples", "pattern", "minLength", "maxLength", "uniqueItems", "oneOf"),
        *("discriminator", "deprecated", "$schema"),
    ]
)
"""Keywords that Anthropic takes, or that can be moved to descriptions."""
_MOST_OPTIONAL = 24
_MOST_UNIONS = 16


def fits(schema: Json, words: frozenset[str] = _STRICT) -> bool:
    """Whether a schema has these words alone and means the same closed; with `_STRICT` all
    properties are required.
    """
    strict = words is _STRICT
    if not isinstance(schema, dict) or not words.issuperset(schema):
        return False
    if "$ref" in schema:
        return len(schema) == 1 or not strict
    if not schema.keys() & {"type", "anyOf", "oneOf", "enum", "const"}:
        return False
    if schema.keys() & {"anyOf", "oneOf"} and schema.keys() & {
        "properties",
        "items",
        "additionalProperties",
    }:
        return False
    kind = schema.get("type")
    types = kind if isinstance(kind, list) else [kind]
    if (isinstance(kind, list) and not strict) or ("array" in types and "items" not in schema):
        return False
    if "object" in types:
        properties, required = schema.get("properties"), schema.get("required", [])
        if (
            not isinstance(properties, dict)
            or not isinstance(required, list)
            or not properties.keys() >= set(required)
        ):
            return False
        if schema.get("additionalProperties", False) is not False or (
            strict and properties.keys() != set(required)
        ):
            return False
    return all(fits(part, words) for part in _parts(schema))


def for_anthropic(schema: Schema) -> dict[str, Json] | None:
    """The schema as Anthropic accepts it: what it refuses is moved to descriptions.

    None where that would be another schema: it closes all objects and knows no recursion, so that
    of a table with keys of any name nothing would be left, for example. None as well where it is
    more than it takes.
    """
    from anthropic import transform_schema  # noqa: PLC0415  (3 s of CPU)

    defs = schema.get("$defs")
    if not fits(dict(schema), _ANTHROPIC) or _leads_back(
        schema, defs if isinstance(defs, dict) else {}, ()
    ):
        return None
    try:
        made = cast(dict[str, Json], transform_schema(dict(schema)))
    # of a part that says no type, or says it in no way that it knows
    except (ValueError, TypeError, AttributeError):
        return None
    optional = sum(
        _count(one.get("properties")) - _count(one.get("required")) for one in _within(made)
    )
    unions = sum("anyOf" in one for one in _within(made))
    return None if optional > _MOST_OPTIONAL or unions > _MOST_UNIONS else made


def _leads_back(schema: Schema, defs: Schema, way: tuple[str, ...]) -> bool:
    """Whether a reference leads back to where it stands, or to what is not in the schema."""
    for target in [one["$ref"] for one in _within(schema) if isinstance(one.get("$ref"), str)]:
        name = str(target).removeprefix("#/$defs/")
        part = defs.get(name)
        if name in way or not isinstance(part, dict) or _leads_back(part, defs, (*way, name)):
            return True
    return False


def _parts(schema: Schema) -> Iterator[Json]:
    """The schemas in it, which may be no objects but true or false."""
    for key in _OF_MANY:
        if isinstance(many := schema.get(key), dict):
            yield from many.values()
    for key in _OF_SEVERAL:
        if isinstance(several := schema.get(key), list):
            yield from several
    yield from (schema[key] for key in _OF_ONE if key in schema and key != "additionalProperties")


def _within(schema: Schema) -> Iterator[Schema]:
    """The schema, and all that is in it."""
    yield schema
    for part in _parts(schema):
        if isinstance(part, dict):
            yield from _within(part)


def _count(value: Json) -> int:
    return len(value) if isinstance(value, dict | list) else 0
