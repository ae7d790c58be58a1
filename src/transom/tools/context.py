"""The context of a tool: what its function is given of the agent that has it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_origin

from transom.errors import ToolError

Deps = TypeVar("Deps")


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """The first parameter of a tool's function that needs more than the model's arguments.

    The model neither sees it nor can set it.

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

    Only classes are checked. A protocol or a union is left to the type checker.
    """
    for hint in get_args(context_hint):
        kind = get_origin(hint) or hint
        # `Any` is a class as well.
        is_class = isinstance(kind, type) and kind is not Any
        is_protocol = getattr(kind, "_is_protocol", False)
        if is_class and not is_protocol and not isinstance(deps, kind):
            given = "has none" if deps is None else f"has a {type(deps).__name__}"
            problem = f"it takes a ToolContext[{kind.__name__}], and its agent {given}"
            hint_text = f"say Agent(..., deps={kind.__name__}(...))"
            raise ToolError(problem, place=tool, hint=hint_text)
