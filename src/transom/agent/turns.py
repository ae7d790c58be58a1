"""A conversation with a role: ask, carry out what the reply asks for, ask again, until it asks for nothing more.

This is the one loop: for a single call and for an agent, fresh and resumed, streamed or not. Nothing in it asks where a
reply or a result comes from; the stage knows what its journal has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from transom.agent.caps import Meter
from transom.agent.compacted import tell_compaction
from transom.agent.events import CameOf, Event, Heard, OnEvent, Replied, nobody
from transom.agent.late import tell_registered
from transom.context import Assembled, Budget, History, Mark, TokenCorrection, go_on
from transom.context.oversized import level
from transom.errors import CapReached, OutOfTurns, ProviderError, ReplyError, ToolError, ToolRefused
from transom.llm import (
    Block,
    CameBack,
    Reply,
    Request,
    Role,
    Said,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Window,
    render,
)
from transom.llm.deltas import Delta
from transom.llm.structured import checked
from transom.llm.turns import Egress
from transom.llm.unquoted import unquote
from transom.runs import Stage
from transom.runs.journal import tool_key
from transom.runs.stage import Called
from transom.tools import Toolbox
from transom.tools.answers import OUT_OF_TURNS, again, cut_off, cut_short, done_before, out_of_turns, refused, used_up
from transom.tools.definition import Ran, ToolDefinition, ran_from_json

_MOST_PAUSES = 10

Keep = Callable[[ToolCall, Ran, int], Awaitable[Ran]]
"""Keeps a result of more than so many tokens elsewhere, with an outline in its place; hands others back as they are."""

Shrink = Callable[[ToolCall, Ran], Awaitable[Ran]]
"""Makes a result that is too large for a window small enough; hands others back as they are."""


Instead = Callable[[ToolCall], Ran]
"""What a call is answered with that is not run."""


async def as_it_is(call: ToolCall, ran: Ran, most: int = 0) -> Ran:
    """Shrinks nothing."""
    del call, most
    return ran


async def nothing_before() -> None:
    """Has nothing said."""


@dataclass
class Conversation:
    """A role's conversation in one stage. Without tools it is one request and one reply.

    Attributes:
        stage: in whose journal replies and results are kept.
        role: who is asked.
        toolbox: what it may call; the role declares the same tools.
        budget: the window's size; the run's where None.
        name: tells conversations of one stage apart.
        history: what was said and came back, as windows hold it: its older part may be folded.
        turns: all of it, word for word.
        requests: how many there were.
        rounds: how many replies called tools since somebody last asked something.
        pending: the last request and its reply, while what it calls for is not yet answered.
        tokens: how they are estimated, as learned from the usage that came back.
        meter: what is used, and may be.
        deadline: when the message that is under way has to be over, see `Meter.deadline`.
        tell: is told what happens.
        keep: is given each new result before it is journaled, and may keep a large one elsewhere.
        digest: is given each kept result before the model is told, and may hand it on as a summary.
        folded: is called when the older part of the conversation was folded.
        marks: what the program says of events, by their numbers.
        lasting: whether what was said in it stays said, see `Stage.ask`.
        late: tools that were registered since the last request.
        before: is called before each request, and may have something said first.
        egress: `local` once anything local was told in it, came back, or was answered from: all of it is, from then on.
    """

    stage: Stage
    role: Role
    toolbox: Toolbox = field(default_factory=Toolbox)
    budget: Budget | None = None
    name: str = "main"
    history: History = field(default_factory=History)
    turns: list[Turn] = field(default_factory=list)
    requests: int = 0
    rounds: int = 0
    pending: tuple[Request, Reply] | None = None
    tokens: TokenCorrection = field(default_factory=TokenCorrection)
    meter: Meter = field(default_factory=Meter)
    deadline: float | None = None
    tell: OnEvent = nobody
    keep: Keep = as_it_is
    digest: Shrink = as_it_is
    folded: Callable[[], None] = lambda: None
    marks: dict[int, list[Mark]] = field(default_factory=dict)
    lasting: bool = False
    late: list[ToolSpec] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = nothing_before
    egress: Egress = "any"
    _made: dict[str, ToolResult] = field(default_factory=dict)
    _capped: bool = False
    _unheard: Exception | None = None

    def __post_init__(self) -> None:
        if self.role.tools != self.toolbox.specs:
            declared, given = (
                ", ".join(spec.name for spec in specs) for specs in (self.role.tools, self.toolbox.specs)
            )
            what = f"it declares the tools [{declared}] and is given [{given}]"
            raise ToolError(what, where=self.role.name, hint="give the role the specs of its toolbox")
        self.role = self.window.held(self.role)

    async def ask(self, blocks: Sequence[Block]) -> tuple[Request, Reply]:
        """The last request, and the reply to it, which asks for no tool.

        A reply that was cut off is handed back as it is: what it asks for may be half of what was meant. After an
        error the conversation is whole, and asking again goes on where it was.

        Raises:
            OutOfTurns: the role calls tools although it was told that its turns are used up.
            CapReached: it may use no more.
            ReplyError: an answer does not follow the role's schema, and its repair does not either.
            VisibilityError, WindowOverflow, EgressError, ProviderError, Paused: see `context.go_on` and `Stage`.
        """
        while True:
            request, reply = self.pending = self.pending or await self._request(blocks)
            if self._unheard:
                error, self._unheard = self._unheard, None
                raise error
            if not reply.calls or reply.stop == "length":
                self.pending = None
                return request, reply
            self._end_turn(reply, await self._results(reply))
            self.rounds += 1
            self.pending = None

    async def give_up(self) -> None:
        """Answer the calls of a reply that nobody waits for any more; those that came to no end never will."""
        if self.pending is None:
            return
        reply = self.pending[1]
        came = await self._carry_out(
            reply.calls, self.stage.called(self.name), out_of_turns if self._capped else cut_off
        )
        self._end_turn(reply, came)
        self.pending = None

    async def end_with(self, reply: Reply) -> None:
        """Take in the reply that a message ends with. What it calls for although it was cut off is not carried out."""
        self._end_turn(
            reply, await self._carry_out(reply.calls, self.stage.called(self.name), cut_short) if reply.calls else ()
        )

    def add(self, *turns: Turn) -> None:
        """Say something, or have something come back."""
        self.turns += turns
        for turn in turns:
            if turn.egress == "local":
                self.egress = "local"
        before, self.history = self.history.count, self.history.add(*turns)
        if self.marks and self.history.count > before:  # what was said of the event when the program ran before
            for mark in self.marks.get(self.history.count, ()):
                self.history = self.history.add(mark=mark)

    def mark(self, mark: Mark) -> int | None:
        """Take in what code says of what was said last: the number of that event; None where it was said before."""
        marks = self.marks.setdefault(self.history.count, [])
        if mark in marks:
            return None
        marks.append(mark)
        self.history = self.history.add(mark=mark)
        return self.history.count

    def _end_turn(self, reply: Reply, came: Sequence[Ran]) -> None:
        """A reply and what came of its calls, together."""
        self.add(Said(reply.parts), *([CameBack(tuple([ran.result for ran in came]))] if came else []))
        for ran in came:
            if ran.mark:
                self.history = self.history.add(mark=ran.mark)

    @cached_property
    def window(self) -> Budget:
        """How large its windows may be where its model answers."""
        return (self.budget or self.stage.budget).on(self.stage.host.chain.of(self.role.name).caps)

    def room(self) -> tuple[int, int]:
        """Tokens that a window takes before anything more is said, as estimated, and those that there are for it."""
        window = Window(self.role.prompt, self.history.turns)
        used = self.tokens.count(render(Request(self.role.name, window, self.role.tools)).as_text())
        return used, self.window.window_tokens(self.role.settings.max_tokens)

    @property
    def at_rest(self) -> bool:
        """Whether whatever was said has its answer."""
        return self.pending is None and (not self.turns or isinstance(self.turns[-1], Said))

    async def _request(self, blocks: Sequence[Block]) -> tuple[Request, Reply]:
        await self.before()
        if self.late:
            tell_registered(self.stage, self.name, self.late)
        seconds = self._seconds()
        began = time.time_ns()
        assembled = self._marked(go_on(self.role, blocks, self.history, budget=self.window, tokens=self.tokens))
        self.history = assembled.history
        if assembled.folded:
            tell_compaction(self.stage, self.name, assembled, began)
            self.folded()

        async def ask(request: Request) -> Reply:
            first = request is assembled.request
            reply = await self._paid(request, seconds if first else self.meter.left(self.deadline))
            if first:
                self.tokens = self.tokens.learned(assembled.size, reply.usage.input_tokens)
            return reply if reply.stop != "pause" else await self._unpaused(request, reply)

        try:
            return assembled.request, await checked(ask, assembled.request, self._heard)
        except ReplyError as error:
            unquote(error, assembled.request, self.stage.host.chain.policy)
            raise

    def _seconds(self) -> float | None:
        """That are left for the next reply; a cap takes away nothing that the journal has."""
        try:
            return self.meter.left(self.deadline)
        except CapReached:
            if self.stage.answered_next(self.name):
                return None
            raise

    def _marked(self, assembled: Assembled) -> Assembled:
        """As local as all that it rests on: what was said may repeat what windows do not hold any more."""
        window, policy = assembled.request.window, self.stage.host.chain.policy
        if self.egress == "any" and not [block for block in window.blocks if policy.is_local(block)]:
            return assembled
        return replace(assembled, request=replace(assembled.request, window=replace(window, egress="local")))

    async def _paid(self, request: Request, seconds: float | None) -> Reply:
        """One request and its reply; each is journaled, counted and told by itself."""
        self.requests += 1
        try:
            reply = await self.stage.ask(
                request,
                self.role,
                conversation=self.name,
                lasting=self.lasting,
                on_delta=self._heard,
                seconds=seconds,
            )
        except TimeoutError as error:
            raise self.meter.late() from error
        if reply.egress == "local":
            self.egress = "local"
        self.meter.add(reply)
        self.hear(Replied(self.name, reply))
        return reply

    async def _unpaused(self, request: Request, reply: Reply) -> Reply:
        """The whole of a reply whose server stopped in the middle: handed back what it said, it goes on."""
        for _ in range(_MOST_PAUSES):
            if reply.stop != "pause" or reply.calls:
                return reply
            turns = (*request.window.turns, Said(reply.parts))
            go_on_with = replace(request, window=replace(request.window, turns=turns))
            more = await self._paid(go_on_with, self.meter.left(self.deadline))
            reply = replace(more, parts=(*reply.parts, *more.parts), usage=reply.usage + more.usage)
        if reply.stop != "pause":
            return reply
        hint = "ask for less at once, or choose another model"
        raise ProviderError(f"it paused {_MOST_PAUSES + 1} times and came to no end", where=reply.by, hint=hint)

    def hear(self, event: Event) -> None:
        """Tell of what is paid for. A listener's error is raised as soon as the reply is in its place."""
        try:
            self.tell(event)
        except Exception as error:  # noqa: BLE001  see above
            self._unheard = self._unheard or error

    def _heard(self, piece: Delta) -> None:
        self.hear(Heard(self.name, piece))

    async def _results(self, reply: Reply) -> Sequence[Ran]:
        """What the calls of a reply are answered with: as the journal has it, whatever the caps are today."""
        most, called = self.toolbox.max_turns, self.stage.called(self.name)
        _, known, settled = called
        new = None in known
        self._capped = (new and self.rounds > most and not settled) or (not new and self._left_capped(known))
        if self._capped:
            what = f"it calls tools after its {most} turns are used up"
            turns = (*self.turns, Said(reply.parts))
            raise OutOfTurns(what, turns=turns, text=reply.text, where=self.role.name)
        return await self._carry_out(reply.calls, called, used_up if settled or self.rounds >= most else None)

    def _left_capped(self, known: Sequence[Any]) -> bool:
        """Whether turns were used up here when the code ran before, and then something else was said."""
        if self.stage.told_next(self.name) is None or self.stage.answered_next(self.name):
            return False
        marked = any(outcome.get("error") == OUT_OF_TURNS for outcome in known)
        return marked or (self.lasting and self.rounds > self.toolbox.max_turns)

    async def _carry_out(self, calls: Sequence[ToolCall], called: Called, instead: Instead | None) -> list[Ran]:
        """All calls of a reply together. What the journal has is taken in first, so that quotas are as they were.

        Args:
            calls: of the last reply.
            called: what the journal has of them.
            instead: what those are answered with that the journal does not know, where they are not run.
        """
        keys, known, settled = called
        ran: dict[int, Ran] = {}
        for number, (key, outcome) in enumerate(zip(keys, known, strict=True)):
            if outcome is not None:
                ran[number] = self._took(calls[number], ran_from_json(outcome))
                self.toolbox.recall(ran[number], tool_key(key))
        for batch in self._batches([number for number in range(len(calls)) if number not in ran], calls):
            work = [self._one(keys[number], calls[number], instead) for number in batch]
            for number, one in zip(batch, await _all(work), strict=True):
                ran[number] = self._took(calls[number], one)
        if len(calls) > 1 and not settled:
            await self._bound(calls, keys, ran)
        return [await self._told(call, ran[number]) for number, call in enumerate(calls)]

    async def _bound(self, calls: Sequence[ToolCall], keys: Sequence[dict[str, object]], ran: dict[int, Ran]) -> None:
        """Hold the results of one reply together to what one may take by itself; the largest are kept elsewhere."""
        sizes = [self.tokens.count(ran[number].result.content) for number in range(len(calls))]
        most = level(sizes, self.window.result_tokens)
        for number in [number for number, size in enumerate(sizes) if size > most]:
            call, whole = calls[number], ran[number]
            ran[number] = await self.keep(call, whole, most)
            if ran[number] is not whole:
                self.stage.tell_instead(keys[number], ran[number].to_json())
            if self._made.get(call.wanted) is whole.result:
                self._made[call.wanted] = ran[number].result

    def _batches(self, numbers: Sequence[int], calls: Sequence[ToolCall]) -> list[list[int]]:
        """Calls that are carried out together: of equal ones the first, and then the others, which repeat it."""
        if len(numbers) < 2:
            return [list(numbers)] if numbers else []
        first = {calls[number].wanted: number for number in reversed(numbers)}
        later = [number for number in numbers if first[calls[number].wanted] != number]
        return [batch for batch in ([number for number in numbers if number not in later], later) if batch]

    async def _one(self, key: dict[str, object], call: ToolCall, instead: Instead | None) -> Ran:
        seconds = None if instead else self.meter.left(self.deadline)
        accepted = None if instead else self.toolbox.accepted(call)
        answer = await self._answered(key, call, accepted[0]) if accepted else instead(call) if instead else None

        async def act() -> Ran:
            if answer:
                return answer
            ran = await self.toolbox.run(call, accepted, seconds=seconds, place=tool_key(key))
            return await self.keep(call, ran, self.window.result_tokens)

        runs = accepted and not answer  # what is not run has no effect
        spec = accepted[0].spec if accepted and runs else ToolSpec(call.name, "", {})
        return await self.stage.carry_out(key, spec, act, lost=lambda: done_before(call))

    async def _answered(self, key: dict[str, object], call: ToolCall, tool: ToolDefinition) -> Ran | None:
        """What a call is answered with although its tool is not run: it was made before, or a person refuses it.

        Raises:
            ApprovalNeeded: a person has to be asked first.
        """
        before = None if tool.fresh else self._made.get(call.wanted)
        if before:
            return again(call, before)
        if not tool.needs_approval:
            return None
        said = await self.stage.approval(key, call)
        if said.decision == "approve":
            return None
        why = f"{said.by} refused this call" + (f": {said.reason}" if said.reason else "")
        return refused(call, ToolRefused(why, hint="do not make it again; go on without it"))

    def _took(self, call: ToolCall, ran: Ran) -> Ran:
        if not ran.result.is_error:
            self._made.setdefault(call.wanted, ran.result)
        return ran

    async def _told(self, call: ToolCall, ran: Ran) -> Ran:
        """What the model is told."""
        ran = await self.digest(call, ran) if ran.kept else ran
        self.tell(CameOf(self.name, call, ran.result))
        return ran


async def _all(work: Sequence[Coroutine[Any, Any, Ran]]) -> list[Ran]:
    """Together; each is let come to its end, and into the journal, before the error of another one ends the stage."""
    if len(work) == 1:
        return [await work[0]]
    done = await asyncio.gather(*work, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return cast("list[Ran]", done)
