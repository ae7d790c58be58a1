"""The part of JSON Schema that tools use, held strictly: what is not understood here is refused at registration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transom.canonical import Json, canonical_json
from transom.errors import ToolError

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SIZES = frozenset({"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"})
KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "default", "title", "description"),
    *_SIZES,
}


_HINT = (
    f"known are {', '.join(sorted(KEYWORDS))}; write what is nested out, and leave what is optional out of `required`"
)


def check_schema(schema: object, where: str) -> None:
    """Hold a tool's parameters to what can be checked.

    Args:
        schema: must describe an object.
        where: the tool, for the message.

    Raises:
        ToolError: naming what is wrong, and where in the schema.
    """
    try:
        canonical_json(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"its parameters are no JSON: {error}", where=where) from error
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ToolError("its parameters are no JSON Schema of an object", where=where)
    for path, fault in _faults(schema, "parameters"):
        raise ToolError(f"{path}: {fault}", where=where, hint=_HINT)


def _faults(schema: object, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping):
        yield path, "is no schema"
        return
    yield from ((path, f"keyword {key!r} is not supported") for key in schema if key not in KEYWORDS)
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        yield path, f"its type is none of {', '.join(TYPES)}"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        yield path, "its properties are no mapping"
        return
    required = schema.get("required", [])
    if not isinstance(required, list) or any(not isinstance(name, str) or name not in properties for name in required):
        yield path, "it requires what is not among its properties"
    if not isinstance(schema.get("additionalProperties", True), bool):
        yield path, "additionalProperties is neither true nor false"
    if not isinstance(schema.get("enum", []), list):
        yield path, "its enum is no list"
    for key in _SIZES:
        if not isinstance(schema.get(key, 0), int | float) or isinstance(schema.get(key, 0), bool):
            yield path, f"{key} is no number"
    for name, inner in properties.items():
        yield from _faults(inner, f"{path}.{name}")
    if "items" in schema:
        yield from _faults(schema["items"], f"{path}[]")


def complaints(value: Json, schema: Mapping[str, Json], path: str = "") -> list[str]:
    """What is wrong with a value, by a schema that `check_schema` has let pass; [] where nothing is."""
    kind = str(schema["type"])
    if not _is(value, kind):
        return [f"{path or 'the arguments'}: must be of type {kind}"]
    found: list[str] = []
    if "enum" in schema and value not in _list(schema["enum"]):
        found.append(f"{path}: must be one of {schema['enum']}")
    if not _SIZES.isdisjoint(schema):
        found += _size_complaints(value, schema, path)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found += complaints(item, _schema(schema["items"]), f"{path}[{number}]")
    if isinstance(value, dict):
        found += _object_complaints(value, schema, f"{path}." if path else "")
    return found


def _object_complaints(value: dict[str, Json], schema: Mapping[str, Json], before: str) -> list[str]:
    properties = _schema(schema.get("properties", {}))
    found = [f"{before}{name}: is missing" for name in _list(schema.get("required", [])) if name not in value]
    for name, inner in value.items():
        if name in properties:
            found += complaints(inner, _schema(properties[name]), f"{before}{name}")
        elif not schema.get("additionalProperties", True):
            found.append(f"{before}{name[:60]}: is no parameter")
    return found


def _size_complaints(value: Json, schema: Mapping[str, Json], path: str) -> list[str]:
    least, most, size = "minimum", "maximum", value
    if isinstance(value, str | list):
        least, most = ("minLength", "maxLength") if isinstance(value, str) else ("minItems", "maxItems")
        size = len(value)
    if not isinstance(size, int | float):
        return []
    found = []
    if isinstance(limit := schema.get(least), int | float) and size < limit:
        found.append(f"{path}: {least} is {limit}")
    if isinstance(limit := schema.get(most), int | float) and size > limit:
        found.append(f"{path}: {most} is {limit}")
    return found


def _is(value: Json, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _schema(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
