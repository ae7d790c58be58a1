"""A conversation with a role: ask, carry out what the reply asks for, ask again, until it asks for nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from transom.canonical import Json
from transom.context import Budget, assemble
from transom.errors import OutOfTurns, ToolError
from transom.llm import Block, CameBack, Reply, Request, Role, Said, ToolCall, ToolResult, Turn
from transom.runs import Stage
from transom.tools.toolbox import Ran, Toolbox, done_before, ran_from_json, used_up


@dataclass
class Conversation:
    """A role's conversation in one stage. Without tools it is one request and one reply.

    Attributes:
        stage: in whose journal replies and results are kept.
        role: who is asked.
        toolbox: what it may call; the role declares the same tools.
        budget: the window's size; the run's where None.
        name: tells conversations of one stage apart.
        turns: what was said and came back; it only grows at its end.
        requests: how many there were.
    """

    stage: Stage
    role: Role
    toolbox: Toolbox = field(default_factory=Toolbox)
    budget: Budget | None = None
    name: str = "main"
    turns: list[Turn] = field(default_factory=list)
    requests: int = 0

    def __post_init__(self) -> None:
        if self.role.tools != self.toolbox.specs:
            declared, given = (
                ", ".join(spec.name for spec in specs) for specs in (self.role.tools, self.toolbox.specs)
            )
            what = f"it declares the tools [{declared}] and is given [{given}]"
            raise ToolError(what, where=self.role.name, hint="give the role the specs of its toolbox")

    async def ask(self, blocks: Sequence[Block]) -> tuple[Request, Reply]:
        """The last request, and the reply to it, which asks for no tool.

        A reply that was cut off is handed back as it is: what it asks for may be half of what was meant.

        Raises:
            OutOfTurns: the role calls tools although it was told that its turns are used up.
            VisibilityError, WindowOverflow, EgressError, ProviderError, Paused: see `assemble` and `Stage`.
        """
        while True:
            request = assemble(self.role, blocks, turns=self.turns, budget=self.budget or self.stage.budget)
            self.requests += 1
            reply = await self.stage.ask(request, self.role, conversation=self.name)
            if not reply.calls or reply.stop == "length":
                return request, reply
            self.turns.append(Said(reply.parts))
            self.turns.append(CameBack(await self._results(request, reply)))

    async def _results(self, request: Request, reply: Reply) -> tuple[ToolResult, ...]:
        turns = sum(isinstance(turn, Said) for turn in self.turns)
        most = self.toolbox.max_turns
        if turns > most + 1:
            what = f"it calls tools after its {most} turns are used up"
            raise OutOfTurns(what, turns=self.turns, text=reply.text, where=self.role.name)
        if turns > most:
            return used_up(reply.calls)
        return await self._carry_out(request, reply.calls)

    async def _carry_out(self, request: Request, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """All calls of a reply together. What the journal has is taken in first, so that quotas are as they were."""
        keys = [self.stage.call_key(request, number, call, conversation=self.name) for number, call in enumerate(calls)]
        ran: dict[int, Ran] = {}
        for number, key in enumerate(keys):
            outcome = self.stage.outcome(key)
            if outcome is not None:
                ran[number] = ran_from_json(outcome)
                self.toolbox.recall(ran[number])
        missing = [number for number in range(len(calls)) if number not in ran]
        # Each is let come to its end, and into the journal, before the error of another one ends the stage.
        done = await asyncio.gather(
            *(self._one(keys[number], calls[number]) for number in missing), return_exceptions=True
        )
        for number, one in zip(missing, done, strict=True):
            if isinstance(one, BaseException):
                raise one
            ran[number] = one
        return tuple(ran[number].result for number in range(len(calls)))

    async def _one(self, key: dict[str, object], call: ToolCall) -> Ran:
        async def act() -> Json:
            return (await self.toolbox.run(call)).to_json()

        lost = done_before(call).to_json()
        return ran_from_json(await self.stage.carry_out(key, self.toolbox.spec_of(call), act, lost=lost))
