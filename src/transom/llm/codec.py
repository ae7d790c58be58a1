"""Decoding of replies, turns and requests from the JSON of journals and recordings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transom.errors import InputError
from transom.llm.media import Media
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Block, CallSettings, Dropped, Request, ToolSpec, Window
from transom.llm.turns import (
    AssistantMessage,
    Opaque,
    Part,
    Text,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    UserMessage,
)

_WRONG_SHAPE = (KeyError, TypeError, AttributeError, InputError)
"""Errors that data of another shape leads to."""


def reply_from_json(data: Any) -> Reply:
    """Read what `Reply.to_json` wrote; ValueError if the data is not a reply."""
    try:
        fields = dict(data)
        fields["parts"] = _parts(data["parts"])
        fields["usage"] = Usage(**data["usage"])
        # Recordings of earlier releases have no sources.
        sources = [AnsweredFrom(**source) for source in data.get("answered_from", ())]
        fields["answered_from"] = tuple(sources)
        return Reply(**fields)
    except _WRONG_SHAPE as error:
        raise ValueError(f"not a reply: {error}") from error


def result_from_json(data: Any) -> ToolResultPart:
    """Read what `ToolResultPart.to_json` wrote; ValueError if the data is not a tool's result."""
    try:
        return ToolResultPart(**data)
    except _WRONG_SHAPE as error:
        raise ValueError(f"not a tool's result: {error}") from error


def turn_from_json(data: Any) -> Turn:
    """Read what a turn's `to_json` wrote; ValueError if the data is not a turn."""
    match data:
        case {"kind": "said", "parts": [*parts]}:
            return AssistantMessage(_parts(parts))
        case {"kind": "asked", "text": str(text), **other_keys}:
            # An unknown mark keeps the text on this machine.
            is_open = other_keys.get("egress", "any") == "any"
            return UserMessage(text, "any" if is_open else "local")
        case {"kind": "came_back", "results": [*results]}:
            return ToolResults(tuple([result_from_json(result) for result in results]))
    raise ValueError("not a turn")


def block_from_json(data: Any, read: Callable[[str], bytes] | None = None) -> Block:
    """Read what `Block.to_json` wrote.

    Args:
        data: the block's JSON.
        read: returns the bytes of an image or a file by their digest; None if nobody needs them.

    Raises:
        InputError, KeyError, TypeError: the data is not a block.
    """
    fields = dict(data)
    if "media" in fields:
        fields["media"] = Media.from_json(fields["media"], read)
    return Block(**fields)


def request_from_json(data: Any) -> Request:
    """Read what `Request.to_json` wrote; ValueError if the data is not a request."""
    try:
        window = Window(
            blocks=tuple([block_from_json(block) for block in data["blocks"]]),
            turns=tuple([turn_from_json(turn) for turn in data["turns"]]),
            dropped=tuple([Dropped(**dropped) for dropped in data["dropped"]]),
        )
        tools = tuple([ToolSpec(**tool) for tool in data["tools"]])
        settings = CallSettings(**data["settings"])
        return Request(data["role"], window, tools, settings, data.get("output"))
    except _WRONG_SHAPE as error:
        raise ValueError(f"not a request: {error}") from error


def _parts(data: list[Any]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for part in data:
        match part:
            case {"kind": "text", "text": str(text)}:
                parts.append(Text(text))
            case {"kind": "tool_call", "id": str(ident), "name": str(name), "arguments": arguments}:
                parts.append(ToolCallPart(ident, name, arguments))
            case {"kind": "opaque", "data": payload}:
                parts.append(Opaque(payload))
            case _:
                raise ValueError("not a part of a reply")
    return tuple(parts)
