"""Reads `stories.yaml`: a list of stories, or an epic with its stories; and writes there that one
is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.formats.yaml_files import YamlFile, dump_yaml, parse_yaml, read_text
from transom.runs.artifact import write_file
from transom.stories.story import ASKED, CLOSED, Status, Story, read_status
from transom.stories.written_criteria import criteria_of_field

_NAMES = {
    **dict.fromkeys(
        ("acceptance", "criteria", "ac", "acs", "acceptance_tests", "done_when", "test_strategy"),
        "acceptance_criteria",
    ),
    **dict.fromkeys(("story", "user_story", "goal", "details", "as_a"), "description"),
    **dict.fromkeys(("name", "summary"), "title"),
    **dict.fromkeys(("key", "story_id", "number"), "id"),
    **dict.fromkeys(("state",), "status"),
    **dict.fromkeys(("depends", "depends_on", "blocked_by"), "dependencies"),
}
"""Other common names of a story's fields."""
_FLAG = re.compile(r"(?:is_|was_)?(?P<word>passe[sd]|(?!out_)[a-z]+)(?P<when>_(?:at|on|date))?$")
_ID = re.compile(r"[A-Za-z0-9-]+")


def read_stories_yaml(file: YamlFile, source: str) -> tuple[Story, ...]:
    """Read `stories.yaml` in any of its shapes.

    Raises:
        InputError: no known shape; an id that is missing, double, not a text, or a prefix of
            another; a status in a list; with file:line.
    """
    entries = _entries_of(file, source)
    listed = isinstance(file.data, list)
    stories = []
    for place, data, epic in entries:
        stories.append(_entry(file, source, place, data, epic, listed=listed))
    if not stories:
        hint = "write a list of stories, or `stories:` with one: id, title, description"
        raise InputError("holds no stories", place=source, hint=hint)
    _check_ids(stories, source, listed=listed)
    return tuple(stories)


def close_entry(path: Path, identity: str) -> None:
    """Write into a file of several stories that one is done, where its entry has a status or a
    field such as `passes: false`. Only lines that hold one of these alone are changed.
    """
    text = read_text(path)
    try:
        file = parse_yaml(text, path)
        found = _entry_with_id(file, identity)
    except InputError:
        # Somebody edits the file meanwhile; the story's work is right for all that.
        return
    if found is None:
        return
    place, entry = found
    flags = _flags_of({_snake(name): value for name, value in entry.items()})
    lines = text.split("\n")
    for name, value in entry.items():
        snake = _snake(name)
        if _NAMES.get(snake, snake) == "status" and isinstance(value, str):
            new = _closed_word(file, value)
        elif flags.get(snake) is False:
            new = "true"
        else:
            continue
        index = file.line_of(*place, name) - 1
        old = re.escape(file.written.get((*place, name), str(value)))
        key = rf"^\s*(?:- )?[\"']?{re.escape(name)}[\"']?\s*:\s*"
        alone = re.match(rf"({key}([\"']?)){old}(?=\2[ ]?,?\s*(?:#.*)?$)", lines[index])
        if alone:
            lines[index] = alone[1] + new + lines[index][alone.end() :]
    new_text = "\n".join(lines)
    # A file in which the story would still be unclear stays as it was.
    after = _entry_with_id(parse_yaml(new_text, path), identity)
    status, doubt = _status_of(_in_our_words(after[1] if after else {}))
    if status in CLOSED and not doubt and new_text != text:
        write_file(path, new_text.encode())


Place = tuple[str | int, ...]


def _entry_with_id(file: YamlFile, identity: str) -> tuple[Place, dict[str, Any]] | None:
    for place, entry, _ in _entries_of(file, str(file.path)):
        if isinstance(entry, dict) and str(_in_our_words(entry).get("id")) == identity:
            return place, entry
    return None


def _closed_word(file: YamlFile, old: str) -> str:
    """Return the word for finished stories that a file has, or `done`, in the letters of another
    status.
    """
    for _, entry, _ in _entries_of(file, str(file.path)):
        written = _in_our_words(entry).get("status") if isinstance(entry, dict) else None
        if isinstance(written, str) and read_status(written) == "done":
            return written
    if old.isupper():
        return "DONE"
    return "Done" if old[:1].isupper() else "done"


def _entries_of(file: YamlFile, source: str) -> list[tuple[Place, Any, str]]:
    """Return the stories of a file, each with its place and its epic."""
    data: Any = file.data
    if isinstance(data, list):
        return [((number,), entry, "") for number, entry in enumerate(data)]
    if not isinstance(data, dict):
        return []
    if "template" in data:
        hint = "name the file that was made from it"
        raise InputError("is a template, not a backlog", place=source, hint=hint)
    epic = str(data.get("epic_id") or data.get("epic") or Path(source).parent.name)
    if isinstance(data.get("epics"), list):
        entries: list[tuple[Place, Any, str]] = []
        for number, part in enumerate(data["epics"]):
            if isinstance(part, dict):
                # An epic without any name is called by its place.
                name = str(part.get("id") or part.get("epic_id") or part.get("title") or number + 1)
                entries += _listed(part, ("epics", number), name)
        return entries
    entries = _listed(data, (), epic)
    # A task list has a list for each of its tags.
    for tag, part in data.items():
        if not entries and isinstance(part, dict):
            entries = _listed(part, (tag,), epic)
    return entries


def _listed(data: dict[str, Any], place: Place, epic: str) -> list[tuple[Place, Any, str]]:
    """Return the entries of the first list of stories in a mapping."""
    for name in ("stories", "user_stories", "userStories", "tasks", "items"):
        entries = data.get(name)
        rows: list[tuple[Place, Any, str]] = []
        if isinstance(entries, list):
            for number, entry in enumerate(entries):
                rows.append(((*place, name, number), entry, epic))
            return rows
        if isinstance(entries, dict):
            for key, entry in entries.items():
                if isinstance(entry, dict):
                    entry = {"id": key, **entry}
                rows.append(((*place, name, key), entry, epic))
            return rows
    return []


def _check_ids(stories: Sequence[Story], source: str, *, listed: bool) -> None:
    """Check that ids are unique; ids of a list, which begin file names, must not be prefixes of
    each other.
    """
    for number, story in enumerate(stories):
        place = f"{source}:{story.line}"
        for other in stories[:number]:
            if other.id == story.id:
                problem = f"the id {story.id!r} is already used in line {other.line}"
                raise InputError(problem, place=place, hint="give each story an id of its own")
            shorter, longer = sorted((story.id, other.id), key=len)
            # `1-2-title.md` could be the file of `1` or of `1-2`.
            if listed and longer.startswith(f"{shorter}-"):
                pair = f"{other.id!r} and {story.id!r}"
                problem = f"the ids {pair} cannot be told apart in file names"
                raise InputError(problem, place=place, hint="renumber one of them")


def _entry(
    file: YamlFile,
    source: str,
    place: tuple[str | int, ...],
    data: Any,
    epic: str = "",
    *,
    listed: bool = False,
) -> Story:
    def refuse(problem: str, hint: str, *key: str) -> InputError:
        return InputError(problem, place=f"{source}:{file.line_of(*place, *key)}", hint=hint)

    if not isinstance(data, dict):
        raise refuse("the story is not a mapping", "write id, title and description")
    written, data = data, _in_our_words(data)
    criteria = _criteria_of(data)
    identity, files = data.get("id"), data.get("files") or {}
    is_id = isinstance(identity, str) and bool(identity.strip())
    # The ids of a list begin the names of the stories' own files.
    if is_id and listed:
        is_id = bool(_ID.fullmatch(identity))
    if not is_id:
        hint = 'write it in quotes, with letters, digits and dashes: id: "1"'
        raise refuse(f"{identity!r} is not an id", hint, "id")
    for name in ("title", "description"):
        value = data.get(name)
        # A description of blanks is a gap that SM has to fill.
        if not isinstance(value, str) or (name == "title" and not value.strip()):
            raise refuse(f"the story {identity} has no {name}", f"write its {name}")
    if not isinstance(files, dict):
        raise refuse("files is not a mapping", "write `create:` or `modify:` with paths", "files")
    parsed_status, doubt = _status_of(data)
    unclear = f"{source}:{file.line_of(*place)} says {doubt}" if doubt else ""
    creates, changes = _texts(files.get("create")), _texts(files.get("modify"))
    return Story(
        id=identity,
        key=identity,
        title=data["title"].strip(),
        epic=epic,
        text=dump_yaml(written),
        goal=data["description"].strip(),
        criteria=criteria,
        status=parsed_status,
        status_text=str(data.get("status", "")),
        unclear=unclear,
        depends_on=_texts(data.get("dependencies")),
        creates=creates,
        changes=changes,
        allowed=(*creates, *changes, *_texts(files.get("allow"))),
        source=source,
        line=file.line_of(*place),
        spec_checkpoint=data.get("spec_checkpoint") is True,
        done_checkpoint=data.get("done_checkpoint") is True,
        instructions=str(data.get("invoke_dev_with") or data.get("technical_notes") or "").strip(),
    )


def _in_our_words(data: dict[Any, Any]) -> dict[str, Any]:
    """Return the fields of a story under the names that this module knows."""
    written = {_snake(name): value for name, value in data.items()}
    fields: dict[str, Any] = {}
    for name, value in written.items():
        if name in _NAMES:
            fields[_NAMES[name]] = value
    # A field under the name that is known outranks one under another name.
    fields |= written
    if isinstance(fields.get("id"), int):
        fields["id"] = str(fields["id"])
    description = fields.get("description")
    if not fields.get("title") and isinstance(description, str):
        fields["title"] = description[:80]
    if not description:
        fields["description"] = fields.get("title")
    return fields


def _criteria_of(data: dict[str, Any]) -> tuple[str, ...]:
    criteria = criteria_of_field(data.get("acceptance_criteria"))
    if not criteria and isinstance(data.get("tests"), list):
        criteria = criteria_of_field(data["tests"])
    if not criteria and "subtasks" in data:
        # A task of a task list says in its description what must hold.
        criteria = criteria_of_field(data.get("description"))
    return criteria


def _status_of(data: dict[str, Any]) -> tuple[Status, str]:
    """Return the status of an entry, and the fields that leave it in doubt, or ""."""
    flags = _flags_of(data)
    # A story without a status was written down to be built.
    written = str(data.get("status") or "")
    status = read_status(written or "backlog")
    if not written and flags and all(flags.values()):
        status = "done"
    is_split = len({*flags.values(), *([status in CLOSED] if written else [])}) > 1
    texts = [f"{name}: {data[name]}" for name in flags]
    if written:
        texts.insert(0, repr(written))
    if status in ASKED or is_split or None in flags.values():
        return status, ", ".join(texts)
    parts = data.get("subtasks")
    if status not in CLOSED and isinstance(parts, list) and parts:
        inner = [_status_of(part)[0] if isinstance(part, dict) else "backlog" for part in parts]
        if {*inner} <= CLOSED:
            return status, f"{written or 'no status'!r}, and every subtask is closed"
    return status, ""


def _flags_of(data: dict[str, Any]) -> dict[str, bool | None]:
    """Return name -> value of the fields that say whether the story is finished, such as `passes`,
    `is_done` and `completed_at`; None for a value that is neither yes nor no.
    """
    flags: dict[str, bool | None] = {}
    for name, value in data.items():
        match = _FLAG.match(name)
        if match is None or isinstance(value, (list, dict)) or value in (None, ""):
            continue
        if not match["word"].startswith("pass") and read_status(match["word"]) not in CLOSED:
            continue
        word = str(value).strip().lower()
        if word in ("false", "no", "n", "0", "off"):
            flags[name] = False
        elif match["when"] or word in ("true", "yes", "y", "1", "on", "x", "done"):
            flags[name] = True
        else:
            # A day says when it was finished.
            flags[name] = True if re.match(r"\d{4}-\d\d", word) else None
    return flags


def _snake(name: object) -> str:
    """Return a name in snake case: `acceptanceCriteria` and `Acceptance-Criteria` become
    `acceptance_criteria`.
    """
    return re.sub(r"[-_\s]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name))).lower()


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        value = [value]
    texts = []
    for entry in value:
        if entry is not None and str(entry).strip():
            texts.append(str(entry).strip())
    return tuple(texts)
