"""Tool calls of a run: the scope of their handlers, a person's leave, and that what must not be repeated is not."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from transom.canonical import Json, digest
from transom.errors import ApprovalNeeded, Paused, RunError
from transom.llm import ToolCall, ToolSpec
from transom.llm.turns import Egress, strictest
from transom.runs.conversation import IN_DOUBT, OF_CALL, Begun, ConversationKey
from transom.runs.event_log import Host
from transom.runs.journal import RunState
from transom.runs.observe import of_tool, tell_outcome
from transom.runs.questions import APPROVAL, BEGUN, Approval, ApprovalRequest, how_to_answer_call, of_call

_OWN_DOUBT = ("once", "unknown")
"""Effects of tools that are journaled before they begin."""

_SCOPES: ContextVar[tuple[ToolCallScope, ...]] = ContextVar("tool_call_scopes", default=())
_STAGES: ContextVar[tuple[object, ...]] = ContextVar("stages", default=())


# -- what a handler may not do ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class ToolCallScope:
    """A tool call while its handler runs, as a context manager.

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
    _token: Token[Any] | None = field(default=None, repr=False)

    def __enter__(self) -> None:
        self._token = _SCOPES.set((*_SCOPES.get(), self))

    def __exit__(self, *_: object) -> None:
        self.over = True
        if self._token:
            _SCOPES.reset(self._token)


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


def in_tool_call(run: object) -> bool:
    """Whether a handler of a tool call of that run is at work here."""
    return any(scope.run is run for scope in _SCOPES.get() if not scope.over)


def refuse_in_tool_call(run: object, where: str = "", what: str = "talk in a conversation of its own run") -> None:
    """Keep the handler of a tool call from what only a program may do in its run.

    Raises:
        RunError: a handler of that run does this.
    """
    if in_tool_call(run):
        hint = "return the text, declare a SubAgent, or make it a stage"
        raise RunError(f"a tool handler cannot {what}", where=where, hint=hint)


def mark_calls(egress: Egress) -> None:
    """A handler is given something of another home: what it returns is as local as that."""
    if egress != "any":
        for scope in _SCOPES.get():
            if not scope.over:
                scope.heard = strictest(scope.heard, egress)


def egress_in_calls() -> Egress:
    """How local what a handler says here is: as the conversation that calls it, and as all that it was given."""
    scopes = [scope for scope in _SCOPES.get() if not scope.over]
    return strictest(*[scope.egress for scope in scopes], *[scope.heard for scope in scopes])


# -- calls in the journal ---------------------------------------------------------------------------------------------


class _Outcome(Protocol):
    def to_json(self) -> dict[str, Json]: ...


Came = TypeVar("Came", bound=_Outcome)
"""What comes of a tool call."""


def mark_of(call: ToolCall) -> str:
    """What tells a call from those that ask for something else."""
    return digest(call.wanted)[:16]


def stands(state: RunState, key: ConversationKey, begun: Begun) -> bool:
    """Whether it is known what came of a call, and that stands in a conversation as it is today."""
    mine = key._replace(conversation=begun.conversation)
    message = state.conversation(mine).message_of(begun.ordinal)
    outcome = message.outcome(begun.ordinal, begun.call) if message else None
    if outcome is None:
        return False
    error = outcome.get("error", "")
    return error not in IN_DOUBT and (bool(error) or _is_on_course(state, mine))


def _is_on_course(state: RunState, key: ConversationKey) -> bool:
    """Whether what a sub-conversation did is known to the conversation that opened it."""
    parent, _, name = key.conversation.rpartition("/")
    if not parent:
        return True
    sub = state.conversation(key).sub
    if sub and sub.closed and sub.closed["how"] == "extract":
        return False
    outer = key._replace(conversation=parent)
    if call := OF_CALL.fullmatch(name):
        message = state.conversation(outer).message_of(int(call[1]))
        outcome = message.outcome(int(call[1]), int(call[2])) if message else None
        if message is None or (outcome and outcome.get("error")):
            return False
    return _is_on_course(state, outer)


class ToolJournal:
    """The tool calls of one stage, or of the conversations that a run keeps.

    Args:
        run: whose journal it is.
        place: the run and the stage, for spans.
        is_walked: whether a conversation is one of this attempt: what another one did is nothing that this one knows.
    """

    def __init__(self, run: Host, place: str, is_walked: Callable[[str], bool]) -> None:
        self._run, self._place, self._is_walked = run, place, is_walked
        self._in_flight: set[tuple[ConversationKey, int, int]] = set()

    async def approval(self, key: ConversationKey, number: int, call: ToolCall, egress: Egress) -> Approval:
        """What a person said to a call of the last reply.

        Raises:
            ApprovalNeeded: nobody has said anything yet.
        """
        place = self._event(key, number)
        request = ApprovalRequest.of(self._run.id, place, call)
        found = self._run.state.approvals.get(request.fingerprint)
        if found is not None:
            return Approval.model_validate(found)
        reason = f"tool {call.name} needs a person's approval"
        choice = of_call(APPROVAL, place, call, request.fingerprint, egress)
        await self._run.append("paused", {"stage": key.stage, "reason": reason, "choice": choice})
        approve, refuse, shown = how_to_answer_call(self._run.id, choice)
        raise ApprovalNeeded(request, reason, run_id=self._run.id, hint=f"say {approve}, or {refuse}; {shown}")

    async def carry_out(
        self,
        key: ConversationKey,
        number: int,
        tool: ToolSpec,
        act: Callable[[], Awaitable[Came]],
        *,
        call: ToolCall,
        egress: Egress,
        lost: Callable[[ToolCall], Came],
        stopped: Callable[[ToolCall], Came],
    ) -> Came:
        """Carry out a call of the last reply that has no result, and journal what comes of it.

        What must not be done twice is synced before its result is used. What may be is synced with the next reply: no
        reply is ever in the journal without the results that it was given.

        Args:
            key: of the conversation.
            number: of the call.
            tool: what is called; what is not to be simply repeated is journaled before it begins, too.
            act: does it, and returns its outcome.
            call: what is asked for, which a person is shown.
            egress: of the conversation.
            lost: makes the outcome of a call that a person says was carried out before.
            stopped: makes the outcome of a call of unknown effect that the process did not outlive.

        Raises:
            Paused: a `once` call was begun, or an equal one, and nobody knows whether it was carried out.
        """
        event, instead = self._event(key, number), None
        place = (key, event["ordinal"], number)
        attributes = of_tool(tool.name, self._place, key.conversation)
        try:
            with self._run.telemetry.span(f"execute_tool {tool.name}", **attributes) as span:
                began = time.monotonic()
                if tool.effect in _OWN_DOUBT:
                    self._in_flight.add(place)  # until its outcome is journaled
                    answer = await self._begin(key, event, tool, call, egress)
                    instead = lost(call) if answer == "keep" else stopped(call) if answer == "stopped" else None
                came = await act() if instead is None else instead
                outcome = came.to_json()
                tell_outcome(span, tool.name, outcome)
                about = {"name": tool.name, "effect": tool.effect, "seconds": round(time.monotonic() - began, 6)}
                told = {**event, **about, "outcome": outcome}
                if tool.effect == "once":
                    await self._run.append("tool_result", told)
                else:
                    self._run.append_soon("tool_result", told)
            return came
        finally:
            self._in_flight.discard(place)

    def was_once(self, key: ConversationKey, number: int, call: ToolCall) -> bool:
        """Whether a call of the last reply was begun as one that must not be repeated."""
        known = self._run.state.once.get((key.stage, key.epoch, mark_of(call)), ())
        return Begun(key.conversation, self._run.state.conversation(key).replies - 1, number) in known

    def replace_result(self, key: ConversationKey, number: int, outcome: dict[str, Json]) -> None:
        """Journal what a call of the last reply is answered with in the place of its result."""
        self._run.append_soon("tool_result", {**self._event(key, number), "outcome": outcome})

    async def _begin(
        self, key: ConversationKey, event: dict[str, Any], tool: ToolSpec, call: ToolCall, egress: Egress
    ) -> str:
        """Journal that a call begins; `keep` or `stopped` where it must not."""
        begun = self._run.state.conversation(key).begun.get(event["call"], 0)
        if tool.effect == "once":
            return await self._begin_once(key, event, call, egress, begun)
        if begun:
            return "stopped"
        await self._run.append("tool_started", event, sync=False)
        return ""

    async def _begin_once(
        self, key: ConversationKey, event: dict[str, Any], call: ToolCall, egress: Egress, begun: int
    ) -> str:
        """A person's word, where the call or an equal one was begun and nobody knows whether it was carried out."""
        state, mark, answer = self._run.state, mark_of(call), ""
        mine = Begun(key.conversation, event["ordinal"], event["call"])
        others = [one for one in state.once.get((key.stage, key.epoch, mark), []) if one != mine]
        fingerprint = digest([event, begun])
        if begun or any(self._is_in_doubt(key, one) for one in others) or (key.stage, fingerprint) in state.waiting:
            answer = state.decisions.get((key.stage, fingerprint, ""), "")
            if not answer:
                reason = f"tool {call.name} was begun, and whether it was carried out is not known"
                choice = of_call(BEGUN, event, call, fingerprint, egress)
                await self._run.append("paused", {"stage": key.stage, "reason": reason, "choice": choice})
                keep, redo, shown = how_to_answer_call(self._run.id, choice)
                hint = f"if it was, say {keep}; if it is to be done again, {redo}; {shown}"
                raise Paused(reason, run_id=self._run.id, hint=hint)
            if answer == "keep":
                return answer
        await self._run.append("tool_started", {**event, "mark": mark, **({"settles": True} if answer else {})})
        return ""

    def _is_in_doubt(self, key: ConversationKey, begun: Begun) -> bool:
        if (key._replace(conversation=begun.conversation), begun.ordinal, begun.call) in self._in_flight:
            return False
        return not (self._is_walked(begun.conversation) and stands(self._run.state, key, begun))

    def _event(self, key: ConversationKey, number: int) -> dict[str, Any]:
        ordinal = self._run.state.conversation(key).replies - 1
        where = {"stage": key.stage, "epoch": key.epoch, "conversation": key.conversation}
        return {**where, "ordinal": ordinal, "call": number}
