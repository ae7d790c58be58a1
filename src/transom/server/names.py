"""The name that a person gave to this browser, written beside what the person decides."""

from __future__ import annotations

from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import Response

_COOKIE = "transom-name"
_YEAR = 365 * 24 * 3600


def name_of(request: Request) -> str:
    """Return the name that the browser keeps; "" if it keeps none."""
    return unquote(request.cookies.get(_COOKIE, ""))


def keep_name(response: Response, name: str) -> Response:
    """Let the browser keep a name; returns the response."""
    if name:
        value = quote(name)
        response.set_cookie(_COOKIE, value, max_age=_YEAR, httponly=True, samesite="lax")
    return response
