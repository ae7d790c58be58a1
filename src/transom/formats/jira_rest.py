"""Issues and changelogs from a Jira server, page by page; not needed with the data folder, the
default.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

from transom.canonical import Json
from transom.errors import InputError, NetworkFailed, install_hint

TOKEN: Final = "JIRA_TOKEN"
EMAIL: Final = "JIRA_EMAIL"
_PAGE: Final = 50
_MOST_PAGES: Final = 200
_SECONDS: Final = 30.0
_BUSY: Final = (429, 502, 503, 504)
_BAD_REQUEST: Final = 400
_PAUSES: Final = (1.0, 3.0, 8.0)  # seconds before each further try, unless the server names them
_LONGEST_PAUSE: Final = 60.0
_LONGEST_REASON: Final = 300


def fetch_issues(
    address: str, keys: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> dict[str, dict[str, Json]]:
    """Fetch issues: returns Jira key -> `{"issue": ..., "changelog": ...}`.

    Args:
        address: the server's URL; `?jql=...` selects the issues, else `keys` do.
        keys: Jira keys of the features in the data folder.
        environ: has `JIRA_TOKEN`, a bearer token, or with `JIRA_EMAIL` an API token of Jira Cloud.

    Raises:
        InputError: not a URL, neither a query nor keys, no token or a wrong one.
        NetworkFailed: the server's response is not Jira's.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"{address!r} is not a URL",
            place="--jira",
            hint="write https://HOST or https://HOST?jql=...",
        )
    jql = (
        next(iter(parse_qs(parts.query).get("jql", [])), "")
        or f"key in ({', '.join(sorted(keys))})"
    )
    if not keys and "jql" not in parts.query:
        raise InputError(
            "selects no issues", place="--jira", hint="add ?jql=project=NAME to the address"
        )
    base = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
    issues = dict[str, dict[str, Json]]()
    with _Client(base, environ) as client:
        for issue in client.search(jql):
            changelog: Json = {"histories": list(client.changelog(issue))}
            issues[str(issue["key"])] = {"issue": issue, "changelog": changelog}
    missing = [key for key in keys if key not in issues] if "jql" not in parts.query else []
    if not issues or missing:
        # A saved file must not stand in for an issue that the server does not know.
        what = f"knows no issue {', '.join(missing)}" if missing else f"has no issue for {jql!r}"
        raise InputError(
            f"the server {what}", place="--jira", hint="check the keys, or leave --jira out"
        )
    return issues


class _Client:
    """A session with one server."""

    def __init__(self, base: str, environ: Mapping[str, str]) -> None:
        try:
            import httpx  # noqa: PLC0415  optional, and slow to import
        except ImportError as error:
            hint = install_hint("jira")
            raise InputError(
                "the package httpx is not installed", place="--jira", hint=hint
            ) from error
        token, email = environ.get(TOKEN, ""), environ.get(EMAIL, "")
        if not token:
            raise InputError(
                "the token is missing", place="--jira", hint=f"set the environment variable {TOKEN}"
            )
        headers = {"Accept": "application/json"} | (
            {} if email else {"Authorization": f"Bearer {token}"}
        )
        auth = (email, token) if email else None
        self._http = httpx.Client(base_url=base, headers=headers, auth=auth, timeout=_SECONDS)

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def search(self, jql: str) -> Iterator[dict[str, Any]]:
        """Yield all issues of a query, by Jira Cloud's token pages, else by a server's numbered
        pages.
        """
        fields = {"jql": jql, "fields": "*all", "expand": "changelog", "maxResults": str(_PAGE)}
        page = self._get("/rest/api/3/search/jql", fields, optional=True)
        if page is None:
            yield from self._numbered("/rest/api/2/search", fields, "issues")
            return
        for _ in range(_MOST_PAGES):
            yield from _dicts(page.get("issues"))
            token = page.get("nextPageToken")
            if not token or page.get("isLast") is True:
                return
            page = (
                self._get("/rest/api/3/search/jql", {**fields, "nextPageToken": str(token)}) or {}
            )

    def changelog(self, issue: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield all changes of an issue: those in the issue if they are complete, else page by
        page.
        """
        included = issue.get("changelog")
        if isinstance(included, dict) and len(_dicts(included.get("histories"))) >= int(
            included.get("total", 0)
        ):
            yield from _dicts(included.get("histories"))
            return
        yield from self._numbered(
            f"/rest/api/2/issue/{issue['key']}/changelog", {"maxResults": "100"}, "values"
        )

    def _numbered(
        self, path: str, fields: Mapping[str, str], name: str
    ) -> Iterator[dict[str, Any]]:
        start = 0
        for _ in range(_MOST_PAGES):
            page = self._get(path, {**fields, "startAt": str(start)}) or {}
            rows = _dicts(page.get(name))
            yield from rows
            start += len(rows)
            if not rows or page.get("isLast") is True or start >= int(page.get("total", start)):
                return

    def _get(
        self, path: str, fields: Mapping[str, str], *, optional: bool = False
    ) -> dict[str, Any] | None:
        import httpx  # noqa: PLC0415  as above

        try:
            reply = self._http.get(path, params=dict(fields))
            for seconds in _PAUSES:
                if reply.status_code not in _BUSY:
                    break
                time.sleep(_pause(reply.headers.get("Retry-After"), seconds))
                reply = self._http.get(path, params=dict(fields))
            if optional and reply.status_code in (404, 405, 410):
                return None
            if reply.status_code in (401, 403):
                raise InputError(
                    f"refuses the token ({reply.status_code})",
                    place="--jira",
                    hint=f"check {TOKEN}",
                )
            if reply.status_code == _BAD_REQUEST:
                raise InputError(
                    f"Jira refuses the query: {_reason(reply.text)}",
                    place="--jira",
                    hint="correct the JQL",
                )
            if reply.is_error:
                raise NetworkFailed(
                    f"Jira answered {path} with {reply.status_code}: {_reason(reply.text)}",
                    place="--jira",
                )
            data = reply.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise NetworkFailed(
                f"Jira did not answer {path}: {type(error).__name__}", place="--jira"
            ) from error
        if not isinstance(data, dict):
            raise NetworkFailed(
                f"Jira answered {path} with JSON that is not an object", place="--jira"
            )
        return data


def _pause(told: str | None, usual: float) -> float:
    """Return the seconds before the next try: what the server asks for, within bounds."""
    if told is not None and told.strip().isdigit():
        return min(float(told), _LONGEST_PAUSE)
    return usual


def _reason(text: str) -> str:
    """Return what a server says of an error: Jira's messages, else the beginning of its text."""
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    messages = list[str]()
    if isinstance(data, dict):
        messages += [str(message) for message in data.get("errorMessages") or ()]
        errors = data.get("errors")
        if isinstance(errors, dict):
            messages += [f"{name}: {message}" for name, message in errors.items()]
    return " ".join("; ".join(messages or [text]).split())[:_LONGEST_REASON] or "no reason given"


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
