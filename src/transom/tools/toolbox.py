"""The box that holds tools: whatever a call is like, the model gets a result that it can go on from."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from transom.canonical import Json, whole_text
from transom.context.marks import UNMARKED, Mark
from transom.errors import (
    EgressError,
    InvalidArgumentsError,
    OutOfTurns,
    RunError,
    StoreError,
    ToolError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolQuotaError,
    ToolRefused,
    ToolTimeoutError,
    TransomError,
    VisibilityError,
)
from transom.llm import ToolCall, ToolResult, ToolSpec
from transom.llm.turns import Trust, strictest
from transom.telemetry import Redactor
from transom.tools.definition import Arguments, Ran, ToolDefinition, check_definition

Accepted: TypeAlias = tuple[ToolDefinition, Arguments]
"""A tool, and arguments that follow its schema, defaults filled in."""

MAX_TURNS = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SCHEMA = 4_000  # characters that a complaint repeats of it
_GO_ON = "try other arguments or go on without it"
OUT_OF_TURNS = OutOfTurns.__name__
_UNCOUNTED = {"ToolRefused", "ToolNotFoundError", "InvalidArgumentsError", "ToolQuotaError", OUT_OF_TURNS}


class Toolbox:
    """The tools of one conversation.

    Args:
        tools: names are unique.
        max_turns: how many replies may ask for tools; one more is told that they are used up.
        redact: takes secrets out of results, before the model or a journal sees them.

    Raises:
        ToolError: a name or a schema that no vendor takes, or a name that is taken.
    """

    def __init__(
        self, tools: Iterable[ToolDefinition] = (), *, max_turns: int = MAX_TURNS, redact: Redactor | None = None
    ) -> None:
        self.max_turns = max_turns
        self.redact = redact or Redactor()
        self.specs: tuple[ToolSpec, ...] = ()
        self._tools: dict[str, ToolDefinition] = {}
        self._used: Counter[str] = Counter()
        for tool in tools:
            self.register(tool)

    def register(self, tool: ToolDefinition) -> None:
        """Add a tool. It is there from the next request on.

        Raises:
            ToolError: see the class.
        """
        name: object = tool.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolError("is no name of a tool", where=repr(tool.name), hint="use up to 64 letters, digits, _ and -")
        if tool.name in self._tools:
            raise ToolError("there is a tool of that name already", where=tool.name)
        check_definition(tool)
        self._tools[tool.name] = tool
        self.specs = (*self.specs, tool.spec)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All of them, as registered."""
        return tuple(self._tools.values())

    def accepted(self, call: ToolCall) -> Accepted | None:
        """The tool that `run` would run, and with what; None where it would refuse the call."""
        try:
            return self._accepted(call)
        except ToolRefused:
            return None

    async def run(self, call: ToolCall, accepted: Accepted | None = None, *, seconds: float | None = None) -> Ran:
        """Carry out a call, or say why not. What is wrong with the call or in the tool is a result, never an error.

        Args:
            call: what is asked for.
            accepted: what `accepted` said of it, so that it need not be looked into again.
            seconds: that are left for it, where they are fewer than the tool's own.

        Raises:
            RunError, StoreError, EgressError, VisibilityError: of the run itself, not of the tool.
        """
        tool: ToolDefinition | None = None
        try:
            tool, arguments = accepted or self._accepted(call)
            self._count(tool)
            return await _carried_out(tool, call, arguments, seconds, self.redact)
        except ToolRefused as error:
            trust: Trust = "untrusted" if isinstance(error, ToolExecutionError) else "ours"
            ran = refused(call, error, trust)
            # What a tool says of its failure may quote what it works on.
            egress = strictest(tool.egress if tool else "any", error.egress)
            return replace(ran, result=replace(ran.result, content=self.redact(ran.result.content), egress=egress))

    def recall(self, ran: Ran) -> None:
        """Take in what came of a call that is not repeated."""
        tool = self._tools.get(ran.result.name)
        if tool is None or ran.error in _UNCOUNTED:
            return
        self._used[tool.name] += 1
        if tool.recall and not ran.result.is_error:
            tool.recall(ran.note)

    def _count(self, tool: ToolDefinition) -> None:
        most = tool.limits.calls
        if most is not None and self._used[tool.name] >= most:
            raise ToolQuotaError(
                f"it was called {most} times, which is all that is allowed", hint="go on without it, with what you have"
            )
        self._used[tool.name] += 1

    def _accepted(self, call: ToolCall) -> Accepted:
        tool = self._tools.get(call.name)
        if tool is None:
            there = f"call one of {', '.join(self._tools)}" if self._tools else "there are no tools: answer without"
            raise ToolNotFoundError("there is no such tool", hint=there)
        if not isinstance(call.arguments, dict):
            raise InvalidArgumentsError(
                "the arguments are no JSON object", hint="give them as an object and call it again"
            )
        wrong = tool.check.complaints(call.arguments)
        if wrong:
            shown = _text(dict(tool.parameters))
            again = f"; its parameters are {shown}" if len(shown) <= _LONGEST_SCHEMA else ""
            raise InvalidArgumentsError("; ".join(wrong), hint=f"correct the arguments and call it again{again}")
        return tool, {**tool.defaults, **call.arguments}


def used_up(call: ToolCall) -> Ran:
    """What a call is answered with when no more are allowed."""
    hint = "call no tool any more: answer now, with what you have"
    return refused(call, ToolRefused("the turns in which tools may be called are used up", hint=hint))


def out_of_turns(call: ToolCall) -> Ran:
    """What a call is answered with at which a message ended for want of turns, once something else is said."""
    what = "the turns were used up, so the call was not carried out; then something else was said"
    ran = refused(call, ToolRefused(what, hint="make it again if it is still needed"))
    return replace(ran, error=OUT_OF_TURNS)


def done_before(call: ToolCall) -> Ran:
    """What a call is answered with of which only a person knows that it was carried out."""
    hint = "go on without its result, and do not repeat the call"
    return refused(call, ToolRefused("the call was carried out, and its result was lost", hint=hint))


def cut_off(call: ToolCall) -> Ran:
    """What a call is answered with that nobody waits for any more."""
    hint = "it may have been carried out in part, or not at all"
    return refused(
        call, ToolRefused("the call was cut off: something else was said before it came to its end", hint=hint)
    )


def cut_short(call: ToolCall) -> Ran:
    """What a call is answered with that a reply's limit cut off: it may be half of what was meant."""
    hint = "make it again if it is still needed, with fewer words before it"
    what = "the reply reached its limit of tokens, so the call was not carried out"
    return refused(call, ToolRefused(what, hint=hint))


def refused(call: ToolCall, error: ToolRefused, trust: Trust = "ours") -> Ran:
    """What a call is answered with that is not carried out."""
    content: dict[str, Json] = {"error": error.what}
    if error.hint:
        content["hint"] = error.hint
    result = ToolResult(call.id, call.name, _text(content), is_error=True, trust=trust)
    return Ran(result, error=type(error).__name__)


def again(call: ToolCall, before: ToolResult) -> Ran:
    """What a call is answered with that was made before with the very same arguments."""
    remark = f"[The same call was made before, as {before.id!r}; it is not made again. Its result was:]"
    return Ran(
        ToolResult(call.id, call.name, f"{remark}\n{before.content}", trust=before.trust, egress=before.egress),
        error="",
    )


async def _carried_out(
    tool: ToolDefinition, call: ToolCall, arguments: Arguments, seconds: float | None, redact: Redactor
) -> Ran:
    """What came of a call: what the model is told, the tool's note, and what it says of the call."""
    most = min((one for one in (tool.limits.seconds, seconds) if one is not None), default=None)
    limit = asyncio.timeout(most)
    try:
        async with limit:
            outcome = await tool.run(_own(arguments))
        return Ran(
            ToolResult(
                call.id,
                call.name,
                redact(whole_text(_text(outcome.content))),
                trust=tool.trust,
                egress=strictest(tool.egress, outcome.egress),
            ),
            redact.inside(_journalable(outcome.note)),
            mark=_marked(outcome.mark, redact),
        )
    except (ToolRefused, RunError, StoreError, EgressError, VisibilityError):
        raise
    except TransomError as error:  # its `where` may be a path of this machine
        raise ToolExecutionError(error.what, hint=error.hint or _GO_ON) from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or _is_cancelled(error):
            raise
        if isinstance(error, TimeoutError) and limit.expired():
            what = f"the tool took longer than the {most:g} s that it may"
            raise ToolTimeoutError(what, hint="ask for less at once, or go on without it") from error
        said = redact(_said(error)).partition("\n")[0][:500]  # cut last: half a key would not be found
        raise ToolExecutionError(f"the tool failed: {type(error).__name__}: {said}", hint=_GO_ON) from error


def _is_cancelled(error: BaseException) -> bool:
    """Whether somebody cancelled the call; a handler may also raise the like of its own accord."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _said(error: BaseException) -> str:
    """An error's own words, where it has any."""
    try:
        # The rest of it may be a path of this machine.
        return (error.strerror if isinstance(error, OSError) else None) or str(error)
    except Exception:  # noqa: BLE001  # its __str__ is the tool's code as well
        return "it has no words for it"


def _own(arguments: Arguments) -> Arguments:
    """A copy down to the last list: what a handler does to its arguments does not change what the model said."""
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _journalable(note: Json) -> Json:
    """A tool's note as it comes back from the journal.

    Raises:
        ValueError, TypeError: it is no JSON.
    """
    return None if note is None else json.loads(json.dumps(note, allow_nan=False))


def _marked(mark: Mark, redact: Redactor) -> Mark:
    """What a tool says of its call, as it comes back from the journal.

    Raises:
        InputError, AttributeError: it is no mark.
    """
    return Mark.from_json(redact.inside(mark.to_json())) if mark is not UNMARKED else mark


def _text(content: Json) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
