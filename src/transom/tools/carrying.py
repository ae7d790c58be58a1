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
from transom.llm import ToolCallPart, ToolResultPart
from transom.telemetry import Redactor
from transom.tools.answers import as_text
from transom.tools.deadlines import running_deadlines
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
    call: ToolCallPart,
    arguments: Arguments,
    seconds: float | None,
    redact: Redactor,
) -> ToolOutcome:
    """Execute a call, and return its outcome: the result for the model, a note and a mark.

    Args:
        tool: the tool.
        call: the model's call.
        arguments: its arguments, checked.
        seconds: the rest of the run's time; None for no limit but the tool's own.
        redact: removes secrets from the result.

    Raises:
        ToolRefused: the call was not carried out, or the tool failed.
        RunError, StoreError, EgressError, VisibilityError, CapReached: of the run itself, not of
            the tool.
    """
    if tool.of_run:
        return _outcome_of(tool, call, await tool.run(_own(arguments)), redact)
    own_seconds = tool.limits.seconds
    if seconds is None or (own_seconds is not None and own_seconds < seconds):
        seconds = own_seconds
    limit, deadlines = asyncio.timeout(None), running_deadlines()
    try:
        async with limit:
            if seconds is not None:
                deadlines.begin(limit, seconds)
            try:
                outcome = await tool.run(_own(arguments))
            finally:
                deadlines.end(limit)
    except (ToolRefused, *_OF_RUN):
        raise
    except TransomError as error:  # its `where` may be a path of this machine
        raise ToolExecutionError(error.problem, hint=error.hint or _GO_ON) from error
    except (Exception, asyncio.CancelledError) as error:
        if _is_cancelled(error):
            raise
        # A handler may raise a TimeoutError of its own, which is a failure like any other.
        if isinstance(error, TimeoutError) and seconds is not None and limit.expired():
            limit_text = f"{round(seconds, 3 if seconds < 1 else 1):g} s"
            raise ToolTimeoutError(
                f"the tool took longer than the {limit_text} that it may",
                hint=_TOO_LONG_ONCE if tool.effect == "once" else _TOO_LONG,
            ) from error
        raise ToolExecutionError(
            f"the tool failed: {_error_line(error, redact)}", hint=_GO_ON
        ) from error
    try:
        return _outcome_of(tool, call, outcome, redact)
    except Exception as error:
        # After the handler returned: the tool itself has not failed, and has taken effect.
        line = _error_line(error, redact)
        problem = f"the tool came to its end, and its result cannot be kept: {line}"
        if tool.effect == "once":
            raise ToolInDoubtError(problem, hint=_NOT_KEPT_ONCE) from error
        raise ToolExecutionError(problem, hint=_NOT_KEPT) from error


def _outcome_of(
    tool: ToolDefinition, call: ToolCallPart, outcome: ToolReturn, redact: Redactor
) -> ToolOutcome:
    """Return the outcome as it will be read back from the journal.

    It raises whatever the encoding raises if a part of it cannot be kept.
    """
    text = redact(whole_text(as_text(outcome.content)))
    mark = outcome.mark
    if mark is not UNMARKED:
        mark = Mark.from_json(redact.inside(mark.to_json()))
    # Through JSON and back, so that a tool sees the same note now and after a restart.
    note = outcome.note
    if note is not None:
        note = json.loads(json.dumps(note, allow_nan=False))
    egress = outcome.egress if tool.egress == "any" else tool.egress
    result = ToolResultPart(call.id, call.name, text, trust=tool.trust, egress=egress)
    return ToolOutcome(result, redact.inside(note), mark=mark)


def _is_cancelled(error: BaseException) -> bool:
    """Return whether the task was cancelled; a handler may also raise CancelledError by itself."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _error_line(error: BaseException, redact: Redactor) -> str:
    """Return an error in one line, without secrets."""
    words = str(error)
    # The full text of an error of the system may hold a path of this machine.
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror
    # Cut after redaction: half a key would not be found.
    first_line = redact(words).partition("\n")[0][:500]
    return f"{type(error).__name__}: {first_line}"


def _own(arguments: Arguments) -> Arguments:
    """Return a deep copy: a handler that changes its arguments does not change the record."""
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Json) -> Json:
    match value:
        case dict():
            return {name: _copy(inner) for name, inner in value.items()}
        case list():
            return [_copy(inner) for inner in value]
    return value
