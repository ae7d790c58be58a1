"""Which sub-conversation a program opens: a new one, or one that was left open before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transom.agent.turns import Conversation
from transom.canonical import digest
from transom.llm.codec import reply_from_json
from transom.llm.turns import Egress
from transom.runs.tool_call import egress_in_calls

SUB = "sub"  # in the names of those that a program opens


def take_name(talk: Conversation, purpose: str, background: str) -> str:
    """Take a name for what is opened: of one that was left open with this purpose before, else a new one.

    It follows from what is asked, and not from the order, which is the event loop's where several are opened at once.
    Of those that were left one that knew the same comes first, then the oldest.

    Args:
        talk: in which it is opened.
        purpose: what it is to find out.
        background: what it knows.
    """
    names, new = talk.stage.names, f"{talk.name}/{SUB}-{digest([purpose, background])[:8]}"
    if not talk.lasting:  # what the code asks first it asks first again, also of what is completed
        return names.free(new)
    left = [name for name in _opened(talk, purpose) if names.is_free(name)]
    same = [name for name in left if name == new or name.startswith(f"{new}#")]
    return next(iter(same or left), None) or names.free(new)


def egress_of_opened(talk: Conversation, name: str) -> Egress:
    """How local that is which something is opened with: as it was when the code ran before, else as what opens it."""
    held = talk.stage.told_next(name)
    if held and held["event"] == "opened":
        return "local" if held.get("egress") else "any"
    return egress_in_calls()


def _opened(talk: Conversation, purpose: str) -> Iterator[str]:
    """What was opened in a conversation with that purpose, in any run of the process, oldest first."""
    place = (talk.stage.name, talk.stage.epoch)
    for (*where, name), told in talk.stage.host.state.told.items():
        if tuple(where) == place and name.startswith(f"{talk.name}/{SUB}") and told:
            first: Any = told[0]
            if (first["event"], first.get("parent"), first.get("purpose")) == ("opened", talk.name, purpose):
                yield name


def rewind(talk: Conversation, name: str) -> None:
    """Have a sub-conversation begun anew: it goes through what the journal has of it, and that counts once."""
    passed = talk.stage.rewind(name)
    talk.meter.pass_by((place, reply_from_json(reply)) for place, reply in passed)
