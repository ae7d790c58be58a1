"""What a program says in a conversation, and of it: journaled, and held to what was said there before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transom.agent.given import given_message
from transom.agent.left import left_from_json, left_then, left_to_json
from transom.agent.turns import Conversation
from transom.agent.views import Response
from transom.canonical import Json, digest
from transom.context import Mark, check_message
from transom.errors import InputError, RunError, Unanswered
from transom.llm import Block, UserMessage
from transom.runs.doubts import owner
from transom.runs.opened import Call, call_in, egress_in_calls

_OTHER = {
    "opened": "a sub-conversation was opened",
    "found": "what came of a sub-conversation",
}
COMPLETED = "it is completed, and nothing more is said in it"


@dataclass
class Message:
    """What a program says.

    Attributes:
        number: which of an agent's, from 1.
        text: what is said.
        blocks: what it comes with.
        said: whether it stands in the conversation.
        kept_by: what kept it from that.
        said_by: the same, said again.
        tries: those that this one says again, none of which was said.
        in_call: whether a tool's handler says it, and not the program.
        ours: whether it is the runtime's own words, whoever has it said.
    """

    number: int
    text: str
    blocks: tuple[Block, ...] = ()
    said: bool = False
    kept_by: BaseException | None = None
    said_by: Message | None = None
    tries: list[Message] = field(default_factory=list)
    in_call: bool = False
    ours: bool = False


async def say(talk: Conversation, message: Message, *, beside: Sequence[Block] = ()) -> Response | None:
    """Journal what somebody says, and say it. Whatever was called for before has an answer then.

    Args:
        talk: where it is said.
        message: what is said.
        beside: what every message is answered from.

    Returns:
        Its answer, where the handler of a tool says again what it said when its call was tried before.

    Raises:
        InputError: it is no text, or a blank one.
        WindowOverflow, VisibilityError: it could never be answered, and is not said; see `check_message`.
        RunError: in a conversation that lasts something else was said at this place, or with other blocks; or it is
            completed.
        Exception: what kept it from being said in as many tries, when the code ran before.
    """
    call = call_in(talk.stage) if message.in_call else None
    told = as_told(message, talk.name)
    if call and (before := talk.in_calls.before(talk.name, told, call, at_rest=talk.at_rest)):
        _count(talk, call)
        return before.answer(talk.turns)
    if not call and talk.in_calls.ahead:
        return _said_ahead(talk, message, told)
    mine, content = call is not None and _is_of(talk, call), str(told["text"])
    if call and not mine:
        told |= {"call": call.in_stage, **talk.in_calls.again(talk.name, call)}
    if message.tries:
        told["tried"] = [left_to_json(one.kept_by) for one in message.tries if one.kept_by]
    if talk.left_by:
        told["after"] = left_to_json(talk.left_by)
    held = talk.stage.told_next(talk.name)
    if held and is_same(held, told, mine=mine):
        if left_then(talk.stage.told(talk.name)[1:]):
            _end_as_tried(talk, message, held)
        told = held  # whatever left the message before it today, and as local as it was then
    if held not in (None, told):
        _say_other(talk, held, mine)
    if held != told:  # what is in the journal is there
        check_message(talk.role, (*beside, *message.blocks), content, budget=talk.window, tokens=talk.tokens)
    await talk.give_up()
    by = None if mine else call
    try:
        await talk.stage.tell(talk.name, told)
    except asyncio.CancelledError:  # which comes when it is written
        _take(talk, message, told, by)
        raise
    _take(talk, message, told, by)
    if talk.lasting or not by:  # in a stage a call that is tried again has it answered, whatever was said behind it
        talk.left_then = left_then(talk.stage.told(talk.name))
    return None


def as_told(message: Message, where: str) -> dict[str, Json]:
    """A message, as it is journaled.

    Raises:
        InputError: see `say`.
    """
    told: dict[str, Json] = {"event": "asked", "text": given_message(message.text, where, message.blocks)}
    if message.blocks:
        told["blocks"] = digest([block.to_json() for block in message.blocks])
    if not message.ours and egress_in_calls() != "any":
        told["egress"] = "local"
    return told


def _take(talk: Conversation, message: Message, told: dict[str, Json], by: Call | None) -> None:
    """It is said; `by`: the call that did not open the conversation."""
    message.said = True
    asked = UserMessage(str(told["text"]), "local" if told.get("egress") else "any")
    talk.ask_for(asked, told if by else {**told, "call": None}, message.blocks)
    if by:
        _count(talk, by)


def _count(talk: Conversation, call: Call) -> None:
    call.said[talk.name] = call.said.get(talk.name, 0) + 1


def _said_ahead(talk: Conversation, message: Message, told: Any) -> Response | None:
    """A program says what was said there before, and was gone through by a call that was tried again.

    Returns:
        Its answer; None where it waits for one still.

    Raises:
        TransomError: what it ended with instead.
    """
    said = talk.in_calls.ahead[0]
    if not said.says(told):
        _say_other(talk, said.told, mine=False)
    if said.left:
        _end_as_tried(talk, message, said.told)
    talk.in_calls.ahead.popleft()
    message.said = True
    if said.left:
        raise said.left
    if not said.is_answered and (said is not talk.in_calls.last or talk.at_rest):
        raise Unanswered(asyncio.CancelledError.__name__, where=talk.name)
    return said.answer(talk.turns)


def _end_as_tried(talk: Conversation, message: Message, held: Any) -> None:
    """End as it did then where a message was kept from being said in more tries than in this life.

    Only where it was left without an answer in the end: the program went on behind as many tries. Else it is answered
    at once, however often and by whom it was tried.
    """
    tried = held.get("tried", [])[len(message.tries) :]
    if tried and not message.kept_by:
        message.kept_by = error = left_from_json(tried[0], talk)
        raise error


def local_in_calls(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """What a message is gone on with; in a tool's handler it is as local as what that says."""
    if not blocks or egress_in_calls() == "any":
        return blocks
    return tuple([replace(block, egress="local") for block in blocks])


def _say_other(talk: Conversation, held: Any, mine: bool) -> None:
    """Something is said in the place of what was said there when the code ran before.

    Args:
        talk: where.
        held: what was said there.
        mine: whether the call says it that has the conversation now.

    Raises:
        RunError: in a conversation that lasts what was said stays said.
    """
    if mine:  # its handler need not say the same again: what followed is void, but it was done
        talk.stage.doubt(talk.name)
        return
    if not talk.lasting:
        return
    if held["event"] == "completed":
        hint = "complete_sub_conversation hands back its summary; code that runs again sends the same again instead"
        raise RunError(COMPLETED, where=talk.name, hint=hint)
    # A finding is not quoted: it may be local, and an error is told everywhere.
    before = _OTHER.get(held["event"]) or repr(held["text"][:80])
    what = f"something else was said here before: {before}"
    hint = "begin with resume() to go on from the end, or give the conversation another name"
    raise RunError(what, where=talk.name, hint=hint)


def is_same(held: Any, told: dict[str, Json], *, mine: bool = False) -> bool:
    """Whether that was said here before; `mine`: by the call that has the conversation now."""
    aside: dict[str, Json] = {"after": None, "tried": None, "egress": None, **({"call": None} if mine else {})}
    return {**held, **aside} == {**told, **aside}


def _is_of(talk: Conversation, call: Call) -> bool:
    """Whether it is what that call opened. A name of its own it may have from a call that failed: then it is taken."""
    stage = talk.stage
    of = owner(stage.host.state, (stage.name, stage.epoch, talk.name))
    if of not in (None, call.in_stage) and talk.name in call.named and not talk.turns:
        stage.take(talk.name, call.in_stage)
        return True
    return of == call.in_stage


async def mark_last(talk: Conversation, mark: Mark) -> None:
    """Take in what the program says of what was said last, unless it said so before.

    Raises:
        InputError: it is no mark.
        RunError: nothing was said yet.
    """
    given: object = mark
    if not isinstance(given, Mark):
        hint = "say agent.mark(Mark(...))"
        raise InputError(f"what is said of an event is a Mark, and this is {mark!r:.80}", where=talk.name, hint=hint)
    event = talk.history.count
    if not event:
        raise RunError("nothing was said yet that could be marked", where=talk.name, hint="send a message first")
    marks = talk.marks.setdefault(event, [])
    if mark in marks:
        return
    marks.append(mark)
    talk.history = talk.history.add(mark=mark)
    told = mark.to_json()
    if egress_in_calls() != "any":  # its words may be what a handler heard
        talk.egress = told["egress"] = "local"
    if talk.lasting:
        await talk.stage.keep_mark(talk.name, event, told)
