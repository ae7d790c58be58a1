"""Tools and the box that holds them: whatever a call is like, the model gets a result that it can go on from."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from transom.canonical import Json
from transom.errors import EgressError, RunError, StoreError, ToolError, ToolRefused, TransomError, VisibilityError
from transom.llm import ToolCall, ToolResult, ToolSpec
from transom.llm.codec import result_from_json
from transom.llm.shapes import Egress, Trust
from transom.tools.schema import check_schema, complaints

MAX_TURNS = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_COMPLAINTS = 5
Arguments: TypeAlias = dict[str, Json]


@dataclass(frozen=True)
class Outcome:
    """What a tool's function yields.

    Attributes:
        content: what the model is told; other than text becomes JSON.
        note: what the tool itself must be told again when the call is not repeated after a restart (see `Tool.recall`).
    """

    content: Json
    note: Json = None


@dataclass(frozen=True)
class Tool:
    """Something that a role may call.

    Attributes:
        spec: name, description, JSON Schema of its parameters, effect.
        run: arguments, checked and with defaults filled in -> outcome. It raises `ToolRefused` for a call that is not
            carried out; any other error is told to the model as the tool's failure.
        recall: is given the note of a call that came from the journal, before anything else is carried out.
        trust: of what it yields.
        egress: of what it yields.
    """

    spec: ToolSpec
    run: Callable[[Arguments], Awaitable[Outcome]]
    recall: Callable[[Json], None] | None = None
    trust: Trust = "untrusted"
    egress: Egress = "any"


@dataclass(frozen=True)
class Ran:
    """A result and the tool's own note of it, as journaled."""

    result: ToolResult
    note: Json = None

    def to_json(self) -> dict[str, Json]:
        return {"result": self.result.to_json(), "note": self.note}


def ran_from_json(data: Json) -> Ran:
    """The inverse of `Ran.to_json`.

    Raises:
        ValueError: the data is no such thing.
    """
    match data:
        case {"result": result, "note": note}:
            return Ran(result_from_json(result), note)
    raise ValueError("not what came of a tool call")


class Toolbox:
    """The tools of one call.

    Args:
        tools: names are unique.
        max_turns: how many replies may ask for tools; one more is told that they are used up.

    Raises:
        ToolError: a name or a schema that no vendor takes, or a name that is taken.
    """

    def __init__(self, tools: Iterable[Tool] = (), *, max_turns: int = MAX_TURNS) -> None:
        self.max_turns = max_turns
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ToolError: see the class.
        """
        name = tool.spec.name
        if not _NAME.fullmatch(name):
            raise ToolError("is no name of a tool", where=repr(name), hint="use up to 64 letters, digits, _ and -")
        if name in self._tools:
            raise ToolError("there is a tool of that name already", where=name)
        check_schema(tool.spec.parameters, name)
        self._tools[name] = tool

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def spec_of(self, call: ToolCall) -> ToolSpec:
        """The spec of what `run` would run; nothing at all, which is pure, where it would refuse the call."""
        try:
            return self._accepted(call)[0].spec
        except ToolRefused:
            return ToolSpec(call.name, "", {})

    async def run(self, call: ToolCall) -> Ran:
        """Carry out a call, or say why not. What is wrong with the call or in the tool is a result, never an error.

        Raises:
            RunError, StoreError, EgressError, VisibilityError: of the run itself, not of the tool.
        """
        try:
            tool, arguments = self._accepted(call)
            outcome = await _carried_out(tool, arguments)
        except _Failed as error:
            return Ran(_refusal(call, error.what, error.hint, trust="untrusted"))
        except ToolRefused as error:
            return Ran(_refusal(call, error.what, error.hint))
        text = _text(outcome.content)
        return Ran(ToolResult(call.id, call.name, text, trust=tool.trust, egress=tool.egress), outcome.note)

    def recall(self, ran: Ran) -> None:
        """Take in what came of a call that is not repeated."""
        tool = self._tools.get(ran.result.name)
        if tool and tool.recall and not ran.result.is_error:
            tool.recall(ran.note)

    def _accepted(self, call: ToolCall) -> tuple[Tool, Arguments]:
        tool = self._tools.get(call.name)
        if tool is None:
            there = f"call one of {', '.join(self._tools)}" if self._tools else "there are no tools: answer without"
            raise ToolRefused("there is no such tool", hint=there)
        if not isinstance(call.arguments, dict):
            raise ToolRefused("the arguments are no JSON object", hint="give them as an object and call it again")
        wrong = complaints(call.arguments, tool.spec.parameters)
        if wrong:
            raise ToolRefused(
                "; ".join(wrong[:_MOST_COMPLAINTS]),
                hint=f"correct the arguments and call it again; its parameters are {_text(dict(tool.spec.parameters))}",
            )
        return tool, {**_defaults(tool.spec), **call.arguments}


def used_up(calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
    """What calls are answered with when no more are allowed."""
    hint = "call no tool any more: answer now, with what you have"
    return tuple(_refusal(call, "the turns in which tools may be called are used up", hint) for call in calls)


def done_before(call: ToolCall) -> Ran:
    """What a call is answered with of which only a person knows that it was carried out."""
    hint = "go on without its result, and do not repeat the call"
    return Ran(_refusal(call, "the call was carried out, and its result was lost", hint))


class _Failed(ToolRefused):
    """A tool's own error; its words may come from outside."""


async def _carried_out(tool: Tool, arguments: Arguments) -> Outcome:
    hint = "try other arguments or go on without it"
    try:
        outcome = await tool.run(arguments)
        _text(outcome.content)
    except (ToolRefused, RunError, StoreError, EgressError, VisibilityError):
        raise
    except TransomError as error:  # its `where` may be a path of this machine
        raise _Failed(error.what, hint=error.hint or hint) from error
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) else None  # the rest of it may be a path of this machine
        said = (text or str(error)).partition("\n")[0][:500]
        raise _Failed(f"the tool failed: {type(error).__name__}: {said}", hint=hint) from error
    return outcome


def _refusal(call: ToolCall, what: str, hint: str | None, trust: Trust = "ours") -> ToolResult:
    content: dict[str, Json] = {"error": what}
    if hint:
        content["hint"] = hint
    return ToolResult(call.id, call.name, _text(content), is_error=True, trust=trust)


def _defaults(spec: ToolSpec) -> Arguments:
    properties = spec.parameters.get("properties")
    found = properties.items() if isinstance(properties, dict) else ()
    return {name: inner["default"] for name, inner in found if isinstance(inner, dict) and "default" in inner}


def _text(content: Json) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
