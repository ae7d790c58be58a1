"""One message of a program: sent once, found again in the journal, and answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transom.agent.loop import run_message
from transom.agent.models import Ended, Response
from transom.agent.replaying import tell_again
from transom.agent.session import AgentSession, ConversationLog
from transom.agent.tool_turn import ToolTurn
from transom.canonical import Json, compact_json, digest, whole_text
from transom.context import check_message
from transom.context.oversized import KeepsAnswers
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
from transom.llm import AnsweredFrom, AssistantMessage, Block, Reply, Request, Share
from transom.llm.checked import check_kind
from transom.llm.codec import request_from_json
from transom.runs import A_PERSON, Stage
from transom.runs.conversation import ProgramMessage
from transom.runs.observe import of_agent, of_conversation
from transom.runs.tool_calls import egress_in_calls
from transom.runs.windows import request_of
from transom.telemetry import keys

_log = logging.getLogger(__name__)

_LONGEST_SOURCE = 200  # characters of a call, as a kept answer names it
_LONGEST_QUOTE = 80  # characters of a message in an error


def checked_text(content: str, conversation: str, blocks: Sequence[Block] = ()) -> str:
    """Return the text of a message as a journal and a server can keep it.

    Raises:
        InputError: the text is blank, which servers refuse, or an argument has the wrong type.
    """
    for block in blocks:
        check_kind(block, Block, "a block of a message", conversation)
    hint = "pass a text, and put data into a Block"
    check_kind(content, str, "a message", conversation, hint)
    if not content.strip():
        hint = "write what is to be done, even if a block says it"
        raise InputError("the message is blank", place=conversation, hint=hint)
    return whole_text(content)


async def send_text(
    content: str,
    blocks: Sequence[Block],
    id: str,  # noqa: A002  as in `Agent.send`
    session: AgentSession,
) -> Response:
    """Send a message in an open conversation; see `Agent.send`."""
    state = session.log.state
    text = checked_text(content, session.log.id, blocks)
    # A program that runs again sends its old messages to a closed sub-conversation, and gets the
    # old answers.
    is_closed = state.sub is not None and state.sub.closed is not None
    if is_closed and not id and session.next_message >= len(state.messages):
        problem = "it is completed, and nothing more is said in it"
        raise RunError(problem, place=session.log.id, hint="open another")
    return await send_message(session, text, blocks, id=id)


async def resume_message(session: AgentSession) -> Response:
    """Go on with the last message of an open conversation; see `Agent.resume`."""
    messages = session.log.state.messages
    if not messages:
        problem = "the conversation has no message yet"
        raise RunError(problem, place=session.log.id, hint="send one")
    for number in range(len(messages)):
        session.replay(number)
    session.next_message = len(messages)
    return await answer_again(session, len(messages) - 1)


async def send_message(
    session: AgentSession,
    text: str | None,
    blocks: Sequence[Block] = (),
    *,
    id: str = "",  # noqa: A002  the name of the field
) -> Response:
    """Send a message, or ask with blocks alone; a message of the journal is answered from there."""
    log = session.log
    messages, number = log.state.messages, session.next_message
    if id:
        number = _number_of(messages, id)
    fingerprint = session.window.fingerprint(log.stage, text, blocks)
    if number < len(messages):
        message = messages[number]
        # An id names its message whatever its text is now.
        is_same = bool(id) or message.data["fingerprint"] == fingerprint
        if is_same and _is_current(log.stage, message):
            session.next_message = number + 1
            return await answer_again(session, number)
        if log.stage.is_kept:
            raise _other_message(log, number, message.text, text)
        await log.append("reset", {"to": number, "turns": message.first_turn})
    await act_on_answers(session)
    event: dict[str, Json] = {"text": text, "fingerprint": fingerprint}
    if id:
        event["id"] = id
    try:
        fields, blobs = await _attachments(session, text, blocks)
        await log.append("user_message", event | fields, blobs)
    finally:
        # The message of a cancelled task may be in the journal all the same.
        if len(messages) > number:
            session.next_message = number + 1
    return await answer_last(session)


async def act_on_answers(session: AgentSession) -> None:
    """Act on what a person answered about calls of the last message, before another one follows.

    A call that the person declined has its result from then on. One that nobody has answered about
    is given up.

    Raises:
        RunError: the next message would prevent a call that a person wants to be made, or keep a
            sub-agent from the answer.
    """
    log = session.log
    message = log.state.open_message
    # A program may follow a message that it stopped itself. However else the last try ended, an
    # answer is used up only when its call begins.
    ending = message.error[0] if message is not None and message.error else ""
    if message is None or ending == asyncio.CancelledError.__name__:
        return
    for place, call, answer in list(log.stage.tools.answers(log.key)):
        # A sub-agent has to go on itself with what it was told.
        if answer.text in ("approve", "redo") or place.key != log.key:
            person = answer.by or A_PERSON
            problem = f"{person} said {answer.text!r} to a call of {call.name}"
            problem += ", and nothing has come of it yet"
            hint = "call resume() first, and send the message after that"
            raise RunError(problem, place=log.id, hint=hint)
        await ToolTurn(session).answer_declined(place.call, answer)
    pending = log.state.pending
    has_open_calls = pending is None or len(log.state.results) < len(pending.calls)
    if has_open_calls and ending == Paused.__name__:
        line = "%s: a call waited for a person; a new message takes its place, so it is not made"
        _log.warning(line, log.id)


def _number_of(messages: Sequence[ProgramMessage], id: str) -> int:  # noqa: A002  as above
    """Return the number of the message with an id, or the number of a new one."""
    for number, message in enumerate(messages):
        if message.data.get("id") == id:
            return number
    return len(messages)


def _other_message(
    log: ConversationLog, number: int, earlier: str | None, text: str | None
) -> RunError:
    """Return the error of another text at the position of a kept message."""
    problem = (
        f'message {number + 1} was "{(earlier or "")[:_LONGEST_QUOTE]}" and is'
        f' "{(text or "")[:_LONGEST_QUOTE]}" now'
    )
    if log.state.egress != "any":
        problem = f"message {number + 1} is another one now"  # an error may leave the machine
    return RunError(problem, place=log.id, hint="begin with resume(), or give messages ids")


def _is_current(stage: Stage, message: ProgramMessage) -> bool:
    """Return whether an answer rests on today's sources; in a kept conversation it always does."""
    if stage.is_kept:
        return True
    for record in message.replies.values():
        reply = record["reply"]
        sources = [AnsweredFrom(**source) for source in reply["answered_from"]]
        if not stage.host.chain.is_current(reply["by"], sources):
            return False
    return True


async def _attachments(
    session: AgentSession, text: str | None, blocks: Sequence[Block]
) -> tuple[dict[str, Json], list[bytes]]:
    """Return the rest of a message's event: its blocks, those recalled for it, its egress; and the
    blobs that it names.
    """
    window = session.window
    recalled: tuple[Block, ...] = ()
    if session.sources:
        recalled = await _recall(session, text or "")
    # A message that can never fit is refused before it is journaled.
    if text is not None:
        all_blocks = (*window.always, *blocks, *recalled)
        correction = session.index.correction()
        check_message(window.role, all_blocks, text, budget=window.budget, tokens=correction)
    fields: dict[str, Json] = {}
    blobs: list[bytes] = []
    last_blocks: dict[str, Sequence[Block]] = {}
    if egress_in_calls() != "any":
        fields["egress"] = "local"
    for name, attached in (("blocks", blocks), ("recalled", recalled)):
        if attached:
            text_of_blocks = compact_json([block.to_json() for block in attached])
            data = text_of_blocks.encode("utf-8", "surrogatepass")
            blobs.append(data)
            fields[name] = sha = digest(data)
            last_blocks[sha] = attached
    session.log.remember_blocks(last_blocks)
    if media := [block.media for block in (*blocks, *recalled) if block.media is not None]:
        # By their digests: the same image is kept once, however often it is sent.
        fields["media"] = [digest(image.data) for image in media]
        blobs += [image.data for image in media]
    return fields, blobs


async def _recall(session: AgentSession, query: str) -> tuple[Block, ...]:
    """Return what the agent's sources have on a message, within the window's share for advice."""
    log, window = session.log, session.window
    correction = session.index.correction()
    tokens = window.budget.limits(window.role.settings.max_tokens)["playbook"]
    recalled: list[Block] = []
    attributes = of_conversation(log.stage.place, log.id)
    with log.host.telemetry.span(f"recall {log.id}", **attributes):
        for number, source in enumerate(session.sources):
            # What a source does not use is shared by the sources after it.
            share = max(0, tokens) // (len(session.sources) - number)
            blocks: Sequence[Any] = await source.blocks(query, share)
            for block in blocks:
                tokens -= correction.count(block.text)
                recalled.append(block)
    return tuple(recalled)


async def answer_again(session: AgentSession, number: int) -> Response:
    """Return the response to a message of the journal; the last one is gone on with if it has no
    answer.
    """
    log = session.log
    message = log.state.messages[number]
    # Later calls of this attempt ask the provider that answered then.
    for record in message.replies.values():
        log.stage.pin(session.window.role.name, record["reply"]["by"])
    session.replay(number)
    if message.answer is not None:
        tell_again(session, number)
        return _response_to(session, message, message.answer)
    if number < len(log.state.messages) - 1:
        error, reason = message.error or ("it was stopped", "")
        raise Unanswered(f"{error}: {reason}" if reason else error, place=log.id)
    tell_again(session, number)
    return await answer_last(session)


async def answer_last(session: AgentSession) -> Response:
    """Have the last message answered.

    A cap that is reached ends the response, unless the session raises caps as errors.
    """
    log, parent = session.log, session.parent
    state, host = log.state, log.host
    # A sub-conversation has no more time than the message of its parent.
    session.deadline = session.meter.deadline(parent.deadline if parent else None)
    session.replay(len(state.messages) - 1)
    try:
        if session.raises_caps:
            return _response_to(session, state.messages[-1], await run_message(session))
        role = session.window.role.name
        attributes = of_agent(role, log.stage.place, log.id)
        with host.telemetry.span(f"invoke_agent {role}", **attributes) as span:
            span.set(keys.MESSAGES, len(state.turns))
            # A program sees a cap as the end of a response, since it may raise the budget and
            # resume. Errors of every other kind are raised.
            cap: Any = ""
            try:
                reply = await run_message(session)
            except (CapReached, OutOfTurns) as error:
                cap = error.cap if isinstance(error, CapReached) else "turns"
                _note_failure(log, error)
                span.set(keys.CAP, cap)
                reply = state.pending or Reply(())
            return _response_to(session, state.messages[-1], reply, cap=cap)
    except BaseException as error:
        _note_failure(log, error)
        raise
    finally:
        session.deadline = None
        # Results and failures that nobody waited for are in the journal when the program goes on.
        await host.settle()


def _note_failure(log: ConversationLog, error: BaseException) -> None:
    """Journal what ended the last message, for the next time that the program runs."""
    message = log.state.open_message
    if message is None or isinstance(error, StoreError):
        return
    if isinstance(error, Paused):
        reason = error.reason
    elif isinstance(error, TransomError):
        reason = error.problem
    elif isinstance(error, asyncio.CancelledError):
        reason = ""
    else:
        return
    if log.state.egress != "any":
        reason = ""  # it may quote local text
    failure = (type(error).__name__, reason)
    if message.error != failure:
        record = {**log.key._asdict(), "error": failure[0], "what": failure[1]}
        log.host.append_soon("message_failed", record)


def _response_to(
    session: AgentSession, message: ProgramMessage, reply: Reply, *, cap: Ended | None = None
) -> Response:
    """Return the response to a message.

    Args:
        session: the conversation.
        message: the message.
        reply: its answer, or the last reply before a cap.
        cap: the cap that ended it.
    """
    state = session.log.state
    is_live = session.last_request is not None and session.last_request[0] is message
    ended: Any = reply.stop
    if cap:
        ended = cap
    elif reply.stop in ("end", "tool_calls", "pause"):
        ended = "answered"
    # Credit for what was recalled is given later, when the agent may be closed: the request is
    # looked up now then.
    request: Request | None = None
    if is_live or "recalled" in message.data:
        request = last_request(session, message)
    # Of a message of the journal: the conversation as it was with its answer.
    turns, usage, replies = state.turns, state.spent.usage, None
    if message.answer is not None:
        turns, usage, replies = turns[: message.end], message.usage, message.spent
    return Response(
        reply.text,
        ended,
        usage,
        session.meter.usd(session.log.account, state.spent, replies),
        tuple(turns),
        session.window.role.output,
        lambda: request or last_request(session, message),
    )


def last_request(session: AgentSession, message: ProgramMessage) -> Request | None:
    """Return the last request of a message, or None if no model was asked."""
    if session.last_request and session.last_request[0] is message:
        return session.last_request[1]
    if not message.replies:
        return None
    # The request is rebuilt from the blobs and turns that the journal names.
    record = message.replies[max(message.replies)]
    log = session.log
    request = request_from_json(request_of(log.host.store, record["window"], log.state))
    shares = []
    for name, (used_tokens, limit) in record["shares"].items():
        shares.append(Share(name, used_tokens, limit))
    egress = record["reply"].get("egress", "any")
    return replace(request, window=replace(request.window, shares=tuple(shares), egress=egress))


async def keep_answer(session: AgentSession) -> None:
    """Have the sources that keep answers keep the last one.

    This is done for answers of the journal, too, since a kill may have come in between. Each answer
    has the same place whenever the program runs again, so nothing is kept twice.
    """
    log, number = session.log, session.next_message - 1
    message = log.state.messages[number]
    if message.answer is None or not message.answer.text.strip():
        return
    sources = []
    for turn in log.state.turns[message.first_turn : message.end]:
        if isinstance(turn, AssistantMessage):
            for call in turn.calls:
                sources.append(f"{call.name} {compact_json(call.arguments)}"[:_LONGEST_SOURCE])
    place = f"{log.stage.place}/{log.id} message {number + 1}"
    for source in session.sources:
        if isinstance(source, KeepsAnswers):
            with log.host.telemetry.span("keep answer", **of_conversation(log.stage.place, log.id)):
                await source.keep(
                    place, message.answer.text, sources=sources, egress=log.state.egress
                )
