"""The context of a tool: what its function is given of the agent that has it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from typing_extensions import get_protocol_members, is_protocol

from transom.errors import ToolError

Deps = TypeVar("Deps")


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """The first parameter of a tool's function that needs more than the model's arguments.

    The model neither sees it nor can set it. It holds the dependencies and nothing else.

    Attributes:
        deps: the dependencies of the agent, as in `Agent(..., deps=...)`: the same object for each
            call. They are not journaled, so a program that runs again makes them again.
    """

    deps: Deps


def takes_context(hints: Mapping[str, Any], parameters: Sequence[inspect.Parameter]) -> Any:
    """Return the type hint of a function's first parameter if that is a context, or None."""
    if not parameters:
        return None
    hint = hints.get(parameters[0].name)
    return hint if ToolContext in (hint, get_origin(hint)) else None


def check_deps(deps: object, context_hint: Any, tool: str) -> None:
    """Refuse dependencies of another type than a tool's function takes with a ToolError.

    A type that no object can be compared with, such as a type variable, is not checked.
    """
    for hint in get_args(context_hint):
        if not _fits(deps, hint):
            given = "has none" if deps is None else f"has deps of type {type(deps).__name__}"
            name = getattr(hint, "__name__", None) or inspect.formatannotation(hint)
            problem = f"it takes a ToolContext[{name}], and its agent {given}"
            missing = _missing_members(deps, hint)
            if missing:
                problem += f" without {', '.join(missing)}"
            is_class = isinstance(hint, type) and not is_protocol(hint)
            value = f"{name}(...)" if is_class else "..."
            raise ToolError(problem, place=tool, hint=f"say Agent(..., deps={value})")


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value may be of a type, as a type checker sees it from outside.

    The items of a container are not looked at.
    """
    # An alias of Python 3.12 (`type Shop = ...`) holds the type that it stands for.
    hint = getattr(hint, "__value__", hint)
    kind = get_origin(hint) or hint
    if kind is Annotated:
        return _fits(value, get_args(hint)[0])
    if kind in (Union, UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if kind is Literal:
        return value in get_args(hint)
    if isinstance(kind, NewType):
        return _fits(value, kind.__supertype__)
    if kind is None:
        return value is None
    # `Any` is a class as well.
    if kind is Any or not isinstance(kind, type):
        return True
    if is_typeddict(kind):
        required = kind.__required_keys__  # type: ignore[attr-defined]
        return isinstance(value, dict) and required <= value.keys()
    if is_protocol(kind):
        return value is not None and not _missing_members(value, kind)
    # A type checker takes an integer where a real number is named.
    return isinstance(value, (kind, int) if kind is float else kind)


def _missing_members(value: object, hint: Any) -> list[str]:
    """Return the members of a protocol that a value lacks; none for another type."""
    kind = get_origin(hint) or hint
    if value is None or not isinstance(kind, type) or not is_protocol(kind):
        return []
    missing: list[str] = []
    for name in sorted(get_protocol_members(kind)):
        # A property is not computed, and an object may make its members when they are read.
        if inspect.getattr_static(value, name, missing) is missing and not hasattr(value, name):
            missing.append(name)
    return missing
