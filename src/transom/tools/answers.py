"""Results of calls that are not carried out."""

from __future__ import annotations

import json

from transom.canonical import Json
from transom.errors import ToolInDoubtError, ToolRefused
from transom.llm import ToolCall, ToolResult
from transom.llm.turns import Trust
from transom.tools.definition import ToolOutcome


def used_up(call: ToolCall) -> ToolOutcome:
    """The result of a call when no more are allowed."""
    hint = "call no tool any more: answer now, with what you have"
    return refused(
        call, ToolRefused("the turns in which tools may be called are used up", hint=hint)
    )


def done_before(call: ToolCall) -> ToolOutcome:
    """The result of a call that was carried out, as a person has said, and whose own result is
    lost.
    """
    hint = "go on without its result, and do not repeat the call"
    return refused(
        call, ToolInDoubtError("the call was carried out, and its result was lost", hint=hint)
    )


def stopped_while_running(call: ToolCall) -> ToolOutcome:
    """The result of a call of unknown effect that was interrupted by the end of its process."""
    what = "the program stopped while this ran; it may have taken effect"
    return refused(call, ToolInDoubtError(what, hint="check before you call it again"))


def refused(call: ToolCall, error: ToolRefused, trust: Trust = "ours") -> ToolOutcome:
    """The result of a call that is refused."""
    content: dict[str, Json] = {"error": error.what}
    if error.hint:
        content["hint"] = error.hint
    result = ToolResult(
        call.id,
        call.name,
        as_text(content),
        is_error=True,
        trust="ours" if trust == "ours" else "untrusted",
    )
    return ToolOutcome(result, error=type(error).__name__)


def again(call: ToolCall, before: ToolResult) -> ToolOutcome:
    """The result of a call that was made before with equal arguments."""
    remark = (
        f"[The same call was made before, as {before.id!r}; it is not made again. Its result was:]"
    )
    content = f"{remark}\n{before.content}"
    return ToolOutcome(
        ToolResult(call.id, call.name, content, trust=before.trust, egress=before.egress)
    )


def made_beside(call: ToolCall, first: ToolCall) -> ToolOutcome:
    """The result of a call that equals another one of the same reply."""
    remark = (
        f"[The same call stands in this reply as {first.id!r}; it is made once. Its result is"
        " there.]"
    )
    return ToolOutcome(ToolResult(call.id, call.name, remark, trust="ours"))


def as_text(content: Json) -> str:
    """Content as text: text as it is, anything else as JSON."""
    return (
        content
        if isinstance(content, str)
        else json.dumps(content, ensure_ascii=False, allow_nan=False)
    )
