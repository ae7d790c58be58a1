"""Definition of a tool, and the outcome of a call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeAlias, cast, get_args

from typing_extensions import TypeVar  # `typing` has no defaults before Python 3.13

from transom.canonical import Json
from transom.context.marks import UNMARKED, Mark
from transom.errors import ToolError
from transom.llm import ToolResultPart, ToolSpec
from transom.llm.checked import check_choice, check_kind
from transom.llm.codec import result_from_json
from transom.llm.turns import EGRESS, Egress, Trust, check_marks
from transom.tools.schema import Check, check_of, schema_text
from transom.tools.threads import in_thread

Arguments: TypeAlias = dict[str, Json]
Effect = Literal["pure", "idempotent", "once", "unknown"]
NeededDeps_contra = TypeVar("NeededDeps_contra", contravariant=True, default=object)
"""The type of the dependencies that a tool needs; `object` for a tool that needs none."""


@dataclass(frozen=True)
class ToolReturn:
    """The return value of a handler that returns more than content.

    Attributes:
        content: the text that the model sees; any other value becomes JSON.
        note: state of the tool, given back to it when the call comes from the journal (see
            `ToolDefinition.recall`).
        egress: of this content, if it is stricter than the tool's own.
        mark: kept when the older part of the conversation is compacted.
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
        seconds: limit for one call; None for no limit. A plain function cannot be stopped: the
            runtime waits no longer and drops its result, and its thread ends with the program at
            the latest.
        calls: limit for one conversation and its sub-conversations; None for no limit.
    """

    seconds: float | None = 60.0
    calls: int | None = None


@dataclass(frozen=True)
class ToolDefinition(Generic[NeededDeps_contra]):
    """A tool that a role may call.

    A type checker refuses a `ToolDefinition[Shop]` for an agent whose `deps` are no `Shop`.

    Attributes:
        name: unique in a conversation; letters, digits, `_` and `-`.
        description: by which a model decides when to call it.
        parameters: JSON Schema (2020-12) of an object, whose `$ref`s lead to a place in it
            (`#/...`).
        handler: arguments, checked and with defaults filled in -> content. A plain function runs in
            a thread of its own. It raises `ToolRefused` for a call that it does not carry out, and
            `ToolInDoubtError` for a call that it may have carried out; any other error becomes a
            result that reports the failure. If the returned value is not JSON, the call has not
            failed, but its result is lost: a `once` tool is in doubt from then on.
        effect: what a repetition would do. A `once` tool is never begun twice without a person's
            approval. An undeclared tool (`unknown`) is carried out anew for each call, and never
            repeated by the runtime. Only equal calls of a `pure` tool are answered from an earlier
            result.
        limits: seconds a call, calls a conversation.
        needs_approval: whether a person must approve each call before it is carried out.
        fresh: whether an identical call may yield another result (a clock, a status), so that it is
            carried out again.
        recall: receives the note of each call that comes from the journal, before any other call
            is carried out.
        trust: of its results.
        egress: of its results.
        of_run: whether the handler is a part of the run: it watches the time itself, and only its
            `ToolRefused` is a failure of the tool. Any other error ends the message, and the call
            is carried out when the run is resumed.
        checks: arguments -> their problems, in place of a check by the schema.
        fills: whether defaults of the schema are filled in; a server does that itself.
        binds: dependencies of an agent -> the handler, for a function that takes a `ToolContext`.
            The `handler` of such a tool is not called.
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
    binds: Callable[[NeededDeps_contra], Handler] | None = None

    @cached_property
    def spec(self) -> ToolSpec:
        """Return the part of the tool that a model sees."""
        return ToolSpec(self.name, self.description, self.parameters, self.effect)

    @cached_property
    def check(self) -> Check:
        """Return the check of arguments; ToolError if its parameters are not a schema."""
        # Cached, since conversation after conversation has the same tool.
        text = schema_text(self.parameters, self.name)
        return self.checks or check_of(text, self.name)

    @cached_property
    def defaults(self) -> Arguments:
        """Return the arguments that are filled in if a call leaves them out."""
        properties = self.parameters.get("properties")
        defaults: Arguments = {}
        if isinstance(properties, dict) and self.fills:
            for name, schema in properties.items():
                if isinstance(schema, dict) and "default" in schema:
                    defaults[name] = schema["default"]
        return defaults

    def with_deps(self, deps: NeededDeps_contra) -> ToolDefinition[Any]:
        """Return the tool with the dependencies of the agent that has it.

        Raises:
            ToolError: its function takes dependencies of another type.
        """
        if self.binds is None:
            return self
        return replace(self, handler=self.binds(deps), binds=None)

    def has_effects(self, tools_of_caller: Iterable[ToolDefinition]) -> bool:  # noqa: ARG002
        """Return whether a call may change what another call of the same reply reads or writes.

        Args:
            tools_of_caller: the tools of the conversation that makes the call. A tool that opens a
                sub-conversation may hand them on.
        """
        return self.effect != "pure"

    async def run(self, arguments: Arguments) -> ToolReturn:
        """Call the handler, whatever kind of function it is."""
        value: Any
        if self.plain:
            value = await in_thread(partial(self.handler, arguments))
            # A plain function may return a coroutine, as a lambda around one does.
            if inspect.isawaitable(value):
                value = await value
        else:
            handler: Any = self.handler
            value = await handler(arguments)
        return value if isinstance(value, ToolReturn) else ToolReturn(value)

    @cached_property
    def plain(self) -> bool:
        """Return whether the handler is a plain function, so that it needs a thread."""
        # A callable object may have a coroutine as its `__call__`.
        call = type(self.handler).__call__
        return not (inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(call))


def check_definition(tool: ToolDefinition) -> None:
    """Check a tool's fields, but for its name, which the toolbox checks.

    Raises:
        InputError, ToolError: a field has a wrong value.
    """
    _ = tool.check  # reads the schema
    check_choice(tool.effect, get_args(Effect), "effect", tool.name)
    check_marks(tool.name, trust=tool.trust, egress=tool.egress)
    check_kind(tool.description, str, "description", tool.name, "describe in text what it does")
    if tool.binds is not None:
        hint = "give the tool to an agent: Agent(..., deps=..., tools=[...])"
        raise ToolError("its function takes a ToolContext", place=tool.name, hint=hint)
    if not callable(tool.handler):
        raise ToolError(
            "its handler cannot be called",
            place=tool.name,
            hint="give it a function of its arguments",
        )


@dataclass(frozen=True)
class ToolOutcome:
    """A result, as journaled.

    Attributes:
        result: what the model sees.
        note: the tool's own (see `ToolReturn`).
        error: name of the error's class if the call was not carried out or failed.
        kept: digest of the whole content in the store, if the result holds only an outline of it.
        mark: set by the handler's code.
    """

    result: ToolResultPart
    note: Json = None
    error: str = ""
    kept: str = ""
    mark: Mark = UNMARKED

    def to_json(self) -> dict[str, Json]:
        # Empty fields are left out: most outcomes have none of them, and journals keep them all.
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
    """Read what `ToolOutcome.to_json` wrote; ValueError if the data is not an outcome."""
    match data:
        case {"result": result, **fields}:
            return ToolOutcome(
                result_from_json(result),
                note=cast(Json, fields.get("note")),
                error=str(fields.get("error", "")),
                kept=str(fields.get("kept", "")),
                mark=Mark.from_json(fields.get("mark")),
            )
    raise ValueError("not the outcome of a tool call")
