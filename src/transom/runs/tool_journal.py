"""Tool calls in a run's journal: a person's leave, and that what must not be repeated is not."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from transom.canonical import Json, digest
from transom.errors import ApprovalNeeded, Paused
from transom.llm import ToolCall, ToolSpec
from transom.runs.approvals import Approval, approval_request
from transom.runs.conversation import IN_DOUBT, OF_CALL, Begun, ConversationKey
from transom.runs.host import Host
from transom.runs.journal import RunState
from transom.runs.observe import of_tool, tell_outcome
from transom.runs.questions import APPROVAL, BEGUN, Wanted, how_to_answer_call, of_call

UNKNOWN = "was begun, and whether it was carried out is not known"
_OWN_DOUBT = ("once", "unknown")
"""Effects of tools that are journaled before they begin."""


class _Outcome(Protocol):
    def to_json(self) -> dict[str, Json]: ...


Came = TypeVar("Came", bound=_Outcome)
"""What comes of a tool call."""


def mark_of(call: ToolCall) -> str:
    """What tells a call from those that ask for something else."""
    return digest(call.wanted)[:16]


def stands(state: RunState, key: ConversationKey, begun: Begun) -> bool:
    """Whether it is known what came of a call, and that stands in a conversation as it is today.

    Args:
        state: of the run.
        key: of a conversation in the same stage.
        begun: the call.
    """
    mine = key._replace(conversation=begun.conversation)
    found = state.conversations.get(mine)
    message = found.message_of(begun.ordinal) if found else None
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
        self._run = run
        self._place = place
        self._is_walked = is_walked
        self._in_flight: set[tuple[ConversationKey, int, int]] = set()

    async def approval(self, key: ConversationKey, number: int, wanted: Wanted) -> Approval:
        """What a person said to a call of the last reply.

        Args:
            key: of the conversation.
            number: of the call.
            wanted: the call.

        Raises:
            ApprovalNeeded: nobody has said anything yet.
        """
        place = self._event(key, number)
        request = approval_request(self._run.id, place, wanted.call)
        found = self._run.state.approvals.get(request.fingerprint)
        if found is not None:
            return Approval.model_validate(found)
        reason = f"tool {wanted.call.name} needs a person's approval"
        choice = of_call(APPROVAL, place, wanted, request.fingerprint)
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
        wanted: Wanted,
        lost: Callable[[], Came],
        stopped: Callable[[], Came],
    ) -> Came:
        """Carry out a call of the last reply that has no result, and journal what comes of it.

        What must not be done twice is synced before its result is used. What may be is synced with the next reply: no
        reply is ever in the journal without the results that it was given.

        Args:
            key: of the conversation.
            number: of the call.
            tool: what is called; what is not to be simply repeated is journaled before it begins, too.
            act: does it, and returns its outcome.
            wanted: the call, which a person is shown.
            lost: makes the outcome of a call that a person says was carried out before.
            stopped: makes the outcome of a call of unknown effect that the process did not outlive.

        Raises:
            Paused: a `once` call was begun, or an equal one, and nobody knows whether it was carried out.
        """
        event = self._event(key, number)
        place = (key, event["ordinal"], number)
        if tool.effect in _OWN_DOUBT:
            self._in_flight.add(place)  # until its outcome is journaled
        try:
            with self._run.telemetry.span(
                f"execute_tool {tool.name}", **of_tool(tool.name, self._place, key.conversation)
            ) as span:
                began = time.monotonic()
                instead = (
                    await self._begin(key, event, tool, wanted, lost, stopped) if tool.effect in _OWN_DOUBT else None
                )
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
        return Begun(key.conversation, self._ordinal(key), number) in known

    def replace_result(self, key: ConversationKey, number: int, outcome: dict[str, Json]) -> None:
        """Journal what a call of the last reply is answered with in the place of its result."""
        self._run.append_soon("tool_result", {**self._event(key, number), "outcome": outcome})

    async def _begin(
        self,
        key: ConversationKey,
        event: dict[str, Any],
        tool: ToolSpec,
        wanted: Wanted,
        lost: Callable[[], Came],
        stopped: Callable[[], Came],
    ) -> Came | None:
        """Journal that a call begins; what it is answered with where it must not."""
        begun = self._run.state.conversation(key).begun.get(event["call"], 0)
        if tool.effect == "once":
            return await self._begin_once(key, event, wanted, begun, lost)
        if begun:
            return stopped()
        await self._run.append("tool_started", event, sync=False)
        return None

    async def _begin_once(
        self, key: ConversationKey, event: dict[str, Any], wanted: Wanted, begun: int, lost: Callable[[], Came]
    ) -> Came | None:
        state, mark, settles = self._run.state, mark_of(wanted.call), False
        others = state.once.get((key.stage, key.epoch, mark), [])
        mine = Begun(key.conversation, event["ordinal"], event["call"])
        doubtful = [
            one for one in others if one != mine and not self._is_in_flight(key, one) and not self._stands(key, one)
        ]
        fingerprint = digest([event, begun])
        if begun or doubtful or (key.stage, fingerprint) in state.waiting:
            answer = state.decisions.get((key.stage, fingerprint, ""))
            if answer is None:
                reason = f"tool {wanted.call.name} {UNKNOWN}"
                choice = of_call(BEGUN, event, wanted, fingerprint)
                await self._run.append("paused", {"stage": key.stage, "reason": reason, "choice": choice})
                keep, redo, shown = how_to_answer_call(self._run.id, choice)
                hint = f"if it was, say {keep}; if it is to be done again, {redo}; {shown}"
                raise Paused(reason, run_id=self._run.id, hint=hint)
            if answer == "keep":
                return lost()
            settles = True
        told = {**event, "mark": mark}
        await self._run.append("tool_started", {**told, "settles": True} if settles else told)
        return None

    def _stands(self, key: ConversationKey, begun: Begun) -> bool:
        return self._is_walked(begun.conversation) and stands(self._run.state, key, begun)

    def _is_in_flight(self, key: ConversationKey, begun: Begun) -> bool:
        return (key._replace(conversation=begun.conversation), begun.ordinal, begun.call) in self._in_flight

    def _ordinal(self, key: ConversationKey) -> int:
        return self._run.state.conversation(key).replies - 1

    def _event(self, key: ConversationKey, number: int) -> dict[str, Any]:
        where = {"stage": key.stage, "epoch": key.epoch, "conversation": key.conversation}
        return {**where, "ordinal": self._ordinal(key), "call": number}
