"""A JSON Schema as vendors accept it for structured output.

Each vendor knows a part of the language and refuses the rest. Answers are checked against the whole
schema here in any case, so a vendor may be sent a looser one; never one that no answer follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from transom.canonical import Json

Schema = Mapping[str, Json]

# Keywords by their values: an object of schemas, a list of schemas, one schema.
_WITH_OBJECT = ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas")
_WITH_LIST = ("anyOf", "oneOf", "allOf", "prefixItems")
_WITH_SCHEMA = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
# A looser part makes the whole stricter below these: more values are excluded by `not`.
_STRICTER = frozenset({"not", "if", "then", "else", "maxContains"})
_Change = Callable[[Schema], dict[str, Json]]


def closed(schema: Schema) -> dict[str, Json]:
    """Return the schema with its objects closed: they take no keys beyond their properties.

    An object that states `additionalProperties` keeps it.
    """
    result = with_parts(schema, closed)
    if result.get("type") == "object" and "properties" in result:
        result.setdefault("additionalProperties", False)
    return result


def with_parts(schema: Schema, change: _Change) -> dict[str, Json]:
    """Return the schema with each schema in it changed.

    Only values of keywords are schemas: a value of an enum may look like a schema, and is data.
    """

    def changed(value: Json) -> Json:
        return change(value) if isinstance(value, dict) else value

    result = dict(schema)
    for key in _WITH_OBJECT:
        if isinstance(members := result.get(key), dict):
            result[key] = {name: changed(part) for name, part in members.items()}
    for key in _WITH_LIST:
        if isinstance(parts := result.get(key), list):
            result[key] = [changed(part) for part in parts]
    for key in _WITH_SCHEMA:
        if key in result:
            result[key] = changed(result[key])
    return result


def without_patterns(schema: Schema) -> dict[str, Json]:
    """Return the schema with its patterns moved to descriptions.

    Many servers refuse a request for a pattern that they do not know. Answers and calls are checked
    against the patterns here in any case.
    """
    sentences: list[str] = []
    result = _without_patterns(schema, sentences)
    return _loosened(result) if sentences else result


def _without_patterns(schema: Schema, sentences: list[str]) -> dict[str, Json]:
    """Return the schema without patterns, and add a sentence for each pattern to a list."""
    result = with_parts(schema, lambda part: _without_patterns(part, sentences))
    if isinstance(pattern := result.get("pattern"), str):
        del result["pattern"]
        sentence = f"It matches the regular expression {pattern}"
        sentences.append(sentence)
        description = result.get("description")
        if isinstance(description, str) and description:
            sentence = f"{description} {sentence}"
        result["description"] = sentence
    return result


def _loosened(schema: Schema) -> dict[str, Json]:
    """Return the schema without keywords that a looser part makes stricter."""
    result = with_parts(schema, _loosened)
    # With looser parts, a value may follow two of them, which `oneOf` would refuse.
    alternatives = result.pop("oneOf", None)
    if alternatives is not None:
        result.setdefault("anyOf", alternatives)
    return {key: value for key, value in result.items() if key not in _STRICTER}


_STRICT = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
    }
)
"""Keywords that OpenAI and Azure both take in a strict schema."""
_ANTHROPIC = (_STRICT - {"definitions"}) | {
    "format",
    "minItems",
    "maxItems",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "default",
    "examples",
    "pattern",
    "minLength",
    "maxLength",
    "uniqueItems",
    "oneOf",
    "discriminator",
    "deprecated",
    "$schema",
}
"""Keywords that Anthropic takes, or that can be moved to descriptions."""
_MOST_OPTIONAL = 24
_MOST_UNIONS = 16


def fits(schema: Json, words: frozenset[str] = _STRICT) -> bool:
    """Return whether a schema has these keywords alone, and means the same when closed.

    With `_STRICT`, all properties must be required.
    """
    is_strict = words is _STRICT
    if not isinstance(schema, dict) or not words.issuperset(schema):
        return False
    if "$ref" in schema:
        return len(schema) == 1 or not is_strict
    if not schema.keys() & {"type", "anyOf", "oneOf", "enum", "const"}:
        return False
    # Vendors read a union or an object, and not a schema that is both.
    has_union = schema.keys() & {"anyOf", "oneOf"}
    if has_union and schema.keys() & {"properties", "items", "additionalProperties"}:
        return False
    kind = schema.get("type")
    if isinstance(kind, list) and not is_strict:
        return False
    types = kind if isinstance(kind, list) else [kind]
    if "array" in types and "items" not in schema:
        return False
    if "object" in types and not _is_closed_object(schema, is_strict=is_strict):
        return False
    return all(fits(part, words) for part in _parts(schema))


def _is_closed_object(schema: Schema, *, is_strict: bool) -> bool:
    """Return whether an object has only its properties, and requires all of them if strict."""
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    if schema.get("additionalProperties", False) is not False:
        return False
    if is_strict:
        return properties.keys() == set(required)
    return properties.keys() >= set(required)


def for_anthropic(schema: Schema) -> dict[str, Json] | None:
    """Return the schema as Anthropic accepts it, with refused keywords moved to descriptions.

    None means that the result would be another schema, or too large. Anthropic closes all objects
    and knows no recursion, so that nothing would be left of a table with keys of any name.
    """
    from anthropic import transform_schema  # noqa: PLC0415  (3 s of CPU)

    if not fits(dict(schema), _ANTHROPIC):
        return None
    definitions = schema.get("$defs")
    if not isinstance(definitions, dict):
        definitions = {}
    if _leads_back(schema, definitions, ()):
        return None
    try:
        result = cast(dict[str, Json], transform_schema(dict(schema)))
    except (ValueError, TypeError, AttributeError):  # a part has no type, or an unknown one
        return None
    optional = unions = 0
    for part in _within(result):
        optional += _count(part.get("properties")) - _count(part.get("required"))
        unions += "anyOf" in part
    return None if optional > _MOST_OPTIONAL or unions > _MOST_UNIONS else result


def _leads_back(schema: Schema, definitions: Schema, path: tuple[str, ...]) -> bool:
    """Return whether a reference leads back to its own definition, or to a missing one."""
    for part in _within(schema):
        target = part.get("$ref")
        if not isinstance(target, str):
            continue
        name = target.removeprefix("#/$defs/")
        definition = definitions.get(name)
        if name in path or not isinstance(definition, dict):
            return True
        if _leads_back(definition, definitions, (*path, name)):
            return True
    return False


def _parts(schema: Schema) -> Iterator[Json]:
    """Yield the schemas in a schema, which may also be true or false."""
    for key in _WITH_OBJECT:
        if isinstance(members := schema.get(key), dict):
            yield from members.values()
    for key in _WITH_LIST:
        if isinstance(parts := schema.get(key), list):
            yield from parts
    for key in _WITH_SCHEMA:
        # `additionalProperties` is compared where objects are, since vendors take false alone.
        if key in schema and key != "additionalProperties":
            yield schema[key]


def _within(schema: Schema) -> Iterator[Schema]:
    """Yield a schema, and all schemas in it."""
    yield schema
    for part in _parts(schema):
        if isinstance(part, dict):
            yield from _within(part)


def _count(value: Json) -> int:
    return len(value) if isinstance(value, dict | list) else 0
