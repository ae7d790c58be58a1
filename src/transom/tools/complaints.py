"""What a model is told of arguments that do not follow a schema: where, and what must be there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

_LIMITS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "minProperties", "maxProperties", "pattern"),
    }
)
_MOST = 300  # characters of what stands in a schema or in the arguments


def complaints_of(error: Any) -> list[str]:
    """What an error of `jsonschema` says, as `place: what must be there`."""
    keyword, value, path = error.validator, error.validator_value, _path(error.absolute_path)
    place = path or "the arguments"
    if keyword == "required":
        return [f"{_inside(path, name)}: is missing" for name in value if name not in error.instance]
    if keyword == "additionalProperties" and value is False and "patternProperties" not in error.schema:
        known = error.schema.get("properties", {})
        return [f"{_inside(path, name[:60])}: is no parameter" for name in error.instance if name not in known]
    if keyword in ("anyOf", "oneOf"):
        return _of_none(error, place)
    if keyword in _LIMITS:
        return [f"{place}: {keyword} is {_short(value)}"]
    says = {
        None: "must not be given",
        "type": f"must be of type {_types([error])}",
        "enum": f"must be one of {_short(value)}",
        "const": f"must be {_short(value)}",
    }
    return [f"{place}: {says.get(keyword) or str(error.message)[:_MOST]}"]


def _of_none(error: Any, place: str) -> list[str]:
    """What is said of a value that has none of several forms: the form that it comes nearest to tells what is wrong."""
    forms: dict[int, list[Any]] = {}
    for one in error.context:
        forms.setdefault(one.schema_path[0] if one.schema_path else -1, []).append(one)  # -1: what nothing can be
    if not forms:
        return [f"{place}: fits several forms, and may fit one only"]
    if all(one.validator == "type" and not one.path for one in error.context):
        return [f"{place}: must be of type {_types(error.context)}"]
    nearest = min(forms.values(), key=_distance)
    found = [complaint for one in nearest for complaint in complaints_of(one)]
    return [*found[:-1], f"{found[-1]} (or another of the {len(forms)} forms that {place} may have)"]


def _distance(errors: Sequence[Any]) -> tuple[bool, int, int]:
    """How far a value is from a form: it is of another type, it is marked as another form, it has faults."""
    other = any(one.validator in ("type", None) and not one.path for one in errors)
    return other, sum(one.validator in ("const", "enum") for one in errors), len(errors)


def _types(errors: Iterable[Any]) -> str:
    named = [error.validator_value for error in errors]
    flat = [one for kind in named for one in (kind if isinstance(kind, list) else [kind])]
    return " or ".join(dict.fromkeys(map(str, flat)))


def _path(steps: Iterable[str | int]) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else _inside(path, step)
    return path


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
