"""Running the tool calls of a reply: together, none twice, each result journaled as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace

from transom.agent.events import ToolCallFinished, ToolCallStarted
from transom.agent.results import keep
from transom.agent.session import Session
from transom.context.oversized import level
from transom.errors import ToolRefused
from transom.llm import ToolCall, ToolSpec
from transom.runs.conversation import CallPlace, Conversation
from transom.runs.tool_calls import in_handler
from transom.tools.answers import again, done_before, made_beside, refused, stopped_while_running, used_up
from transom.tools.definition import ToolDefinition, ToolOutcome, outcome_from_json
from transom.tools.toolbox import Accepted

CALL_ID: ContextVar[str] = ContextVar("call_id", default="")
"""In the handler of a tool of the runtime: the id of the sub-conversation that the call may open."""


async def run_pending(session: Session) -> None:
    """Run the calls of the last reply that have no result yet, and make turns of all of them.

    Raises:
        Paused: a call waits for a person.
        CapReached: there is no time left.
    """
    state = session.state
    assert state.pending is not None, "a reply waits for results"
    calls, there = state.pending.calls, state.results
    heard: set[int] = set()
    for batch in _batches(session, [number for number in range(len(calls)) if number not in there], calls):
        work = [_run_one(session, number, calls, heard) for number in batch]
        if len(work) == 1:
            await work[0]
            continue
        # Each comes to its end, and into the journal, before the error of another one ends the message.
        for one in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(one, BaseException):
                raise one
    if len(calls) > 1:
        await _bound(session, len(calls))
    state = session.state
    results = state.results
    for number, call in enumerate(calls):
        outcome = results[number]  # as it is now: one before it may have changed it
        if outcome.get("kept") and not outcome.get("brief"):
            whole = outcome_from_json(outcome)
            brief = await session.in_brief(session, number, call, whole) if session.in_brief else whole
            if brief is not whole:
                session.stage.tools.replace_result(session.place(number), {**brief.to_json(), "brief": True})
            if number not in heard:
                session.hear(ToolCallFinished, call, brief.result)
    state.settle()


def _batches(session: Session, numbers: Sequence[int], calls: Sequence[ToolCall]) -> list[list[int]]:
    """Calls that are run together: of equal ones the first, and then the others, which repeat or follow it."""
    if len(numbers) < 2:
        return [[*numbers]] if numbers else []
    first = {calls[number].wanted: number for number in reversed(numbers)}
    boxed = session.toolbox.tools
    waiting = {tool.name for tool in boxed if tool.effect == "once" or (tool.effect == "pure" and not tool.fresh)}
    later = [number for number in numbers if first[calls[number].wanted] != number and calls[number].name in waiting]
    return [batch for batch in ([number for number in numbers if number not in later], later) if batch]


async def _run_one(session: Session, number: int, calls: Sequence[ToolCall], heard: set[int]) -> None:
    state, call, tools, at = session.state, calls[number], session.stage.tools, session.place(number)
    begun, accepted = state.begun.get(number, 0), session.toolbox.accepted(call)
    capped = state.messages[-1].rounds >= session.meter.budget.turns and not begun
    instead = used_up(call) if capped else None
    if accepted and not instead and not begun:
        instead = await _answered(session, state, number, calls, accepted[0])
    seconds = None if instead else session.meter.left(state.spent, session.deadline)
    session.hear(ToolCallStarted, call)
    spec = _spec(session, call, accepted if instead is None else None)
    if begun:  # whatever tools there are today
        spec = replace(spec, effect="once" if tools.was_once(at, call) else "unknown")
    act = _act(session, at, call, accepted, seconds, instead)
    came = await tools.carry_out(at, spec, act, call=call, lost=done_before, stopped=stopped_while_running)
    if not came.kept:
        heard.add(number)
        session.hear(ToolCallFinished, call, came.result)


def _act(
    session: Session,
    at: CallPlace,
    call: ToolCall,
    accepted: Accepted | None,
    seconds: float | None,
    instead: ToolOutcome | None,
) -> Callable[[], Awaitable[ToolOutcome]]:
    async def act() -> ToolOutcome:
        if instead:
            return instead
        if accepted and accepted[0].of_run:
            token = CALL_ID.set(at.opens)
            try:
                ran = await session.toolbox.run(call, accepted, place=at)
            finally:
                CALL_ID.reset(token)
        else:
            with in_handler(session.stage.host, session.state.egress) as scope:
                ran = await session.toolbox.run(call, accepted, seconds=seconds, place=at)
            if scope.heard != "any":
                ran = replace(ran, result=replace(ran.result, egress=scope.heard))
        return await keep(session, ran, session.window.result_tokens)

    return act


async def _answered(
    session: Session, state: Conversation, number: int, calls: Sequence[ToolCall], tool: ToolDefinition
) -> ToolOutcome | None:
    """What a call is answered with although its tool is not run: it was made before, or a person refuses it.

    Raises:
        ApprovalNeeded: a person has to be asked first.
    """
    call = calls[number]
    if tool.effect == "pure" and not tool.fresh:
        if before := session.derived.equal(call):
            return again(call, before)
        for other, outcome in state.results.items():
            if calls[other].wanted == call.wanted and not outcome["result"]["is_error"]:
                return made_beside(call, calls[other])
    if not tool.needs_approval:
        return None
    said = await session.stage.tools.approval(session.place(number), call)
    if said.decision == "approve":
        return None
    why = f"{said.by} refused this call" + (f": {said.reason}" if said.reason else "")
    return refused(call, ToolRefused(why, hint="do not make it again; go on without it"))


def _spec(session: Session, call: ToolCall, accepted: Accepted | None) -> ToolSpec:
    """Of what is called, as the journal and traces have it: the name of an unknown tool is the model's own words."""
    if accepted:
        return accepted[0].spec
    known = any(spec.name == call.name for spec in session.toolbox.specs)
    return ToolSpec(call.name if known else "unknown", "", {})  # what is not run has no effect


async def _bound(session: Session, calls: int) -> None:
    """Hold results of one reply together to what one may take by itself: the largest are kept elsewhere."""
    outcomes = [outcome_from_json(session.state.results[number]) for number in range(calls)]
    sizes = [session.correction.count(one.result.content) for one in outcomes]
    most = level(sizes, session.window.result_tokens)
    for number, (outcome, size) in enumerate(zip(outcomes, sizes, strict=True)):
        if size > most and not session.state.results[number].get("brief"):
            kept = await keep(session, outcome, most)
            if kept is not outcome:
                session.stage.tools.replace_result(session.place(number), kept.to_json())
