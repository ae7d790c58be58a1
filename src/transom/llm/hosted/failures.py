"""Mapping of a server's error response to our errors.

The status decides, and never the class that an SDK chose.
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
from transom.llm.strict_json import read_document

_NO_RETRY = {
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "billing_error",
    "request_too_large",
    "insufficient_quota",
    "invalid_api_key",
    "model_not_found",
}
"""Vendors' names for errors that another attempt does not mend."""
_NOT_OF_LENGTH = re.compile(
    r"rate_?limit|throttl|too_?many_?requests|quota|overloaded|server_?error|time_?out|unavailable"
    r"|\bper (?:second|minute|hour|day)\b|\bplease wait\b",
    re.I,
)
"""Errors that do not refuse a request for its length, though they speak of tokens a minute."""
_RETRYABLE_4XX = {409, 425}
_HOPELESS_5XX = {501, 505}


def from_status(status: int, body: Json, headers: Mapping[str, str]) -> ProviderError:
    """Return the error that a status of 300 and more means.

    Args:
        status: of the response.
        body: as JSON, or as text if it is not JSON.
        headers: of the response.
    """
    error = _from_status(status, body, headers)
    error.status, error.reason = status, f"status {status}"
    return error


def _from_status(status: int, body: Json, headers: Mapping[str, str]) -> ProviderError:
    kind, message = _read(body)
    problem = f"status {status}: {message or 'no reason given'}"
    wait = retry_after(headers)
    if status in (401, 403):
        return AuthenticationFailed(problem)
    if status == 429:
        return RateLimited(problem, retryable=kind not in _NO_RETRY, retry_after=wait)
    if status == 408:
        return NetworkFailed(problem)
    if status in (400, 413, 422):
        sizes = overflow(kind, message, _error_of(body))
        if sizes is not None:
            return ContextOverflow(problem, needed=sizes[0], limit=sizes[1])
    if status in _RETRYABLE_4XX or status >= 500:
        return ProviderError(problem, retryable=status not in _HOPELESS_5XX, retry_after=wait)
    if status >= 400:
        return RequestRefused(problem)
    # A redirect could take the key to another server.
    target = headers.get("location", "nowhere")
    problem = f"status {status}: it redirects to {target}, which is not followed"
    return ProviderError(problem, hint="if that is right, make it the base URL")


def from_error_in_reply(error: Json) -> ProviderError:
    """Return the error that stands in the body of a reply whose status promised success."""
    kind, message = _read({"error": error})
    problem = f"an error in place of a reply: {message or 'no reason given'}"
    status = _status_of(error)
    if status is not None:
        return from_status(status, {"error": error}, {})
    if not _NOT_OF_LENGTH.search(f"{kind} {message}"):
        sizes = overflow(kind, message, _error_of({"error": error}))
        if sizes is not None:
            return ContextOverflow(problem, needed=sizes[0], limit=sizes[1])
    reason = "an error in place of a reply"
    return ProviderError(problem, retryable=kind not in _NO_RETRY, reason=reason)


def connection_failed(error: BaseException) -> NetworkFailed:
    """Return the error for a failed connection, with its cause."""
    # SDKs hide the cause behind a sentence of their own. Python's own errors below it say less.
    inner = error.__cause__ or error.__context__
    while inner is not None and type(inner).__module__ != "builtins":
        error = inner
        inner = error.__cause__ or error.__context__
    text = str(error) or type(error).__name__
    return NetworkFailed(f"the connection failed: {text}", reason="no connection")


def own_error(error: BaseException | None) -> ProviderError | None:
    """Return the error of ours that an SDK has wrapped into one of its own."""
    while error is not None and not isinstance(error, ProviderError):
        error = error.__cause__ or error.__context__
    return error


def unreadable(problem: str, detail: str = "") -> ProviderError:
    """Return the error of a reply with status 200 that cannot be read; it is worth a retry.

    Args:
        problem: a clause that quotes nothing of the server.
        detail: an addition in parentheses, which may quote the server.
    """
    message = f"{problem} ({detail})" if detail else problem
    return ProviderError(message, retryable=True, reason=problem)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that a server asks for; None if it asks for nothing.

    They stand in `retry-after-ms`, or in `retry-after` as seconds or as a date.
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
    """Return a body as JSON, or unchanged if it is not JSON."""
    try:
        return read_document(text)
    except ValueError:
        return text


def _status_of(error: Json) -> int | None:
    """Return the status that some servers write into the `code` of an error; None without one."""
    if not isinstance(error, dict):
        return None
    code = str(error.get("code"))
    if len(code) != 3 or not code.isdecimal():
        return None
    return int(code) if 400 <= int(code) < 600 else None


def _read(body: Json) -> tuple[str, str]:
    """Return the vendor's name for an error, and its message in one line."""
    error = _error_of(body)
    if not error:
        return "", _line(body.get("error", body) if isinstance(body, dict) else body)
    code = error.get("code")
    kind = code if isinstance(code, str) and code else error.get("type")
    message, metadata = error.get("message") or error.get("detail"), error.get("metadata")
    texts = [_line(message)] if message else []
    # A router adds the message of the model's own server, which is often the only telling one.
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw:
        texts.append(_line(raw))
    elif metadata and not message:
        texts.append(_line(metadata))
    return str(kind or ""), ": ".join(texts)


def _error_of(body: Json) -> dict[str, Json]:
    """Return the object that describes an error; {} if there is none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini puts it into a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    return error if isinstance(error, dict) else {}


def _line(value: Json) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split())
