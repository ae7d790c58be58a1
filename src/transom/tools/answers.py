"""What a call is answered with that is not carried out."""

from __future__ import annotations

import json
from dataclasses import replace

from transom.canonical import Json
from transom.errors import ToolInDoubtError, ToolRefused
from transom.llm import ToolCall, ToolResult
from transom.llm.turns import Trust
from transom.runs.doubts import CUT_OFF, OUT_OF_TURNS
from transom.tools.definition import ToolOutcome


def used_up(call: ToolCall) -> ToolOutcome:
    """What a call is answered with when no more are allowed."""
    hint = "call no tool any more: answer now, with what you have"
    return refused(call, ToolRefused("the turns in which tools may be called are used up", hint=hint))


def out_of_turns(call: ToolCall) -> ToolOutcome:
    """What a call is answered with at which a message ended for want of turns, once something else is said."""
    what = "the turns were used up, so the call was not carried out; then something else was said"
    ran = refused(call, ToolRefused(what, hint="make it again if it is still needed"))
    return replace(ran, error=OUT_OF_TURNS)


def done_before(call: ToolCall) -> ToolOutcome:
    """What a call is answered with of which only a person knows that it was carried out."""
    hint = "go on without its result, and do not repeat the call"
    return refused(call, ToolInDoubtError("the call was carried out, and its result was lost", hint=hint))


def cut_off(call: ToolCall) -> ToolOutcome:
    """What a call is answered with that nobody waits for any more."""
    hint = "it may have been carried out in part, or not at all"
    what = "the call was cut off: something else was said before it came to its end"
    return replace(refused(call, ToolRefused(what, hint=hint)), error=CUT_OFF)


def in_doubt(call: ToolCall) -> ToolOutcome:
    """The same, of a call that was begun and must not be repeated."""
    what = "the call was begun, and then cut off: whether it was carried out is not known"
    return refused(call, ToolInDoubtError(what, hint="do not make it again before a person has said whether it was"))


def cut_short(call: ToolCall) -> ToolOutcome:
    """What a call is answered with that a reply's limit cut off: it may be half of what was meant."""
    hint = "make it again if it is still needed, with fewer words before it"
    what = "the reply reached its limit of tokens, so the call was not carried out"
    return refused(call, ToolRefused(what, hint=hint))


def refused(call: ToolCall, error: ToolRefused, trust: Trust = "ours") -> ToolOutcome:
    """What a call is answered with that is not carried out."""
    content: dict[str, Json] = {"error": error.what}
    if error.hint:
        content["hint"] = error.hint
    result = ToolResult(
        call.id, call.name, as_text(content), is_error=True, trust="ours" if trust == "ours" else "untrusted"
    )
    return ToolOutcome(result, error=type(error).__name__)


def again(call: ToolCall, before: ToolResult) -> ToolOutcome:
    """What a call is answered with that was made before with the very same arguments."""
    remark = f"[The same call was made before, as {before.id!r}; it is not made again. Its result was:]"
    return ToolOutcome(
        ToolResult(call.id, call.name, f"{remark}\n{before.content}", trust=before.trust, egress=before.egress),
        error="",
    )


def as_text(content: Json) -> str:
    """What a model is told: text as it is, anything else as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
