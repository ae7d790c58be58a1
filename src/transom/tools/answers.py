"""Results of calls that are not carried out."""

from __future__ import annotations

import json

from transom.canonical import Json
from transom.errors import ToolInDoubtError, ToolRefused
from transom.llm import ToolCallPart, ToolResultPart
from transom.llm.turns import Trust
from transom.tools.definition import ToolOutcome


def used_up(call: ToolCallPart) -> ToolOutcome:
    """Return the result of a call when no more are allowed."""
    hint = "call no tool any more: answer now, with what you have"
    error = ToolRefused("the turns in which tools may be called are used up", hint=hint)
    return refused(call, error)


def done_before(call: ToolCallPart) -> ToolOutcome:
    """Return the result of a call whose own result is lost.

    A person has confirmed that the call was carried out.
    """
    hint = "go on without its result, and do not repeat the call"
    error = ToolInDoubtError("the call was carried out, and its result was lost", hint=hint)
    return refused(call, error)


def stopped_while_running(call: ToolCallPart) -> ToolOutcome:
    """Return the result of a call of unknown effect that the end of its process interrupted."""
    problem = "the program stopped while this ran; it may have taken effect"
    return refused(call, ToolInDoubtError(problem, hint="check before you call it again"))


def refused(call: ToolCallPart, error: ToolRefused, trust: Trust = "ours") -> ToolOutcome:
    """Return the result of a call that is refused."""
    content: dict[str, Json] = {"error": error.problem}
    if error.hint:
        content["hint"] = error.hint
    # An unknown mark counts as untrusted.
    known_trust: Trust = "ours" if trust == "ours" else "untrusted"
    result = ToolResultPart(call.id, call.name, as_text(content), is_error=True, trust=known_trust)
    return ToolOutcome(result, error=type(error).__name__)


def earlier_outcome(call: ToolCallPart, before: ToolResultPart) -> ToolOutcome:
    """Return the result of a call that was made before with equal arguments."""
    # The model is told, so that it does not take an old answer for a new one.
    remark = (
        f"[The same call was made before, as {before.id!r}; it is not made again. Its result was:]"
    )
    content = f"{remark}\n{before.content}"
    return ToolOutcome(
        ToolResultPart(call.id, call.name, content, trust=before.trust, egress=before.egress)
    )


def made_beside(call: ToolCallPart, first: ToolCallPart) -> ToolOutcome:
    """Return the result of a call that equals another one of the same reply."""
    remark = (
        f"[The same call stands in this reply as {first.id!r}; it is made once. Its result is"
        " there.]"
    )
    return ToolOutcome(ToolResultPart(call.id, call.name, remark, trust="ours"))


def as_text(content: Json) -> str:
    """Return content as text: a text unchanged, anything else as JSON."""
    if isinstance(content, str):
        return content
    # Without escapes: a model reads `ü` better than `\u00fc`, and it costs fewer tokens.
    return json.dumps(content, ensure_ascii=False, allow_nan=False)
