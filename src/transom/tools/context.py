"""The context of a tool: what its function is given of the agent that has it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    is_typeddict,
)

from typing_extensions import get_protocol_members, is_protocol

from transom.errors import ToolError

Deps = TypeVar("Deps")
_MOST_ITEMS = 1_000  # a table of millions must not delay the making of an agent
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """The first parameter of a tool's function that needs more than the model's arguments.

    The model neither sees it nor can set it. It holds the dependencies and nothing else.

    Attributes:
        deps: the dependencies of the agent, as in `Agent(..., deps=...)`: the same object for each
            call. They are not journaled, so a program that runs again makes them again.
    """

    deps: Deps


def takes_context(
    hints: Mapping[str, Any], parameters: Sequence[inspect.Parameter], tool: str
) -> Any:
    """Return the type hint of a function's first parameter if that is a context, or None.

    Raises:
        ToolError: a context stands anywhere else, where the model could set it.
    """
    context_hint = None
    for number, parameter in enumerate(parameters):
        hint = _written_out(hints.get(parameter.name))
        is_first = number == 0 and parameter.kind in _BY_POSITION
        if is_first and ToolContext in (hint, get_origin(hint)):
            context_hint = hint
        elif _names_context(hint):
            raise misplaced_context(tool, f"its parameter {parameter.name}")
    return context_hint


def misplaced_context(tool: str, parameter: str) -> ToolError:
    """Return the error for a context that the model could set with its arguments."""
    return ToolError(
        f"{parameter} cannot hold a ToolContext, since the model would set it",
        place=tool,
        hint=f"make it the first parameter, by itself: def {tool}(context: ToolContext[...], ...)",
    )


def holds_context(core_schema: object) -> bool:
    """Return whether arguments that follow a schema of pydantic hold a context at any depth.

    It finds the contexts that no type hint of the function names: in a field of a model, of a
    dataclass, of a `TypedDict`.
    """
    if isinstance(core_schema, dict):
        kind = core_schema.get("cls")
        if isinstance(kind, type) and issubclass(kind, ToolContext):
            return True
        return any(holds_context(inner) for inner in core_schema.values())
    if isinstance(core_schema, (list, tuple)):
        return any(holds_context(inner) for inner in core_schema)
    return False


def _written_out(hint: Any) -> Any:
    """Return a type hint without `Annotated`, and what stands behind an alias of Python 3.12."""
    while True:
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        # An alias with parameters is left as it is: its value is without them.
        elif get_origin(hint) is None and hasattr(hint, "__value__"):
            hint = hint.__value__
        else:
            return hint


def _names_context(hint: Any) -> bool:
    """Return whether a type hint names a context, or a subclass of it, in any of its parts."""
    hint = _written_out(hint)
    if isinstance(hint, list):  # the parameters of a `Callable`
        return any(_names_context(part) for part in hint)
    origin = get_origin(hint)
    if isinstance(hint, NewType):
        return _names_context(hint.__supertype__)
    if isinstance(hint, TypeVar):
        return any(_names_context(part) for part in (hint.__bound__, *hint.__constraints__))
    for kind in (hint, origin):
        if isinstance(kind, type) and issubclass(kind, ToolContext):
            return True
    if hasattr(origin, "__value__") and _names_context(origin):
        return True
    return any(_names_context(part) for part in get_args(hint))


def check_deps(deps: object, context_hint: Any, tool: str) -> None:
    """Refuse dependencies of another type than a tool's function takes with a ToolError.

    A type variable stands for its bound or its constraints. A type that no object can be compared
    with is not checked.
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
            raise ToolError(problem, place=tool, hint=f"write Agent(..., deps={value})")


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value may be of a type, as a type checker sees it from outside.

    The items of Python's own containers are looked at, those of any other one are not.
    """
    # An alias of Python 3.12 (`type Shop = ...`) holds the type that it stands for.
    hint = getattr(hint, "__value__", hint)
    kind = get_origin(hint) or hint
    if kind is Annotated:
        return _fits(value, get_args(hint)[0])
    if kind in (Union, UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if isinstance(kind, TypeVar):
        options = kind.__constraints__ or (kind.__bound__ or Any,)
        return any(_fits(value, option) for option in options)
    if kind is Literal:
        return value in get_args(hint)
    if isinstance(kind, NewType):
        return _fits(value, kind.__supertype__)
    if kind is None:
        return value is None
    # `Any` is a class as well.
    if kind is Any or not isinstance(kind, type):
        return True
    if kind is type and get_args(hint):
        return _is_class_of(value, get_args(hint)[0])
    if is_typeddict(kind):
        required = kind.__required_keys__  # type: ignore[attr-defined]
        return isinstance(value, dict) and required <= value.keys()
    if is_protocol(kind):
        return value is not None and not _missing_members(value, kind)
    # A type checker takes an integer where a real number is named.
    if not isinstance(value, (kind, int) if kind is float else kind):
        return False
    return _fits_items(value, kind, get_args(hint))


def _is_class_of(value: object, hint: Any) -> bool:
    """Return whether a value may be of the type `type[hint]`."""
    hint = getattr(hint, "__value__", hint)
    kind = get_origin(hint) or hint
    if not isinstance(value, type):
        return False
    if kind is Annotated:
        return _is_class_of(value, get_args(hint)[0])
    if kind in (Union, UnionType):
        return any(_is_class_of(value, option) for option in get_args(hint))
    return not isinstance(kind, type) or is_protocol(kind) or kind is Any or issubclass(value, kind)


def _fits_items(value: object, kind: type, hints: Sequence[Any]) -> bool:
    """Return whether the first items of one of Python's own containers fit the hints of a type."""
    items: Any = value
    if not hints:
        return True
    if type(value) is dict and len(hints) == 2:
        keys, values = hints
        pairs = islice(items.items(), _MOST_ITEMS)
        return all(_fits(key, keys) and _fits(item, values) for key, item in pairs)
    # `*tuple[str, ...]` and `*Ts` stand for any number of items.
    for hint in hints:
        if get_origin(hint) is Unpack or getattr(hint, "__unpacked__", False):
            return True
    if kind is tuple and hints[-1] is not Ellipsis:
        return len(items) == len(hints) and all(map(_fits, items, hints))
    if type(value) in (list, set, frozenset, tuple):
        return all(_fits(item, hints[0]) for item in islice(items, _MOST_ITEMS))
    return True


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
