"""The loop: one message, model calls and tool calls until there is an answer. Only new work runs
through it.

Calls of one reply run side by side if all of them are pure. Otherwise each runs by itself, in the
model's order. No call runs twice, and each result is journaled as it comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from transom.agent.models import ReplyDelta, ReplyReceived, ToolCallFinished, ToolCallStarted
from transom.agent.results import READING, keep
from transom.agent.session import CALLER, Session
from transom.canonical import Json
from transom.context import Assembled, go_on
from transom.context.oversized import level
from transom.errors import (
    CapReached,
    InputError,
    OutOfTurns,
    Paused,
    ReplyError,
    ToolRefused,
    TransomError,
)
from transom.llm import AssistantMessage, Block, Reply, ToolCall, ToolSpec
from transom.llm.egress import unquote
from transom.llm.structured import (
    CUT_OFF,
    GO_ON,
    VOID,
    answer_in_vain,
    complaints,
    paused,
    repair_text,
)
from transom.runs import A_PERSON
from transom.runs.conversation import CallPlace, Conversation
from transom.runs.observe import of_conversation, tell_unread
from transom.runs.tool_calls import Begun, Scope
from transom.telemetry import keys
from transom.tools.answers import (
    again,
    done_before,
    made_beside,
    refused,
    stopped_while_running,
    used_up,
)
from transom.tools.definition import ToolDefinition, ToolOutcome, outcome_from_json
from transom.tools.toolbox import Accepted

_log = logging.getLogger(__name__)


async def run_message(session: Session) -> Reply:
    """Answer the last message: go on from wherever its events end. For errors see `Agent.send`;
    a cap is one here.
    """
    state = session.state
    blocks = session.blocks_of(state.messages[-1])
    while True:
        if state.pending is None:
            if note := follow_up(session, state):
                await session.append("user_message", note)
                state = session.state
            state = await ask(session, state, blocks)
            if (answer := state.messages[-1].answer) is not None:
                return answer
            if state.pending is None:  # it said nothing, or does not follow its schema
                continue
        if state.messages[-1].rounds > (most := session.meter.budget.turns):
            turns = (*state.turns, AssistantMessage(state.pending.parts))
            what = f"it calls tools after its {most} turns are used up"
            raise OutOfTurns(what, turns=turns, text=state.pending.text, where=session.role.name)
        state = await run_pending(session, state)
        if session.unheard:
            session.check_listener()


def follow_up(session: Session, state: Conversation) -> dict[str, Json] | None:
    """The message to a model that said nothing, or does not follow its schema; None where there
    is none to send.
    """
    last, replies, ordinal = (
        state.turns[-1] if state.turns else None,
        state.messages[-1].replies,
        state.replies - 1,
    )
    status = replies[ordinal].get("status") if ordinal in replies else None
    if status == "silent" and last != GO_ON:
        return {"text": GO_ON.text}
    if status == "repair" and isinstance(last, AssistantMessage) and session.check:
        return {"text": repair_text(complaints(Reply(last.parts), session.check))}
    return None


# -- one request -----------------------------------------------------------------------------------


async def ask(session: Session, state: Conversation, blocks: tuple[Block, ...]) -> Conversation:
    """Ask once; the reply is in the journal when this is over, and in the state that is
    returned.
    """
    seconds = session.meter.seconds_left(session.deadline)
    purse = session.meter.purse
    assembled = assemble_window(session, state, blocks)
    request = assembled.request
    failure: TransomError | None = None

    def judge(reply: Reply) -> str:
        nonlocal failure
        status, failure = judged(session, state, reply)
        return status

    try:
        reply, stop = await session.stage.ask(
            request,
            session.role_given,
            conversation=session.id,
            judge=judge,
            on_delta=(lambda piece: session.hear(ReplyDelta, piece)) if session.tell else None,
            seconds=seconds,
            size=assembled.size,
            tokens=session.correction.at_most(assembled.size) if purse.is_capped else None,
            purse=purse,
        )
    except CapReached:  # nothing was sent
        raise
    except BaseException as error:
        session.hear(ReplyDelta, CUT_OFF)  # to a listener that may have heard a part
        if isinstance(error, TimeoutError):
            raise session.meter.late() from error
        raise
    state = session.state
    message = state.messages[-1]
    session.asked = (message, request)
    if assembled.folded:
        session.toolbox.offer(READING)
    if session.tell:
        if message.replies[state.replies - 1].get("status") == "repair":
            session.hear(ReplyDelta, VOID)
        session.hear(ReplyReceived, reply)
    if stop:
        raise stop
    if session.unheard:
        session.check_listener()
    if failure:
        if isinstance(failure, ReplyError):
            tell_unread(request, failure, session.stage.host.chain, 2)
        unquote(failure, request, session.stage.host.chain.policy)
        raise failure
    return state


def assemble_window(session: Session, state: Conversation, blocks: tuple[Block, ...]) -> Assembled:
    """The next request; what was said, given or found that is local makes all of it local."""
    began = time.time_ns()
    derived, role = session.derived, session.role
    history, tokens, frame = derived.history(), derived.correction(), session.frame(role, blocks)
    made = go_on(role, blocks, history, budget=session.window, tokens=tokens, frame=frame)
    derived.window = made.history
    if made.folded:
        _tell_folded(session, made, began)
    window, policy = made.request.window, session.stage.host.chain.policy
    if state.egress == "any" and not [block for block in window.blocks if policy.is_local(block)]:
        return made
    return replace(made, request=replace(made.request, window=replace(window, egress="local")))


def _tell_folded(session: Session, made: Assembled, began: int) -> None:
    before, after = made.tokens_before, made.tokens
    attributes = {
        keys.OPERATION: keys.COMPACT,
        keys.FOLDED: made.folded,
        keys.TOKENS_BEFORE: before,
        keys.TOKENS_AFTER: after,
        keys.COMPRESSION_RATIO: after / before if before else 1.0,
        **of_conversation(session.stage.place, session.id),
    }
    with session.stage.host.telemetry.span(f"compact {session.id}", **attributes) as span:
        span.began(began)
        what = "conversation %s: %d events folded, %d tokens became %d"
        _log.info(what, session.id, made.folded, before, after)


def judged(session: Session, state: Conversation, reply: Reply) -> tuple[str, TransomError | None]:
    """The status of an answer after a reply: "" where it is whole, `silent`, `repair`, or
    `failed` and why.
    """
    message = state.messages[-1]
    if reply.stop == "pause" and not reply.calls:
        if reply.parts:
            return "failed", paused(reply.by)
        if all(data.get("status") != "silent" for data in message.replies.values()):
            return "silent", None
        reply = replace(reply, stop="end")
    try:
        wrong = complaints(reply, session.check) if session.check else []
    except InputError as error:
        return "failed", error
    if wrong and message.bad_from is not None:
        return "failed", answer_in_vain(wrong, session.role.name)
    return "repair" if wrong else "", None


# -- the tool calls of a reply ---------------------------------------------------------------------


async def run_pending(session: Session, state: Conversation) -> Conversation:
    """Run the calls of the last reply that have no result yet, and make turns of all of them in
    the state returned.
    """
    assert state.pending is not None, "a reply waits for results"
    calls, results = state.pending.calls, state.results
    waiting = [number for number in range(len(calls)) if number not in results]
    # The whole reply decides, with the calls that have a result: a run that is resumed in the
    # middle goes on in the same order as one that was never stopped.
    if len(waiting) > 1 and session.toolbox.may_overlap(calls):
        for batch in _batches(waiting, calls):
            await _run_side_by_side(session, batch, calls)
    else:
        await _run_in_order(session, waiting, calls)
    if len(calls) > 1:
        await _bound(session, len(calls))
    state = session.state
    results = state.results
    for number, call in enumerate(calls):
        outcome = results[number]
        if outcome.get("kept") and not outcome.get("brief"):
            whole = outcome_from_json(outcome)
            brief = (
                await session.in_brief(session, number, call, whole) if session.in_brief else whole
            )
            if brief is not whole:
                session.stage.tools.replace_result(
                    session.place(number), {**brief.to_json(), "brief": True}
                )
            # another object after a failed write of a conversation beside this one
            state = session.state
            results = state.results
    state.settle()
    return state


def _batches(numbers: Sequence[int], calls: Sequence[ToolCall]) -> list[list[int]]:
    """Return the calls in batches that run side by side: a repeated call waits for the first one,
    from which it is answered.
    """
    first: list[int] = []
    repeats: list[int] = []
    wanted: set[str] = set()
    for number in numbers:
        batch = repeats if calls[number].wanted in wanted else first
        batch.append(number)
        wanted.add(calls[number].wanted)
    return [first, repeats] if repeats else [first]


async def _run_side_by_side(
    session: Session, numbers: Sequence[int], calls: Sequence[ToolCall]
) -> None:
    """Run calls at the same time. Every result is journaled before the first error is raised."""
    state = session.state
    work = [_run_one(session, state, number, calls) for number in numbers]
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


async def _run_in_order(
    session: Session, numbers: Sequence[int], calls: Sequence[ToolCall]
) -> None:
    """Run calls one after another: a call may read what the one before it wrote."""
    for position, number in enumerate(numbers):
        try:
            await _run_one(session, session.state, number, calls)
        except Paused:
            # The calls behind it do not run, but a person can answer for all of them at once.
            for later in numbers[position + 1 :]:
                with suppress(Paused):
                    await _ask_person(session, later, calls[later])
            raise


async def _ask_person(session: Session, number: int, call: ToolCall) -> None:
    """Ask what a person has to say before a call may run; raise Paused if nobody has said it.

    Nothing is asked about an equal call that is in doubt: its own answer may end the doubt.
    """
    tools, place, state = session.stage.tools, session.place(number), session.state
    if number in state.begun:
        if tools.was_once(place, call):
            await tools.decision(place, call)
        return
    accepted = session.toolbox.accepted(call)
    if accepted and accepted[0].needs_approval and not _is_used_up(session, state):
        await tools.approval(place, call)


def _is_used_up(session: Session, state: Conversation) -> bool:
    """Return whether the turns of the last message are used up."""
    return state.messages[-1].rounds >= session.meter.budget.turns


async def _run_one(
    session: Session, state: Conversation, number: int, calls: Sequence[ToolCall]
) -> None:
    call, tools = calls[number], session.stage.tools
    at = CallPlace(session.key, state.replies - 1, number)
    begun, accepted = state.begun.get(number, 0), session.toolbox.accepted(call)
    instead = used_up(call) if _is_used_up(session, state) and not begun else None
    if accepted and not instead and not begun:
        instead = await _answered(session, state, number, calls, accepted[0])
    seconds: float | None = None
    if instead is None:
        session.check_purse(state)
        seconds = session.meter.seconds_left(session.deadline)
    if session.tell:
        session.hear(ToolCallStarted, call)
    spec = _spec(session, call, accepted if instead is None else None)
    if begun:  # whatever tools there are today
        spec = replace(spec, effect="once" if tools.was_once(at, call) else "unknown")

    async def act(before: Begun) -> ToolOutcome:
        if before:
            return done_before(call) if before == "done" else stopped_while_running(call)
        if instead:
            return instead
        if accepted and accepted[0].of_run:
            token = CALLER.set((session, at.opens))
            try:
                ran = await session.toolbox.run(call, accepted, place=at)
            finally:
                CALLER.reset(token)
        else:
            scope = Scope(session.stage.host, egress=state.egress)
            with scope:
                ran = await session.toolbox.run(call, accepted, seconds=seconds, place=at)
            if scope.heard != "any":
                ran = replace(ran, result=replace(ran.result, egress=scope.heard))
        return await keep(session, ran, session.window.result_tokens)

    came = await tools.carry_out(at, spec, call, act)
    if session.tell:
        session.hear(ToolCallFinished, call, came.result)


async def _answered(
    session: Session,
    state: Conversation,
    number: int,
    calls: Sequence[ToolCall],
    tool: ToolDefinition,
) -> ToolOutcome | None:
    """The answer to a call whose tool is not run: it was made before, or a person refuses it."""
    call = calls[number]
    if tool.effect == "pure" and not tool.fresh:
        if before := session.derived.equal(call):
            return again(call, before)
        for other, outcome in state.results.items() if len(calls) > 1 else ():
            if calls[other].wanted == call.wanted and not outcome["result"]["is_error"]:
                return made_beside(call, calls[other])
    if not tool.needs_approval:
        return None
    said = await session.stage.tools.approval(session.place(number), call)
    if said.text == "approve":
        return None
    why = f"{said.by or A_PERSON} refused this call" + (f": {said.reason}" if said.reason else "")
    return refused(call, ToolRefused(why, hint="do not make it again; go on without it"))


def _spec(session: Session, call: ToolCall, accepted: Accepted | None) -> ToolSpec:
    """The spec of a call, as the journal and traces have it: the name of an unknown tool is the
    model's own words.
    """
    if accepted:
        return accepted[0].spec
    known = any(spec.name == call.name for spec in session.toolbox.specs)
    return ToolSpec(call.name if known else "unknown", "", {})  # what is not run has no effect


async def _bound(session: Session, calls: int) -> None:
    """Hold results of one reply together to what one may take by itself: the largest are kept
    elsewhere.
    """
    outcomes = [outcome_from_json(session.state.results[number]) for number in range(calls)]
    sizes = [session.correction.count(one.result.content) for one in outcomes]
    most = level(sizes, session.window.result_tokens)
    for number, (outcome, size) in enumerate(zip(outcomes, sizes, strict=True)):
        if size > most and not session.state.results[number].get("brief"):
            kept = await keep(session, outcome, most)
            if kept is not outcome:
                session.stage.tools.replace_result(session.place(number), kept.to_json())
