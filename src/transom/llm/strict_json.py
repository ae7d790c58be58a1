"""Strict reading of JSON from models and servers: Python's own reader also accepts text that is
no JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from transom.canonical import Json, compact_json

LEVELS = 100
"""Levels of nested lists and objects; a deeper value could not be journaled, shown or checked
everywhere.
"""

MOST_LEVELS = 2 * LEVELS
"""Levels of a server's document, which may hold a value of `LEVELS`."""


_CONTAINERS = (dict, list)
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\r?\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)


def unfenced(text: str) -> str:
    """Return a text without the Markdown fence that stands around all of it, as models add it."""
    fence = _FENCE.fullmatch(text)
    # With a fence inside, it is not one fence around the whole text.
    if fence is None or "```" in fence[1]:
        return text
    return fence[1]


def read_json(text: str) -> Json:
    """Read JSON that a model wrote: an answer, or the arguments of a call.

    A Markdown fence around all of it is left out.

    Raises:
        ValueError: it is not JSON: it holds NaN, an infinity, a name twice in one object, or more
            than `LEVELS` levels. What it says quotes nothing of the text.
    """
    return _read(unfenced(text), LEVELS, _named_once)


def read_document(text: str) -> Json:
    """Read JSON that a server wrote, which may be nested to `MOST_LEVELS` and repeat names; else
    as `read_json`.
    """
    return _read(text, MOST_LEVELS, None)


def is_deep(value: Json, levels: int = LEVELS) -> bool:
    """Return whether lists and objects are nested deeper than `levels`."""
    # Level by level rather than by recursion, which a deep value would break.
    layer = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(levels):
        inner_layer = []
        for container in layer:
            for child in container.values() if isinstance(container, dict) else container:
                if isinstance(child, _CONTAINERS):
                    inner_layer.append(child)
        layer = inner_layer
        if not layer:
            break
    return bool(layer)


def bounded_arguments(arguments: Json) -> Json:
    """Return the arguments of a call, or their text if they are nested deeper than `LEVELS`.

    A tool refuses arguments that are a text, so the model is corrected.
    """
    if not is_deep(arguments):
        return arguments
    try:
        return compact_json(arguments)
    except RecursionError:
        return f"nested deeper than {LEVELS} levels"


def _read(text: str, levels: int, pairs: Callable[[list[tuple[str, Any]]], Any] | None) -> Json:
    try:
        value: Json = json.loads(
            text, parse_constant=_no_number, parse_float=_number, object_pairs_hook=pairs
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    # Most texts have not as many brackets, and are not walked through.
    if text.count("[") + text.count("{") > levels and is_deep(value, levels):
        raise ValueError(f"it is nested too deeply: more than {levels} levels")
    return value


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object in it has a name twice")
    return members


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number in it is too large")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")  # NaN, or an infinity
