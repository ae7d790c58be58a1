"""Which conversation it is that a program, or the handler of a tool, opens: a new one, or one that was left before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from transom.agent.turns import Conversation
from transom.canonical import digest
from transom.llm.codec import reply_from_json
from transom.llm.turns import Egress
from transom.runs.doubts import LEFT, owner
from transom.runs.opened import Call, call_in, egress_in_calls

BeginAnew: TypeAlias = Callable[[], None]
SUB = "sub"  # in the names of those that a program or a handler opens


def take_name(talk: Conversation, purpose: str, background: str, idle: Mapping[str, BeginAnew]) -> str:
    """Take a name for what is opened: of one that was left open with this purpose before, else a new one.

    It follows from what is asked, and in a handler from which call asks, not from the order, which is the event loop's
    where several are opened at once. What a call opened is its own: it finds that again when it is tried again, and so
    does an equal call where it was left in the middle; there what it knew is the same. Of those that a program left one
    that knew the same comes first, then the oldest.

    Args:
        talk: in which it is opened.
        purpose: what it is to find out.
        background: what it knows.
        idle: those that are open in this life, and in which nothing is under way: how each is begun anew.
    """
    names, call = talk.stage.names, call_in(talk.stage)
    asked = [purpose, background, *(call.in_stage if call else ())]
    new = f"{talk.name}/{SUB}-{digest(asked)[:8]}"
    opened = dict(_opened(talk, purpose))
    if call:
        return _of_call(talk, call, opened, knew(background), idle) or names.free(new)
    if not talk.lasting:  # what the code asks first it asks first again, also of what is completed
        return names.free(new)
    left = [name for name, told in opened.items() if "call" not in told[0] and names.is_free(name)]
    same = [name for name in left if name == new or name.startswith(f"{new}#")]
    return next(iter(same or left), None) or names.free(new)


def knew(background: str) -> str:
    """What tells those that knew something else."""
    return digest(background)[:8]


def egress_of_opened(talk: Conversation, name: str) -> Egress:
    """How local that is which something is opened with: as it was when the code ran before, else as what opens it."""
    held = talk.stage.told_next(name)
    if held and held["event"] == "opened":
        return "local" if held.get("egress") else "any"
    return egress_in_calls()


def _opened(talk: Conversation, purpose: str) -> Iterator[tuple[str, list[Any]]]:
    """What was opened in a conversation with that purpose, in any life of it, oldest first; and all that was told."""
    place = (talk.stage.name, talk.stage.epoch)
    for (*where, name), told in talk.stage.host.state.told.items():
        if tuple(where) == place and name.startswith(f"{talk.name}/{SUB}") and told:
            first = told[0]
            if (first["event"], first.get("parent"), first.get("purpose")) == ("opened", talk.name, purpose):
                yield name, told


def _of_call(
    talk: Conversation, call: Call, opened: Mapping[str, list[Any]], background: str, idle: Mapping[str, BeginAnew]
) -> str | None:
    """What an equal call left in the middle, and this one goes on with, now or when it was tried before."""
    stage, names = talk.stage, talk.stage.names
    same = {name: told for name, told in opened.items() if told[0].get("knew") == background}
    for name in [name for name in same if name not in call.rewinds]:
        mine, left = _whose(talk, call, name, same[name])
        if not (left or (mine and same[name][0]["call"] != call.in_stage)):
            continue
        if name in idle or names.was_over(name):
            rewind(talk, name, idle.get(name, _nothing))
        if names.is_free(name):
            if left:
                stage.take(name, call.in_stage)
            return name
    return None


def _whose(talk: Conversation, call: Call, name: str, told: list[Any]) -> tuple[bool, bool]:
    """Whether it is that call's; and whether it is an equal one's, which was left in the middle."""
    stage, state = talk.stage, talk.stage.host.state
    of = owner(state, (stage.name, stage.epoch, name))
    if of is None or of == call.in_stage or told[0].get("wanted") != call.mark:
        return of == call.in_stage, False
    outcome = state.tools.get((stage.name, stage.epoch, *of))
    return False, outcome is not None and outcome.get("error") in LEFT


def _nothing() -> None:
    """Nobody talks in it."""


def own(talk: Conversation, name: str, begin_anew: BeginAnew) -> None:
    """Have a conversation begun anew where the call that opens it comes to no outcome.

    Args:
        talk: in which it was opened.
        name: its name.
        begin_anew: makes whoever talks in it begin anew.
    """
    if call := call_in(talk.stage):
        call.rewinds[name] = lambda: rewind(talk, name, begin_anew)


@contextmanager
def given_back(talk: Conversation, name: str) -> Iterator[None]:
    """Have the name of what is opened be free again where that comes to no end."""
    try:
        yield
    except BaseException:
        rewind(talk, name, _nothing)
        raise


def rewind(talk: Conversation, name: str, begin_anew: BeginAnew) -> None:
    """Have a sub-conversation begun anew: it goes through what the journal has of it, and that counts once."""
    passed = talk.stage.rewind(name)
    talk.meter.pass_by((place, reply_from_json(reply)) for place, reply in passed)
    begin_anew()
