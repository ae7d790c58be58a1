"""Decoding of replies, turns and requests from the JSON of journals and recordings."""

from __future__ import annotations

from typing import Any, TypeVar

from transom.canonical import Json
from transom.errors import InputError
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Block, CallSettings, Dropped, Request, ToolSpec, Window
from transom.llm.turns import AssistantMessage, Opaque, Part, Text, ToolCall, ToolResult, ToolResults, Turn, UserMessage

_T = TypeVar("_T")


def reply_from_json(data: Json) -> Reply:
    """The inverse of `Reply.to_json`.

    Raises:
        ValueError: the data is not a reply.
    """
    match data:
        case {"parts": [*parts], "usage": usage, **more}:
            sources: Any = more.get("answered_from", [])
            made: dict[Any, Any] = {
                **more,
                "parts": tuple(_part(part) for part in parts),
                "usage": _made(Usage, usage),
                "answered_from": tuple(_made(AnsweredFrom, one) for one in sources),
            }
            return _made(Reply, made)
    raise ValueError("not a reply")


def result_from_json(data: Json) -> ToolResult:
    """The inverse of `ToolResult.to_json`.

    Raises:
        ValueError: the data is not a tool's result.
    """
    return _made(ToolResult, data)


def turn_from_json(data: Json) -> Turn:
    """The inverse of each turn's `to_json`.

    Raises:
        ValueError: the data is not a turn.
    """
    match data:
        case {"kind": "said", "parts": [*parts]}:
            return AssistantMessage(tuple(_part(part) for part in parts))
        case {"kind": "asked", "text": str(text), **more}:
            return UserMessage(text, "any" if more.get("egress", "any") == "any" else "local")
        case {"kind": "came_back", "results": [*results]}:
            return ToolResults(tuple(result_from_json(result) for result in results))
    raise ValueError("not a turn")


def request_from_json(data: Any) -> Request:
    """The inverse of `Request.to_json`.

    Raises:
        ValueError: the data is not a request.
    """
    try:
        window = Window(
            tuple([_made(Block, one) for one in data["blocks"]]),
            tuple([turn_from_json(one) for one in data["turns"]]),
            tuple([_made(Dropped, one) for one in data["dropped"]]),
        )
        tools = tuple([_made(ToolSpec, one) for one in data["tools"]])
        return Request(data["role"], window, tools, _made(CallSettings, data["settings"]), data.get("output"))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a request") from error


def _made(shape: type[_T], data: Json) -> _T:
    """A flat shape from its JSON."""
    if not isinstance(data, dict):
        raise ValueError(f"not a {shape.__name__}")
    try:
        return shape(**data)
    except (TypeError, InputError) as error:
        raise ValueError(f"not a {shape.__name__}: {error}") from error


def _part(data: Json) -> Part:
    match data:
        case {"kind": "text", "text": str(text)}:
            return Text(text)
        case {"kind": "tool_call", "id": str(ident), "name": str(name), "arguments": arguments}:
            return ToolCall(ident, name, arguments)
        case {"kind": "opaque", "data": payload}:
            return Opaque(payload)
    raise ValueError("not a part of a reply")
