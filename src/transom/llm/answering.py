"""An answer in several replies, as an agent has it: what goes on where a server paused, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence

from transom.errors import ProviderError, ReplyError
from transom.llm.deltas import Again
from transom.llm.reply import Reply
from transom.llm.structured import Complaint
from transom.llm.turns import UserMessage

VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it was cut off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""What is said to a model that stopped without a word."""
MOST_PAUSES = 10


def is_paused(reply: Reply) -> bool:
    """Whether its server stopped in the middle, and goes on when it is handed its words."""
    return reply.stop == "pause" and not reply.calls


def paused_in_vain(by: str) -> ProviderError:
    """What to raise where a server pauses again and again."""
    hint = "ask for less at once, or choose another model"
    return ProviderError(f"it paused {MOST_PAUSES + 1} times and came to no end", where=by, hint=hint)


def answer_in_vain(wrong: Sequence[Complaint], role: str) -> ReplyError:
    """What to raise where the repair of an answer is none either; its first complaint is told."""
    what = "the answer does not follow its schema, nor does its repair"
    first = wrong[0] if wrong else Complaint("it is not whole", "it is not whole")
    return ReplyError(f"{what}: {first.text}", where=role, bare=f"{what}: {first.bare}")
