"""What a program says in a conversation, and of it: journaled, and held to what was said there before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from transom.agent.given import given_message
from transom.agent.left import left_from_json, left_then, left_to_json
from transom.agent.turns import Conversation
from transom.canonical import Json, digest
from transom.context import Mark, check_message
from transom.errors import InputError, RunError
from transom.llm import Block, UserMessage
from transom.runs.tool_call import egress_in_calls

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
        ours: whether it is the runtime's own words, whoever has it said.
    """

    number: int
    text: str
    blocks: tuple[Block, ...] = ()
    said: bool = False
    kept_by: BaseException | None = None
    said_by: Message | None = None
    tries: list[Message] = field(default_factory=list)
    ours: bool = False


async def say(talk: Conversation, message: Message, *, beside: Sequence[Block] = ()) -> None:
    """Journal what somebody says, and say it. Whatever was called for before has an answer then.

    Args:
        talk: where it is said.
        message: what is said.
        beside: what every message is answered from.

    Raises:
        InputError: it is no text, or a blank one.
        WindowOverflow, VisibilityError: it could never be answered, and is not said; see `check_message`.
        RunError: in a conversation that lasts something else was said at this place, or with other blocks; or it is
            completed.
        Exception: what kept it from being said in as many tries, when the code ran before.
    """
    told = as_told(message, talk.name)
    content = str(told["text"])
    if message.tries:
        told["tried"] = [left_to_json(one.kept_by) for one in message.tries if one.kept_by]
    if talk.left_by:
        told["after"] = left_to_json(talk.left_by)
    held = talk.stage.told_next(talk.name)
    if held and is_same(held, told):
        if left_then(talk.stage.told(talk.name)[1:]):
            _end_as_tried(talk, message, held)
        told = held  # whatever left the message before it today, and as local as it was then
    if held not in (None, told):
        _say_other(talk, held)
    if held != told:  # what is in the journal is there
        check_message(talk.role, (*beside, *message.blocks), content, budget=talk.window, tokens=talk.tokens)
    await talk.give_up()
    try:
        await talk.stage.tell(talk.name, told)
    except asyncio.CancelledError:  # which comes when it is written
        _take(talk, message, told)
        raise
    _take(talk, message, told)
    talk.left_then = left_then(talk.stage.told(talk.name))


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


def _take(talk: Conversation, message: Message, told: dict[str, Json]) -> None:
    """It is said."""
    message.said = True
    talk.ask_for(UserMessage(str(told["text"]), "local" if told.get("egress") else "any"))


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


def _say_other(talk: Conversation, held: Any) -> None:
    """Something is said in the place of what was said there when the code ran before.

    Raises:
        RunError: in a conversation that lasts what was said stays said.
    """
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


def is_same(held: Any, told: dict[str, Json]) -> bool:
    """Whether that was said here before."""
    aside: dict[str, Json] = {"after": None, "tried": None, "egress": None}
    return {**held, **aside} == {**told, **aside}


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
