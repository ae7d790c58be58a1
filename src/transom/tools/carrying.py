"""Execution of one tool call within its time limit; the outcome is as the journal stores it."""

from __future__ import annotations

import asyncio
import json

from transom.canonical import Json, whole_text
from transom.context.marks import UNMARKED, Mark
from transom.errors import (
    CapReached,
    EgressError,
    RunError,
    StoreError,
    ToolExecutionError,
    ToolInDoubtError,
    ToolRefused,
    ToolTimeoutError,
    TransomError,
    VisibilityError,
)
from transom.llm import ToolCall, ToolResult
from transom.telemetry import Redactor
from transom.tools.answers import as_text
from transom.tools.definition import Arguments, ToolDefinition, ToolOutcome, ToolReturn

_OF_RUN = (RunError, StoreError, EgressError, VisibilityError, CapReached)
_TOO_LONG = "ask for less at once, or go on without it"
_TOO_LONG_ONCE = "it may have been carried out, or still be: do not make the same call again"
_GO_ON = "try other arguments or go on without it"
_NOT_KEPT = "it came to its end: go on without its result"
_NOT_KEPT_ONCE = (
    "it was carried out: do not make the same call again before a person has said whether it may be"
)


async def carried_out(
    tool: ToolDefinition,
    call: ToolCall,
    arguments: Arguments,
    seconds: float | None,
    redact: Redactor,
) -> ToolOutcome:
    """Execute a call, and return its outcome: the result for the model, the tool's note and its
    mark.

    Raises:
        ToolRefused: why it was not carried out, or failed.
        RunError, StoreError, EgressError, VisibilityError, CapReached: of the run itself, not of
            the tool.
    """
    if tool.of_run:
        return _came(tool, call, await tool.run(_own(arguments)), redact)
    seconds = min([one for one in (tool.limits.seconds, seconds) if one is not None], default=None)
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            outcome = await tool.run(_own(arguments))
    except (ToolRefused, *_OF_RUN):
        raise
    except TransomError as error:  # its `where` may be a path of this machine
        raise ToolExecutionError(error.what, hint=error.hint or _GO_ON) from error
    except (Exception, asyncio.CancelledError) as error:
        if _is_cancelled(error):
            raise
        if isinstance(error, TimeoutError) and seconds is not None and limit.expired():
            what = (
                f"the tool took longer than the {round(seconds, 3 if seconds < 1 else 1):g} s that"
                " it may"
            )
            raise ToolTimeoutError(
                what, hint=_TOO_LONG_ONCE if tool.effect == "once" else _TOO_LONG
            ) from error
        raise ToolExecutionError(
            f"the tool failed: {_named(error, redact)}", hint=_GO_ON
        ) from error
    try:
        return _came(tool, call, outcome, redact)
    except Exception as error:  # after the handler returned: the tool itself has not failed
        what = f"the tool came to its end, and its result cannot be kept: {_named(error, redact)}"
        if tool.effect == "once":
            raise ToolInDoubtError(what, hint=_NOT_KEPT_ONCE) from error
        raise ToolExecutionError(what, hint=_NOT_KEPT) from error


def _came(
    tool: ToolDefinition, call: ToolCall, outcome: ToolReturn, redact: Redactor
) -> ToolOutcome:
    """The outcome, as it will be read back from the journal; an error where something of it
    cannot be kept.
    """
    text = redact(whole_text(as_text(outcome.content)))
    mark = (
        outcome.mark
        if outcome.mark is UNMARKED
        else Mark.from_json(redact.inside(outcome.mark.to_json()))
    )
    note = None if outcome.note is None else json.loads(json.dumps(outcome.note, allow_nan=False))
    egress = outcome.egress if tool.egress == "any" else tool.egress
    result = ToolResult(call.id, call.name, text, trust=tool.trust, egress=egress)
    return ToolOutcome(result, redact.inside(note), mark=mark)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the task was cancelled; a handler may also raise CancelledError by itself."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _named(error: BaseException, redact: Redactor) -> str:
    """An error in a line; the rest of one of the system may be a path of this machine."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    # cut last: half a key is not found
    return f"{type(error).__name__}: {redact(words).partition(chr(10))[0][:500]}"


def _own(arguments: Arguments) -> Arguments:
    """A deep copy: a handler that changes its arguments does not change the recorded call."""
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value
