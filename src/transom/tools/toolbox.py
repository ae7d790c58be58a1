"""The box that holds tools: whatever a call is like, the model gets a result that it can go on from."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from transom.canonical import Json, whole_text
from transom.context.marks import UNMARKED, Mark
from transom.errors import (
    CapReached,
    EgressError,
    InvalidArgumentsError,
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
from transom.tools.answers import OUT_OF_TURNS, as_text, refused
from transom.tools.definition import Arguments, Outcome, Ran, ToolDefinition, check_definition
from transom.tools.within import within

Accepted: TypeAlias = tuple[ToolDefinition, Arguments]
"""A tool, and arguments that follow its schema, defaults filled in."""

MAX_TURNS = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SCHEMA = 4_000  # characters that a complaint repeats of it
_TOO_LONG = "ask for less at once, or go on without it"
_TOO_LONG_ONCE = "it may have been carried out, or still be: do not make the same call again"
_GO_ON = "try other arguments or go on without it"
OWN = {
    "delegate": "opens a sub-conversation",
    "read_slice": "reads parts of what is too long to be shown",
}
"""Names that the runtime keeps for its own tools, and what those do."""
MISSING = "was registered while the program ran; register it again before resume"
_UNCOUNTED = {
    *("ToolRefused", "ToolNotFoundError", "InvalidArgumentsError", "ToolQuotaError", "ToolBusyError"),
    OUT_OF_TURNS,
}


class Toolbox:
    """The tools of one conversation.

    Args:
        tools: names are unique.
        max_turns: how many replies may ask for tools; one more is told that they are used up.
        redact: takes secrets out of results, before the model or a journal sees them.

    Raises:
        ToolError: no tool; a name or a schema that no vendor takes, or a name that is taken, also by a tool of the
            runtime.
    """

    def __init__(
        self, tools: Iterable[ToolDefinition] = (), *, max_turns: int = MAX_TURNS, redact: Redactor | None = None
    ) -> None:
        self.max_turns = max_turns
        self.redact = redact or Redactor()
        self.before: Mapping[str, str] = {}  # tools that came while the conversation was under way
        self.specs: tuple[ToolSpec, ...] = ()
        self._tools: dict[str, ToolDefinition] = {}
        self._used: defaultdict[str, set[Hashable]] = defaultdict(set)
        for tool in tools:
            self.register(tool)

    def register(self, tool: ToolDefinition) -> None:
        """Add a tool. It is there from the next request on.

        Raises:
            ToolError: see the class.
        """
        given: object = tool
        if not isinstance(given, ToolDefinition):
            hint = 'say ToolDefinition("count", "Counts.", {"type": "object"}, count)'
            raise ToolError(f"a tool is a ToolDefinition, and this is {type(given).__name__}", where="tools", hint=hint)
        if what := OWN.get(str(tool.name)):
            hint = "give it another name; tools of an MCP server take a prefix, McpServer(..., prefix=...)"
            raise ToolError(f"the runtime has a tool of that name, which {what}", where=tool.name, hint=hint)
        self._add(tool)

    def offer(self, tool: ToolDefinition) -> None:
        """Add one of the runtime's own, or put it in the place of the one that was there."""
        if tool.name in self._tools:
            self._tools[tool.name] = tool
        else:
            self._add(tool)

    def _add(self, tool: ToolDefinition) -> None:
        name: object = tool.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolError("is no name of a tool", where=repr(tool.name), hint="use up to 64 letters, digits, _ and -")
        if tool.name in self._tools:
            raise ToolError("there is a tool of that name already", where=tool.name)
        check_definition(tool)
        self._tools[tool.name] = tool
        self.specs = (*self.specs, tool.spec)

    def within(self, tools: Iterable[ToolDefinition]) -> Toolbox:
        """The box of a sub-conversation: what it uses of its tools is used of this one's quotas, and the other way."""
        box = Toolbox(tools, max_turns=self.max_turns, redact=self.redact)
        box._used = self._used
        return box

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All of them, as registered."""
        return tuple(self._tools.values())

    @property
    def missing(self) -> list[str]:
        """Tools that the conversation had when the program ran before, and has not now."""
        return [name for name in self.before if name not in self._tools]

    def accepted(self, call: ToolCall) -> Accepted | None:
        """The tool that `run` would run, and with what; None where it would refuse the call."""
        try:
            return self._accepted(call)
        except ToolRefused:
            return None

    async def run(
        self,
        call: ToolCall,
        accepted: Accepted | None = None,
        *,
        seconds: float | None = None,
        place: Hashable = None,
    ) -> Ran:
        """Carry out a call, or say why not. What is wrong with the call or in the tool is a result, never an error.

        Args:
            call: what is asked for.
            accepted: what `accepted` said of it, so that it need not be looked into again.
            seconds: that are left for it, where they are fewer than the tool's own.
            place: of the call: however often it is tried, it counts once. None for one that is like no other.

        Raises:
            RunError, StoreError, EgressError, VisibilityError, CapReached: of the run itself, not of the tool.
        """
        place = object() if place is None else place
        tool: ToolDefinition | None = None
        try:
            tool, arguments = accepted or self._accepted(call)
            if tool.limits.calls is not None or tool.recall:
                self._count(tool, place)
            return await _carried_out(tool, call, arguments, seconds, self.redact)
        except ToolRefused as error:
            trust: Trust = "untrusted" if isinstance(error, ToolExecutionError) else "ours"
            ran = refused(call, error, trust)
            if tool and ran.error in _UNCOUNTED:
                self._used[tool.name].discard(place)
            # What a tool says of its failure may quote what it works on.
            egress = strictest(tool.egress if tool else "any", error.egress)
            return replace(ran, result=replace(ran.result, content=self.redact(ran.result.content), egress=egress))

    def recall(self, ran: Ran, place: Hashable = None) -> None:
        """Take in what came of a call that is not repeated; once, however often a message goes on.

        See `run` for `place`.
        """
        tool = self._tools.get(ran.result.name)
        if tool is None or ran.error in _UNCOUNTED or place in self._used[tool.name]:
            return
        self._used[tool.name].add(object() if place is None else place)
        if tool.recall and not ran.result.is_error:
            tool.recall(ran.note)

    def _count(self, tool: ToolDefinition, place: Hashable) -> None:
        most = tool.limits.calls
        used = self._used[tool.name]
        if most is not None and place not in used and len(used) >= most:
            raise ToolQuotaError(
                f"it was called {most} times, which is all that is allowed", hint="go on without it, with what you have"
            )
        used.add(place)

    def _accepted(self, call: ToolCall) -> Accepted:
        tool = self._tools.get(call.name)
        if tool is None and call.name in self.before:
            raise ToolNotFoundError(f"the tool {call.name} {MISSING}", hint="only a person can do so: go on without it")
        if tool is None:
            there = f"call one of {', '.join(self._tools)}" if self._tools else "there are no tools: answer without"
            raise ToolNotFoundError("there is no such tool", hint=there)
        if not isinstance(call.arguments, dict):
            raise InvalidArgumentsError(
                "the arguments are no JSON object", hint="give them as an object and call it again"
            )
        wrong = tool.check.complaints(call.arguments)
        if wrong:
            shown = as_text(dict(tool.parameters))
            again = f"; its parameters are {shown}" if len(shown) <= _LONGEST_SCHEMA else ""
            raise InvalidArgumentsError("; ".join(wrong), hint=f"correct the arguments and call it again{again}")
        return tool, {**tool.defaults, **call.arguments}


async def _carried_out(
    tool: ToolDefinition, call: ToolCall, arguments: Arguments, seconds: float | None, redact: Redactor
) -> Ran:
    """What came of a call: what the model is told, the tool's note, and what it says of the call."""
    if tool.of_run:
        if tool.waits:
            await tool.ready(None)
        return _came(tool, call, await tool.run(_own(arguments)), redact)
    limit: asyncio.Timeout | None = None
    try:
        given = _own(arguments)
        limit = await _begun(tool, seconds)
        outcome = await within(limit, tool.run(given))
        return _came(tool, call, outcome, redact)
    except (ToolRefused, RunError, StoreError, EgressError, VisibilityError, CapReached):
        raise
    except TransomError as error:  # its `where` may be a path of this machine
        raise ToolExecutionError(error.what, hint=error.hint or _GO_ON) from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or _is_cancelled(error):
            raise
        if isinstance(error, TimeoutError) and limit and limit.expired():
            most = _less(tool.limits.seconds, seconds) or 0
            what = f"the tool took longer than the {round(most, 3 if most < 1 else 1):g} s that it may"
            raise ToolTimeoutError(what, hint=_TOO_LONG_ONCE if tool.effect == "once" else _TOO_LONG) from error
        said = redact(_said(error)).partition("\n")[0][:500]  # cut last: half a key would not be found
        raise ToolExecutionError(f"the tool failed: {type(error).__name__}: {said}", hint=_GO_ON) from error


def _came(tool: ToolDefinition, call: ToolCall, outcome: Outcome, redact: Redactor) -> Ran:
    """An outcome as it comes back from the journal.

    Raises:
        ValueError, TypeError: it is no JSON; else see `_marked`.
    """
    text = redact(whole_text(as_text(outcome.content)))
    mark = outcome.mark if outcome.mark is UNMARKED else _marked(outcome.mark, redact)
    egress = tool.egress if outcome.egress == "any" else outcome.egress
    result = ToolResult(call.id, call.name, text, trust=tool.trust, egress=egress)
    return Ran(result, redact.inside(_journalable(outcome.note)), mark=mark)


async def _begun(tool: ToolDefinition, seconds: float | None) -> asyncio.Timeout:
    """How long a call may take from now on. What it waited for before it could begin is not its own time.

    Raises:
        ToolBusyError: it cannot begin.
        ToolExecutionError: it never will.
    """
    most = _less(tool.limits.seconds, seconds)
    if tool.waits:
        asked = time.monotonic()
        await tool.ready(most)
        most = most if seconds is None else _less(tool.limits.seconds, seconds - (time.monotonic() - asked))
    return asyncio.timeout(most)


def _less(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


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
    return Mark.from_json(redact.inside(mark.to_json()))
