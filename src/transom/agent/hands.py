"""Carrying out what a reply calls for: all calls together, none twice, each told when it begins and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from transom.agent.events import Began, CameOf
from transom.context.oversized import level
from transom.errors import OutOfTurns, ToolRefused
from transom.llm import AssistantMessage, Reply, ToolCall, ToolResult, ToolSpec
from transom.runs.called import Called
from transom.runs.doubts import OUT_OF_TURNS
from transom.runs.journal import tool_key
from transom.runs.tool_call import ToolCallScope
from transom.runs.waiting import Wanted
from transom.runs.windows import CallKey
from transom.tools.answers import (
    again,
    cut_off,
    cut_short,
    done_before,
    in_doubt,
    out_of_turns,
    refused,
    used_up,
)
from transom.tools.definition import ToolDefinition, ToolOutcome, ran_from_json

if TYPE_CHECKING:
    from transom.agent.turns import Conversation
    from transom.tools import Toolbox

Keep = Callable[[ToolCall, ToolOutcome, int], Awaitable[ToolOutcome]]
"""Keeps a result of more than so many tokens elsewhere, with an outline in its place; hands others back as they are."""
Shrink = Callable[[ToolCall, ToolOutcome], Awaitable[ToolOutcome]]
"""Makes a result that is too large for a window small enough; hands others back as they are."""
Instead = Callable[[ToolCall], ToolOutcome]
"""What a call is answered with that is not run."""


async def as_it_is(call: ToolCall, ran: ToolOutcome, most: int = 0) -> ToolOutcome:
    """Shrinks nothing."""
    del call, most
    return ran


@dataclass
class Hands:
    """What carries out the calls of a conversation."""

    talk: Conversation
    _made: dict[str, ToolResult] = field(default_factory=dict)
    _capped: bool = False

    async def results(self, reply: Reply) -> list[ToolOutcome]:
        """What the calls of a reply are answered with: as the journal has it, whatever the caps are today.

        Raises:
            OutOfTurns: it calls tools although it was told that its turns are used up.
            Paused: see `Stage.approval` and `Stage.carry_out`.
            CapReached: there is no time left.
        """
        talk = self.talk
        most, called = talk.toolbox.max_turns, talk.stage.called(talk.name)
        _, known, settled = called
        new = None in known
        self._capped = (new and talk.rounds > most and not settled) or (not new and self._left_capped(known))
        if self._capped:
            what = f"it calls tools after its {most} turns are used up"
            turns = (*talk.turns, AssistantMessage(reply.parts))
            raise OutOfTurns(what, turns=turns, text=reply.text, where=talk.role.name)
        instead = used_up if settled or talk.rounds >= most else None
        return await self._carry_out(reply.calls, called, cut_off if talk.left_then else instead)

    async def give_up(self, reply: Reply) -> list[ToolOutcome]:
        """What calls are answered with that nobody waits for any more; those that came to no end never will."""
        called = self.talk.stage.called(self.talk.name)
        return await self._carry_out(reply.calls, called, out_of_turns if self._capped else cut_off)

    async def cut_short(self, reply: Reply) -> list[ToolOutcome]:
        """What the calls of a reply are answered with that was cut off: they may be half of what was meant."""
        if not reply.calls:
            return []
        return await self._carry_out(reply.calls, self.talk.stage.called(self.talk.name), cut_short)

    def _left_capped(self, known: Sequence[Any]) -> bool:
        """Whether turns were used up here when the code ran before, and then something else was said."""
        talk = self.talk
        if talk.stage.told_next(talk.name) is None or talk.stage.answered_next(talk.name):
            return False
        marked = any(outcome.get("error") == OUT_OF_TURNS for outcome in known)
        return marked or (talk.lasting and talk.rounds > talk.toolbox.max_turns)

    async def _carry_out(self, calls: Sequence[ToolCall], called: Called, instead: Instead | None) -> list[ToolOutcome]:
        """All calls of a reply together. What the journal has is taken in first, so that quotas are as they were.

        Args:
            calls: of the last reply.
            called: what the journal has of them.
            instead: what those are answered with that the journal does not know, where they are not run.
        """
        keys, known, settled = called
        ran: dict[int, ToolOutcome] = {}
        for number, (key, outcome) in enumerate(zip(keys, known, strict=True)):
            if outcome is not None:
                self.talk.tell(Began(self.talk.name, calls[number]))
                ran[number] = self._over(calls[number], ran_from_json(outcome))
                self.talk.toolbox.recall(ran[number], tool_key(key))
        for batch in _batches([number for number in range(len(calls)) if number not in ran], calls):
            work = [self._one(keys[number], calls[number], instead) for number in batch]
            ran.update(zip(batch, await _all(work), strict=True))
        held = await self._bound(calls, keys, ran) if len(calls) > 1 and not settled else set()
        for number, call in enumerate(calls):
            if ran[number].kept:
                whole = ran[number]
                ran[number] = await self._handed_on(call, whole, told=number in held)
                for later in range(number + 1, len(calls)):
                    if ran[later] == again(calls[later], whole.result):
                        ran[later] = again(calls[later], ran[number].result)
        return [ran[number] for number in range(len(calls))]

    async def _bound(self, calls: Sequence[ToolCall], keys: Sequence[CallKey], ran: dict[int, ToolOutcome]) -> set[int]:
        """Hold results of one reply together to what one may take by itself: the largest are kept elsewhere.

        Returns:
            Those that stood as they were before, and were told.
        """
        talk, held = self.talk, set()
        sizes = [talk.tokens.count(ran[number].result.content) for number in range(len(calls))]
        most = level(sizes, talk.window.result_tokens)
        for number in [number for number, size in enumerate(sizes) if size > most]:
            call, whole = calls[number], ran[number]
            ran[number] = await talk.keep(call, whole, most)
            if ran[number] is not whole:
                talk.stage.tell_instead(keys[number], ran[number].to_json())
                held |= set() if whole.kept else {number}
            if self._made.get(call.wanted) is whole.result:
                self._made[call.wanted] = ran[number].result
        return held

    async def _one(self, key: CallKey, call: ToolCall, instead: Instead | None) -> ToolOutcome:
        talk = self.talk
        wanted, scope = Wanted(call, talk.egress), ToolCallScope(talk.stage.host, talk.egress)
        begun = talk.stage.begun(key)
        if begun and instead in (cut_off, out_of_turns):
            instead = in_doubt
        seconds = None if instead else talk.meter.left(talk.deadline)
        accepted = None if instead else talk.toolbox.accepted(call)
        answer = await self._answered(key, wanted, accepted[0]) if accepted else instead(call) if instead else None
        talk.tell(Began(talk.name, call))

        async def act() -> ToolOutcome:
            if answer:
                return answer
            with scope.entered():
                ran = await talk.toolbox.run(call, accepted, seconds=seconds, place=tool_key(key))
            if scope.heard != "any":
                ran = replace(ran, result=replace(ran.result, egress=scope.heard))
            return await talk.keep(call, ran, talk.window.result_tokens)

        runs = accepted and not answer  # what is not run has no effect
        spec = accepted[0].spec if accepted and runs else ToolSpec(_told_name(call, talk.toolbox), "", {})
        if begun and instead is not in_doubt:  # whatever tools and caps are today, only a person knows what came of it
            spec = replace(spec, effect="once")
        came = await talk.stage.carry_out(key, spec, act, wanted=wanted, lost=lambda: done_before(call))
        return self._over(call, came)

    async def _answered(self, key: CallKey, wanted: Wanted, tool: ToolDefinition) -> ToolOutcome | None:
        """What a call is answered with although its tool is not run: it was made before, or a person refuses it.

        Raises:
            ApprovalNeeded: a person has to be asked first.
        """
        call = wanted.call
        before = None if tool.fresh else self._made.get(call.wanted)
        if before:
            return again(call, before)
        if not tool.needs_approval:
            return None
        said = await self.talk.stage.approval(key, wanted)
        if said.decision == "approve":
            return None
        why = f"{said.by} refused this call" + (f": {said.reason}" if said.reason else "")
        return refused(call, ToolRefused(why, hint="do not make it again; go on without it"))

    def _over(self, call: ToolCall, ran: ToolOutcome) -> ToolOutcome:
        """A call came to its end. Of what is kept elsewhere more is to be said before it is told."""
        if not ran.result.is_error:
            self._made.setdefault(call.wanted, ran.result)
        if not ran.kept:
            self.talk.tell(CameOf(self.talk.name, call, ran.result))
        return ran

    async def _handed_on(self, call: ToolCall, ran: ToolOutcome, *, told: bool) -> ToolOutcome:
        """What the model is told of what is kept elsewhere; equal calls are answered from that."""
        whole, ran = ran, await self.talk.digest(call, ran)
        if self._made.get(call.wanted) is whole.result:
            self._made[call.wanted] = ran.result
        if not told:
            self.talk.tell(CameOf(self.talk.name, call, ran.result))
        return ran


def _told_name(call: ToolCall, box: Toolbox) -> str:
    """Of what is called, as traces and logs have it: where there is no such tool its name is the model's own words."""
    known = call.name in box.before or any(spec.name == call.name for spec in box.specs)
    return call.name if known else "unknown"


def _batches(numbers: Sequence[int], calls: Sequence[ToolCall]) -> list[list[int]]:
    """Calls that are carried out together: of equal ones the first, and then the others, which repeat it."""
    if len(numbers) < 2:
        return [list(numbers)] if numbers else []
    first = {calls[number].wanted: number for number in reversed(numbers)}
    later = [number for number in numbers if first[calls[number].wanted] != number]
    return [batch for batch in ([number for number in numbers if number not in later], later) if batch]


async def _all(work: Sequence[Coroutine[Any, Any, ToolOutcome]]) -> list[ToolOutcome]:
    """Together; each is let come to its end, and into the journal, before the error of another one ends the stage."""
    if len(work) == 1:
        return [await work[0]]
    done = await asyncio.gather(*work, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return cast("list[ToolOutcome]", done)
