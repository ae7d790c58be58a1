"""A session with a server's REST API: JSON, retries while the server is busy, and clear errors."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from transom.canonical import Json
from transom.errors import InputError, NetworkFailed, install_hint

if TYPE_CHECKING:
    import httpx

_SECONDS: Final = 30.0
_MOST_PAGES: Final = 200
_BUSY: Final = (429, 502, 503, 504)
_BAD_REQUEST: Final = 400
_REFUSED: Final = (401, 403)
# GitHub answers 403 if a repository has a scanner switched off.
_MISSING: Final = (403, 404, 405, 410)
_PAUSES: Final = (1.0, 3.0, 8.0)  # seconds before each further try, unless the server names them
_LONGEST_PAUSE: Final = 60.0
_LONGEST_REASON: Final = 300


class RestClient:
    """A session with one server.

    Args:
        base: the address that all paths continue.
        server: the server's name in errors.
        place: the option that an error names.
        token_name: the environment variable that a refused token came from.
    """

    def __init__(
        self,
        base: str,
        *,
        server: str,
        place: str,
        token_name: str,
        headers: Mapping[str, str],
        login: tuple[str, str] | None = None,
    ) -> None:
        try:
            import httpx  # noqa: PLC0415  optional, and slow to import
        except ImportError as error:
            hint = install_hint("jira")
            raise InputError(
                "the package httpx is not installed", place=place, hint=hint
            ) from error
        self._server, self._place, self._token_name = server, place, token_name
        self._host = urlsplit(base).netloc
        self._errors = (httpx.HTTPError, httpx.InvalidURL, ValueError)
        accept = {"Accept": "application/json", **headers}
        self._http = httpx.Client(base_url=base, headers=accept, auth=login, timeout=_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the session's connections."""
        self._http.close()

    def get(
        self, path: str, fields: Mapping[str, str] | None = None, *, optional: bool = False
    ) -> Json:
        """Return what the server answers; None if `optional` and it does not have the path.

        Raises:
            InputError: the server refuses the token or the query.
            NetworkFailed: the server does not answer with JSON.
        """
        reply = self._reply(path, fields or {}, optional=optional)
        if reply is None:
            return None
        return self._document(path, reply)

    def pages(
        self, path: str, fields: Mapping[str, str] | None = None, *, optional: bool = False
    ) -> Iterator[Json]:
        """Yield the documents of a list, page by page; the server's `Link` header names the next.

        Raises:
            InputError: the server refuses the token or the query.
            NetworkFailed: a page does not come, names a page of another host, or they do not end.
        """
        address, query = path, dict(fields or {})
        for _ in range(_MOST_PAGES):
            reply = self._reply(address, query, optional=optional)
            if reply is None:
                return
            yield self._document(address, reply)
            following = reply.links.get("next", {}).get("url", "")
            if not following:
                return
            # The token goes to no other host.
            if urlsplit(following).netloc not in ("", self._host):
                raise NetworkFailed(
                    f"{self._server} names a next page on another host", place=self._place
                )
            address, query = following, {}
        raise NetworkFailed(
            f"{self._server} answers {path} with more than {_MOST_PAGES} pages", place=self._place
        )

    def _reply(
        self, path: str, fields: Mapping[str, str], *, optional: bool
    ) -> httpx.Response | None:
        # An address of a next page has its query already.
        query = dict(fields) or None
        try:
            reply = self._http.get(path, params=query)
            for seconds in _PAUSES:
                if reply.status_code not in _BUSY:
                    break
                time.sleep(_pause(reply.headers.get("Retry-After"), seconds))
                reply = self._http.get(path, params=query)
        except self._errors as error:
            raise self._no_answer(path, error) from error
        if optional and reply.status_code in _MISSING:
            return None
        if reply.status_code in _REFUSED:
            raise InputError(
                f"refuses the token ({reply.status_code}) for {path}",
                place=self._place,
                hint=f"check {self._token_name}",
            )
        if reply.status_code == _BAD_REQUEST:
            raise InputError(
                f"{self._server} refuses the query: {_reason(reply.text)}",
                place=self._place,
                hint="correct the query",
            )
        if reply.is_error:
            reason = _reason(reply.text)
            raise NetworkFailed(
                f"{self._server} answered {path} with {reply.status_code}: {reason}",
                place=self._place,
            )
        return reply

    def _document(self, path: str, reply: httpx.Response) -> Json:
        try:
            document: Json = reply.json()
        except ValueError as error:
            raise self._no_answer(path, error) from error
        return document

    def _no_answer(self, path: str, error: Exception) -> NetworkFailed:
        problem = f"{self._server} did not answer {path}: {type(error).__name__}"
        return NetworkFailed(problem, place=self._place)


def _pause(requested: str | None, usual: float) -> float:
    """Return the seconds before the next try: what the server asks for, within bounds."""
    if requested is not None and requested.strip().isdigit():
        return min(float(requested), _LONGEST_PAUSE)
    return usual


def _reason(text: str) -> str:
    """Return what a server says of an error: its messages, else the beginning of its text."""
    try:
        data: Any = json.loads(text)
    except ValueError:
        data = None
    messages = list[str]()
    if isinstance(data, dict):
        messages += [str(message) for message in data.get("errorMessages") or ()]
        messages += [str(data[key]) for key in ("message", "error") if data.get(key)]
        errors = data.get("errors")
        if isinstance(errors, dict):
            messages += [f"{name}: {message}" for name, message in errors.items()]
    return " ".join("; ".join(messages or [text]).split())[:_LONGEST_REASON] or "no reason given"
