"""The loop of a message: model calls and tool calls until there is an answer.

Only new work runs through it; what stands in the journal is answered by `agent.messages`.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import NoReturn

from transom.agent.large_results import READING
from transom.agent.models import ReplyReceived
from transom.agent.session import AgentSession
from transom.agent.tool_turn import ToolTurn
from transom.canonical import Json
from transom.context import Assembled, go_on
from transom.errors import (
    CapReached,
    InputError,
    OutOfTurns,
    ReplyError,
    TransomError,
)
from transom.llm import AssistantMessage, Block, Chain, Reply, Request
from transom.llm.egress import unquote
from transom.llm.structured import (
    CUT_OFF,
    GO_ON,
    VOID,
    Check,
    complaints,
    failed_repair,
    paused,
    repair_text,
)
from transom.runs.conversation import ConversationState
from transom.runs.observe import log_unreadable, of_conversation
from transom.telemetry import keys

_log = logging.getLogger(__name__)


async def run_message(session: AgentSession) -> Reply:
    """Answer the last message, going on from wherever its events end.

    Raises:
        OutOfTurns, CapReached: the budget is used up; see `Agent.send` for the other errors.
    """
    state = session.log.state
    blocks = session.blocks_of(state.messages[-1])
    while True:
        if state.pending is None:
            note = follow_up(state, session.window.check)
            if note:
                await session.log.append("user_message", note)
            await ask(session, state, blocks)
            answer = state.messages[-1].answer
            if answer is not None:
                return answer
            if state.pending is None:
                # The reply was empty or does not follow the schema: the next one is asked for it.
                continue
        turns = session.meter.budget.turns
        # The model was told that its turns are used up, and called tools all the same.
        if state.messages[-1].rounds > turns:
            raise OutOfTurns(
                f"it calls tools after its {turns} turns are used up",
                turns=(*state.turns, AssistantMessage(state.pending.parts)),
                text=state.pending.text,
                place=session.window.role.name,
            )
        await ToolTurn(session).run()
        if session.listener:
            session.listener.check()


def follow_up(state: ConversationState, check: Check | None) -> dict[str, Json] | None:
    """Return the message to a model whose last reply was empty or does not follow its schema.

    None if the last reply was neither, or if the message was sent already.
    """
    # A follow-up that was sent already stands at the end of the turns, so nothing is sent twice
    # when a run is resumed here.
    ordinal = state.replies - 1
    record = state.messages[-1].replies.get(ordinal)
    status = record.get("status") if record else None
    if status is None:
        return None
    last_turn = state.turns[-1] if state.turns else None
    if status == "silent" and last_turn != GO_ON:
        return {"text": GO_ON.text}
    if status == "repair" and isinstance(last_turn, AssistantMessage) and check:
        return {"text": repair_text(complaints(Reply(last_turn.parts), check))}
    return None


# -- one request -----------------------------------------------------------------------------------


async def ask(session: AgentSession, state: ConversationState, blocks: tuple[Block, ...]) -> None:
    """Make one model call; its reply is in the journal and in the state when this returns."""
    log, listener, purse = session.log, session.listener, session.meter.purse
    seconds = session.meter.seconds_left(session.deadline)
    # Time and budget are checked before anything is sent.
    assembled = assemble_window(session, state, blocks)
    request = assembled.request
    role = session.window.role
    # The most that the call may read, which its purse reserves before it is sent.
    most_tokens = None
    if purse.is_capped:
        most_tokens = session.index.correction().at_most(assembled.size)
    try:
        asked = await log.stage.ask(
            request,
            role,
            conversation=log.id,
            judge=partial(judge_reply, state, session.window.check, role.name),
            on_delta=listener.tell_delta if listener else None,
            seconds=seconds,
            size=assembled.size,
            tokens=most_tokens,
            purse=purse,
        )
    except CapReached:
        raise  # nothing was sent
    except BaseException as error:
        if listener:
            listener.tell_delta(CUT_OFF)  # it may have received a part of the reply
        if isinstance(error, TimeoutError):
            raise session.meter.timed_out() from error
        raise
    message = state.messages[-1]
    session.last_request = (message, request)
    if assembled.folded:
        session.window.toolbox.offer(READING)
    if listener:
        if message.replies[state.replies - 1].get("status") == "repair":
            listener.tell_delta(VOID)
        listener.tell(ReplyReceived(log.id, asked.reply))
    # Only now may anything stop the task: the reply is journaled, and the listener knows of it.
    if asked.stop:
        raise asked.stop
    if listener:
        listener.check()
    if asked.failure:
        _raise_failure(asked.failure, request, log.host.chain)


def _raise_failure(failure: TransomError, request: Request, chain: Chain) -> NoReturn:
    """Raise the error of a reply that is no answer; it must not quote what is local."""
    if isinstance(failure, ReplyError):
        log_unreadable(request, failure, chain, 2)
    unquote(failure, request, chain.policy)
    raise failure


def assemble_window(
    session: AgentSession, state: ConversationState, blocks: tuple[Block, ...]
) -> Assembled:
    """Return the next request. Anything local in the conversation makes all of it local."""
    began = time.time_ns()
    index, window = session.index, session.window
    role = window.role
    assembled = go_on(
        role,
        blocks,
        index.history(),
        budget=window.budget,
        tokens=index.correction(),
        frame=window.frame(role, blocks),
    )
    # What was folded stays folded the same way, so that the provider's cache is read again.
    index.window = assembled.history
    if assembled.folded:
        _report_folding(session, assembled, began)
    request_window, policy = assembled.request.window, session.log.host.chain.policy
    is_local = state.egress != "any"
    for block in request_window.blocks:
        is_local = is_local or policy.is_local(block)
    if not is_local:
        return assembled
    # A provider that is not on this machine refuses such a window.
    local_window = replace(request_window, egress="local")
    return assembled._replace(request=replace(assembled.request, window=local_window))


def _report_folding(session: AgentSession, assembled: Assembled, began: int) -> None:
    """Write the span and the log line of a compaction."""
    log = session.log
    before, after = assembled.tokens_before, assembled.tokens
    attributes = {
        keys.OPERATION: keys.COMPACT,
        keys.FOLDED: assembled.folded,
        keys.TOKENS_BEFORE: before,
        keys.TOKENS_AFTER: after,
        keys.COMPRESSION_RATIO: after / before if before else 1.0,
        **of_conversation(log.stage.place, log.id),
    }
    with log.host.telemetry.span(f"compact {log.id}", **attributes) as span:
        span.set_start(began)
        line = "conversation %s: %d events folded, %d tokens became %d"
        _log.info(line, log.id, assembled.folded, before, after)


def judge_reply(
    state: ConversationState, check: Check | None, role: str, reply: Reply
) -> tuple[str, TransomError | None]:
    """Return the status of a reply that is not journaled yet, and the error of a failed one.

    The status is "" for a whole reply, `silent` for an empty one, `repair` if the model is asked to
    correct its answer, and `failed` if nothing more is asked.
    """
    message = state.messages[-1]
    if reply.stop == "pause" and not reply.calls:
        if reply.parts:
            return "failed", paused(reply.by)
        if all(record.get("status") != "silent" for record in message.replies.values()):
            return "silent", None
        # It was empty before, too: the second time an empty reply is the answer.
        reply = replace(reply, stop="end")
    if check is None:
        return "", None
    try:
        problems = complaints(reply, check)
    except InputError as error:
        return "failed", error
    # The model was asked once to correct its answer; a second wrong answer is final.
    if problems and message.bad_from is not None:
        return "failed", failed_repair(problems, role)
    return "repair" if problems else "", None
