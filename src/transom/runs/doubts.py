"""Calls that must not be repeated, and of which nobody knows whether they count: equal ones wait for a person.

They are looked for in a whole stage, whichever of its conversations makes the call. One that was cut off or ran out of
its time may have been carried out, or be running still. One that was carried out in what another call left in the
middle, or in words that are void by now, is nothing that whoever goes on was told of.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from transom.canonical import Json, digest
from transom.errors import OutOfTurns, ToolInDoubtError, ToolTimeoutError
from transom.llm import ToolCall
from transom.llm.codec import reply_from_json
from transom.runs.journal import ReplyKey, RunState, TalkKey, ToolKey, tool_key
from transom.runs.names import is_within
from transom.runs.windows import Talk, call_key

IN_DOUBT = frozenset({ToolTimeoutError.__name__, ToolInDoubtError.__name__})
"""Errors of calls that may have been carried out, or be running still."""
CUT_OFF, OUT_OF_TURNS = "ToolCutOff", OutOfTurns.__name__
LEFT = {*IN_DOUBT, CUT_OFF, OUT_OF_TURNS}
"""How a call ends that was left in the middle: an equal one goes on with what it opened."""
UNKNOWN = "was begun, and whether it was carried out is not known"
BEHIND = "was carried out before, in what was left in the middle"

_REPLY = ("stage", "epoch", "conversation", "ordinal", "request")


def mark_of(call: ToolCall) -> str:
    """What tells a call from those that ask for something else."""
    return digest(call.wanted)[:16]


def owner(state: RunState, talk: TalkKey) -> list[Any] | None:
    """The call that a conversation is of, as far as it is found by below its stage; None where a program opened it."""
    told = state.told.get(talk)
    return state.taken.get(talk) or (told[0].get("call") if told else None)


@dataclass(frozen=True)
class Today:
    """What was gone through of a stage in this life.

    Attributes:
        under_way: calls that are being carried out.
        met: calls that replies made, also those of the journal.
        talks: each conversation as it is now.
        within: calls that this is done in.
    """

    under_way: Container[ToolKey]
    met: Container[ToolKey]
    talks: Mapping[str, Talk]
    within: Container[ToolKey] = ()


def doubt_of(state: RunState, place: ToolKey, mark: str, today: Today) -> str:
    """Why nobody knows if a call may be begun; "" where it may.

    Args:
        state: of the run.
        place: of the call.
        mark: see `mark_of`.
        today: see there.
    """
    stage, epoch = place[:2]
    if mark in state.doubts.get((stage, epoch), ()):
        return BEHIND
    for other in state.begun_once.get((stage, epoch, mark), ()):
        outcome = state.tools.get(other)
        error = outcome.get("error") if outcome else None
        if other == place or other in today.under_way:
            continue
        if outcome is None or error in IN_DOUBT:
            return UNKNOWN
        if not error and (_is_void(state, other, today) or _is_left(state, other[:3], today)):
            return BEHIND
    return ""


def _is_void(state: RunState, call: ToolKey, today: Today) -> bool:
    """Whether something else is said in the place of the reply that made it."""
    said = state.said.get(call[:3])
    if said is not None:
        return call[3] not in said or said[call[3]]["request"] != call[4]
    talk = today.talks.get(call[2])  # what does not last goes as the code does
    return call not in today.met and (call[:5] in state.void or (talk is not None and not _may_come(state, call, talk)))


def _may_come(state: RunState, call: ToolKey, talk: Talk) -> bool:
    """Whether its reply may come yet: nothing came in this life, or what it once followed upon is what came last."""
    last, found = talk.next - 1, {talk.asked}
    if last < 0 or last >= call[3]:
        return last < 0
    for ordinal in range(last, call[3]):
        followed = (state.followed.get((*call[:3], ordinal, one), ()) for one in (*found, ""))
        found = {request for requests in followed for request in requests}
    return call[4] in found


def _is_left(state: RunState, talk: TalkKey, today: Today) -> bool:
    """Whether the call that a conversation is of failed or is void, or one of those around it; or goes another way."""
    seen: set[TalkKey] = set()
    while talk not in seen and state.told.get(talk):
        seen.add(talk)
        call, inner = owner(state, talk), talk[2]
        talk = _around(state, talk, call)
        if call is None:
            continue
        place: Any = (*talk[:2], *call)
        outcome = state.tools.get(place)
        waits = place in today.met and place not in today.within  # it is tried again beside this, and may find it yet
        if outcome.get("error") if outcome else inner not in today.talks and not waits:
            return True
        if _is_void(state, place, today):  # what it found is nothing that whoever goes on was told of
            return True
    return False


def _around(state: RunState, talk: TalkKey, call: list[Any] | None) -> TalkKey:
    """The conversation that opened one: that of the call whose it is, or the one that the program opened it in."""
    told = state.told.get(talk)
    name = call[0] if call else told[0].get("parent", "") if told else ""
    return (*talk[:2], name)


def begun_in(state: RunState, stage: str, epoch: str, name: str) -> set[str]:
    """Marks of the calls that must not be repeated and were begun in a conversation, or in what was opened in it."""
    found = set[str]()
    for key, reply in state.replies.items():
        if key[:2] == (stage, epoch) and _is_in(state, key[:3], name):
            found.update(_begun(state, key, reply))
    return found


def _is_in(state: RunState, talk: TalkKey, name: str) -> bool:
    """Whether it is that conversation or was opened in it, also by its calls, which may open it anywhere."""
    seen: set[TalkKey] = set()
    while talk not in seen and not is_within(talk[2], name):
        seen.add(talk)
        talk = _around(state, talk, owner(state, talk))
    return is_within(talk[2], name)


def _begun(state: RunState, key: ReplyKey, reply: Json) -> Iterator[str]:
    record = dict(zip(_REPLY, key, strict=False))
    for number, call in enumerate(reply_from_json(reply).calls):
        place = tool_key(call_key(record, number, call))
        error = (state.tools.get(place) or {}).get("error")
        if state.intents[place] and (not error or error in IN_DOUBT):
            yield mark_of(call)
