"""From what a server said to one of our errors: by the status, never by the class that an SDK chose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
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
from transom.llm.reading import read_document

_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}
_OVERFLOW_WORDS = re.compile(
    r"context[ _](?:length|window|size|limit)|prompt is too long|input (?:length|tokens) exceed|too many tokens", re.I
)
_NUMBER = r"(?<![\d,])(\d[\d,]{0,19})"  # of thousands of digits Python makes no number
_Order = Callable[[list[int]], tuple[int, int]]
_SIZES: tuple[tuple[re.Pattern[str], _Order], ...] = (
    # The order of the two numbers, needed and limit, differs by vendor; each line says which comes first.
    (re.compile(rf"{_NUMBER} \+ {_NUMBER} > {_NUMBER}"), lambda n: (n[0] + n[1], n[2])),
    (re.compile(rf"{_NUMBER} tokens? > {_NUMBER}"), lambda n: (n[0], n[1])),
    (re.compile(rf"\({_NUMBER} tokens\) exceeds .*?\({_NUMBER} tokens\)", re.S), lambda n: (n[0], n[1])),
    (
        re.compile(rf"(?:length is|limit of) {_NUMBER} tokens.*?(?:resulted in|requested(?: about)?) {_NUMBER}", re.S),
        lambda n: (n[1], n[0]),
    ),
)
_NO_RETRY = {
    *("invalid_request_error", "authentication_error", "permission_error", "not_found_error", "billing_error"),
    *("request_too_large", "insufficient_quota", "invalid_api_key", "model_not_found"),
}
"""Kinds of errors that vendors name in a body, and that asking again does not mend."""
_FIRST_WORDS = 4_000
"""Characters of what a server said in which its numbers are looked for: these patterns begin anew at every place, and
nothing else of the process runs meanwhile."""
_RETRYABLE_4XX = {409, 425}
_HOPELESS_5XX = {501, 505}


def from_status(status: int, body: Json, headers: Mapping[str, str]) -> ProviderError:
    """The error that a status means.

    Args:
        status: of the response; 300 and more.
        body: of the response, parsed where it is JSON, else its text.
        headers: with lower-case names, or a mapping that does not care.
    """
    kind, said = _read(body)
    what = f"status {status}: {said or 'no word of why'}"
    wait = retry_after(headers)
    if status in (401, 403):
        return AuthenticationFailed(what)
    if status == 429:
        return RateLimited(what, retryable=kind not in _NO_RETRY, retry_after=wait)
    if status == 408:
        return NetworkFailed(what)
    if status in (400, 413, 422) and (kind in _OVERFLOW_CODES or _OVERFLOW_WORDS.search(said)):
        needed, limit = _sizes(said, body)
        return ContextOverflow(what, needed=needed, limit=limit, hint="choose a model with a larger window")
    if status in _RETRYABLE_4XX or status >= 500:
        return ProviderError(what, retryable=status not in _HOPELESS_5XX, retry_after=wait)
    if status >= 400:
        return RequestRefused(what)
    told = f"status {status}: it sends us on to {headers.get('location', 'nowhere')}, which is not followed"
    return ProviderError(told, hint="where that is right, make it the base URL")


def from_error_in_reply(error: Json) -> ProviderError:
    """The error that stands in the body of a reply whose status promised success."""
    kind, said = _read({"error": error})
    what = f"an error in place of a reply: {said or 'no word of why'}"
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return from_status(code, {"error": error}, {})
    return ProviderError(what, retryable=kind not in _NO_RETRY)


def connection_failed(error: BaseException) -> NetworkFailed:
    """No connection, or none any more. SDKs hide the reason behind a sentence of their own."""
    while (inner := error.__cause__ or error.__context__) is not None and type(inner).__module__ != "builtins":
        error = inner
    text = str(error)
    return NetworkFailed(f"the connection failed: {text or type(error).__name__}")


def own_error(error: BaseException | None) -> ProviderError | None:
    """The error of ours that an SDK has wrapped into one of its own."""
    while error is not None and not isinstance(error, ProviderError):
        error = error.__cause__ or error.__context__
    return error


def unreadable(what: str) -> ProviderError:
    """A reply with status 200 that is none; the next one may be."""
    return ProviderError(what, retryable=True)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after` (seconds or a date); None where neither says."""
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


def _read(body: Json) -> tuple[str, str]:
    """The kind of an error, as the vendor calls it, and what is said of it, in one line."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", _line(error)
    code, kind = error.get("code"), error.get("type")
    named = code if isinstance(code, str) and code else kind
    said = error.get("message") or error.get("detail") or error.get("metadata")
    return str(named or ""), _line(said)


def _line(said: Json) -> str:
    text = said if isinstance(said, str) else "" if said is None else json.dumps(said)
    return " ".join(text.split())


def _sizes(said: str, body: Json) -> tuple[int | None, int | None]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    if isinstance(error, dict):
        match (error.get("n_prompt_tokens"), error.get("n_ctx")):
            case (int(needed), int(limit)):
                return needed, limit
    for pattern, order in _SIZES:
        found = pattern.search(said, 0, _FIRST_WORDS)
        if found:
            numbers = [int(number.replace(",", "")) for number in found.groups()]
            needed, limit = order(numbers)
            return needed, limit
    return None, None
