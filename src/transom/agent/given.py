"""What an agent is given, held against what it can be: a slip is told in one line that says what to write."""

from __future__ import annotations

from collections.abc import Iterable

from transom.agent.home import Home
from transom.errors import InputError
from transom.llm import Role
from transom.runs import Stage


def check_given(role: object, tools: object, at: object) -> None:
    """Look at what no type checker has looked at. Each tool by itself is the toolbox's to refuse.

    Raises:
        InputError: no role, no tools, or no place to live.
    """
    if not isinstance(role, Role):
        hint = 'say Role("clerk", (Block("role", "You know the stock."),), frozenset({"role"}))'
        raise InputError(f"who is talked with is a Role, and this is {_kind(role)}", where="Agent", hint=hint)
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InputError(f"tools are a list, and this is {_kind(tools)}", where="Agent", hint="say tools=[...]")
    if not isinstance(at, Stage | Home | None):
        hint = 'say at=Home(".transom", "monday"), or leave it out'
        raise InputError(f"it lives in a Home or a stage, and this is {_kind(at)}", where="Agent", hint=hint)


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
