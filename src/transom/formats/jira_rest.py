"""Issues and changelogs from a Jira server, page by page; not needed with the data folder, the
default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

from transom.canonical import Json
from transom.errors import InputError, NetworkFailed
from transom.formats.rest_client import RestClient

TOKEN: Final = "JIRA_TOKEN"
EMAIL: Final = "JIRA_EMAIL"
_PAGE: Final = 50
# At most ten thousand issues.
_MOST_PAGES: Final = 200


def fetch_issues(
    address: str,
    keys: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    *,
    jql: str = "",
) -> dict[str, dict[str, Json]]:
    """Fetch issues: returns Jira key -> `{"issue": ..., "changelog": ...}`.

    Args:
        address: the server's URL; `?jql=...` selects the issues, else `keys` do.
        keys: Jira keys of the features in the data folder.
        jql: a query that selects the issues if the address has none.
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
    query = next(iter(parse_qs(parts.query).get("jql", [])), "") or jql
    if not keys and not query:
        raise InputError(
            "selects no issues", place="--jira", hint="add ?jql=project=NAME to the address"
        )
    selection = query or f"key in ({', '.join(sorted(keys))})"
    base = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
    issues = dict[str, dict[str, Json]]()
    with _Client(base, environ) as client:
        for issue in client.search(selection):
            changelog: Json = {"histories": list(client.changelog(issue))}
            issues[str(issue["key"])] = {"issue": issue, "changelog": changelog}
    missing = list[str]()
    if not query:
        missing = [key for key in keys if key not in issues]
    if not issues or missing:
        # A saved file must not stand in for an issue that the server does not know.
        problem = f"has no issue for {selection!r}"
        if missing:
            problem = f"knows no issue {', '.join(missing)}"
        raise InputError(
            f"the server {problem}", place="--jira", hint="check the keys, or leave --jira out"
        )
    return issues


class _Client:
    """A session with one server."""

    def __init__(self, base: str, environ: Mapping[str, str]) -> None:
        token, email = environ.get(TOKEN, ""), environ.get(EMAIL, "")
        if not token:
            raise InputError(
                "the token is missing", place="--jira", hint=f"set the environment variable {TOKEN}"
            )
        # Jira Cloud takes an e-mail address and an API token, a server takes a bearer token.
        headers: dict[str, str] = {}
        login: tuple[str, str] | None = None
        if email:
            login = (email, token)
        else:
            headers["Authorization"] = f"Bearer {token}"
        self._rest = RestClient(
            base,
            server="Jira",
            place="--jira",
            token_name=TOKEN,
            headers=headers,
            login=login,
        )

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._rest.close()

    def search(self, jql: str) -> Iterator[dict[str, Any]]:
        """Yield all issues of a query, by Jira Cloud's token pages, else by a server's numbered
        pages.
        """
        fields = {"jql": jql, "fields": "*all", "expand": "changelog", "maxResults": str(_PAGE)}
        # Jira Cloud has taken the numbered search away; a server of one's own has only that.
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
            # A page without rows ends it, too: a wrong total must not loop until the last page.
            if not rows or page.get("isLast") is True or start >= int(page.get("total", start)):
                return

    def _get(
        self, path: str, fields: Mapping[str, str], *, optional: bool = False
    ) -> dict[str, Any] | None:
        data = self._rest.get(path, fields, optional=optional)
        if data is None and optional:
            return None
        if not isinstance(data, dict):
            raise NetworkFailed(
                f"Jira answered {path} with JSON that is not an object", place="--jira"
            )
        return data


def _dicts(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [row for row in value if isinstance(row, dict)]
