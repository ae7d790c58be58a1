"""The regular expressions of a report format that take more than linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args, get_origin, get_type_hints

from transom.checklist.atoms import Shape
from transom.checklist.regex_growth import Method, growth_of
from transom.checklist.rules.saying import Regex
from transom.checklist.rules.shapes import Domain

_METHODS: Final[Mapping[str, Method]] = {
    "keys": "fullmatch",
    "severities": "fullmatch",
    "signs": "match",
}
"""Fields whose expressions are not searched for in a line."""


def slow_regexes(domain: Domain) -> list[str]:
    """Return a problem for each expression with which a long line would take minutes."""
    problems: list[str] = []
    for field, text in dict.fromkeys(regexes_of(domain)):
        growth = growth_of(re.compile(text), _METHODS.get(field, "search"))
        if growth is not None:
            problems.append(f"{field}: the regular expression {text!r} {growth}")
    return problems


def regexes_of(domain: Domain) -> Iterator[tuple[str, str]]:
    """Yield the expressions by which files are read, each with the name of its field."""
    for part in (*domain.sources, *domain.extraction):
        yield from _regexes("", type(part), part)


def _regexes(field: str, hint: Any, value: object) -> Iterator[tuple[str, str]]:
    """Yield the texts within a value whose type says that they are regular expressions."""
    arguments = get_args(hint)
    if hint == Regex:
        if isinstance(value, str):
            yield field, value
    elif isinstance(value, Shape):
        hints = get_type_hints(type(value), include_extras=True)
        for name in type(value).model_fields:
            yield from _regexes(name.rstrip("_"), hints[name], getattr(value, name))
    elif get_origin(hint) is dict and isinstance(value, dict):
        for key, inner in value.items():
            yield from _regexes(field, arguments[0], key)
            yield from _regexes(field, arguments[1], inner)
    elif get_origin(hint) is tuple and isinstance(value, tuple):
        for inner in value:
            yield from _regexes(field, arguments[0], inner)
    else:  # a union, or a type with further conditions
        for argument in arguments:
            yield from _regexes(field, argument, value)
