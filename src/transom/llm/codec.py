"""Reading replies and requests back from journals and recordings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from transom.canonical import Json
from transom.llm.shapes import Opaque, Part, Reply, Text, ToolCall

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@cache
def _adapter() -> TypeAdapter[Reply]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (only when a journal is read)

    return TypeAdapter(Reply)


def reply_from_json(data: Json) -> Reply:
    """The inverse of `Reply.to_json`.

    Raises:
        ValueError: the data is not a reply.
    """
    if not isinstance(data, dict) or not isinstance(data.get("parts"), list):
        raise ValueError("not a reply: no list of parts")
    parts = tuple(_part(part) for part in data["parts"])  # type: ignore[union-attr]
    return _adapter().validate_python({**data, "parts": parts})


def _part(data: Json) -> Part:
    match data:
        case {"kind": "text", "text": str(text)}:
            return Text(text)
        case {"kind": "tool_call", "id": str(ident), "name": str(name), "arguments": arguments}:
            return ToolCall(ident, name, arguments)
        case {"kind": "opaque", "data": payload}:
            return Opaque(payload)
    raise ValueError("not a part of a reply")
