"""The loop: one message, model calls and tool calls until there is an answer. Only new work runs through it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transom.agent.events import ReplyDelta, ReplyReceived
from transom.agent.session import Session
from transom.agent.tool_execution import run_pending
from transom.agent.views import Response
from transom.canonical import Json, compact_json, whole_text
from transom.context import Assembled, check_message, go_on
from transom.context.window import with_shares
from transom.errors import (
    CapReached,
    InputError,
    OutOfTurns,
    Paused,
    RunError,
    StoreError,
    TransomError,
    Unanswered,
)
from transom.llm import AnsweredFrom, AssistantMessage, Block, Reply, Request, Share, Window
from transom.llm.answering import CUT_OFF, GO_ON, MOST_PAUSES, VOID, answer_in_vain, is_paused, paused_in_vain
from transom.llm.codec import request_from_json
from transom.llm.deltas import Again, Delta
from transom.llm.structured import complaints, repair_text
from transom.llm.unquoted import unquote
from transom.runs.conversation import Conversation, Message
from transom.runs.observe import of_agent, of_conversation, tell_unread
from transom.runs.tool_call import egress_in_calls
from transom.runs.windows import request_of
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
            if state.pending is None:  # it paused, or does not follow its schema
                continue
        if state.rounds > session.toolbox.max_turns:
            turns = (*state.turns, AssistantMessage(state.pending.parts))
            what = f"it calls tools after its {session.toolbox.max_turns} turns are used up"
            raise OutOfTurns(what, turns=turns, text=state.pending.text, where=session.role.name)
        await run_pending(session)
        session.check_listener()


def follow_up(session: Session, state: Conversation) -> dict[str, Json] | None:
    """What a model is told whose last answer does not follow its schema; None where nothing is to be said."""
    last = state.turns[-1] if state.turns else None
    if state.messages[-1].bad_from is None or not isinstance(last, AssistantMessage):
        return None
    wrong = complaints(Reply(last.parts), session.check) if session.check else []
    return {"text": repair_text(wrong)}


# -- one request ------------------------------------------------------------------------------------------------------


async def ask(session: Session) -> None:
    """Ask once; the reply is in the journal when this is over.

    Raises:
        See `run_message`.
    """
    seconds = session.meter.left(session.spent, session.deadline)
    state, stage = session.state, session.stage
    message = state.messages[-1]
    blocks = await session.blocks_of(message)
    assembled = assemble_window(session, state, blocks)
    request = assembled.request
    if state.partial:
        said = (AssistantMessage(state.partial.reply.parts),) if state.partial.reply.parts else ()
        turns = (*request.window.turns, *said, *((GO_ON,) if state.partial.silent else ()))
        request = replace(request, window=replace(request.window, turns=turns))
        request = with_shares(request, session.role, budget=session.window, tokens=session.correction)
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
            size=None if state.partial else assembled.size,
        )
    except TimeoutError as error:
        raise error if isinstance(error, Unanswered) else session.meter.late() from error
    state = session.state
    message = state.messages[-1]
    session.half, session.asked = False, (message, request)
    if assembled.folded:
        session.large.offer_reading(session)
    status = message.replies[state.replies - 1].get("status")
    if status == "repair":
        hear_piece(session, VOID)
        session.half = False
    session.hear(ReplyReceived(session.id, reply))
    if stop:
        raise stop
    session.check_listener()
    if status == "failed":
        raise failure(session, request, reply)


def hear_piece(session: Session, piece: Delta) -> None:
    """A piece of a reply comes."""
    session.half = not isinstance(piece, Again)
    session.hear(ReplyDelta(session.id, piece))


def assemble_window(session: Session, state: Conversation, blocks: tuple[Block, ...]) -> Assembled:
    """The next request; what was said, given or found that is local makes all of it local."""
    began = time.time_ns()
    history = session.history.of(state)
    frame = session.frame(blocks)
    made = go_on(session.role, blocks, history, budget=session.window, tokens=session.correction, frame=frame)
    session.history.history = made.history
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
    """How an answer stands after a reply: "" where it is whole, else `pause`, `repair` or `failed`."""
    before = state.partial
    if session.check is None and reply.stop != "pause":
        return ""
    whole = replace(reply, parts=(*before.reply.parts, *reply.parts)) if before else reply
    if is_paused(whole):
        if not (before and before.urged and not reply.parts):
            return "pause" if (before.pauses if before else 0) < MOST_PAUSES else "failed"
        whole = replace(whole, stop="end")
    try:
        wrong = complaints(whole, session.check) if session.check else []
    except InputError:
        return "failed"
    return "" if not wrong else "repair" if state.messages[-1].bad_from is None else "failed"


def failure(session: Session, request: Request, reply: Reply) -> TransomError:
    """Why an answer came to nothing."""
    error: TransomError
    if reply.stop == "pause":
        error = paused_in_vain(reply.by)
    else:
        try:
            error = answer_in_vain(complaints(reply, session.check) if session.check else [], session.role.name)
        except InputError as found:
            return found
        tell_unread(request, error, session.stage.host.chain, 2)
    unquote(error, request, session.stage.host.chain.policy)
    return error


# -- messages ---------------------------------------------------------------------------------------------------------


async def say(session: Session, text: str | None, blocks: Sequence[Block] = (), *, id: str = "") -> Response:  # noqa: A002
    """Say something; what stands in the journal is answered from it, and nobody is asked.

    Args:
        session: where.
        text: what is said; None for a call that has blocks alone.
        blocks: what it comes with.
        id: of the message; one that stands in the journal is answered from it wherever it is.

    Raises:
        InputError: no text, or a blank one; nothing was said.
        RunError: in a kept conversation something else stands in its place.
        Unanswered: it failed, and something else was said behind it.
        Exception: see `run_message`.
    """
    number = _place_of(session, id)
    print_ = session.fingerprint(text, blocks)
    if number < len(session.state.messages):
        message = session.state.messages[number]
        same = bool(id) or message.data["fingerprint"] == print_
        if same and _is_current(session, message):
            session.next = number + 1
            return await again(session, number)
        if session.stage.kept:
            before, now = message.text or "", text or ""
            what = f'message {number + 1} was "{before[:80]}" and is "{now[:80]}" now'
            if message.data.get("egress", "any") != "any" or session.state.egress != "any":
                what = f"message {number + 1} is another one now"
            raise RunError(what, where=session.id, hint="begin with resume(), or give messages ids")
        await session.append("reset", {"to": number, "turns": message.first_turn})
    await begin(session, text, blocks, print_, number, id)
    return await answer(session)


def _place_of(session: Session, id: str) -> int:  # noqa: A002  the program's word
    """Which message of the conversation it is."""
    if not id:
        return session.next
    known = [number for number, message in enumerate(session.state.messages) if message.data.get("id") == id]
    return known[0] if known else len(session.state.messages)


def _is_current(session: Session, message: Message) -> bool:
    """Whether an answer rests on what there is today; in a kept conversation what was said stays said."""
    if session.stage.kept:
        return True
    chain = session.stage.host.chain
    replies = [data["reply"] for data in message.replies.values()]
    return all(
        chain.is_current(reply["by"], [AnsweredFrom(**source) for source in reply["answered_from"]])
        for reply in replies
    )


async def begin(
    session: Session,
    text: str | None,
    blocks: Sequence[Block],
    fingerprint: str,
    number: int,
    id: str,  # noqa: A002
) -> None:
    """Journal a message with what it came with and what is recalled for it."""
    store, told = session.stage.host.store, dict[str, Json]()
    recalled = await recall(session, text or "") if session.sources else ()
    if text is not None:
        window = (*session.always, *blocks, *recalled)
        check_message(session.role, window, text, budget=session.window, tokens=session.correction)
    for name, given in (("blocks", blocks), ("recalled", recalled)):
        if given:
            told[name] = await store.put_blob(
                compact_json([one.to_json() for one in given]).encode("utf-8", "surrogatepass")
            )
    if id:
        told["id"] = id
    if egress_in_calls() != "any":
        told["egress"] = "local"
    session.given = (*session.given, *[one for one in (*blocks, *recalled) if one not in session.given])
    try:
        await session.append("user_message", {"text": text, "fingerprint": fingerprint, **told})
    finally:
        if len(session.state.messages) > number:  # who is cancelled meanwhile may have said it
            session.next = number + 1


async def recall(session: Session, query: str) -> tuple[Block, ...]:
    """What the sources of an agent have on a message, within the window's share for advice."""
    room = session.window.limits(session.role.settings.max_tokens)["playbook"]
    found: list[Block] = []
    for number, source in enumerate(session.sources):
        left = room - sum(session.correction.count(block.text) for block in found)
        given: Sequence[Any] = await source.blocks(query, max(0, left) // (len(session.sources) - number))
        found += given
    return tuple(found)


def checked_text(content: object, where: str, blocks: Sequence[object] = ()) -> str:
    """What is said, as a journal and a server can keep it.

    Raises:
        InputError: it is no text, or a blank one, which servers take no conversation with; or it comes with other
            things than blocks.
    """
    for one in blocks:
        if not isinstance(one, Block):
            hint = 'say send("...", Block("name", "..."))'
            raise InputError(f"a message comes with Blocks, and this is {type(one).__name__}", where=where, hint=hint)
    if not isinstance(content, str):
        what = f"a message is text, and this is {type(content).__name__}"
        raise InputError(what, where=where, hint="data goes into a Block")
    if not content.strip():
        raise InputError("the message is blank", where=where, hint="say what is to be done, also of blocks")
    return whole_text(content)


async def again(session: Session, number: int) -> Response:
    """The answer to a message of the journal; the last one is gone on with where it has none.

    Raises:
        Unanswered: it failed, and something else was said behind it.
    """
    state = session.state
    message = state.messages[number]
    for data in message.replies.values():
        session.stage.pin(session.role.name, data["reply"]["by"])
    session.take_in(number)
    if message.answer is None:
        if number < len(state.messages) - 1:
            error, what = message.error or ("it was stopped", "")
            raise Unanswered(f"{error}: {what}" if what else error, where=session.id)
        return await answer(session)
    return told(session, message, message.answer)


async def answer(session: Session) -> Response:
    """Have the last message answered. A cap that is reached is no error: the response names it.

    Raises:
        See `run_message`; `CapReached` and `OutOfTurns` only where the session says so.
    """
    session.deadline = session.meter.deadline(session.parent.deadline if session.parent else None)
    session.take_in(len(session.state.messages) - 1)
    try:
        if session.raises:
            reply = await run_message(session)
            return told(session, session.state.messages[-1], reply)
        attributes = of_agent(session.role.name, session.stage.place, session.id)
        with session.stage.host.telemetry.span(f"invoke_agent {session.role.name}", **attributes) as span:
            span.set(keys.MESSAGES, len(session.state.turns))
            try:
                reply = await run_message(session)
                return told(session, session.state.messages[-1], reply)
            except (CapReached, OutOfTurns) as error:
                cap = error.cap if isinstance(error, CapReached) else "turns"
                note_failure(session, error)
                span.set(keys.CAP, cap)
                return told(session, session.state.messages[-1], session.state.pending or Reply(()), ended=cap)
    except BaseException as error:
        note_failure(session, error)
        raise
    finally:
        session.deadline = None
        await session.stage.host.settle()


def note_failure(session: Session, error: BaseException) -> None:
    """Journal what ended the last message, for whoever runs the program again."""
    message = session.state.open_message
    if message is None or isinstance(error, StoreError | KeyboardInterrupt | GeneratorExit | SystemExit):
        return
    what = error.what if isinstance(error, TransomError) and session.state.egress == "any" else ""
    if isinstance(error, Paused):
        what = error.reason if session.state.egress == "any" else ""
    found = (type(error).__name__, what)
    if message.error != found and isinstance(error, TransomError | asyncio.CancelledError):
        session.stage.append_soon("message_failed", session.id, {"error": found[0], "what": found[1]})


def told(session: Session, message: Message, reply: Reply, *, ended: Any = "") -> Response:
    """What a program is told of a message."""
    state, spent = session.state, session.spent
    whole = message.answer is not None
    known = session.asked[1].window if session.asked and session.asked[0] is message else None
    if known is None and "recalled" in message.data:  # credit is given when the agent may be closed
        known = window_of(session, message)
    how: Any = ended or ("answered" if reply.stop in ("end", "tool_calls") else reply.stop)
    return Response(
        reply.text,
        how,
        message.usage if whole else spent.usage,
        session.meter.usd(spent, message.spent if whole else None),
        tuple(state.turns[: message.end] if whole else state.turns),
        session.role.output,
        (lambda: known) if known else (lambda: window_of(session, message)),
    )


def window_of(session: Session, message: Message) -> Window | None:
    """What the last call of a message saw; None where there was none."""
    request = request_asked(session, message)
    return request.window if request else None


def request_asked(session: Session, message: Message) -> Request | None:
    """The last request of a message; None where there was none."""
    if session.asked and session.asked[0] is message:
        return session.asked[1]
    if not message.replies:
        return None
    data = message.replies[max(message.replies)]
    found = request_from_json(request_of(session.stage.host.store, data["window"], session.state))
    shares = tuple(Share(name, used, limit) for name, (used, limit) in data["shares"].items())
    return replace(found, window=replace(found.window, shares=shares, egress=data["reply"].get("egress", "any")))
