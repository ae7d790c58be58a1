"""The regular expressions in a validated data file, and those that a long line would stop.

A field whose type carries the mark `MatchedBy` holds an expression. This works for the shapes of
every data file: report formats, vocabularies, and whatever is read from YAML next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from transom.evidence.regex_growth import Method, growth_of


@dataclass(frozen=True)
class MatchedBy:
    """The mark of a text that is a regular expression: `Annotated[str, MatchedBy("fullmatch")]`.

    Attributes:
        method: the method by which the expression is used.
    """

    method: Method = "search"


@dataclass(frozen=True)
class RegexField:
    """A regular expression and the field in which it stands.

    Attributes:
        field: the name as the file writes it.
    """

    field: str
    text: str
    method: Method


def slow_regexes(model: BaseModel) -> list[str]:
    """Return a problem for each expression with which a long line would take minutes."""
    problems: list[str] = []
    for expression in dict.fromkeys(regexes_of(model)):
        growth = growth_of(re.compile(expression.text), expression.method)
        if growth is not None:
            problems.append(
                f"{expression.field}: the regular expression {expression.text!r} {growth}"
            )
    return problems


def regexes_of(model: BaseModel) -> Iterator[RegexField]:
    """Yield the marked expressions of a model and of all models in it, in their order."""
    hints = get_type_hints(type(model), include_extras=True)
    for name, field in type(model).model_fields.items():
        yield from _regexes(field.alias or name, hints[name], getattr(model, name))


def _regexes(field: str, hint: Any, value: object) -> Iterator[RegexField]:
    """Yield the marked expressions within a value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(value, BaseModel):
        yield from regexes_of(value)
    elif origin is Annotated:
        for mark in arguments[1:]:
            if isinstance(mark, MatchedBy) and isinstance(value, str):
                yield RegexField(field, value, mark.method)
        yield from _regexes(field, arguments[0], value)
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _regexes(field, argument, value)
    elif isinstance(origin, type) and isinstance(value, origin):
        yield from _regexes_inside(field, arguments, value)


def _regexes_inside(field: str, arguments: tuple[Any, ...], value: object) -> Iterator[RegexField]:
    """Yield the marked expressions within the members of a mapping, a list, a tuple or a set."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _regexes(field, arguments[0], key)
            yield from _regexes(field, arguments[1], member)
    elif isinstance(value, tuple) and Ellipsis not in arguments:
        for member_type, member in zip(arguments, value, strict=True):
            yield from _regexes(field, member_type, member)
    elif isinstance(value, Collection):
        for member in value:
            yield from _regexes(field, arguments[0], member)
