"""What errors of the library for MCP mean: nobody is there any more, or nobody knows what came of a call."""

from __future__ import annotations

import asyncio
from typing import Any

_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout"})  # of httpx, under whichever name the library has it
_STAND_INS = (
    "Session terminated",
    "Server returned an error response",
    "Unexpected content type",
    "server answered a request with 202",
)
"""How the library begins an error of its own where the server's answer was none."""
_CLOSED = ("Connection closed", "SSE stream")
_FORGOTTEN = ("session not found", "no valid session id")
_ENDING = 2.0  # seconds that a connection over HTTP may take to end once it broke


class Unanswered(Exception):
    """It was sent, and what came of it is not known. Its cause is what broke."""


def is_gone(error: Exception) -> bool:
    """Whether nobody is there any more, or knows us; other errors are answers."""
    return _is_closed(error) or "Session terminated" in str(error) or _is_forgotten(error)


def is_answer(error: Exception) -> bool:
    """Whether the server said so itself, so that it is known what came of the call: it was refused, or it failed.

    All else is in doubt, also a result that came and cannot be read.
    """
    from mcp import MCPError  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)
    from mcp_types import PARSE_ERROR, REQUEST_TIMEOUT  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    if not isinstance(error, MCPError):
        return False
    said: Any = error
    if _is_forgotten(error):
        return True
    if _is_closed(error) or said.code in (PARSE_ERROR, REQUEST_TIMEOUT):
        return False
    return not str(error).startswith(_STAND_INS)


async def never_sent(error: Exception, life: asyncio.Task[None]) -> bool:
    """Whether a connection broke because none could be made, which says the same of the one request on it."""
    if not _is_closed(error):
        return False
    await asyncio.wait({life}, timeout=_ENDING)
    if not life.done() or life.cancelled():
        return False
    return type(first(life.exception())).__name__ in _NEVER_CONNECTED


def first(error: BaseException | None) -> BaseException | None:
    """What broke: the first error of a group, behind an `Unanswered` too."""
    while isinstance(error, BaseExceptionGroup | Unanswered):
        error = error.__cause__ if isinstance(error, Unanswered) else error.exceptions[0]
    return error


def _is_closed(error: Exception) -> bool:
    """Whether the connection is."""
    from mcp_types import CONNECTION_CLOSED  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    if getattr(error, "code", None) == CONNECTION_CLOSED:  # servers use it for errors of their own as well
        return str(error).startswith(_CLOSED)
    return isinstance(error, OSError)


def _is_forgotten(error: Exception) -> bool:
    """Whether the server does not know our session: it looks that up before it does anything."""
    return any(words in str(error).lower() for words in _FORGOTTEN)
