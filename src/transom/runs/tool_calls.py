"""Tool calls of a run: the scope of their handlers, a person's leave, and that what must not be
repeated is not.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from transom.canonical import Json, digest
from transom.errors import Paused, RunError
from transom.llm import ToolCallPart, ToolSpec
from transom.llm.turns import Egress, strictest
from transom.runs.conversation import CallPlace, ConversationKey
from transom.runs.event_log import RunHost
from transom.runs.observe import log_outcome, of_conversation
from transom.runs.questions import APPROVAL, BEGUN, PersonAnswer, of_call
from transom.telemetry import keys

_OWN_DOUBT = ("once", "unknown")
"""Effects of tools that are journaled before they begin."""

_SCOPES: ContextVar[tuple[HandlerScope, ...]] = ContextVar("scopes", default=())


# -- what a handler may not do ---------------------------------------------------------------------


@dataclass(eq=False)
class HandlerScope:
    """A tool call while its handler runs, or a stage while its function does, as a context manager.

    Attributes:
        egress: of the conversation that makes the call.
        received: how local the answers are that the handler was given by agents of other homes.
        over: whether it came to its end; what was left behind in it is no part of it then.
    """

    run: object
    kind: Literal["call", "stage"] = "call"
    egress: Egress = "any"
    received: Egress = "any"
    over: bool = False
    _token: Token[Any] | None = field(default=None, repr=False)

    def __enter__(self) -> None:
        self._token = _SCOPES.set((*_SCOPES.get(), self))

    def __exit__(self, *_: object) -> None:
        self.over = True
        if self._token:
            _SCOPES.reset(self._token)


def _scopes(kind: str = "call") -> list[HandlerScope]:
    return [scope for scope in _SCOPES.get() if scope.kind == kind and not scope.over]


def refuse_in_stage(run: object, conversation: str) -> None:
    """Keep a stage from conversations that its run keeps: its result must follow from its
    inputs.
    """
    if any(scope.run is run for scope in _scopes("stage")):
        problem = "a conversation that the run keeps cannot be used inside a stage"
        raise RunError(
            problem, place=conversation, hint="give the agent the stage: Agent(role, at=stage)"
        )


def refuse_in_tool_call(
    run: object, conversation: str = "", action: str = "talk in a conversation of its own run"
) -> None:
    """Keep the handler of a tool call from what only a program may do in its run."""
    if any(scope.run is run for scope in _scopes()):
        hint = "return the text, declare a SubAgent, or make it a stage"
        raise RunError(f"a tool handler cannot {action}", place=conversation, hint=hint)


def mark_calls(egress: Egress) -> None:
    """Mark the tool calls under way: their handlers were given something of another home, so their
    results are as local as that.
    """
    for scope in _scopes():
        scope.received = strictest(scope.received, egress)


def egress_in_calls() -> Egress:
    """How local what a handler says here is: as the conversation that calls it, and as all that
    it was given.
    """
    return strictest(*[egress for scope in _scopes() for egress in (scope.egress, scope.received)])


# -- calls in the journal --------------------------------------------------------------------------


Came = TypeVar("Came")
"""What comes of a tool call; it has a `to_json`."""
Interruption: TypeAlias = Literal["", "done", "stopped"]
"""Why a call that was begun before is not done again: a person says that it is done, or its process
did not outlive it
and its effect is not known."""


def _mark_of(call: ToolCallPart) -> str:
    """Return the digest that equal calls share."""
    return digest(call.content_key)[:16]


def _doubt_fingerprint(place: CallPlace, attempts: int) -> str:
    """Return the fingerprint of the question whether a call was carried out."""
    return digest([place.to_json(), attempts])


class ClaimedNames:
    """The conversations that an attempt of a stage opened, and all within them.

    Args:
        is_kept: whether they are the conversations that a run keeps, which all belong to it.
    """

    def __init__(self, *, is_kept: bool) -> None:
        self.names: set[str] = set()
        self._is_kept = is_kept

    def __contains__(self, conversation: str) -> bool:
        return self._is_kept or conversation.split("/", 1)[0] in self.names


class ToolJournal:
    """The tool calls of a stage or of kept conversations; `claimed`: the conversations of this
    attempt.
    """

    def __init__(self, run: RunHost, place: str, claimed: ClaimedNames) -> None:
        self._run, self._place, self._claimed = run, place, claimed
        self._in_flight: set[CallPlace] = set()

    async def approval(self, place: CallPlace, call: ToolCallPart) -> PersonAnswer:
        """Return a person's answer about a call of the last reply; Paused until there is one.

        An equal call elsewhere needs an answer of its own.
        """
        fingerprint = self._approval_fingerprint(place, call)
        if answer := self._run.answer(place.key.stage, fingerprint):
            return answer
        raise await self._pause(
            APPROVAL, place, call, fingerprint, f"tool {call.name} needs a person's approval"
        )

    async def carry_out(
        self,
        place: CallPlace,
        tool: ToolSpec,
        call: ToolCallPart,
        act: Callable[[Interruption], Awaitable[Came]],
    ) -> Came:
        """Carry out a call of the last reply that has no result, with `act`, and journal what comes
        of it.

        What must not be done twice is synced before its result is used. What may be is synced with
        the next reply: no reply is ever in the journal without the results that it was given. It is
        Paused where a `once` call or an equal one was begun, and nobody knows whether it was
        carried out.
        """
        about = of_conversation(self._place, place.key.conversation)
        attributes = {keys.OPERATION: keys.EXECUTE_TOOL, keys.TOOL_NAME: tool.name, **about}
        try:
            with self._run.telemetry.span(f"execute_tool {tool.name}", **attributes) as span:
                began = time.monotonic_ns()
                interruption: Interruption = ""
                # The journal must say that it began: after a kill nobody could know otherwise.
                if tool.effect in _OWN_DOUBT:
                    self._in_flight.add(place)  # until its outcome is journaled
                    interruption = await self._begin(place, tool, call)
                result = await act(interruption)
                outcome: Any = result.to_json()  # type: ignore[attr-defined]  # see above
                log_outcome(span, tool.name, outcome)
                # In whole microseconds; to round a fraction takes several of them.
                microseconds = (time.monotonic_ns() - began) // 1000
                fields = {
                    "name": tool.name,
                    "effect": tool.effect,
                    "seconds": microseconds / 1_000_000,
                }
                record = {**place.to_json(), **fields, "outcome": outcome}
                # It must never be repeated, so its result is synced; any other call may be made
                # again.
                if tool.effect == "once":
                    await self._run.append("tool_result", record)
                else:
                    self._run.append_soon("tool_result", record)
            return result
        finally:
            # Whatever came of it, it does not run any more.
            self._in_flight.discard(place)

    def was_once(self, place: CallPlace, call: ToolCallPart) -> bool:
        """Whether a call was begun as one that must not be repeated."""
        return place in self._equal_calls(place, _mark_of(call))

    def replace_result(self, place: CallPlace, outcome: dict[str, Json]) -> None:
        """Journal what a call is answered with in the place of its result."""
        self._run.append_soon("tool_result", {**place.to_json(), "outcome": outcome})

    async def _begin(self, place: CallPlace, tool: ToolSpec, call: ToolCallPart) -> Interruption:
        """Journal that a call begins, unless it must not begin again."""
        event = place.to_json()
        attempts = self._run.state.conversation(place.key).call_starts.get(place.call, 0)
        # An unknown effect is never repeated either, and no person is asked about it.
        if tool.effect != "once":
            if not attempts:
                await self._run.append("tool_started", event, sync=False)
            return "stopped" if attempts else ""
        decided = await self.decision(place, call)
        if decided and decided.text == "keep":
            return "done"
        settles: dict[str, Any] = {"settles": True} if decided else {}
        await self._run.append("tool_started", {**event, "mark": _mark_of(call), **settles})
        return ""

    async def decision(self, place: CallPlace, call: ToolCallPart) -> PersonAnswer | None:
        """Return what a person decided about a `once` call of the last reply that is in doubt.

        A call is in doubt if it, or an equal one, was begun and nobody knows whether it was carried
        out. None if this call is not.

        Raises:
            Paused: it is in doubt, and nobody has answered yet.
        """
        state = self._run.state
        attempts = state.conversation(place.key).call_starts.get(place.call, 0)
        fingerprint = _doubt_fingerprint(place, attempts)
        equal_calls = [
            other for other in self._equal_calls(place, _mark_of(call)) if other != place
        ]
        in_doubt = attempts > 0 or any(self._is_in_doubt(other) for other in equal_calls)
        if not in_doubt and (place.key.stage, fingerprint) not in state.waiting:
            return None
        if decided := self._run.answer(place.key.stage, fingerprint):
            return decided
        reason = f"tool {call.name} was begun, and whether it was carried out is not known"
        raise await self._pause(BEGUN, place, call, fingerprint, reason)

    def answers(
        self, key: ConversationKey
    ) -> Iterator[tuple[CallPlace, ToolCallPart, PersonAnswer]]:
        """Yield the calls of a conversation's last reply that have no result, and about which a
        person has answered.

        Calls in sub-conversations that these calls opened are among them.
        """
        state = self._run.state.conversation(key)
        if state.pending is None:
            return
        for number, call in enumerate(state.pending.calls):
            place = CallPlace(key, state.replies - 1, number)
            if number in state.results:
                continue
            if answer := self._answer_about(place, call):
                yield place, call, answer
            sub_key = key._replace(conversation=place.opens)
            if sub_key in self._run.state.conversations:
                yield from self.answers(sub_key)

    def _answer_about(self, place: CallPlace, call: ToolCallPart) -> PersonAnswer | None:
        """Return what a person answered last about a call, unless another question is open."""
        state, stage = self._run.state, place.key.stage
        attempts = state.conversation(place.key).call_starts.get(place.call, 0)
        doubt = _doubt_fingerprint(place, attempts)
        if answer := self._run.answer(stage, doubt):
            return answer
        # An approval is used up when the call begins.
        if attempts or (stage, doubt) in state.waiting:
            return None
        return self._run.answer(stage, self._approval_fingerprint(place, call))

    def _approval_fingerprint(self, place: CallPlace, call: ToolCallPart) -> str:
        return digest([APPROVAL, self._run.id, place.to_json(), call.name, call.arguments])

    async def _pause(
        self, kind: str, place: CallPlace, call: ToolCallPart, fingerprint: str, reason: str
    ) -> Paused:
        egress = self._run.state.conversation(place.key).egress
        return await self._run.pause(
            place.key.stage, reason, of_call(kind, place.to_json(), call, fingerprint, egress)
        )

    def _equal_calls(self, place: CallPlace, mark: str) -> list[CallPlace]:
        """Return the calls that ask for the same and began as calls that must not be repeated."""
        return self._run.state.once.get((place.key.stage, place.key.epoch, mark), [])

    def _is_in_doubt(self, place: CallPlace) -> bool:
        # It runs right now, beside this one.
        if place in self._in_flight:
            return False
        is_walked = place.key.conversation in self._claimed
        return not (is_walked and self._run.state.stands(place))
