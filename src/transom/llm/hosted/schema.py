"""A JSON Schema as vendors want it who hold answers to it strictly."""

from __future__ import annotations

from collections.abc import Mapping

from transom.canonical import Json


def closed(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The schema with every object closed that does not say otherwise: no keys beside its properties."""
    made: dict[str, Json] = {key: _closed(value) for key, value in schema.items()}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def _closed(value: Json) -> Json:
    if isinstance(value, dict):
        return closed(value)
    return [_closed(item) for item in value] if isinstance(value, list) else value


def is_strict(schema: Json) -> bool:
    """Whether every object in it is closed and requires all its properties."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        named = isinstance(properties, dict) and isinstance(required, list) and set(properties) == set(required)
        if not named or schema.get("additionalProperties") is not False:
            return False
    return all(is_strict(value) for value in schema.values())
