"""The scope of a tool call: what its handler may not do in its own run, and how local its result becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from transom.errors import RunError
from transom.llm.turns import Egress, strictest

_SCOPES: ContextVar[tuple[ToolCallScope, ...]] = ContextVar("tool_call_scopes", default=())
_STAGES: ContextVar[tuple[object, ...]] = ContextVar("stages", default=())


@dataclass(eq=False)
class ToolCallScope:
    """A tool call while its handler runs.

    Attributes:
        run: the run whose conversation makes the call.
        egress: of that conversation.
        heard: how local the answers are that the handler was given by agents of other homes.
        over: whether the call came to its end; what the handler left behind is no part of it then.
    """

    run: object
    egress: Egress = "any"
    heard: Egress = "any"
    over: bool = False

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The handler runs inside."""
        token = _SCOPES.set((*_SCOPES.get(), self))
        try:
            yield
        finally:
            self.over = True
            _SCOPES.reset(token)


@contextmanager
def in_stage(run: object) -> Iterator[None]:
    """The function of a stage of that run is at work inside."""
    token = _STAGES.set((*_STAGES.get(), run))
    try:
        yield
    finally:
        _STAGES.reset(token)


def refuse_in_stage(run: object, where: str) -> None:
    """Keep a stage from conversations that its run keeps: its result must follow from its inputs.

    Raises:
        RunError: a stage of that run uses one.
    """
    if any(one is run for one in _STAGES.get()):
        what = "a conversation that the run keeps cannot be used inside a stage"
        raise RunError(what, where=where, hint="give the agent the stage: Agent(role, at=stage)")


def _open_scopes() -> list[ToolCallScope]:
    return [scope for scope in _SCOPES.get() if not scope.over]


def in_tool_call(run: object) -> bool:
    """Whether a handler of a tool call of that run is at work here."""
    return any(scope.run is run for scope in _open_scopes())


def refuse_in_tool_call(run: object, where: str = "", what: str = "talk in a conversation of its own run") -> None:
    """Keep the handler of a tool call from what only a program may do in its run.

    Args:
        run: the run.
        where: what the error names.
        what: the handler is about to do.

    Raises:
        RunError: a handler of that run does this.
    """
    if run is not None and in_tool_call(run):
        hint = "return the text, declare a SubAgent, or make it a stage"
        raise RunError(f"a tool handler cannot {what}", where=where, hint=hint)


def mark_calls(egress: Egress) -> None:
    """A handler is given something of another home: what it returns is as local as that."""
    if egress != "any":
        for scope in _open_scopes():
            scope.heard = strictest(scope.heard, egress)


def egress_in_calls() -> Egress:
    """How local what a handler says here is: as the conversation that calls it, and as all that it was given."""
    scopes = _open_scopes()
    return strictest(*[scope.egress for scope in scopes], *[scope.heard for scope in scopes])
