"""The name that a person gave to this browser, written beside what the person decides."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import Response

from transom.errors import InputError

_COOKIE = "transom-name"
_LONGEST = 100
_YEAR = 365 * 24 * 3600


def name_of(request: Request) -> str:
    """Return the name that the proxy vouches for, else the one that the browser keeps; "" if there
    is none.
    """
    kept_name = unquote(request.cookies.get(_COOKIE, ""))
    return str(request.scope.get("person", kept_name))


def signature_of(request: Request, form: Mapping[str, str]) -> str:
    """Return the name that is written beside what a form decides; InputError if it is too long."""
    # Nobody can sign for another where a proxy knows who it is.
    name = str(request.scope.get("person", form.get("by", "").strip()))
    if len(name) > _LONGEST:
        raise InputError("the name is too long", hint=f"write at most {_LONGEST} characters")
    return name


def keep_name(response: Response, name: str) -> Response:
    """Let the browser keep a name; returns the response."""
    if name:
        value = quote(name)
        response.set_cookie(_COOKIE, value, max_age=_YEAR, httponly=True, samesite="lax")
    return response
