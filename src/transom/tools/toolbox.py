"""The tools of a conversation: every call, even a wrong call, gets a result for the model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TypeAlias

from transom.errors import (
    InvalidArgumentsError,
    ToolError,
    ToolNotFoundError,
    ToolQuotaError,
    ToolRefused,
    ToolRetry,
)
from transom.llm import ToolCallPart, ToolSpec
from transom.llm.turns import Trust, strictest
from transom.telemetry import Redactor
from transom.tools.answers import as_text, refused
from transom.tools.carrying import carried_out
from transom.tools.definition import Arguments, ToolDefinition, ToolOutcome, check_definition

Accepted: TypeAlias = tuple[ToolDefinition, Arguments]
"""A tool, and arguments that follow its schema, defaults filled in."""

MAX_TURNS = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SCHEMA = 4_000  # characters that a complaint repeats of it
OWN = {
    "delegate": "opens a sub-conversation",
    "read_slice": "reads parts of what is too long to be shown",
}
"""Names that the runtime keeps for its own tools, and what those do."""
_UNCOUNTED = frozenset(
    {"ToolRefused", "ToolRetry", "ToolNotFoundError", "InvalidArgumentsError", "ToolQuotaError"}
)


class Toolbox:
    """The tools of one conversation.

    Args:
        tools: names are unique.
        max_turns: number of replies that may call tools; calls of a further reply are refused.
        redact: removes secrets from results, before the model or a journal sees them.

    Raises:
        ToolError: not a tool; a name or a schema that vendors refuse; or a name that another tool
            has, perhaps one of the runtime.
    """

    def __init__(
        self,
        tools: Iterable[ToolDefinition] = (),
        *,
        max_turns: int = MAX_TURNS,
        redact: Redactor | None = None,
    ) -> None:
        self.max_turns = max_turns
        self.redact = redact or Redactor()
        self.specs: tuple[ToolSpec, ...] = ()
        self._tools: dict[str, ToolDefinition] = {}
        # By tool, the positions of the calls that count towards its limit.
        self._counted: defaultdict[str, set[Hashable]] = defaultdict(set)
        for tool in tools:
            self.register(tool)

    def register(self, tool: ToolDefinition) -> None:
        """Add a tool, from the next request on; for errors see the class."""
        value: object = tool
        if not isinstance(value, ToolDefinition):
            raise ToolError(
                f"a tool is a ToolDefinition, and this is {type(value).__name__}",
                place="tools",
                hint='write ToolDefinition("count", "Counts.", {"type": "object"}, count)',
            )
        if own_effect := OWN.get(str(tool.name)):
            raise ToolError(
                f"the runtime has a tool of that name, which {own_effect}",
                place=tool.name,
                hint=(
                    "give it another name; tools of an MCP server take a prefix, McpServer(...,"
                    " prefix=...)"
                ),
            )
        self._add(tool)

    def offer(self, tool: ToolDefinition) -> None:
        """Add a tool of the runtime, or replace the one of its name."""
        if tool.name in self._tools:
            self._tools[tool.name] = tool
        else:
            self._add(tool)

    def _add(self, tool: ToolDefinition) -> None:
        name: object = tool.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolError(
                "is no name of a tool",
                place=repr(tool.name),
                hint="use up to 64 letters, digits, _ and -",
            )
        if tool.name in self._tools:
            hint = (
                'give it another: @tool(name="..."), ToolDefinition("...", ...), McpServer(...,'
                " prefix=...)"
            )
            raise ToolError("there is a tool of that name already", place=tool.name, hint=hint)
        check_definition(tool)
        self._tools[tool.name] = tool
        self.specs = (*self.specs, tool.spec)

    def within(self, tools: Iterable[ToolDefinition]) -> Toolbox:
        """Return the toolbox of a sub-conversation.

        Both toolboxes count their calls together, so that a sub-conversation has no new quota.
        """
        box = Toolbox(tools, max_turns=self.max_turns, redact=self.redact)
        box._counted = self._counted
        return box

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All of them, as registered."""
        return tuple(self._tools.values())

    def may_overlap(self, calls: Iterable[ToolCallPart]) -> bool:
        """Return whether the calls of one reply may run side by side: no tool of them has effects.

        A call of a tool that does not exist is refused, so it has none.
        """
        for call in calls:
            tool = self._tools.get(call.name)
            if tool is not None and tool.has_effects(self.tools):
                return False
        return True

    def accepted(self, call: ToolCallPart) -> Accepted | None:
        """Return the tool and the arguments of a call; None if `run` would refuse it."""
        try:
            return self._accepted(call)
        except ToolRefused:
            return None

    async def run(
        self,
        call: ToolCallPart,
        accepted: Accepted | None = None,
        *,
        seconds: float | None = None,
        place: Hashable = None,
    ) -> ToolOutcome:
        """Execute a call. A wrong call or a failing tool yields an error result, never an
        exception.

        Args:
            call: the model's call.
            accepted: the result of `accepted` for it, so that it is not checked twice.
            seconds: the rest of the run's time, if it is less than the tool's own limit.
            place: position of the call: however often it is tried, it counts once. None for a call
                without a position, which always counts.

        Raises:
            RunError, StoreError, EgressError, VisibilityError, CapReached: of the run itself, not
                of the tool.
        """
        place = object() if place is None else place
        tool: ToolDefinition | None = None
        try:
            tool, arguments = accepted or self._accepted(call)
            if tool.limits.calls is not None or tool.recall:
                self._count(tool, place)
            return await carried_out(tool, call, arguments, seconds, self.redact)
        except ToolRefused as error:
            outcome = refused(call, error, _trust_of(error, tool))
            # The model may correct a refused call without paying for it.
            if tool and outcome.error in _UNCOUNTED:
                self._counted[tool.name].discard(place)
            # The text of a failure may quote the data that the tool works on.
            egress = strictest(tool.egress if tool else "any", error.egress)
            content = self.redact(outcome.result.content)
            result = replace(outcome.result, content=content, egress=egress)
            return replace(outcome, result=result)

    def recall(self, outcome: ToolOutcome, place: Hashable = None) -> None:
        """Apply the outcome of a call that is not repeated, once for each `place` (see `run`)."""
        tool = self._tools.get(outcome.result.name)
        if tool is None or outcome.error in _UNCOUNTED or place in self._counted[tool.name]:
            return
        self._counted[tool.name].add(object() if place is None else place)
        if tool.recall and not outcome.result.is_error:
            tool.recall(outcome.note)

    def _count(self, tool: ToolDefinition, place: Hashable) -> None:
        """Count a call towards its tool's limit; ToolQuotaError if the limit is reached."""
        limit = tool.limits.calls
        counted = self._counted[tool.name]
        if limit is not None and place not in counted and len(counted) >= limit:
            raise ToolQuotaError(
                f"it was called {limit} times, which is all that is allowed",
                hint="go on without it, with what you have",
            )
        counted.add(place)

    def _accepted(self, call: ToolCallPart) -> Accepted:
        tool = self._tools.get(call.name)
        if tool is None:
            hint = "there are no tools: answer without"
            if self._tools:
                hint = f"call one of {', '.join(self._tools)}"
            raise ToolNotFoundError("there is no such tool", hint=hint)
        if not isinstance(call.arguments, dict):
            raise InvalidArgumentsError(
                "the arguments are no JSON object", hint="give them as an object and call it again"
            )
        problems = tool.check(call.arguments)
        if problems:
            hint = "correct the arguments and call it again"
            # The schema may have been cut from the window of a long conversation.
            parameters = as_text(dict(tool.parameters))
            if len(parameters) <= _LONGEST_SCHEMA:
                hint += f"; its parameters are {parameters}"
            raise InvalidArgumentsError("; ".join(problems), hint=hint)
        return tool, {**tool.defaults, **call.arguments}


def _trust_of(error: ToolRefused, tool: ToolDefinition | None) -> Trust:
    """Return the trust of a refusal: that of the tool if its own code wrote the reason.

    Such a reason often quotes what the tool was answered from outside.
    """
    is_own = isinstance(error, ToolRetry) or not _is_from_here(error)
    if is_own and tool is not None and tool.trust != "ours":
        return "untrusted"
    return error.trust


def _is_from_here(error: BaseException) -> bool:
    """Return whether an error was raised by code of Transom, and not by a program's."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]
