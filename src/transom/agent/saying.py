"""What a program says in a conversation, and of it: journaled, and held to what was said there before."""

from __future__ import annotations

from collections.abc import Sequence

from transom.agent.turns import Conversation
from transom.canonical import Json, digest
from transom.context import Mark, check_message
from transom.errors import RunError
from transom.llm import Asked, Block

_OTHER = {
    "opened": "a sub-conversation was opened",
    "found": "what came of a sub-conversation",
}
COMPLETED = "it is completed, and nothing more is said in it"


async def say(talk: Conversation, content: str, blocks: Sequence[Block], *, beside: Sequence[Block] = ()) -> None:
    """Journal what somebody says, and say it. Whatever was called for before has an answer then.

    Args:
        talk: where it is said.
        content: what is said.
        blocks: what it comes with.
        beside: what every message is answered from.

    Raises:
        WindowOverflow, VisibilityError: it could never be answered, and is not said; see `check_message`.
        RunError: in a conversation that lasts something else was said at this place, or with other blocks; or it is
            completed.
    """
    told: dict[str, Json] = {"event": "asked", "text": content}
    if blocks:
        told["blocks"] = digest([block.to_json() for block in blocks])
    held = talk.stage.told_next(talk.name)
    if talk.lasting and held and held["event"] == "completed":
        hint = "complete_sub_conversation hands back its summary; code that runs again sends the same again instead"
        raise RunError(COMPLETED, where=talk.name, hint=hint)
    if talk.lasting and held not in (None, told):
        # A finding is not quoted: it may be local, and an error is told everywhere.
        before = _OTHER.get(held["event"]) or repr(held["text"][:80])
        what = f"something else was said here before: {before}"
        hint = "begin with resume() to go on from the end, or give the conversation another name"
        raise RunError(what, where=talk.name, hint=hint)
    if held != told:  # what is in the journal is there
        check_message(talk.role, (*beside, *blocks), content, budget=talk.window, tokens=talk.tokens)
    await talk.give_up()
    await talk.stage.tell(talk.name, told)
    talk.ask_for(Asked(content))


async def mark_last(talk: Conversation, mark: Mark) -> None:
    """Take in what the program says of what was said last, unless it said so before.

    Raises:
        RunError: nothing was said yet.
    """
    event = talk.history.count
    if not event:
        raise RunError("nothing was said yet that could be marked", where=talk.name, hint="send a message first")
    marks = talk.marks.setdefault(event, [])
    if mark in marks:
        return
    marks.append(mark)
    talk.history = talk.history.add(mark=mark)
    if talk.lasting:
        await talk.stage.keep_mark(talk.name, event, mark.to_json())
