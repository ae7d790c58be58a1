"""Reads issues of a GitHub repository as the stories of an epic.

Source: GitHub's REST API, "List repository issues". The address and the token are those that
GitHub's own programs use.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from transom.errors import InputError, NetworkFailed
from transom.stories.backlog_search import Backlog
from transom.stories.markdown_story import read_boxes, read_story_file
from transom.stories.story import Status, Story

_ADDRESS = "https://api.github.com"
_PAGE = 100
# GitHub counts pages without an end; a wrong server must not be read for ever.
_MOST_PAGES = 50
_SECONDS = 30.0
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_WAITS = re.compile(
    r"\b(?:depends on|blocked by|requires|after)\b((?:[\s,:]|and|#\d+)+)", re.IGNORECASE
)


def read_github(
    repository: str, label: str, epic: str, environment: Mapping[str, str] = os.environ
) -> Backlog:
    """Return the issues with a label as stories, in the order of their numbers.

    Args:
        repository: `OWNER/NAME`.
        environment: has `GITHUB_TOKEN` or `GH_TOKEN` for repositories that are not public, and
            `GITHUB_API_URL` for a server of your own.

    Raises:
        InputError: the repository's name is wrong, it has no such issue, or access is refused.
        NetworkFailed: the server does not answer as GitHub does.
    """
    if not _REPOSITORY.fullmatch(repository):
        hint = "write OWNER/NAME"
        raise InputError(f"{repository!r} names no repository", place="--github", hint=hint)
    issues = [issue for issue in _issues(repository, label, environment) if _is_story(issue)]
    if not issues:
        hint = "name the label of your stories with --label"
        raise InputError(f"{repository} has no issue with the label {label!r}", hint=hint)
    # Old issues first: the API lists the newest first.
    issues.sort(key=lambda issue: int(issue["number"]))
    numbers = {str(issue["number"]) for issue in issues}
    stories = tuple(_story(issue, repository, epic, numbers) for issue in issues)
    return Backlog(epic, "github", stories, repository)


def _is_story(issue: Mapping[str, Any]) -> bool:
    # The list of issues holds pull requests, too.
    return "pull_request" not in issue and isinstance(issue.get("number"), int)


def _story(issue: Mapping[str, Any], repository: str, epic: str, numbers: set[str]) -> Story:
    number, title = str(issue["number"]), " ".join(str(issue.get("title") or "").split())
    body = str(issue.get("body") or "").replace("\r\n", "\n")
    source = f"{repository}#{number}"
    # The issue's state decides; its text may quote that of another.
    status = _status(issue)
    fields: dict[str, Any] = {
        "id": number,
        "key": f"issue-{number}",
        "title": title,
        "epic": epic,
        "source": source,
        "status": status,
        "owns_file": False,
        # GitHub keeps the status; nobody writes it into a file.
        "status_text": "",
    }
    waits = [name for match in _WAITS.finditer(body) for name in re.findall(r"#(\d+)", match[1])]
    fields["depends_on"] = tuple(dict.fromkeys(name for name in waits if name in numbers))
    heading = title or "no title"
    try:
        story = read_story_file(f"# Story {number}: {heading}\n\n{body}\n", source)
    # The issue stays in the list: its story waits, and the others go on.
    except InputError as error:
        return Story(**{**fields, "title": heading, "text": body}, unreadable=str(error))
    if not story.criteria:
        # Many issues list what must hold as boxes, without a heading.
        boxes = [task.text for task in read_boxes(body)]
        fields["criteria"] = tuple(boxes)
    if not story.goal:
        paragraphs = [part.strip() for part in body.split("\n\n")]
        texts = [part for part in paragraphs if part and not part.startswith(("#", "-", "*", "|"))]
        fields["goal"] = " ".join(texts[0].split()) if texts else ""
    return story.model_copy(update=fields)


def _status(issue: Mapping[str, Any]) -> Status:
    if issue.get("state") != "closed":
        return "ready"
    return "closed" if issue.get("state_reason") in ("not_planned", "duplicate") else "done"


def _issues(
    repository: str, label: str, environment: Mapping[str, str]
) -> Iterator[Mapping[str, Any]]:
    address = environment.get("GITHUB_API_URL") or _ADDRESS
    if urlsplit(address).scheme not in ("http", "https"):
        raise InputError(f"{address!r} is no web address", place="GITHUB_API_URL")
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "transom"}
    # Without a token, public repositories can be read, a few times an hour.
    if token := environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    for page in range(1, _MOST_PAGES + 1):
        words = {"labels": label, "state": "all", "per_page": _PAGE, "page": page}
        page_address = f"{address.rstrip('/')}/repos/{repository}/issues?{urlencode(words)}"
        rows = _get(Request(page_address, headers=headers), repository)
        yield from rows
        if len(rows) < _PAGE:
            return


def _get(request: Request, repository: str) -> list[Mapping[str, Any]]:
    try:
        with urlopen(request, timeout=_SECONDS) as reply:
            rows = json.load(reply)
    except HTTPError as error:
        hint = "set GITHUB_TOKEN to a token that may read its issues"
        problem = f"GitHub refuses access: {error.code} {error.reason}"
        raise InputError(problem, place=repository, hint=hint) from error
    except (URLError, OSError, HTTPException, ValueError) as error:
        raise NetworkFailed(f"GitHub cannot be read: {error}", place=repository) from error
    if not isinstance(rows, list):
        raise NetworkFailed("the answer is no list of issues", place=repository)
    return [row for row in rows if isinstance(row, dict)]
