"""Comments of reviewers on an epic's pull request, as stories of the epic.

Sources: `gh pr view --json` and GitHub's REST API, "List review comments on a pull request";
`glab mr view` and GitLab's API of discussions. Both are read with the forge's own program, which
knows the person's access.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transom.errors import InputError
from transom.stories.finishing import branch_of, forge_of, run_forge
from transom.stories.git import Git
from transom.stories.story import Story

_MEMBERS = ("OWNER", "MEMBER", "COLLABORATOR")
"""Authors whose comments an agent works on: on a public request, anybody may write."""
_LONGEST_TITLE = 60


@dataclass(frozen=True)
class RequestComment:
    """A comment, with the answers below it.

    Attributes:
        id: the forge's number of it.
        author: who wrote it.
        text: what it says.
        place: `PATH:LINE` of the line that it is about, or "".
    """

    id: str
    author: str
    text: str
    place: str = ""


async def read_comments(project: Git, epic: str) -> tuple[RequestComment, ...]:
    """Return the comments on the epic's open pull request, the oldest first.

    Raises:
        InputError: there is no request, or the forge's program failed.
    """
    branch = branch_of(epic)
    forge = await forge_of(project)
    if forge == "gh":
        words = ("pr", "view", branch, "--json", "number,comments,reviews")
        request = await _call_forge(project, forge, *words)
        number = request.get("number")
        lines = await _call_forge(
            project, forge, "api", f"repos/{{owner}}/{{repo}}/pulls/{number}/comments"
        )
        return tuple(_of_github(request, lines))
    request = await _call_forge(project, forge, "mr", "view", branch, "--output", "json")
    address = f"projects/:fullpath/merge_requests/{request.get('iid')}/discussions?per_page=100"
    return tuple(_of_gitlab(await _call_forge(project, forge, "api", address)))


async def _call_forge(project: Git, forge: str, *words: str) -> Any:
    code, output = await run_forge([forge, *words], project.folder)
    if code:
        hint = f"run {forge} auth status, and look for the epic's open request"
        raise InputError(f"{forge} failed: {output[-300:]}", place="--comments", hint=hint)
    try:
        return json.loads(output)
    except ValueError as error:
        problem = f"{forge} {words[0]} printed no JSON: {output[:100]}"
        raise InputError(problem, place="--comments", hint=f"update {forge}") from error


def _of_github(
    request: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
) -> Iterator[RequestComment]:
    """Yield the comments of GitHub: on the request, on reviews, and on lines."""
    for row in (*request.get("comments", ()), *request.get("reviews", ())):
        if row.get("authorAssociation") in _MEMBERS and str(row.get("body") or "").strip():
            author = (row.get("author") or {}).get("login", "")
            yield RequestComment(str(row["id"]), author, row["body"].strip())
    answers: dict[str, list[str]] = {}
    for row in lines:
        if row.get("in_reply_to_id") and row.get("author_association") in _MEMBERS:
            answers.setdefault(str(row["in_reply_to_id"]), []).append(str(row["body"]).strip())
    for row in lines:
        if row.get("in_reply_to_id") or row.get("author_association") not in _MEMBERS:
            continue
        text = "\n".join([str(row["body"]).strip(), *answers.get(str(row["id"]), ())])
        place = f"{row.get('path')}:{row.get('line') or row.get('original_line')}"
        yield RequestComment(str(row["id"]), row["user"]["login"], text, place)


def _of_gitlab(discussions: Sequence[Mapping[str, Any]]) -> Iterator[RequestComment]:
    """Yield the comments of GitLab that are not resolved; notes of the system are none."""
    for discussion in discussions:
        notes = [note for note in discussion.get("notes", ()) if not note.get("system")]
        resolvable = [note for note in notes if note.get("resolvable")]
        is_resolved = bool(resolvable) and all(note.get("resolved") for note in resolvable)
        if not notes or is_resolved:
            continue
        position = notes[0].get("position") or {}
        path = position.get("new_path")
        place = f"{path}:{position.get('new_line')}" if path else ""
        text = "\n".join(str(note["body"]).strip() for note in notes)
        yield RequestComment(str(notes[0]["id"]), notes[0]["author"]["username"], text, place)


def stories_of(comments: Sequence[RequestComment], epic: str) -> tuple[Story, ...]:
    """Return a story for each comment; its only criterion is the comment.

    A story that is merged is known by its id, so no comment is worked on twice.
    """
    stories = []
    for comment in comments:
        about = f" on {comment.place}" if comment.place else ""
        first = " ".join(comment.text.split())
        identity = f"comment-{comment.id}"
        stories.append(
            Story(
                id=identity,
                key=identity,
                title=first[:_LONGEST_TITLE],
                epic=epic,
                text=f"# {identity}\n\n{comment.author} commented{about}:\n\n{comment.text}\n",
                goal=f"The reviewer {comment.author} wants the change of the comment{about}.",
                criteria=(f"{comment.place}: {first}" if comment.place else first,),
                status="ready",
                source=f"pull request of {branch_of(epic)}",
            )
        )
    return tuple(stories)
