"""Calls that must not be repeated, and of which nobody knows whether they count: equal ones wait for a person.

They are looked for in a whole stage, whichever of its conversations makes the call. One that was cut off or ran out of
its time may have been carried out, or be running still. One that was carried out in words that
are void by now is nothing that whoever goes on was told of.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from transom.canonical import Json, digest
from transom.errors import OutOfTurns, ToolInDoubtError, ToolTimeoutError
from transom.llm import ToolCall
from transom.llm.codec import reply_from_json
from transom.runs.journal import ReplyKey, RunState, ToolKey, tool_key
from transom.runs.names import is_within
from transom.runs.windows import Talk, call_key

IN_DOUBT = frozenset({ToolTimeoutError.__name__, ToolInDoubtError.__name__})
"""Errors of calls that may have been carried out, or be running still."""
CUT_OFF, OUT_OF_TURNS = "ToolCutOff", OutOfTurns.__name__
UNKNOWN = "was begun, and whether it was carried out is not known"
BEHIND = "was carried out before, in what was left in the middle"

_REPLY = ("stage", "epoch", "conversation", "ordinal", "request")


def mark_of(call: ToolCall) -> str:
    """What tells a call from those that ask for something else."""
    return digest(call.wanted)[:16]


@dataclass(frozen=True)
class Today:
    """What was gone through of a stage in this life.

    Attributes:
        under_way: calls that are being carried out.
        met: calls that replies made, also those of the journal.
        talks: each conversation as it is now.
    """

    under_way: Container[ToolKey]
    met: Container[ToolKey]
    talks: Mapping[str, Talk]


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
        if not error and _is_void(state, other, today):
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


def begun_in(state: RunState, stage: str, epoch: str, name: str) -> set[str]:
    """Marks of the calls that must not be repeated and were begun in a conversation, or in what was opened in it."""
    found = set[str]()
    for key, reply in state.replies.items():
        if key[:2] == (stage, epoch) and is_within(key[2], name):
            found.update(_begun(state, key, reply))
    return found


def _begun(state: RunState, key: ReplyKey, reply: Json) -> Iterator[str]:
    record = dict(zip(_REPLY, key, strict=False))
    for number, call in enumerate(reply_from_json(reply).calls):
        place = tool_key(call_key(record, number, call))
        error = (state.tools.get(place) or {}).get("error")
        if state.intents[place] and (not error or error in IN_DOUBT):
            yield mark_of(call)
