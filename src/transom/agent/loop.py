"""The loop: one message, model calls and tool calls until there is an answer. Only new work runs through it."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from transom.agent.events import ReplyDelta, ReplyReceived
from transom.agent.results import offer_reading
from transom.agent.session import Session
from transom.agent.tool_execution import run_pending
from transom.canonical import Json
from transom.context import Assembled, go_on
from transom.errors import InputError, OutOfTurns, TransomError, Unanswered
from transom.llm import AssistantMessage, Block, Reply, Request
from transom.llm.answering import CUT_OFF, GO_ON, VOID, answer_in_vain, paused
from transom.llm.deltas import Again, Delta
from transom.llm.structured import complaints, repair_text
from transom.llm.unquoted import unquote
from transom.runs.conversation import Conversation
from transom.runs.observe import of_conversation, tell_unread
from transom.telemetry import keys

_log = logging.getLogger(__name__)


async def run_message(session: Session) -> Reply:
    """Answer the last message: go on from wherever its events end.

    Raises:
        OutOfTurns: the role calls tools although it was told that its turns are used up.
        CapReached: the budget is used up.
        ReplyError: an answer does not follow the role's schema, and its repair does not either.
        VisibilityError, WindowOverflow, EgressError, ProviderError, Paused: see `context.go_on` and `Stage.ask`.
    """
    while True:
        state = session.state
        if state.pending is None:
            if note := follow_up(session, state):
                await session.append("user_message", note)
            await ask(session)
            state = session.state
            if (answer := state.messages[-1].answer) is not None:
                return answer
            if state.pending is None:  # it said nothing, or does not follow its schema
                continue
        if state.messages[-1].rounds > (most := session.meter.budget.turns):
            turns = (*state.turns, AssistantMessage(state.pending.parts))
            what = f"it calls tools after its {most} turns are used up"
            raise OutOfTurns(what, turns=turns, text=state.pending.text, where=session.role.name)
        await run_pending(session)
        session.check_listener()


def follow_up(session: Session, state: Conversation) -> dict[str, Json] | None:
    """What a model is told that said nothing, or does not follow its schema; None where nothing is to be said."""
    last = state.turns[-1] if state.turns else None
    status = state.messages[-1].replies.get(state.replies - 1, {}).get("status")
    if status == "silent" and last != GO_ON:
        return {"text": GO_ON.text}
    if status == "repair" and isinstance(last, AssistantMessage) and session.check:
        return {"text": repair_text(complaints(Reply(last.parts), session.check))}
    return None


# -- one request ------------------------------------------------------------------------------------------------------


async def ask(session: Session) -> None:
    """Ask once; the reply is in the journal when this is over.

    Raises:
        See `run_message`.
    """
    state, stage = session.state, session.stage
    seconds = session.meter.left(state.spent, session.deadline)
    assembled = assemble_window(session, state, session.blocks_of(state.messages[-1]))
    request = assembled.request
    if session.half:  # an error, a stop or a cap cut it off
        hear_piece(session, CUT_OFF)
    try:
        reply, stop = await stage.ask(
            request,
            session.role,
            conversation=session.id,
            judge=lambda reply: status_of(session, state, reply),
            on_delta=lambda piece: hear_piece(session, piece),
            seconds=seconds,
            size=assembled.size,
        )
    except TimeoutError as error:
        raise error if isinstance(error, Unanswered) else session.meter.late() from error
    state = session.state
    message = state.messages[-1]
    session.half, session.asked = False, (message, request)
    if assembled.folded:
        offer_reading(session)
    status = message.replies[state.replies - 1].get("status")
    if status == "repair":
        hear_piece(session, VOID)
        session.half = False
    session.hear(ReplyReceived, reply)
    if stop:
        raise stop
    session.check_listener()
    if status == "failed":
        raise failure(session, request, reply)


def hear_piece(session: Session, piece: Delta) -> None:
    """A piece of a reply comes."""
    session.half = not isinstance(piece, Again)
    session.hear(ReplyDelta, piece)


def assemble_window(session: Session, state: Conversation, blocks: tuple[Block, ...]) -> Assembled:
    """The next request; what was said, given or found that is local makes all of it local."""
    began = time.time_ns()
    derived, frame = session.derived, session.frame(blocks)
    history, tokens = derived.history(), session.correction
    made = go_on(session.role, blocks, history, budget=session.window, tokens=tokens, frame=frame)
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


def status_of(session: Session, state: Conversation, reply: Reply) -> str:
    """How an answer stands after a reply: "" where it is whole, else `silent`, `repair` or `failed`."""
    message = state.messages[-1]
    if reply.stop == "pause" and not reply.calls:
        if reply.parts:
            return "failed"
        if all(data.get("status") != "silent" for data in message.replies.values()):
            return "silent"
        reply = replace(reply, stop="end")
    try:
        wrong = complaints(reply, session.check) if session.check else []
    except InputError:
        return "failed"
    return "" if not wrong else "repair" if message.bad_from is None else "failed"


def failure(session: Session, request: Request, reply: Reply) -> TransomError:
    """Why an answer came to nothing."""
    error: TransomError
    if reply.stop == "pause" and reply.parts:
        error = paused(reply.by)
    else:
        try:
            error = answer_in_vain(complaints(reply, session.check) if session.check else [], session.role.name)
        except InputError as found:
            return found
        tell_unread(request, error, session.stage.host.chain, 2)
    unquote(error, request, session.stage.host.chain.policy)
    return error
