"""How answers stand after the replies of a journal, where they take more than one: see `transom.llm.answering`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transom.canonical import Json
from transom.llm.answering import Then
from transom.runs.journal import RunState, talk_key


def standing(key: Mapping[str, Any], then: Then) -> dict[str, Json]:
    """What the record of a reply says of it; most say nothing.

    Of a conversation that lasts the first one always does, so that it means something where a later one does not.

    Args:
        key: what the reply is journaled under.
        then: how the answer stands after it.
    """
    return {"then": then} if then != "whole" or (key["ordinal"] == 0 and "told" in key) else {}


def stood(state: RunState, found: dict[str, Any]) -> Then | None:
    """How an answer stood after a journaled reply.

    None where it is to be judged again: where replies count for the very same request, and in a conversation that was
    begun when this was not journaled yet.

    Args:
        state: of the run.
        found: what `RunState.said` has of the reply, or only its key.
    """
    if "then" not in found:
        return None
    first = state.said[talk_key(found)].get(0)
    return found["then"] or ("whole" if first and first["then"] else None)


def is_in_part(data: Mapping[str, Any]) -> bool:
    """Whether an answer is not whole after a reply, by its record, so that something has to follow."""
    return data.get("then") not in (None, "whole")
