"""Mapping of a server's error response to our errors: by its status, never by the class that an
SDK chose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from transom.canonical import Json
from transom.errors import (
    AuthenticationFailed,
    ContextOverflow,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from transom.llm.hosted.overflow import overflow
from transom.llm.reading import read_document

_NO_RETRY = {
    *(
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "billing_error",
    ),
    *("request_too_large", "insufficient_quota", "invalid_api_key", "model_not_found"),
}
"""Kinds of errors that vendors name in a body, and that asking again does not mend."""
_NOT_OF_LENGTH = re.compile(
    r"rate_?limit|throttl|too_?many_?requests|quota|overloaded|server_?error|time_?out|unavailable"
    r"|\bper (?:second|minute|hour|day)\b|\bplease wait\b",
    re.I,
)
"""Errors that refuse no request for its length, though they may speak of tokens: too many of
them a minute.
"""
_RETRYABLE_4XX = {409, 425}
_HOPELESS_5XX = {501, 505}


def from_status(status: int, body: Json, headers: Mapping[str, str]) -> ProviderError:
    """The error that a status of 300 and more means; `body` is parsed where it is JSON, else its
    text.
    """
    error = _from_status(status, body, headers)
    error.status, error.reason = status, f"status {status}"
    return error


def _from_status(status: int, body: Json, headers: Mapping[str, str]) -> ProviderError:
    kind, said = _read(body)
    what = f"status {status}: {said or 'no word of why'}"
    wait = retry_after(headers)
    if status in (401, 403):
        return AuthenticationFailed(what)
    if status == 429:
        return RateLimited(what, retryable=kind not in _NO_RETRY, retry_after=wait)
    if status == 408:
        return NetworkFailed(what)
    if status in (400, 413, 422) and (sizes := overflow(kind, said, _error_of(body))) is not None:
        return ContextOverflow(what, needed=sizes[0], limit=sizes[1])
    if status in _RETRYABLE_4XX or status >= 500:
        return ProviderError(what, retryable=status not in _HOPELESS_5XX, retry_after=wait)
    if status >= 400:
        return RequestRefused(what)
    what = (
        f"status {status}: it redirects to {headers.get('location', 'nowhere')}, which is not"
        " followed"
    )
    return ProviderError(what, hint="where that is right, make it the base URL")


def from_error_in_reply(error: Json) -> ProviderError:
    """The error that stands in the body of a reply whose status promised success."""
    kind, said = _read({"error": error})
    what = f"an error in place of a reply: {said or 'no word of why'}"
    status = _status_of(error)
    if status is not None:
        return from_status(status, {"error": error}, {})
    of_length = not _NOT_OF_LENGTH.search(f"{kind} {said}")
    if of_length and (sizes := overflow(kind, said, _error_of({"error": error}))) is not None:
        return ContextOverflow(what, needed=sizes[0], limit=sizes[1])
    reason = "an error in place of a reply"
    return ProviderError(what, retryable=kind not in _NO_RETRY, reason=reason)


def connection_failed(error: BaseException) -> NetworkFailed:
    """The error for a failed connection, with its cause: SDKs hide it behind a sentence of their
    own.
    """
    while (inner := error.__cause__ or error.__context__) is not None and type(
        inner
    ).__module__ != "builtins":
        error = inner
    text = str(error)
    return NetworkFailed(
        f"the connection failed: {text or type(error).__name__}", reason="no connection"
    )


def own_error(error: BaseException | None) -> ProviderError | None:
    """The error of ours that an SDK has wrapped into one of its own."""
    while error is not None and not isinstance(error, ProviderError):
        error = error.__cause__ or error.__context__
    return error


def unreadable(what: str, detail: str = "") -> ProviderError:
    """Return the error of a reply with status 200 that is none; the next one may be.

    Args:
        what: a clause that quotes nothing of the server.
        detail: more, in parentheses.
    """
    told = f"{what} ({detail})" if detail else what
    return ProviderError(told, retryable=True, reason=what)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after` (seconds or a date); None where
    neither says.
    """
    text = headers.get("retry-after-ms")
    try:
        if text is not None:
            return max(0.0, float(text) / 1000)
        text = headers.get("retry-after")
        return None if text is None else max(0.0, float(text))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):  # a year of twenty digits
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def parsed(text: str) -> Json:
    """A body as JSON, where it is some."""
    try:
        return read_document(text)
    except ValueError:
        return text


def _status_of(error: Json) -> int | None:
    """The status that stands in an error for want of one of its own; some write it as a text."""
    code = str(error.get("code") if isinstance(error, dict) else "")
    return int(code) if len(code) == 3 and code.isdecimal() and 400 <= int(code) < 600 else None


def _read(body: Json) -> tuple[str, str]:
    """The kind of an error, as the vendor calls it, and what is said of it, in one line."""
    error = _error_of(body)
    if not error:
        return "", _line(body.get("error", body) if isinstance(body, dict) else body)
    code, kind = error.get("code"), error.get("type")
    named = code if isinstance(code, str) and code else kind
    said, about = error.get("message") or error.get("detail"), error.get("metadata")
    raw = about.get("raw") if isinstance(about, dict) else None
    # what a model's own server said
    more = raw if isinstance(raw, str) and raw else None if said else about
    return str(named or ""), ": ".join(_line(one) for one in (said, more) if one)


def _error_of(body: Json) -> dict[str, Json]:
    """The object that describes the error; {} where there is none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini puts it into a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    return error if isinstance(error, dict) else {}


def _line(said: Json) -> str:
    text = said if isinstance(said, str) else "" if said is None else json.dumps(said)
    return " ".join(text.split())
