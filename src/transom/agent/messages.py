"""One message of a program: said once, found again in the journal, and answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transom.agent.loop import run_message
from transom.agent.models import Response
from transom.agent.session import Session
from transom.canonical import Json, compact_json, whole_text
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
from transom.runs.conversation import Message
from transom.runs.observe import of_agent, of_conversation
from transom.runs.tool_calls import egress_in_calls
from transom.runs.windows import request_of
from transom.telemetry import keys

_LONGEST_SOURCE = 200  # characters of a call, as a kept answer names it


def checked_text(content: str, where: str, blocks: Sequence[Block] = ()) -> str:
    """The text of a message, as a journal and a server can keep it; a blank one is refused, as
    servers do it.
    """
    for one in blocks:
        check_kind(one, Block, "a block of a message", where)
    check_kind(content, str, "a message", where, "say it in text; data goes into a Block")
    if not content.strip():
        raise InputError(
            "the message is blank", where=where, hint="say what is to be done, also of blocks"
        )
    return whole_text(content)


async def say(
    session: Session,
    text: str | None,
    blocks: Sequence[Block] = (),
    *,
    id: str = "",  # noqa: A002  the name of the field
) -> Response:
    """Say something, or ask with blocks alone; what stands in the journal is answered from it,
    and nobody is asked.
    """
    messages, number = session.state.messages, session.next
    if id:
        known = [at for at, message in enumerate(messages) if message.data.get("id") == id]
        number = known[0] if known else len(messages)
    fingerprint = session.fingerprint(text, blocks)
    if number < len(messages):
        message = messages[number]
        same = bool(id) or message.data["fingerprint"] == fingerprint
        if same and _is_current(session, message):
            session.next = number + 1
            return await again(session, number)
        if session.stage.kept:
            what = (
                f'message {number + 1} was "{(message.text or "")[:80]}" and is'
                f' "{(text or "")[:80]}" now'
            )
            if session.state.egress != "any":
                what = f"message {number + 1} is another one now"
            raise RunError(what, where=session.id, hint="begin with resume(), or give messages ids")
        await session.append("reset", {"to": number, "turns": message.first_turn})
    told: dict[str, Json] = {"text": text, "fingerprint": fingerprint, **({"id": id} if id else {})}
    try:
        await session.append("user_message", told | await _comes_with(session, text, blocks))
    finally:
        if len(session.state.messages) > number:  # who is cancelled meanwhile may have said it
            session.next = number + 1
    return await answer(session)


def _is_current(session: Session, message: Message) -> bool:
    """True where an answer rests on what there is today; in a kept conversation what was said
    stays said.
    """
    chain = session.stage.host.chain
    replies = [] if session.stage.kept else [data["reply"] for data in message.replies.values()]
    return all(
        chain.is_current(reply["by"], [AnsweredFrom(**source) for source in reply["answered_from"]])
        for reply in replies
    )


async def _comes_with(
    session: Session, text: str | None, blocks: Sequence[Block]
) -> dict[str, Json]:
    """The rest of the event of a message: its blocks, those recalled for it, its egress."""
    recalled = await _recall(session, text or "") if session.sources else ()
    if text is not None:
        window = (*session.always, *blocks, *recalled)
        check_message(session.role, window, text, budget=session.window, tokens=session.correction)
    told: dict[str, Json] = {"egress": "local"} if egress_in_calls() != "any" else {}
    for name, given in (("blocks", blocks), ("recalled", recalled)):
        if given:
            data = compact_json([one.to_json() for one in given]).encode("utf-8", "surrogatepass")
            told[name] = await session.stage.host.store.put_blob(data)
    return told


async def _recall(session: Session, query: str) -> tuple[Block, ...]:
    """The blocks of an agent's sources on a message, within the window's share for advice."""
    room = session.window.limits(session.role.settings.max_tokens)["playbook"]
    found: list[Block] = []
    with session.stage.host.telemetry.span(
        f"recall {session.id}", **of_conversation(session.stage.place, session.id)
    ):
        for number, source in enumerate(session.sources):
            left = room - sum(session.correction.count(block.text) for block in found)
            given: Sequence[Any] = await source.blocks(
                query, max(0, left) // (len(session.sources) - number)
            )
            found += given
    return tuple(found)


async def again(session: Session, number: int) -> Response:
    """The answer to a message of the journal; the last one is gone on with where it has none."""
    state = session.state
    message = state.messages[number]
    for data in message.replies.values():
        session.stage.pin(session.role.name, data["reply"]["by"])
    session.take_in(number)
    if message.answer is not None:
        return _response_to(session, message, message.answer)
    if number < len(state.messages) - 1:
        error, what = message.error or ("it was stopped", "")
        raise Unanswered(f"{error}: {what}" if what else error, where=session.id)
    return await answer(session)


async def answer(session: Session) -> Response:
    """Have the last message answered. A cap that is reached is no error but where the session
    says so.
    """
    host = session.stage.host
    session.deadline = session.meter.deadline(session.parent.deadline if session.parent else None)
    session.take_in(len(session.state.messages) - 1)
    try:
        if session.raises:
            return _response_to(session, session.state.messages[-1], await run_message(session))
        attributes = of_agent(session.role.name, session.stage.place, session.id)
        with host.telemetry.span(f"invoke_agent {session.role.name}", **attributes) as span:
            span.set(keys.MESSAGES, len(session.state.turns))
            ended = ""
            try:
                reply = await run_message(session)
            except (CapReached, OutOfTurns) as error:
                ended = error.cap if isinstance(error, CapReached) else "turns"
                _note_failure(session, error)
                span.set(keys.CAP, ended)
                reply = session.state.pending or Reply(())
            return _response_to(session, session.state.messages[-1], reply, ended=ended)
    except BaseException as error:
        _note_failure(session, error)
        raise
    finally:
        session.deadline = None
        await host.settle()


def _note_failure(session: Session, error: BaseException) -> None:
    """Journal what ended the last message, for whoever runs the program again."""
    message = session.state.open_message
    if (
        not isinstance(error, TransomError | asyncio.CancelledError)
        or isinstance(error, StoreError)
        or not message
    ):
        return
    what = (
        error.reason
        if isinstance(error, Paused)
        else error.what
        if isinstance(error, TransomError)
        else ""
    )
    found = (type(error).__name__, what if session.state.egress == "any" else "")
    if message.error != found:
        told = {**session.key._asdict(), "error": found[0], "what": found[1]}
        session.stage.host.append_soon("message_failed", told)


def _response_to(session: Session, message: Message, reply: Reply, *, ended: Any = "") -> Response:
    """The response to a message."""
    state, whole = session.state, message.answer is not None
    live = session.asked is not None and session.asked[0] is message
    how: Any = ended or ("answered" if reply.stop in ("end", "tool_calls", "pause") else reply.stop)
    # Credit is given when the agent may be closed.
    asked = request_asked(session, message) if live or "recalled" in message.data else None
    return Response(
        reply.text,
        how,
        message.usage if whole else state.spent.usage,
        session.meter.usd(session.account, state.spent, message.spent if whole else None),
        tuple(state.turns[: message.end] if whole else state.turns),
        session.role.output,
        lambda: asked or request_asked(session, message),
    )


def request_asked(session: Session, message: Message) -> Request | None:
    """The last request of a message; None where there was none."""
    if session.asked and session.asked[0] is message:
        return session.asked[1]
    if not message.replies:
        return None
    data = message.replies[max(message.replies)]
    found = request_from_json(request_of(session.stage.host.store, data["window"], session.state))
    shares = tuple(Share(name, used, limit) for name, (used, limit) in data["shares"].items())
    return replace(
        found,
        window=replace(found.window, shares=shares, egress=data["reply"].get("egress", "any")),
    )


async def keep_answer(session: Session) -> None:
    """Have the sources that keep answers keep the last one; from the journal too, since a kill may
    have come between.

    The place is the same whenever the program runs again, so nothing is kept twice.
    """
    number, state = session.next - 1, session.state
    message = state.messages[number]
    if message.answer is None or not message.answer.text.strip():
        return
    turns = state.turns[message.first_turn : message.end]
    calls = [call for turn in turns if isinstance(turn, AssistantMessage) for call in turn.calls]
    sources = [f"{call.name} {compact_json(call.arguments)}"[:_LONGEST_SOURCE] for call in calls]
    for source in session.sources:
        if isinstance(source, KeepsAnswers):
            place = f"{session.stage.place}/{session.id} message {number + 1}"
            await source.keep(place, message.answer.text, sources=sources, egress=state.egress)
