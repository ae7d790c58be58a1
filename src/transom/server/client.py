"""A client of the REST API, for programs on this machine or another one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from transom.errors import InputError, NotFoundError, RunError
from transom.telemetry.address import parse_address, safe_address

_ROWS = 100  # runs in one request
_NOT_FOUND = 404


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ApiClient:
    """The data of a `transom serve`, as its pages show it.

    Example: `ApiClient("http://127.0.0.1:8420", token).runs(status="paused")`.

    Args:
        url: the address that the server prints.
        token: its token.
        seconds: limit for each request.

    Raises:
        InputError: the address is no URL.
    """

    def __init__(self, url: str, token: str, *, seconds: float = 30.0) -> None:
        try:
            parse_address(url)
        except ValueError as error:
            problem = f"{safe_address(url)!r} is no address of a server: {error}"
            raise InputError(problem, hint="use an address such as http://127.0.0.1:8420") from None
        self._url = url.rstrip("/")
        self._token = token
        self._seconds = seconds
        # No proxy: the server is on this machine or in this network, and the token stays there.
        self._opener = build_opener(ProxyHandler({}), _NoRedirect())

    def get(self, path: str, **query: str | int | bool) -> dict[str, Any]:
        """Return a document of the API; `/openapi.json` lists the paths below `/api`.

        Raises:
            NotFoundError: there is no such run, insight or path.
            InputError: the server refuses the token or the request.
            RunError: the server cannot be reached, or failed.
        """
        values = {key: str(value) for key, value in query.items()}
        address = f"/api/{path}"
        if values:
            address += f"?{urlencode(values)}"
        return self._send(Request(self._url + address, headers=self._headers()))

    def post(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Send a document to the API and return its answer; for errors see `get`."""
        headers = {**self._headers(), "Content-Type": "application/json"}
        body = json.dumps(document).encode()
        address = f"{self._url}/api/{path}"
        return self._send(Request(address, data=body, headers=headers, method="POST"))

    def runs(self, *, kind: str = "", status: str = "") -> Iterator[dict[str, Any]]:
        """Yield all runs, the newest first, page by page."""
        offset = 0
        while True:
            page = self.get("runs", kind=kind, status=status, offset=offset, limit=_ROWS)["runs"]
            yield from page
            if len(page) < _ROWS:
                return
            offset += _ROWS

    def run(self, run_id: str) -> dict[str, Any]:
        """Return a run with its stages and open questions."""
        return self.get(f"runs/{quote(run_id, safe='')}")

    def result(self, run_id: str) -> dict[str, Any]:
        """Return the document that the command of a run prints with `--format json`."""
        return self.get(f"runs/{quote(run_id, safe='')}/result")

    def waiting(self) -> dict[str, Any]:
        """Return the open questions, and the runs that wait without one."""
        return self.get("waiting")

    def insights(self, query: str = "", *, scope: str = "") -> dict[str, Any]:
        """Return the best insights of the playbook, of all scopes or of one."""
        return self.get("playbook", query=query, scope=scope)

    def feedback(self, item_id: str, *, helpful: bool) -> dict[str, Any]:
        """Count one outcome for or against an insight, and return its new score."""
        return self.post("context/playbook/feedback", {"item_id": item_id, "helpful": helpful})

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}

    def _send(self, request: Request) -> dict[str, Any]:
        place = safe_address(request.full_url)
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                document: dict[str, Any] = json.load(answer)
                return document
        except HTTPError as error:
            with error:
                raise _error_of(error.code, error.read(), place) from None
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise RunError(f"the server does not answer: {reason}", place=place) from error


def _error_of(status: int, body: bytes, place: str) -> Exception:
    """Return the error that a problem document describes."""
    try:
        detail = str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"status {status}"
    if status == _NOT_FOUND:
        return NotFoundError(detail, place=place)
    if status < 500:
        return InputError(detail, place=place)
    return RunError(f"the server failed: {detail}", place=place)
