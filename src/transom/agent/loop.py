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
from transom.context.oversized import KeepsAnswers
from transom.context.window import with_shares
from transom.errors import (
    CapReached,
    InputError,
    OutOfTurns,
    Paused,
    ProviderError,
    ReplyError,
    RunError,
    StoreError,
    TransomError,
    Unanswered,
)
from transom.llm import AnsweredFrom, AssistantMessage, Block, Reply, Request, Share, Window
from transom.llm.answering import CUT_OFF, GO_ON, VOID
from transom.llm.codec import request_from_json
from transom.llm.deltas import Again, Delta
from transom.llm.structured import Complaint, complaints, repair_text
from transom.llm.unquoted import unquote
from transom.runs.conversation import Conversation, Message
from transom.runs.observe import of_agent, of_conversation, tell_unread
from transom.runs.tool_call import egress_in_calls
from transom.runs.windows import request_of
from transom.telemetry import keys

_log = logging.getLogger(__name__)
_MOST_PAUSES = 10
_LONGEST_SOURCE = 200  # characters of a call, as a kept answer names it
_IN_VAIN = "the answer does not follow its schema, nor does its repair"


async def run_message(talk: Session) -> Reply:
    """Answer the last message: go on from wherever its events end.

    Raises:
        OutOfTurns: the role calls tools although it was told that its turns are used up.
        CapReached: the budget is used up.
        ReplyError: an answer does not follow the role's schema, and its repair does not either.
        VisibilityError, WindowOverflow, EgressError, ProviderError, Paused: see `context.go_on` and `Stage.ask`.
    """
    while True:
        state = talk.state
        if state.pending is None:
            if note := follow_up(talk, state):
                await talk.append("user_message", note)
            await ask(talk)
            state = talk.state
            if (answer := state.messages[-1].answer) is not None:
                return answer
            if state.pending is None:  # it paused, or does not follow its schema
                continue
        if state.rounds > talk.toolbox.max_turns:
            turns = (*state.turns, AssistantMessage(state.pending.parts))
            what = f"it calls tools after its {talk.toolbox.max_turns} turns are used up"
            raise OutOfTurns(what, turns=turns, text=state.pending.text, where=talk.role.name)
        await run_pending(talk)
        talk.check_listener()


def follow_up(talk: Session, state: Conversation) -> dict[str, Json] | None:
    """What a model is told whose last answer does not follow its schema; None where nothing is to be said."""
    last = state.turns[-1] if state.turns else None
    if state.messages[-1].bad_from is None or not isinstance(last, AssistantMessage):
        return None
    wrong = complaints(Reply(last.parts), talk.check) if talk.check else []
    return {"text": repair_text(wrong)}


# -- one request ------------------------------------------------------------------------------------------------------


async def ask(talk: Session) -> None:
    """Ask once; the reply is in the journal when this is over.

    Raises:
        See `run_message`.
    """
    seconds = talk.meter.left(talk.spent, talk.deadline)
    state, stage = talk.state, talk.stage
    message = state.messages[-1]
    blocks = await talk.blocks_of(message)
    assembled = assemble_window(talk, state, blocks)
    request = assembled.request
    if state.partial:
        said = (AssistantMessage(state.partial.reply.parts),) if state.partial.reply.parts else ()
        turns = (*request.window.turns, *said, *((GO_ON,) if state.partial.silent else ()))
        request = replace(request, window=replace(request.window, turns=turns))
        request = with_shares(request, talk.role, budget=talk.window, tokens=talk.correction)
    if talk.half:  # an error, a stop or a cap cut it off
        hear_piece(talk, CUT_OFF)
    try:
        reply, stop = await stage.ask(
            request,
            talk.role,
            conversation=talk.id,
            judge=lambda reply: status_of(talk, state, reply),
            on_delta=lambda piece: hear_piece(talk, piece),
            seconds=seconds,
            size=None if state.partial else assembled.size,
        )
    except TimeoutError as error:
        raise error if isinstance(error, Unanswered) else talk.meter.late() from error
    state = talk.state
    message = state.messages[-1]
    talk.half, talk.asked = False, (message, request)
    if assembled.folded:
        talk.large.offer_reading(talk)
    status = message.replies[state.replies - 1].get("status")
    if status == "repair":
        hear_piece(talk, VOID)
        talk.half = False
    talk.hear(ReplyReceived(talk.id, reply))
    if stop:
        raise stop
    talk.check_listener()
    if status == "failed":
        raise failure(talk, request, reply)


def hear_piece(talk: Session, piece: Delta) -> None:
    """A piece of a reply comes."""
    talk.half = not isinstance(piece, Again)
    talk.hear(ReplyDelta(talk.id, piece))


def assemble_window(talk: Session, state: Conversation, blocks: tuple[Block, ...]) -> Assembled:
    """The next request; what was said, given or found that is local makes all of it local."""
    began = time.time_ns()
    history = talk.history.of(state)
    frame = talk.frame(blocks)
    made = go_on(talk.role, blocks, history, budget=talk.window, tokens=talk.correction, frame=frame)
    talk.history.history = made.history
    if made.folded:
        _tell_folded(talk, made, began)
    window, policy = made.request.window, talk.stage.host.chain.policy
    if state.egress == "any" and not [block for block in window.blocks if policy.is_local(block)]:
        return made
    return replace(made, request=replace(made.request, window=replace(window, egress="local")))


def _tell_folded(talk: Session, made: Assembled, began: int) -> None:
    before, after = made.tokens_before, made.tokens
    attributes = {
        keys.OPERATION: keys.COMPACT,
        keys.FOLDED: made.folded,
        keys.TOKENS_BEFORE: before,
        keys.TOKENS_AFTER: after,
        keys.COMPRESSION_RATIO: after / before if before else 1.0,
        **of_conversation(talk.stage.place, talk.id),
    }
    with talk.stage.host.telemetry.span(f"compact {talk.id}", **attributes) as span:
        span.began(began)
        what = "conversation %s: %d events folded, %d tokens became %d"
        _log.info(what, talk.id, made.folded, before, after)


def status_of(talk: Session, state: Conversation, reply: Reply) -> str:
    """How an answer stands after a reply: "" where it is whole, else `pause`, `repair` or `failed`."""
    before = state.partial
    if talk.check is None and reply.stop != "pause":
        return ""
    whole = replace(reply, parts=(*before.reply.parts, *reply.parts)) if before else reply
    if whole.stop == "pause" and not whole.calls:
        if not (before and before.urged and not reply.parts):
            return "pause" if (before.pauses if before else 0) < _MOST_PAUSES else "failed"
        whole = replace(whole, stop="end")
    try:
        wrong = complaints(whole, talk.check) if talk.check else []
    except InputError:
        return "failed"
    return "" if not wrong else "repair" if state.messages[-1].bad_from is None else "failed"


def failure(talk: Session, request: Request, reply: Reply) -> TransomError:
    """Why an answer came to nothing."""
    error: TransomError
    if reply.stop == "pause":
        hint = "ask for less at once, or choose another model"
        error = ProviderError(f"it paused {_MOST_PAUSES + 1} times and came to no end", where=reply.by, hint=hint)
    else:
        try:
            wrong = complaints(reply, talk.check) if talk.check else []
        except InputError as found:
            return found
        first = wrong[0] if wrong else Complaint("it is not whole", "it is not whole")
        what, bare = f"{_IN_VAIN}: {first.text}", f"{_IN_VAIN}: {first.bare}"
        error = ReplyError(what, where=talk.role.name, bare=bare)
        tell_unread(request, error, talk.stage.host.chain, 2)
    unquote(error, request, talk.stage.host.chain.policy)
    return error


# -- messages ---------------------------------------------------------------------------------------------------------


async def say(talk: Session, text: str | None, blocks: Sequence[Block] = (), *, id: str = "") -> Response:  # noqa: A002
    """Say something; what stands in the journal is answered from it, and nobody is asked.

    Args:
        talk: where.
        text: what is said; None for a call that has blocks alone.
        blocks: what it comes with.
        id: of the message; one that stands in the journal is answered from it wherever it is.

    Raises:
        InputError: no text, or a blank one; nothing was said.
        RunError: in a kept conversation something else stands in its place.
        Unanswered: it failed, and something else was said behind it.
        Exception: see `run_message`.
    """
    number = _place_of(talk, id)
    print_ = talk.fingerprint(text, blocks)
    if number < len(talk.state.messages):
        message = talk.state.messages[number]
        same = bool(id) or message.data["fingerprint"] == print_
        if same and _is_current(talk, message):
            talk.next = number + 1
            return await again(talk, number)
        if talk.stage.kept:
            before, now = message.text or "", text or ""
            what = f'message {number + 1} was "{before[:80]}" and is "{now[:80]}" now'
            if message.data.get("egress", "any") != "any" or talk.state.egress != "any":
                what = f"message {number + 1} is another one now"
            raise RunError(what, where=talk.id, hint="begin with resume(), or give messages ids")
        await talk.append("reset", {"to": number, "turns": message.first_turn})
    await begin(talk, text, blocks, print_, number, id)
    return await answer(talk)


def _place_of(talk: Session, id: str) -> int:  # noqa: A002  the program's word
    """Which message of the conversation it is."""
    if not id:
        return talk.next
    known = [number for number, message in enumerate(talk.state.messages) if message.data.get("id") == id]
    return known[0] if known else len(talk.state.messages)


def _is_current(talk: Session, message: Message) -> bool:
    """Whether an answer rests on what there is today; in a kept conversation what was said stays said."""
    if talk.stage.kept:
        return True
    chain = talk.stage.host.chain
    replies = [data["reply"] for data in message.replies.values()]
    return all(
        chain.is_current(reply["by"], [AnsweredFrom(**source) for source in reply["answered_from"]])
        for reply in replies
    )


async def begin(
    talk: Session,
    text: str | None,
    blocks: Sequence[Block],
    fingerprint: str,
    number: int,
    id: str,  # noqa: A002
) -> None:
    """Journal a message with what it came with and what is recalled for it."""
    store, told = talk.stage.host.store, dict[str, Json]()
    recalled = await recall(talk, text or "") if talk.sources else ()
    if text is not None:
        window = (*talk.always, *blocks, *recalled)
        check_message(talk.role, window, text, budget=talk.window, tokens=talk.correction)
    for name, given in (("blocks", blocks), ("recalled", recalled)):
        if given:
            told[name] = await store.put_blob(
                compact_json([one.to_json() for one in given]).encode("utf-8", "surrogatepass")
            )
    if id:
        told["id"] = id
    if egress_in_calls() != "any":
        told["egress"] = "local"
    talk.given = (*talk.given, *[one for one in (*blocks, *recalled) if one not in talk.given])
    try:
        await talk.append("user_message", {"text": text, "fingerprint": fingerprint, **told})
    finally:
        if len(talk.state.messages) > number:  # who is cancelled meanwhile may have said it
            talk.next = number + 1


async def recall(talk: Session, query: str) -> tuple[Block, ...]:
    """What the sources of an agent have on a message, within the window's share for advice."""
    room = talk.window.limits(talk.role.settings.max_tokens)["playbook"]
    found: list[Block] = []
    with talk.stage.host.telemetry.span(f"recall {talk.id}", **of_conversation(talk.stage.place, talk.id)):
        for number, source in enumerate(talk.sources):
            left = room - sum(talk.correction.count(block.text) for block in found)
            given: Sequence[Any] = await source.blocks(query, max(0, left) // (len(talk.sources) - number))
            found += given
    return tuple(found)


async def keep_answer(talk: Session) -> None:
    """Have the sources that keep answers keep the last one; from the journal too, since a kill may have come between.

    The place is the same whenever the program runs again, so nothing is kept twice.
    """
    number, state = talk.next - 1, talk.state
    message = state.messages[number]
    if message.answer is None or not message.answer.text.strip():
        return
    turns = state.turns[message.first_turn : message.end]
    calls = [call for turn in turns if isinstance(turn, AssistantMessage) for call in turn.calls]
    sources = [f"{call.name} {compact_json(call.arguments)}"[:_LONGEST_SOURCE] for call in calls]
    for source in talk.sources:
        if isinstance(source, KeepsAnswers):
            place = f"{talk.stage.place}/{talk.id} message {number + 1}"
            await source.keep(place, message.answer.text, sources=sources, egress=state.egress)


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


async def again(talk: Session, number: int) -> Response:
    """The answer to a message of the journal; the last one is gone on with where it has none.

    Raises:
        Unanswered: it failed, and something else was said behind it.
    """
    state = talk.state
    message = state.messages[number]
    for data in message.replies.values():
        talk.stage.pin(talk.role.name, data["reply"]["by"])
    talk.take_in(number)
    if message.answer is None:
        if number < len(state.messages) - 1:
            error, what = message.error or ("it was stopped", "")
            raise Unanswered(f"{error}: {what}" if what else error, where=talk.id)
        return await answer(talk)
    return told(talk, message, message.answer)


async def answer(talk: Session) -> Response:
    """Have the last message answered. A cap that is reached is no error: the response names it.

    Raises:
        See `run_message`; `CapReached` and `OutOfTurns` only where the session says so.
    """
    talk.deadline = talk.meter.deadline(talk.parent.deadline if talk.parent else None)
    talk.take_in(len(talk.state.messages) - 1)
    try:
        if talk.raises:
            reply = await run_message(talk)
            return told(talk, talk.state.messages[-1], reply)
        attributes = of_agent(talk.role.name, talk.stage.place, talk.id)
        with talk.stage.host.telemetry.span(f"invoke_agent {talk.role.name}", **attributes) as span:
            span.set(keys.MESSAGES, len(talk.state.turns))
            try:
                reply = await run_message(talk)
                return told(talk, talk.state.messages[-1], reply)
            except (CapReached, OutOfTurns) as error:
                cap = error.cap if isinstance(error, CapReached) else "turns"
                note_failure(talk, error)
                span.set(keys.CAP, cap)
                return told(talk, talk.state.messages[-1], talk.state.pending or Reply(()), ended=cap)
    except BaseException as error:
        note_failure(talk, error)
        raise
    finally:
        talk.deadline = None
        await talk.stage.host.settle()


def note_failure(talk: Session, error: BaseException) -> None:
    """Journal what ended the last message, for whoever runs the program again."""
    message = talk.state.open_message
    if message is None or isinstance(error, StoreError | KeyboardInterrupt | GeneratorExit | SystemExit):
        return
    what = error.what if isinstance(error, TransomError) and talk.state.egress == "any" else ""
    if isinstance(error, Paused):
        what = error.reason if talk.state.egress == "any" else ""
    found = (type(error).__name__, what)
    if message.error != found and isinstance(error, TransomError | asyncio.CancelledError):
        talk.stage.append_soon("message_failed", talk.id, {"error": found[0], "what": found[1]})


def told(talk: Session, message: Message, reply: Reply, *, ended: Any = "") -> Response:
    """What a program is told of a message."""
    state, spent = talk.state, talk.spent
    whole = message.answer is not None
    known = talk.asked[1].window if talk.asked and talk.asked[0] is message else None
    if known is None and "recalled" in message.data:  # credit is given when the agent may be closed
        known = window_of(talk, message)
    how: Any = ended or ("answered" if reply.stop in ("end", "tool_calls") else reply.stop)
    return Response(
        reply.text,
        how,
        message.usage if whole else spent.usage,
        talk.meter.usd(spent, message.spent if whole else None),
        tuple(state.turns[: message.end] if whole else state.turns),
        talk.role.output,
        (lambda: known) if known else (lambda: window_of(talk, message)),
    )


def window_of(talk: Session, message: Message) -> Window | None:
    """What the last call of a message saw; None where there was none."""
    request = request_asked(talk, message)
    return request.window if request else None


def request_asked(talk: Session, message: Message) -> Request | None:
    """The last request of a message; None where there was none."""
    if talk.asked and talk.asked[0] is message:
        return talk.asked[1]
    if not message.replies:
        return None
    data = message.replies[max(message.replies)]
    found = request_from_json(request_of(talk.stage.host.store, data["window"], talk.state))
    shares = tuple(Share(name, used, limit) for name, (used, limit) in data["shares"].items())
    return replace(found, window=replace(found.window, shares=shares, egress=data["reply"].get("egress", "any")))
