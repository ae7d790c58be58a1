"""An answer that takes several replies: the messages in between, and the errors that end it."""

from __future__ import annotations

from collections.abc import Sequence

from transom.errors import ProviderError, ReplyError
from transom.llm.deltas import Again
from transom.llm.structured import Complaint
from transom.llm.turns import UserMessage

VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it was cut off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""Sent once to a model that stopped without any text."""


def paused(by: str) -> ProviderError:
    """The error for a server that paused in the middle of an answer; only servers with tools of their own do."""
    what = "its server paused in the middle of an answer, as it does for tools of its own"
    return ProviderError(what, where=by, hint="give it no such tools, or choose another model")


def answer_in_vain(wrong: Sequence[Complaint], role: str) -> ReplyError:
    """The error for a repair that does not follow the schema either; it quotes the first complaint."""
    what = "the answer does not follow its schema, nor does its repair"
    first = wrong[0] if wrong else Complaint("it is not whole", "it is not whole")
    return ReplyError(f"{what}: {first.text}", where=role, bare=f"{what}: {first.bare}")
