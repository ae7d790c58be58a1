"""Reads `stories.yaml`: a list of stories, or an epic with its stories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.formats.yaml_files import YamlFile, dump_yaml
from transom.stories.story import Story, read_status

_NAMES = {
    **dict.fromkeys(("acceptance", "criteria", "ac", "acs"), "acceptance_criteria"),
    **dict.fromkeys(("story", "user_story", "goal"), "description"),
    **dict.fromkeys(("name", "summary"), "title"),
    **dict.fromkeys(("depends", "depends_on", "blocked_by"), "dependencies"),
}
"""Other common names of a story's fields."""
_ID = re.compile(r"[A-Za-z0-9-]+")


def read_stories_yaml(file: YamlFile, source: str) -> tuple[Story, ...]:
    """Read `stories.yaml` in either shape.

    Raises:
        InputError: another shape; an id that is missing, double, not a text, or a prefix of
            another; a status in a list; with file:line.
    """
    match file.data:
        case list():
            stories = [
                _entry(file, source, (number,), one, listed=True)
                for number, one in enumerate(file.data)
            ]
        case {"stories": list(entries), **more}:
            epic = str(more.get("epic_id") or more.get("epic") or Path(source).parent.name)
            stories = [
                _entry(file, source, ("stories", number), one, epic)
                for number, one in enumerate(entries)
            ]
        case {"template": _}:
            raise InputError(
                "is a template, not a backlog",
                where=source,
                hint="name the file that was made from it",
            )
        case _:
            stories = []
    if not stories:
        hint = "write a list of stories, or `stories:` with one: id, title, description"
        raise InputError("holds no stories", where=source, hint=hint)
    _check_ids(stories, source, listed=isinstance(file.data, list))
    return tuple(stories)


def _check_ids(stories: Sequence[Story], source: str, *, listed: bool) -> None:
    """Check that ids are unique; ids of a list, which begin file names, must not be prefixes of
    each other.
    """
    for number, story in enumerate(stories):
        where = f"{source}:{story.line}"
        for other in stories[:number]:
            if other.id == story.id:
                what = f"the id {story.id!r} is already used in line {other.line}"
                raise InputError(what, where=where, hint="give each story an id of its own")
            if listed and (
                story.id.startswith(f"{other.id}-") or other.id.startswith(f"{story.id}-")
            ):
                what = f"the ids {other.id!r} and {story.id!r} cannot be told apart in file names"
                raise InputError(what, where=where, hint="renumber one of them")


def _entry(
    file: YamlFile,
    source: str,
    at: tuple[str | int, ...],
    data: Any,
    epic: str = "",
    *,
    listed: bool = False,
) -> Story:
    def refuse(what: str, hint: str, *key: str) -> InputError:
        return InputError(what, where=f"{source}:{file.line_of(*at, *key)}", hint=hint)

    if not isinstance(data, dict):
        raise refuse("the story is not a mapping", "write id, title and description")
    if listed and "status" in data:
        what = "a story in this list must have no status; the story's own file has it"
        raise refuse(what, "remove the line", "status")
    written, data = data, {_snake(name): value for name, value in data.items()}
    data = {_NAMES[name]: value for name, value in data.items() if name in _NAMES} | data
    identity, files = data.get("id"), data.get("files") or {}
    if not isinstance(identity, str) or not (
        _ID.fullmatch(identity) if listed else identity.strip()
    ):
        hint = 'write it in quotes, with letters, digits and dashes: id: "1"'
        raise refuse(f"{identity!r} is not an id", hint, "id")
    for name in ("title", "description"):
        if not isinstance(data.get(name), str) or (name == "title" and not data[name].strip()):
            raise refuse(f"the story {identity} has no {name}", f"write its {name}")
    if not isinstance(files, dict):
        raise refuse("files is not a mapping", "write `create:` or `modify:` with paths", "files")
    creates, changes = _texts(files.get("create")), _texts(files.get("modify"))
    return Story(
        id=identity,
        key=identity,
        title=data["title"].strip(),
        epic=epic,
        text=dump_yaml(written),
        goal=data["description"].strip(),
        criteria=_texts(data.get("acceptance_criteria")),
        status=read_status(str(data.get("status", "backlog"))),
        status_text=str(data.get("status", "")),
        depends_on=_texts(data.get("dependencies")),
        creates=creates,
        changes=changes,
        allowed=(*creates, *changes, *_texts(files.get("allow"))),
        source=source,
        line=file.line_of(*at),
        spec_checkpoint=data.get("spec_checkpoint") is True,
        done_checkpoint=data.get("done_checkpoint") is True,
        instructions=str(data.get("invoke_dev_with") or data.get("technical_notes") or "").strip(),
    )


def _snake(name: object) -> str:
    """Return a name in snake case: `acceptanceCriteria` and `Acceptance-Criteria` become
    `acceptance_criteria`.
    """
    return re.sub(r"[-_\s]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name))).lower()


def _texts(value: Any) -> tuple[str, ...]:
    many = value if isinstance(value, list) else [value]
    return tuple(str(one).strip() for one in many if one is not None and str(one).strip())
