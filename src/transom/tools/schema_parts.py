"""The parts of a JSON Schema, and how much there is to be gone through in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


def parts_of(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The schema and all schemas in it, each with its place."""
    left: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while left:
        path, part = left.pop()
        if isinstance(part, bool):
            yield path, {}
        elif isinstance(part, dict):
            yield path, part
            left += [((*path, key), part[key]) for key in _SINGLE if key in part]
            left += [((*path, key, name), one) for key in _NAMED for name, one in part.get(key, {}).items()]
            left += [((*path, key, str(n)), one) for key in _LISTED for n, one in enumerate(part.get(key, ()))]


def sizes_of(schema: dict[str, Any]) -> dict[int | str, int]:
    """How much there is to be gone through in each part of a schema, by its id and by the references that lead to it.

    All that stands in it counts, names and remarks too: the library looks at each. What holds for each of several
    values, or is referred to, is gone through once more each time.
    """
    sizes: dict[int | str, int] = {}

    def size(node: Any) -> int:
        if isinstance(node, dict):
            sizes[id(node)] = found = 1 + sum(map(size, node.values()))
            return found
        if isinstance(node, list):
            return 1 + sum(map(size, node))
        return 1 + len(node) // 100 if isinstance(node, str) else 1

    size(schema)
    parts = dict(parts_of(schema))
    for part in parts.values():
        for key in ("$ref", "$dynamicRef"):
            if key in part:
                reference = str(part[key])
                led = parts[led_to(reference) or ()]
                sizes[reference] = sizes.get(id(led), 1) + reference.count("/")  # each step to it takes its time
    return sizes


def led_to(reference: str) -> tuple[str, ...] | None:
    """The place that a reference leads to; None for one that is not written as a place of the schema."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in unquote(reference).split("/")[1:])


def pointer(path: tuple[str, ...]) -> str:
    """How a reference leads there."""
    return "/".join(("#", *path))
