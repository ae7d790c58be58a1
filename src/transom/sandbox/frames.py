"""The parent's side of the frames that `child.py` describes. What comes back is untrusted: parsed, bounded, checked."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

_MESSAGE_CHARS = 500


@dataclass(frozen=True)
class Answer:
    """A reply whose form has been checked; `value` has not, it is whatever JSON the code gave."""

    ok: bool
    value: object = None
    kind: str = ""
    message: str = ""
    line: int | None = None


def request(call_id: str, header: Mapping[str, object], body: bytes = b"") -> bytes:
    """One request frame."""
    return frame_head(call_id, header, len(body)) + body


def frame_head(call_id: str, header: Mapping[str, object], body_length: int) -> bytes:
    """A request frame without its body."""
    data = json.dumps({**header, "id": call_id}, allow_nan=False).encode("ascii")
    return struct.pack(">IQ", len(data), body_length) + data


def parse_reply(data: bytes, call_id: str) -> tuple[Answer, bytes]:
    """The first reply in `data`, and the rest.

    Raises:
        ValueError: cut short, or not the reply to this request.
    """
    length = int.from_bytes(data[:4], "big")
    if len(data) < 4 + length:
        raise ValueError("the reply is cut short")
    return parse_payload(data[4 : 4 + length], call_id), data[4 + length :]


def parse_payload(data: bytes, call_id: str) -> Answer:
    """A reply without its length.

    Raises:
        ValueError: not JSON, or not the reply to this request.
    """
    try:
        reply = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("the reply is nested too deeply") from None
    if not isinstance(reply, dict) or reply.get("id") != call_id:
        raise ValueError("that is no reply to the call")
    if reply.get("ok") is True and "value" in reply:
        return Answer(ok=True, value=reply["value"])
    kind, message, line = reply.get("kind"), reply.get("message"), reply.get("line")
    if reply.get("ok") is not False or not isinstance(kind, str) or not isinstance(message, str):
        raise ValueError("the reply has the wrong shape")
    return Answer(ok=False, kind=kind, message=one_line(message), line=line if type(line) is int else None)


def one_line(text: str) -> str:
    """Untrusted text made fit for an error message: one bounded line, no control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:_MESSAGE_CHARS]).strip()


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is no JSON number")
