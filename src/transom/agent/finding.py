"""What comes of a sub-conversation: it begins, is summed up and is over in the journal, and its parent is told."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias, TypeVar

from transom.agent.events import Completed, Opened
from transom.agent.findings import found
from transom.agent.left import left_to_json
from transom.agent.turns import Conversation
from transom.agent.views import Response
from transom.canonical import Json
from transom.context.aside import aside
from transom.context.summary import Summary, extract, hold, said_in, seen_in, summarised, summary_room
from transom.errors import InputError, OutOfTurns, ProviderError, ReplyError, WindowOverflow
from transom.llm import Block, Turn, UserMessage
from transom.llm.turns import Egress, strictest
from transom.runs.spans import of_agent
from transom.telemetry import Span, keys

_log = logging.getLogger(__name__)

Send: TypeAlias = Callable[[str], Awaitable[Response]]
GoOn: TypeAlias = Callable[[], Awaitable[Response]]
Settle: TypeAlias = Callable[[], Awaitable[None]]
_Sub = TypeVar("_Sub")
_SUM_UP = "Now sum up what you found"
FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""What a sub-conversation may fail with; lines chosen by rule stand in the place of its answer then."""


def sub_span(talk: Conversation, does: str, role: str, name: str) -> Span:
    """What a program does with a sub-conversation, in which its requests and what is logged of it have their place.

    Args:
        talk: whose sub-conversation.
        does: `open` or `complete`.
        role: of the sub-conversation.
        name: its name.
    """
    attributes = {**of_agent(role, talk.stage.place, name), keys.OPERATION: keys.SUB_CONVERSATION}
    return talk.stage.host.telemetry.span(f"{does} sub_conversation {role}", **attributes)


async def open_sub(talk: Conversation, name: str, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins.

    Args:
        talk: which opens it.
        name: its name.
        purpose: what it is to find out.
        egress: how local what is that it is opened with, beside what opens it.
    """
    told: dict[str, Json] = {"event": "opened", "parent": talk.name, "purpose": purpose}
    if egress != "any":
        told["egress"] = egress
    await talk.stage.tell(name, told)
    _log.info("sub-conversation %s: opened by %s", name, talk.name)
    talk.hear(Opened(name, talk.name, purpose))


async def complete_sub(
    talk: Conversation,
    name: str,
    summary: Summary,
    egress: Egress,
    *,
    left: BaseException | None = None,
) -> None:
    """Journal what came of a sub-conversation, and how local it is; from then on it is archived.

    Args:
        talk: which opened it.
        name: the sub-conversation's.
        summary: what came of it.
        egress: how local that is.
        left: what left its last message without an answer; lines chosen by rule stand for that in later lives, too.
    """
    if completed(talk, name) and (talk.lasting or not talk.stage.told(name)):  # in an earlier life, or try
        return
    how = "summary" if summary.by == "model" else summary.by
    struck: list[Json] = [*summary.struck]
    told: dict[str, Json] = {"event": "completed", "summary": summary.text, "how": how, "struck": struck}
    if egress != "any":
        told["egress"] = egress
    if summary.by == "extract" and isinstance(left, ProviderError):
        told["after"] = left_to_json(left)
    await talk.stage.tell(name, told)
    _log.info("sub-conversation %s: completed, %s of %d characters", name, how, len(summary.text))
    talk.hear(Completed(name, summary.text, how))


def completed(talk: Conversation, name: str) -> Any | None:
    """What the journal has of the end of a sub-conversation; None where it came to none yet."""
    told = talk.stage.host.state.told.get((talk.stage.name, talk.stage.epoch, name))
    return told[-1] if told and told[-1]["event"] == "completed" else None


@contextmanager
def taken(subs: dict[str, _Sub], name: str, where: str) -> Iterator[_Sub]:
    """An open sub-conversation, which nobody else completes meanwhile; it is open still where that comes to no end.

    Raises:
        InputError: none of that name is open.
    """
    given: object = name
    if not isinstance(given, str) or name not in subs:
        there = f"open are {', '.join(subs)}" if subs else "create it again, and resume it"
        raise InputError(f"there is no open sub-conversation {name!r}", where=where, hint=there)
    sub = subs.pop(name)
    try:
        yield sub
    except BaseException:
        subs[name] = sub
        raise


async def sum_up(
    talk: Conversation, given: Sequence[Block], ratio: float, ask: tuple[Send, GoOn, Settle], last: Response | None
) -> Summary:
    """What a sub-conversation of a program found, in its own words and held to what was said in it.

    Where it cannot sum up, lines of it that are chosen by rule stand there. One that was resumed may have done so.

    Args:
        talk: the sub-conversation.
        given: what it is to find out, what it knew, and what its messages came with.
        ratio: tokens of what was said in it to one of the summary.
        ask: says something in it; goes on with what was said; and gives up what nobody waits for there.
        last: what came of its last message in this life.
    """
    held = completed(talk, talk.name)
    if talk.lasting and held:  # in an earlier life, or before what it found could not be told
        talk.meter.skip(talk.name)
        by: Literal["model", "extract"] = "model" if held["how"] == "summary" else "extract"
        return Summary(held["summary"], by, tuple(held["struck"]))
    asked = max((number for number, turn in enumerate(talk.turns) if isinstance(turn, UserMessage)), default=0)
    begun = bool(talk.turns) and _is_sum_up(talk.turns[asked])
    if not begun:
        await ask[2]()  # what came of the calls of its last reply was seen there
    done = last is not None and talk.at_rest and begun
    turns = talk.turns[:asked] if begun else talk.turns
    seen, said = seen_in(given, turns), said_in(turns)
    room = summary_room(talk.tokens.count(f"{seen}\n{said}"), talk.window.result_tokens, ratio)
    with suppress(*FAILURES):
        if done and last:
            response = last
        elif not talk.at_rest and begun:  # it was stopped while it did
            response = await ask[1]()
        else:
            response = await ask[0](f"{_SUM_UP}, in at most {room} tokens.")
        if response.ended == "answered" and response.text.strip():
            seen = seen_in(
                given, [turn for turn in talk.turns if not _is_sum_up(turn)]
            )  # also what came back meanwhile
            text, tokens = response.text, talk.tokens
            return await aside(len(seen), lambda: summarised(text, seen, room, tokens))
    tokens, sized = talk.tokens, len(seen) + len(said)
    return await aside(sized, lambda: extract(f"{seen}\n{hold(said, seen)[0]}", room, tokens))


def _is_sum_up(turn: Turn) -> bool:
    return isinstance(turn, UserMessage) and turn.text.startswith(_SUM_UP)


def seen_egress(sub: Conversation, given: Sequence[Block]) -> Egress:
    """As local as all that a sub-conversation saw and was given, whether or not anybody answered from it."""
    policy = sub.stage.host.chain.policy
    return "local" if any(policy.is_local(block) for block in given) else sub.egress


async def hand_back(
    talk: Conversation, sub: Conversation, purpose: str, given: Sequence[Block], summary: Summary
) -> None:
    """Journal what came of a sub-conversation, and tell the one that opened it; as local as all that it saw.

    What an earlier run of the process made of more than this one was given is as local as it was then.
    """
    held = completed(talk, sub.name) if sub.lasting else None  # wherever this one is in what was said there
    egress = sub.egress = strictest(seen_egress(sub, given), held.get("egress", "any") if held else "any")
    await complete_sub(talk, sub.name, summary, egress, left=sub.left_by)
    await talk.findings.tell_now(talk, found(talk, sub.name, purpose, summary.text, egress))
