"""Tool calls of a run: the scope of their handlers, a person's leave, and that what must not be
repeated is not.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from transom.canonical import Json, digest
from transom.errors import Paused, RunError
from transom.llm import ToolCall, ToolSpec
from transom.llm.turns import Egress, strictest
from transom.runs.conversation import CallPlace
from transom.runs.event_log import RunHost
from transom.runs.observe import log_outcome, of_conversation
from transom.runs.questions import APPROVAL, BEGUN, PersonAnswer, of_call
from transom.telemetry import keys

_OWN_DOUBT = ("once", "unknown")
"""Effects of tools that are journaled before they begin."""

_SCOPES: ContextVar[tuple[Scope, ...]] = ContextVar("scopes", default=())


# -- what a handler may not do ---------------------------------------------------------------------


@dataclass(eq=False)
class Scope:
    """A tool call while its handler runs, or a stage while its function does, as a context manager.

    Attributes:
        egress: of the conversation that makes the call.
        heard: how local the answers are that the handler was given by agents of other homes.
        over: whether it came to its end; what was left behind in it is no part of it then.
    """

    run: object
    kind: Literal["call", "stage"] = "call"
    egress: Egress = "any"
    heard: Egress = "any"
    over: bool = False
    _token: Token[Any] | None = field(default=None, repr=False)

    def __enter__(self) -> None:
        self._token = _SCOPES.set((*_SCOPES.get(), self))

    def __exit__(self, *_: object) -> None:
        self.over = True
        if self._token:
            _SCOPES.reset(self._token)


def _scopes(kind: str = "call") -> list[Scope]:
    return [scope for scope in _SCOPES.get() if scope.kind == kind and not scope.over]


def refuse_in_stage(run: object, where: str) -> None:
    """Keep a stage from conversations that its run keeps: its result must follow from its
    inputs.
    """
    if any(scope.run is run for scope in _scopes("stage")):
        what = "a conversation that the run keeps cannot be used inside a stage"
        raise RunError(what, where=where, hint="give the agent the stage: Agent(role, at=stage)")


def refuse_in_tool_call(
    run: object, where: str = "", what: str = "talk in a conversation of its own run"
) -> None:
    """Keep the handler of a tool call from what only a program may do in its run."""
    if any(scope.run is run for scope in _scopes()):
        hint = "return the text, declare a SubAgent, or make it a stage"
        raise RunError(f"a tool handler cannot {what}", where=where, hint=hint)


def mark_calls(egress: Egress) -> None:
    """A handler is given something of another home: what it returns is as local as that."""
    for scope in _scopes():
        scope.heard = strictest(scope.heard, egress)


def egress_in_calls() -> Egress:
    """How local what a handler says here is: as the conversation that calls it, and as all that
    it was given.
    """
    return strictest(*[one for scope in _scopes() for one in (scope.egress, scope.heard)])


# -- calls in the journal --------------------------------------------------------------------------


Came = TypeVar("Came")
"""What comes of a tool call; it has a `to_json`."""
Begun: TypeAlias = Literal["", "done", "stopped"]
"""Why a call that was begun before is not done again: a person says that it is done, or its process
did not outlive it
and its effect is not known."""


def _mark_of(call: ToolCall) -> str:
    """What tells a call from those that ask for something else."""
    return digest(call.wanted)[:16]


class ToolJournal:
    """The tool calls of a stage or of kept conversations; `is_walked`: whether a conversation is
    of this attempt.
    """

    def __init__(self, run: RunHost, place: str, is_walked: Callable[[str], bool]) -> None:
        self._run, self._place, self._is_walked = run, place, is_walked
        self._in_flight: set[CallPlace] = set()

    async def approval(self, at: CallPlace, call: ToolCall) -> PersonAnswer:
        """What a person said to a call of the last reply; Paused before. An equal call elsewhere
        is another one.
        """
        fingerprint = digest([APPROVAL, self._run.id, at.to_json(), call.name, call.arguments])
        if found := self._run.answer(at.key.stage, fingerprint):
            return found
        raise await self._pause(
            APPROVAL, at, call, fingerprint, f"tool {call.name} needs a person's approval"
        )

    async def carry_out(
        self, at: CallPlace, tool: ToolSpec, call: ToolCall, act: Callable[[Begun], Awaitable[Came]]
    ) -> Came:
        """Carry out a call of the last reply that has no result, with `act`, and journal what comes
        of it.

        What must not be done twice is synced before its result is used. What may be is synced with
        the next reply: no reply is ever in the journal without the results that it was given. It is
        Paused where a `once` call or an equal one was begun, and nobody knows whether it was
        carried out.
        """
        about = of_conversation(self._place, at.key.conversation)
        attributes = {keys.OPERATION: keys.EXECUTE_TOOL, keys.TOOL_NAME: tool.name, **about}
        try:
            with self._run.telemetry.span(f"execute_tool {tool.name}", **attributes) as span:
                began = time.monotonic()
                begun: Begun = ""
                if tool.effect in _OWN_DOUBT:
                    self._in_flight.add(at)  # until its outcome is journaled
                    begun = await self._begin(at, tool, call)
                came = await act(begun)
                outcome: Any = came.to_json()  # type: ignore[attr-defined]  # see above
                log_outcome(span, tool.name, outcome)
                named = {
                    "name": tool.name,
                    "effect": tool.effect,
                    "seconds": round(time.monotonic() - began, 6),
                }
                told = {**at.to_json(), **named, "outcome": outcome}
                if tool.effect == "once":
                    await self._run.append("tool_result", told)
                else:
                    self._run.append_soon("tool_result", told)
            return came
        finally:
            self._in_flight.discard(at)

    def was_once(self, at: CallPlace, call: ToolCall) -> bool:
        """Whether a call was begun as one that must not be repeated."""
        return at in self._begun(at, _mark_of(call))

    def replace_result(self, at: CallPlace, outcome: dict[str, Json]) -> None:
        """Journal what a call is answered with in the place of its result."""
        self._run.append_soon("tool_result", {**at.to_json(), "outcome": outcome})

    async def _begin(self, at: CallPlace, tool: ToolSpec, call: ToolCall) -> Begun:
        """Journal that a call begins, unless it must not begin again."""
        event = at.to_json()
        begun = self._run.state.conversation(at.key).begun.get(at.call, 0)
        if tool.effect != "once":
            if not begun:
                await self._run.append("tool_started", event, sync=False)
            return "stopped" if begun else ""
        decided = await self.decision(at, call)
        if decided and decided.text == "keep":
            return "done"
        settles: dict[str, Any] = {"settles": True} if decided else {}
        await self._run.append("tool_started", {**event, "mark": _mark_of(call), **settles})
        return ""

    async def decision(self, at: CallPlace, call: ToolCall) -> PersonAnswer | None:
        """Return what a person decided about a `once` call of the last reply that is in doubt.

        A call is in doubt if it, or an equal one, was begun and nobody knows whether it was carried
        out. None if this call is not.

        Raises:
            Paused: it is in doubt, and nobody has answered yet.
        """
        state = self._run.state
        begun = state.conversation(at.key).begun.get(at.call, 0)
        fingerprint = digest([at.to_json(), begun])
        equal_calls = [other for other in self._begun(at, _mark_of(call)) if other != at]
        in_doubt = begun > 0 or any(self._is_in_doubt(other) for other in equal_calls)
        if not in_doubt and (at.key.stage, fingerprint) not in state.waiting:
            return None
        if decided := self._run.answer(at.key.stage, fingerprint):
            return decided
        reason = f"tool {call.name} was begun, and whether it was carried out is not known"
        raise await self._pause(BEGUN, at, call, fingerprint, reason)

    async def _pause(
        self, kind: str, at: CallPlace, call: ToolCall, fingerprint: str, reason: str
    ) -> Paused:
        egress = self._run.state.conversation(at.key).egress
        return await self._run.pause(
            at.key.stage, reason, of_call(kind, at.to_json(), call, fingerprint, egress)
        )

    def _begun(self, at: CallPlace, mark: str) -> list[CallPlace]:
        """The calls that ask for the same, and were begun as such that must not be repeated."""
        return self._run.state.once.get((at.key.stage, at.key.epoch, mark), [])

    def _is_in_doubt(self, at: CallPlace) -> bool:
        if at in self._in_flight:
            return False
        return not (self._is_walked(at.key.conversation) and self._run.state.stands(at))
