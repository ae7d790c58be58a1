"""Carrying out what a reply calls for: all calls together, none twice, each told when it begins and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from transom.agent.events import Began, CameOf
from transom.errors import ToolRefused
from transom.llm import ToolCall, ToolResult, ToolSpec
from transom.tools.definition import Ran, ToolDefinition, ran_from_json
from transom.tools.toolbox import again, cut_off, done_before, refused

if TYPE_CHECKING:
    from transom.agent.turns import Conversation

Key = dict[str, object]


@dataclass
class Hands:
    """What carries out the calls of a conversation."""

    talk: Conversation
    _made: dict[str, ToolResult] = field(default_factory=dict)

    async def carry_out(self, calls: Sequence[ToolCall], *, giving_up: bool = False) -> list[Ran]:
        """What came of each call of a reply. What the journal has is taken in first, so that quotas are as they were.

        Args:
            calls: of the last reply.
            giving_up: nobody waits for them any more: those that came to no end are answered without being made.

        Raises:
            Paused: see `Stage.approval` and `Stage.carry_out`.
            CapReached: there is no time left.
        """
        stage = self.talk.stage
        keys = stage.call_keys(self.talk.name)
        ran: dict[int, Ran] = {}
        for number, key in enumerate(keys):
            outcome = stage.outcome(key)
            if outcome is not None:
                self.talk.tell(Began(self.talk.name, calls[number]))
                ran[number] = self._over(calls[number], ran_from_json(outcome))
                self.talk.toolbox.recall(ran[number])
        for batch in _batches([number for number in range(len(calls)) if number not in ran], calls):
            work = [self._one(keys[number], calls[number], giving_up=giving_up) for number in batch]
            ran.update(zip(batch, await _all(work), strict=True))
        return [await self._handed_on(call, ran[number]) for number, call in enumerate(calls)]

    async def _one(self, key: Key, call: ToolCall, *, giving_up: bool) -> Ran:
        talk = self.talk
        seconds = None if giving_up else talk.meter.left(talk.deadline)
        accepted = talk.toolbox.accepted(call)
        if accepted and giving_up:
            answer: Ran | None = cut_off(call)
        else:
            answer = await self._answered(key, call, accepted[0]) if accepted else None
        talk.tell(Began(talk.name, call))

        async def act() -> Ran:
            return answer or await talk.keep(call, await talk.toolbox.run(call, accepted, seconds=seconds))

        runs = accepted and not answer  # what is not run has no effect
        spec = accepted[0].spec if accepted and runs else ToolSpec(call.name, "", {})
        return self._over(call, await talk.stage.carry_out(key, spec, act, lost=lambda: done_before(call)))

    async def _answered(self, key: Key, call: ToolCall, tool: ToolDefinition) -> Ran | None:
        """What a call is answered with although its tool is not run: it was made before, or a person refuses it.

        Raises:
            ApprovalNeeded: a person has to be asked first.
        """
        before = None if tool.fresh else self._made.get(call.wanted)
        if before:
            return again(call, before)
        if not tool.needs_approval:
            return None
        said = await self.talk.stage.approval(key, call)
        if said.decision == "approve":
            return None
        why = f"{said.by} refused this call" + (f": {said.reason}" if said.reason else "")
        return refused(call, ToolRefused(why, hint="do not make it again; go on without it"))

    def _over(self, call: ToolCall, ran: Ran) -> Ran:
        """A call came to its end. Of what is kept elsewhere more is to be said before it is told."""
        if not ran.result.is_error:
            self._made.setdefault(call.wanted, ran.result)
        if not ran.kept:
            self.talk.tell(CameOf(self.talk.name, call, ran.result))
        return ran

    async def _handed_on(self, call: ToolCall, ran: Ran) -> Ran:
        """What the model is told: of what is kept, what stands in its place."""
        if ran.kept:
            ran = await self.talk.digest(call, ran)
            self.talk.tell(CameOf(self.talk.name, call, ran.result))
        return ran


def _batches(numbers: Sequence[int], calls: Sequence[ToolCall]) -> list[list[int]]:
    """Calls that are carried out together: of equal ones the first, and then the others, which repeat it."""
    if len(numbers) < 2:
        return [list(numbers)] if numbers else []
    first = {calls[number].wanted: number for number in reversed(numbers)}
    later = [number for number in numbers if first[calls[number].wanted] != number]
    return [batch for batch in ([number for number in numbers if number not in later], later) if batch]


async def _all(work: Sequence[Coroutine[Any, Any, Ran]]) -> list[Ran]:
    """Together; each is let come to its end, and into the journal, before the error of another one ends the stage."""
    if len(work) == 1:
        return [await work[0]]
    done = await asyncio.gather(*work, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return cast("list[Ran]", done)
