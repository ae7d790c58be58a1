"""The tools of a conversation: every call, a wrong one too, gets a result that the model can go
on from.
"""

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
)
from transom.llm import ToolCall, ToolSpec
from transom.llm.turns import strictest
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
    {"ToolRefused", "ToolNotFoundError", "InvalidArgumentsError", "ToolQuotaError"}
)


class Toolbox:
    """The tools of one conversation.

    Args:
        tools: names are unique.
        max_turns: how many replies may call tools; calls of a further reply are refused.
        redact: takes secrets out of results, before the model or a journal sees them.

    Raises:
        ToolError: no tool; a name or a schema that no vendor takes, or a name that is taken, also
            by a tool of the runtime.
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
        self._used: defaultdict[str, set[Hashable]] = defaultdict(set)
        for tool in tools:
            self.register(tool)

    def register(self, tool: ToolDefinition) -> None:
        """Add a tool, from the next request on; for errors see the class."""
        given: object = tool
        if not isinstance(given, ToolDefinition):
            hint = 'say ToolDefinition("count", "Counts.", {"type": "object"}, count)'
            raise ToolError(
                f"a tool is a ToolDefinition, and this is {type(given).__name__}",
                where="tools",
                hint=hint,
            )
        if what := OWN.get(str(tool.name)):
            hint = (
                "give it another name; tools of an MCP server take a prefix, McpServer(...,"
                " prefix=...)"
            )
            raise ToolError(
                f"the runtime has a tool of that name, which {what}", where=tool.name, hint=hint
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
                where=repr(tool.name),
                hint="use up to 64 letters, digits, _ and -",
            )
        if tool.name in self._tools:
            hint = (
                'give it another: @tool(name="..."), ToolDefinition("...", ...), McpServer(...,'
                " prefix=...)"
            )
            raise ToolError("there is a tool of that name already", where=tool.name, hint=hint)
        check_definition(tool)
        self._tools[tool.name] = tool
        self.specs = (*self.specs, tool.spec)

    def within(self, tools: Iterable[ToolDefinition]) -> Toolbox:
        """The box of a sub-conversation: what it uses of its tools is used of this one's quotas,
        and the other way.
        """
        box = Toolbox(tools, max_turns=self.max_turns, redact=self.redact)
        box._used = self._used
        return box

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All of them, as registered."""
        return tuple(self._tools.values())

    def may_overlap(self, calls: Iterable[ToolCall]) -> bool:
        """Return whether the calls of one reply may run side by side: no tool of them has effects.

        A call of a tool that does not exist is refused, so it has none.
        """
        for call in calls:
            tool = self._tools.get(call.name)
            if tool is not None and tool.has_effects(self.tools):
                return False
        return True

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
    ) -> ToolOutcome:
        """Execute a call. A wrong call or a failing tool yields an error result, never an
        exception.

        Args:
            call: what is asked for.
            accepted: what `accepted` said of it, so that it need not be looked into again.
            seconds: that are left for it, where they are fewer than the tool's own.
            place: of the call: however often it is tried, it counts once. None for one that is like
                no other.

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
            ran = refused(call, error, error.trust)
            if tool and ran.error in _UNCOUNTED:
                self._used[tool.name].discard(place)
            # What a tool says of its failure may quote what it works on.
            egress = strictest(tool.egress if tool else "any", error.egress)
            return replace(
                ran,
                result=replace(ran.result, content=self.redact(ran.result.content), egress=egress),
            )

    def recall(self, ran: ToolOutcome, place: Hashable = None) -> None:
        """Apply the outcome of a call that is not repeated, once for each `place` (see `run`)."""
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
                f"it was called {most} times, which is all that is allowed",
                hint="go on without it, with what you have",
            )
        used.add(place)

    def _accepted(self, call: ToolCall) -> Accepted:
        tool = self._tools.get(call.name)
        if tool is None:
            there = (
                f"call one of {', '.join(self._tools)}"
                if self._tools
                else "there are no tools: answer without"
            )
            raise ToolNotFoundError("there is no such tool", hint=there)
        if not isinstance(call.arguments, dict):
            raise InvalidArgumentsError(
                "the arguments are no JSON object", hint="give them as an object and call it again"
            )
        wrong = tool.check(call.arguments)
        if wrong:
            shown = as_text(dict(tool.parameters))
            again = f"; its parameters are {shown}" if len(shown) <= _LONGEST_SCHEMA else ""
            raise InvalidArgumentsError(
                "; ".join(wrong), hint=f"correct the arguments and call it again{again}"
            )
        return tool, {**tool.defaults, **call.arguments}
