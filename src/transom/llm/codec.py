"""Decoding of replies, turns and requests from the JSON of journals and recordings."""

from __future__ import annotations

from typing import Any

from transom.errors import InputError
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Block, CallSettings, Dropped, Request, ToolSpec, Window
from transom.llm.turns import (
    AssistantMessage,
    Opaque,
    Part,
    Text,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)

_WRONG = (KeyError, TypeError, AttributeError, InputError)
"""What data of another shape leads to."""


def reply_from_json(data: Any) -> Reply:
    """The inverse of `Reply.to_json`; ValueError where the data is not a reply."""
    try:
        made = {**data, "parts": _parts(data["parts"]), "usage": Usage(**data["usage"])}
        made["answered_from"] = tuple(
            [AnsweredFrom(**one) for one in data.get("answered_from", ())]
        )
        return Reply(**made)
    except _WRONG as error:
        raise ValueError(f"not a reply: {error}") from error


def result_from_json(data: Any) -> ToolResult:
    """The inverse of `ToolResult.to_json`; ValueError where the data is not a tool's result."""
    try:
        return ToolResult(**data)
    except _WRONG as error:
        raise ValueError(f"not a tool's result: {error}") from error


def turn_from_json(data: Any) -> Turn:
    """The inverse of each turn's `to_json`; ValueError where the data is not a turn."""
    match data:
        case {"kind": "said", "parts": [*parts]}:
            return AssistantMessage(_parts(parts))
        case {"kind": "asked", "text": str(text), **more}:
            return UserMessage(text, "any" if more.get("egress", "any") == "any" else "local")
        case {"kind": "came_back", "results": [*results]}:
            return ToolResults(tuple([result_from_json(result) for result in results]))
    raise ValueError("not a turn")


def request_from_json(data: Any) -> Request:
    """The inverse of `Request.to_json`; ValueError where the data is not a request."""
    try:
        blocks, dropped = (
            tuple([Block(**one) for one in data["blocks"]]),
            [Dropped(**one) for one in data["dropped"]],
        )
        window = Window(
            blocks, tuple([turn_from_json(one) for one in data["turns"]]), tuple(dropped)
        )
        tools = tuple([ToolSpec(**one) for one in data["tools"]])
        return Request(
            data["role"], window, tools, CallSettings(**data["settings"]), data.get("output")
        )
    except _WRONG as error:
        raise ValueError(f"not a request: {error}") from error


def _parts(data: list[Any]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for one in data:
        match one:
            case {"kind": "text", "text": str(text)}:
                parts.append(Text(text))
            case {"kind": "tool_call", "id": str(ident), "name": str(name), "arguments": arguments}:
                parts.append(ToolCall(ident, name, arguments))
            case {"kind": "opaque", "data": payload}:
                parts.append(Opaque(payload))
            case _:
                raise ValueError("not a part of a reply")
    return tuple(parts)
