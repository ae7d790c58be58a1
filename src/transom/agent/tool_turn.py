"""The tool calls of one reply.

Calls of one reply run side by side if all of them are pure. Otherwise each runs by itself, in the
model's order. No call runs twice, and each result is journaled as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from transom.agent.large_results import store_large_result, whole_result
from transom.agent.models import ToolCallFinished, ToolCallStarted
from transom.agent.session import CALLER, AgentSession, Caller
from transom.context.oversized import level
from transom.errors import Paused, ToolRefused
from transom.llm import ToolCallPart, ToolSpec
from transom.runs import A_PERSON
from transom.runs.conversation import CallPlace
from transom.runs.questions import PersonAnswer
from transom.runs.tool_calls import HandlerScope, Interruption
from transom.tools.answers import (
    done_before,
    earlier_outcome,
    made_beside,
    refused,
    stopped_while_running,
    used_up,
)
from transom.tools.definition import ToolDefinition, ToolOutcome, outcome_from_json
from transom.tools.toolbox import Accepted


def call_batches(numbers: Sequence[int], calls: Sequence[ToolCallPart]) -> list[list[int]]:
    """Return the calls in batches that run side by side.

    A repeated call waits for the first one, from which it is answered.
    """
    first: list[int] = []
    repeats: list[int] = []
    requested: set[str] = set()
    for number in numbers:
        batch = repeats if calls[number].content_key in requested else first
        batch.append(number)
        requested.add(calls[number].content_key)
    return [first, repeats] if repeats else [first]


class ToolTurn:
    """The tool calls of the last reply of a conversation, until each has a result."""

    def __init__(self, session: AgentSession) -> None:
        state = session.log.state
        assert state.pending is not None, "a reply waits for results"
        self._session = session
        self._log = session.log
        self._state = state
        self._toolbox = session.window.toolbox
        self._calls = state.pending.calls

    async def run(self) -> None:
        """Run the calls that have no result yet, and make turns of all of them."""
        state, calls = self._state, self._calls
        results = state.results
        waiting = [number for number in range(len(calls)) if number not in results]
        # The whole reply decides, with the calls that have a result: a run that is resumed in the
        # middle goes on in the same order as one that was never stopped.
        if len(waiting) > 1 and self._toolbox.may_overlap(calls):
            for batch in call_batches(waiting, calls):
                await self._run_side_by_side(batch)
        else:
            await self._run_in_order(waiting)
        # Several results that are small enough each may be too large together.
        if len(calls) > 1:
            await self._limit_together()
        results = state.results
        for number, call in enumerate(calls):
            outcome = results[number]
            if outcome.get("kept") and not outcome.get("brief"):
                await self._shorten(number, call, outcome_from_json(outcome))
        # All results are known, so reply and results become turns.
        state.settle()

    async def _run_side_by_side(self, numbers: Sequence[int]) -> None:
        """Run calls at the same time. Every result is journaled before the first error is
        raised.
        """
        work = [self._run_one(number) for number in numbers]
        for result in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _run_in_order(self, numbers: Sequence[int]) -> None:
        """Run calls one after another: a call may read what the one before it wrote."""
        for position, number in enumerate(numbers):
            try:
                await self._run_one(number)
            except Paused:
                # The calls behind it do not run, but a person can answer for all of them at once.
                for later in numbers[position + 1 :]:
                    with suppress(Paused):
                        await self._ask_person(later)
                raise

    async def _ask_person(self, number: int) -> None:
        """Ask what a person has to decide before a call may run; raise Paused until then.

        Nothing is asked about an equal call that is in doubt: its own answer may end the doubt.
        """
        call, tools, place = self._calls[number], self._log.stage.tools, self._log.place(number)
        if number in self._state.call_starts:
            if tools.was_once(place, call):
                await tools.decision(place, call)
            return
        accepted = self._toolbox.accepted(call)
        if accepted and accepted[0].needs_approval and not self._is_used_up():
            await tools.approval(place, call)

    def _is_used_up(self) -> bool:
        """Return whether the turns of the last message are used up."""
        return self._state.messages[-1].rounds >= self._session.meter.budget.turns

    async def _run_one(self, number: int) -> None:
        """Run one call, or answer it without its tool, and journal the outcome."""
        session, state = self._session, self._state
        call, tools = self._calls[number], self._log.stage.tools
        place = CallPlace(self._log.key, state.replies - 1, number)
        is_begun = number in state.call_starts
        accepted = self._toolbox.accepted(call)
        # The answer of a call whose tool is not run.
        instead: ToolOutcome | None = None
        if not is_begun:
            if self._is_used_up():
                instead = used_up(call)
            elif accepted:
                instead = await self._answer_without_tool(number, accepted[0])
        seconds: float | None = None
        if instead is None:
            if session.meter.purse.is_capped:
                session.meter.check_purse(self._log.account, state.spent)
            seconds = session.meter.seconds_left(session.deadline)
        if session.listener:
            session.listener.tell(ToolCallStarted(self._log.id, call))
        # The journal must not name an effect for a call whose tool is not run.
        spec = self._spec_of(call, accepted if instead is None else None)
        if is_begun:
            # Whatever the tool declares today: its effect counts as it was when the call began.
            spec = replace(spec, effect="once" if tools.was_once(place, call) else "unknown")
        if instead is None:
            act = partial(self._act, call, accepted, seconds, place)
        else:
            act = partial(self._act_instead, call, instead)
        outcome = await tools.carry_out(place, spec, call, act)
        if session.listener:
            result = whole_result(self._log.host.store, outcome.to_json())
            session.listener.tell(ToolCallFinished(self._log.id, call, result))

    async def _act_instead(
        self, call: ToolCallPart, outcome: ToolOutcome, begun: Interruption
    ) -> ToolOutcome:
        """Return the outcome of a call that is answered without its tool."""
        return _cut_off_outcome(call, begun) if begun else outcome

    async def _act(
        self,
        call: ToolCallPart,
        accepted: Accepted | None,
        seconds: float | None,
        place: CallPlace,
        begun: Interruption,
    ) -> ToolOutcome:
        """Run the tool of a call, and store its result if that is large."""
        if begun:
            return _cut_off_outcome(call, begun)
        session = self._session
        if accepted and accepted[0].of_run:
            # A tool of the runtime may open conversations of this run. It has no limit of time of
            # its own: what it asks is limited itself.
            token = CALLER.set(Caller(session, place.opens))
            try:
                outcome = await self._toolbox.run(call, accepted, place=place)
            finally:
                CALLER.reset(token)
        else:
            scope = HandlerScope(self._log.host, egress=self._state.egress)
            with scope:
                outcome = await self._toolbox.run(call, accepted, seconds=seconds, place=place)
            if scope.received != "any":
                # Its handler was given something local by an agent elsewhere.
                outcome = replace(outcome, result=replace(outcome.result, egress=scope.received))
        # A long result goes to the store before it is journaled.
        limit = session.window.budget.result_tokens
        return await store_large_result(self._log, outcome, limit, session.index.correction())

    async def _answer_without_tool(self, number: int, tool: ToolDefinition) -> ToolOutcome | None:
        """Return the outcome of a call that was made before or that a person refuses, or None."""
        call = self._calls[number]
        if tool.effect == "pure" and not tool.fresh:
            earlier_result = self._session.index.earlier_result(call)
            if earlier_result:
                return earlier_outcome(call, earlier_result)
            if len(self._calls) > 1:
                for other, outcome in self._state.results.items():
                    other_call = self._calls[other]
                    if (
                        other_call.content_key == call.content_key
                        and not outcome["result"]["is_error"]
                    ):
                        return made_beside(call, other_call)
        if not tool.needs_approval:
            return None
        answer = await self._log.stage.tools.approval(self._log.place(number), call)
        return None if answer.text == "approve" else refused_by(call, answer)

    async def answer_declined(self, number: int, answer: PersonAnswer) -> None:
        """Answer a call that a person has decided not to make, so that the model is told of it."""
        call = self._calls[number]
        outcome = done_before(call) if answer.text == "keep" else refused_by(call, answer)
        act = partial(self._act_instead, call, outcome)
        await self._log.stage.tools.carry_out(
            self._log.place(number), self._spec_of(call, None), call, act
        )

    def _spec_of(self, call: ToolCallPart, accepted: Accepted | None) -> ToolSpec:
        """Return the spec of a call as the journal and the traces have it.

        The name of a tool that does not exist is the model's own words, so it is left out.
        """
        if accepted:
            return accepted[0].spec
        is_known = any(spec.name == call.name for spec in self._toolbox.specs)
        # A call that is not run has no effect.
        return ToolSpec(call.name if is_known else "unknown", "", {})

    async def _limit_together(self) -> None:
        """Limit the results of one reply together to what one result may take: the largest ones go
        to the store.
        """
        session, state = self._session, self._state
        correction, limit = session.index.correction(), session.window.budget.result_tokens
        outcomes = [outcome_from_json(state.results[number]) for number in range(len(self._calls))]
        sizes: list[int] = []
        for number, outcome in enumerate(outcomes):
            # A kill may have come between two of them. What was cut then counts as it was before,
            # so that the others are cut as they would have been.
            earlier_size = state.results[number].get("cut_from")
            sizes.append(earlier_size or correction.count(outcome.result.content))
        limit_of_each = level(sizes, limit)
        for number, outcome in enumerate(outcomes):
            if sizes[number] <= limit_of_each or "cut_from" in state.results[number]:
                continue
            stored = await store_large_result(self._log, outcome, limit_of_each, correction)
            if stored is not outcome:
                record = {**stored.to_json(), "cut_from": sizes[number]}
                self._log.stage.tools.replace_result(self._log.place(number), record)

    async def _shorten(self, number: int, call: ToolCallPart, outcome: ToolOutcome) -> None:
        """Replace the outline of a stored result with what the role's strategy makes of it."""
        if self._session.shorten is None:
            return
        state = self._state
        brief = await self._session.shorten(self._session, number, call, outcome)
        if brief is not outcome:
            record = {**state.results[number], **brief.to_json(), "brief": True}
            # As it was: a program gets the result itself.
            record["egress"] = outcome.result.egress
            self._log.stage.tools.replace_result(self._log.place(number), record)


def refused_by(call: ToolCallPart, answer: PersonAnswer) -> ToolOutcome:
    """Return the outcome of a call that a person refused."""
    refusal = f"{answer.by or A_PERSON} refused this call"
    if answer.reason:
        refusal += f": {answer.reason}"
    return refused(call, ToolRefused(refusal, hint="do not make it again; go on without it"))


def _cut_off_outcome(call: ToolCallPart, begun: Interruption) -> ToolOutcome:
    """Return the outcome of a call that began in an earlier process and is not repeated."""
    return done_before(call) if begun == "done" else stopped_while_running(call)
