"""The parent's side of the frames described in `child.py`. Replies are untrusted, so checked."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

_MESSAGE_CHARS = 500
# A mebibyte of `[],[],` becomes 20 MiB of lists, and millions of errors when validated.
_MOST_VALUES = 4_000_000
_MOST_LEVELS = 32


@dataclass(frozen=True)
class WorkerReply:
    """A reply with checked form; `value` is unchecked JSON of the code."""

    ok: bool
    value: object = None
    kind: str = ""
    message: str = ""
    line: int | None = None


def request(call_id: str, header: Mapping[str, object], body: bytes = b"") -> bytes:
    """Return one request frame."""
    return frame_head(call_id, header, len(body)) + body


def frame_head(call_id: str, header: Mapping[str, object], body_length: int) -> bytes:
    """Return a request frame without its body."""
    data = json.dumps({**header, "id": call_id}, allow_nan=False).encode("ascii")
    return struct.pack(">IQ", len(data), body_length) + data


def parse_reply(data: bytes, call_id: str) -> tuple[WorkerReply, bytes]:
    """Parse the first reply in `data`; returns it and the rest.

    Raises:
        ValueError: the reply is cut short, or answers another request.
    """
    length = int.from_bytes(data[:4], "big")
    if len(data) < 4 + length:
        raise ValueError("the reply is cut short")
    return parse_payload(data[4 : 4 + length], call_id), data[4 + length :]


def parse_payload(data: bytes, call_id: str) -> WorkerReply:
    """Parse a reply without its length.

    Raises:
        ValueError: not JSON, not the reply to this request, too many values, nested too deeply, or
            a text that is not valid Unicode.
    """
    # Counted before parsing, which is where the memory would be spent.
    if data.count(b",") > _MOST_VALUES:
        raise ValueError(f"the reply holds more than {_MOST_VALUES} values")
    try:
        reply = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("the reply is nested too deeply") from None
    _check_values(reply)
    if not isinstance(reply, dict) or reply.get("id") != call_id:
        raise ValueError("the reply does not answer the call")
    if reply.get("ok") is True and "value" in reply:
        return WorkerReply(ok=True, value=reply["value"])
    kind, message, line = reply.get("kind"), reply.get("message"), reply.get("line")
    if reply.get("ok") is not False or not isinstance(kind, str) or not isinstance(message, str):
        raise ValueError("the reply has the wrong shape")
    return WorkerReply(
        ok=False, kind=kind, message=one_line(message), line=line if type(line) is int else None
    )


def one_line(text: str) -> str:
    """Make untrusted text fit for an error message: one bounded line without control characters."""
    characters = [
        character if character.isprintable() else " " for character in text[:_MESSAGE_CHARS]
    ]
    return "".join(characters).strip()


def _check_values(value: object) -> None:
    """Check depth and texts; ValueError if a value is too deep, or a text is not valid Unicode."""
    # Level by level, since deeply nested lists are expensive for recursive code.
    level = [value]
    for _ in range(_MOST_LEVELS):
        below: list[object] = []
        for part in level:
            if isinstance(part, dict):
                below += part
                below += part.values()
            elif isinstance(part, list):
                below += part
            elif isinstance(part, str) and not part.isascii():
                part.encode()  # raises for a lone surrogate, which cannot be printed or stored
        if not below:
            return
        level = below
    raise ValueError("the reply is nested too deeply")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a JSON number")
