"""Tool calls in a stage: what the journal has of them, a person's leave, and carrying them out, none of them twice."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar

from transom.canonical import Json, digest
from transom.errors import ApprovalNeeded, Paused
from transom.llm import ToolSpec
from transom.runs.approvals import Approval, approval_request
from transom.runs.doubts import UNKNOWN, Today, begun_in, doubt_of, mark_of
from transom.runs.host import Host
from transom.runs.journal import ToolKey, tool_key
from transom.runs.spans import of_tool, tell_outcome
from transom.runs.waiting import APPROVAL, BEGUN, Wanted, how_to_answer_call, of_call
from transom.runs.windows import CallKey, Talk


class _Outcome(Protocol):
    def to_json(self) -> dict[str, Json]: ...


Came = TypeVar("Came", bound=_Outcome)
"""What comes of a tool call."""


Called: TypeAlias = tuple[list[CallKey], list[Json], bool]
"""See `Stage.called`."""


class Calls:
    """The part of a `Stage` that has to do with tools; see there."""

    name: str
    attempt: int
    epoch: str
    place: str
    _run: Host
    _talks: dict[str, Talk]
    _under_way: set[ToolKey]
    _met: set[ToolKey]  # in this life

    def called(self, conversation: str = "main") -> Called:
        """What the journal has of the calls of a conversation's last reply.

        Returns:
            What their outcomes are journaled under, in order; the outcomes, None for each that there is not; and
            whether there is a reply after that one, so that what it called for is settled.
        """
        talk, state = self._talks[conversation], self._run.state
        keys = [tool_key(key) for key in talk.calls]
        self._met.update(keys)
        said = state.said.get((self.name, self.epoch, conversation))
        settled = talk.next in said if said is not None else any(key[:-1] in state.followed for key in keys[:1])
        return talk.calls, [state.tools.get(key) for key in keys], settled

    def begun(self, key: CallKey) -> bool:
        """Whether a call that must not be repeated was begun, as the journal knows it; see `called` for the key."""
        return self._run.state.intents[tool_key(key)] > 0

    async def approval(self, key: dict[str, object], wanted: Wanted) -> Approval:
        """What a person said to a tool call.

        Args:
            key: see `called`.
            wanted: the call.

        Raises:
            ApprovalNeeded: she has not said anything yet.
        """
        request = approval_request(self._run.id, key, wanted.call)
        found = self._run.state.approvals.get(request.fingerprint)
        if found is not None:
            return Approval.model_validate(found)
        reason = f"tool {wanted.call.name} needs a person's approval"
        choice = of_call(APPROVAL, key, wanted, request.fingerprint)
        await self._run.append("paused", {"stage": self.name, "reason": reason, "choice": choice})
        approve, refuse, shown = how_to_answer_call(self._run.id, choice)
        raise ApprovalNeeded(request, reason, run_id=self._run.id, hint=f"say {approve}, or {refuse}; {shown}")

    def doubt(self, conversation: str) -> None:
        """What was begun in a conversation, and must not be repeated, waits for a person where it is wanted again."""
        found = begun_in(self._run.state, self.name, self.epoch, conversation)
        if new := found - self._run.state.doubts.get((self.name, self.epoch), set()):
            self._tell_doubts(add=sorted(new), drop=[])

    def _tell_doubts(self, add: list[str], drop: list[str]) -> None:
        self._run.append_soon("doubts", {"stage": self.name, "epoch": self.epoch, "add": add, "drop": drop})

    def outcomes_below(self, conversation: str) -> list[tuple[ToolKey, Json]]:
        """The journaled outcomes of tool calls in a conversation's sub-conversations, and what each is found by."""
        below, found = f"{conversation}/", self._run.state.tools.items()
        return [(key, one) for key, one in found if key[:2] == (self.name, self.epoch) and key[2].startswith(below)]

    async def carry_out(
        self,
        key: dict[str, object],
        tool: ToolSpec,
        act: Callable[[], Awaitable[Came]],
        *,
        wanted: Wanted,
        lost: Callable[[], Came],
    ) -> Came:
        """Carry out a tool call that has no journaled outcome. What comes of it is journaled.

        What must not be done twice is synced before its outcome is used. What may be is synced with the next reply: no
        reply is ever in the journal without the results that it was given.

        Args:
            key: see `called`.
            tool: what is called. One with effect `once` is journaled before it begins too.
            act: does it, and returns its outcome, whose JSON is journaled.
            wanted: the call, which a person is shown.
            lost: makes the outcome of a call that a person says was carried out before.

        Raises:
            Paused: a `once` call was begun, or an equal one, and nobody knows whether it was carried out.
        """
        if tool.effect != "once":
            return await self._carried_out(key, tool, act, wanted, lost)
        place = tool_key(key)
        self._under_way.add(place)  # until its outcome is journaled
        try:
            return await self._carried_out(key, tool, act, wanted, lost)
        finally:
            self._under_way.discard(place)

    async def _carried_out(
        self, key: CallKey, tool: ToolSpec, act: Callable[[], Awaitable[Came]], wanted: Wanted, lost: Callable[[], Came]
    ) -> Came:
        attributes = of_tool(tool.name, self.place, str(key["conversation"]))
        with self._run.telemetry.span(f"execute_tool {tool.name}", **attributes) as span:
            began = time.monotonic()
            again = tool.effect != "once" or await self._begin_once(key, wanted)
            came = await act() if again else lost()
            outcome = came.to_json()
            tell_outcome(span, tool.name, outcome)
            about = {"name": tool.name, "effect": tool.effect, "seconds": round(time.monotonic() - began, 6)}
            told = {**key, "attempt": self.attempt, **about, "outcome": outcome}
            if tool.effect == "once":
                await self._run.append("tool", told)
            else:
                self._run.append_soon("tool", told)
        return came

    def tell_instead(self, key: dict[str, object], outcome: Json) -> None:
        """Journal what a call is answered with in the place of its outcome, before a request is asked with it."""
        self._run.append_soon("tool", {**key, "attempt": self.attempt, "outcome": outcome})

    async def _begin_once(self, key: dict[str, object], wanted: Wanted) -> bool:
        """Journal that a call which must not be repeated begins; False where a person says that it is done."""
        place, mark, state = tool_key(key), mark_of(wanted.call), self._run.state
        begun = state.intents[place]
        fingerprint = digest([key, begun])
        today = Today(self._under_way, self._met, self._talks)
        why = UNKNOWN if begun else doubt_of(state, place, mark, today)
        if why or (self.name, fingerprint) in state.waiting:  # what was answered elsewhere is no answer here
            answer = state.decisions.get((self.name, fingerprint, ""))
            if answer is None:
                reason = f"tool {wanted.call.name} {why or UNKNOWN}"
                choice = of_call(BEGUN, key, wanted, fingerprint)
                await self._run.append("paused", {"stage": self.name, "reason": reason, "choice": choice})
                keep, redo, shown = how_to_answer_call(self._run.id, choice)
                hint = f"if it was, say {keep}; if it is to be done again, {redo}; {shown}"
                raise Paused(reason, run_id=self._run.id, hint=hint)
            if answer == "keep":
                return False
            self._tell_doubts(add=[], drop=[mark])  # she knows of those that were begun
        await self._run.append("intent", {**key, "mark": mark})
        return True
