"""Definition of a tool: name, description, parameters, handler and limits; and the outcome of a
call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias, get_args

from transom.canonical import Json
from transom.context.marks import UNMARKED, Mark
from transom.errors import ToolError
from transom.llm import ToolResult, ToolSpec
from transom.llm.checked import check_choice, check_kind
from transom.llm.codec import result_from_json
from transom.llm.turns import EGRESS, Egress, Trust, check_marks
from transom.tools.schema import Check, check_of, schema_text
from transom.tools.threads import in_thread

Arguments: TypeAlias = dict[str, Json]
Effect = Literal["pure", "idempotent", "once", "unknown"]


@dataclass(frozen=True)
class ToolReturn:
    """The return value of a handler that has more to return than content.

    Attributes:
        content: the text that the model sees; any other value becomes JSON.
        note: state of the tool, given back to it when the call comes from the journal (see
            `ToolDefinition.recall`).
        egress: of this content, where that is stricter than the tool's own.
        mark: kept when the older part of the conversation is folded.
    """

    content: Json
    note: Json = None
    egress: Egress = "any"
    mark: Mark = UNMARKED

    def __post_init__(self) -> None:
        if self.egress not in EGRESS:
            check_marks("ToolReturn", egress=self.egress)


Handler: TypeAlias = Callable[
    [Arguments], "Json | ToolReturn | Awaitable[Json] | Awaitable[ToolReturn]"
]


@dataclass(frozen=True)
class ToolLimits:
    """Limits of a tool.

    Attributes:
        seconds: one call may take, None for no limit. A handler that is no coroutine cannot be
            stopped: it is waited for no longer, its result is thrown away, and its thread ends with
            the program at the latest.
        calls: that are carried out in one conversation and its sub-conversations, None for no
            limit.
    """

    seconds: float | None = 60.0
    calls: int | None = None


@dataclass(frozen=True)
class ToolDefinition:
    """A tool that a role may call.

    Attributes:
        name: unique in a conversation; letters, digits, `_` and `-`.
        description: by which a model decides when to call it.
        parameters: JSON Schema (2020-12) of an object, whose `$ref`s lead to a place in it
            (`#/...`).
        handler: arguments, checked and with defaults filled in -> content. A plain function runs in
            a thread of its own. It raises `ToolRefused` for a call that it does not carry out,
            `ToolInDoubtError` for one that it may have carried out or not; any other error becomes
            a result that reports the failure. What it returns and cannot be kept (it is no JSON) is
            no failure: a `once` tool is in doubt from then on.
        effect: what a repetition would do. A `once` tool is never begun twice without a person's
            approval. An undeclared one (`unknown`) is carried out anew for each call, and never
            repeated by the runtime. Only equal calls of a `pure` tool are answered from an earlier
            one.
        limits: seconds a call, calls a conversation.
        needs_approval: whether a person must approve each call before it is carried out.
        fresh: whether an identical call may yield something else (a clock, a status), so that it is
            carried out again.
        recall: is given the note of a call that came from the journal, before anything else is
            carried out.
        trust: of what it yields.
        egress: of what it yields.
        of_run: whether the handler is a part of the run: it looks at the time itself, and what it
            raises beside `ToolRefused` is no failure of a tool. The message ends with that; the
            call is carried out when it goes on.
        checks: arguments -> what is wrong with them, in place of a check by the schema.
        fills: whether defaults of the schema are filled in; a server does that itself.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    handler: Handler
    effect: Effect = "unknown"
    limits: ToolLimits = field(default_factory=ToolLimits)
    needs_approval: bool = False
    fresh: bool = False
    recall: Callable[[Json], None] | None = None
    trust: Trust = "untrusted"
    egress: Egress = "any"
    of_run: bool = False
    checks: Check | None = None
    fills: bool = True

    @cached_property
    def spec(self) -> ToolSpec:
        """The part of it that a model sees."""
        return ToolSpec(self.name, self.description, self.parameters, self.effect)

    @cached_property
    def check(self) -> Check:
        """The check of arguments, made once for all conversations; ToolError where its
        parameters are no schema.
        """
        text = schema_text(self.parameters, self.name)
        return self.checks or check_of(text, self.name)

    @cached_property
    def defaults(self) -> Arguments:
        """Arguments that are filled in where a call does not give them."""
        properties = self.parameters.get("properties")
        found = properties.items() if isinstance(properties, dict) and self.fills else ()
        return {
            name: inner["default"]
            for name, inner in found
            if isinstance(inner, dict) and "default" in inner
        }

    def has_effects(self, tools_of_caller: Iterable[ToolDefinition]) -> bool:  # noqa: ARG002
        """Return whether a call may change what another call of the same reply reads or writes.

        Args:
            tools_of_caller: the tools of the conversation that makes the call. A tool that opens a
                sub-conversation may hand them on.
        """
        return self.effect != "pure"

    async def run(self, arguments: Arguments) -> ToolReturn:
        """Call the handler, whatever kind of function it is."""
        found: Any
        if not self.plain:
            found = self.handler(arguments)
            found = await found
        else:
            found = await in_thread(partial(self.handler, arguments))
            if inspect.isawaitable(found):
                found = await found
        return found if isinstance(found, ToolReturn) else ToolReturn(found)

    @cached_property
    def plain(self) -> bool:
        """Whether the handler is no coroutine function, so that it needs a thread."""
        call = type(self.handler).__call__
        return not (inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(call))


def check_definition(tool: ToolDefinition) -> None:
    """Check a tool's fields: an InputError or ToolError names the wrong one. The toolbox checks
    its name.
    """
    _ = tool.check
    check_choice(tool.effect, get_args(Effect), "effect", tool.name)
    check_marks(tool.name, trust=tool.trust, egress=tool.egress)
    check_kind(tool.description, str, "description", tool.name, "say in text what it does")
    if not callable(tool.handler):
        raise ToolError(
            "its handler cannot be called",
            where=tool.name,
            hint="give it a function of its arguments",
        )


@dataclass(frozen=True)
class ToolOutcome:
    """A result, as journaled.

    Attributes:
        result: what the model sees.
        note: the tool's own (see `ToolReturn`).
        error: name of the error's class where the call was not carried out or failed.
        kept: digest of the whole content in the store, where the result holds only an outline of
            it.
        mark: set by the handler's code.
    """

    result: ToolResult
    note: Json = None
    error: str = ""
    kept: str = ""
    mark: Mark = UNMARKED

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"result": self.result.to_json()}
        if self.note is not None:
            data["note"] = self.note
        if self.error:
            data["error"] = self.error
        if self.kept:
            data["kept"] = self.kept
        if self.mark:
            data["mark"] = self.mark.to_json()
        return data


def outcome_from_json(data: Json) -> ToolOutcome:
    """The inverse of `ToolOutcome.to_json`; ValueError where the data is not an outcome."""
    match data:
        case {"result": result, **more}:
            error, kept, mark = (
                str(more.get("error", "")),
                str(more.get("kept", "")),
                Mark.from_json(more.get("mark")),
            )
            note: Any = more.get("note")
            return ToolOutcome(result_from_json(result), note, error, kept, mark)
    raise ValueError("not what came of a tool call")
