"""Stories in lists: `stories.yaml` in both shapes, and the tasks of spec-kit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.formats.markdown import Bullets, Part, parse, region
from transom.formats.yaml_files import YamlFile, dump_yaml
from transom.stories.markdown_story import refuse_template
from transom.stories.story import Criterion, Story, Task, read_status

_NAMES = {
    **dict.fromkeys(("acceptance", "criteria", "ac", "acs"), "acceptance_criteria"),
    **dict.fromkeys(("story", "user_story", "goal"), "description"),
    **dict.fromkeys(("name", "summary"), "title"),
    **dict.fromkeys(("depends", "depends_on", "blocked_by"), "dependencies"),
}
"""What else people call the fields of a story."""
_ID = re.compile(r"[A-Za-z0-9-]+")
_PHASE = re.compile(r"^phase\s+(\w+)\s*[:–—-]\s*(.+)$", re.IGNORECASE)
_USER_STORY = re.compile(r"^user\s+story\s+(\d+)\s*[:–—-]\s*(.+?)\s*(?:\(priority.*)?$", re.IGNORECASE)
_TASK = re.compile(r"^\[([ xX])\]\s+(T\d+|TXXX)\s+((?:\[[^\]]*\]\s*)*)(.*)$")
_FILE = re.compile(r"(?<![\w/])((?:[\w.-]+/)+[\w.-]+\.\w+)")


def read_stories_yaml(file: YamlFile, source: str) -> tuple[Story, ...]:
    """Read `stories.yaml`: a list of stories, or an epic with its stories.

    Raises:
        InputError: neither of these; an id that is missing, double, no text or a prefix of another; a status in a list,
            which has none; with file:line.
    """
    match file.data:
        case list():
            stories = [_entry(file, source, (number,), one, listed=True) for number, one in enumerate(file.data)]
            _check_prefixes(stories, file)
        case {"stories": list(entries), **more}:
            epic = str(more.get("epic_id") or more.get("epic") or Path(source).parent.name)
            stories = [_entry(file, source, ("stories", number), one, epic) for number, one in enumerate(entries)]
        case {"template": _}:
            raise InputError("is a template, not a backlog", where=source, hint="name the file that was made from it")
        case _:
            raise InputError("holds no stories", where=source, hint="write a list of stories, or `stories:` with one")
    if not stories:
        raise InputError("holds no stories", where=source, hint="write one entry a story: id, title, description")
    ids: dict[str, int] = {}
    for story in stories:
        if story.id in ids:
            what = f"the id {story.id!r} stands in line {ids[story.id]} already"
            raise InputError(what, where=f"{source}:{story.line}", hint="give each story an id of its own")
        ids[story.id] = story.line
    return tuple(stories)


def _entry(
    file: YamlFile, source: str, at: tuple[str | int, ...], data: Any, epic: str = "", *, listed: bool = False
) -> Story:
    where = f"{source}:{file.line_of(*at)}"
    if not isinstance(data, dict):
        raise InputError("a story is a mapping", where=where, hint="write id, title and description")
    if listed and "status" in data:
        what = "a story in this list has no status; it stands in the story's own file"
        raise InputError(what, where=f"{source}:{file.line_of(*at, 'status')}", hint="remove the line")
    written, data = data, {_snake(name): value for name, value in data.items()}
    data = {_NAMES[name]: value for name, value in data.items() if name in _NAMES} | data
    identity = data.get("id")
    if not isinstance(identity, str) or not (_ID.fullmatch(identity) if listed else identity.strip()):
        hint = 'write it in quotes, with letters, digits and dashes: id: "1"'
        raise InputError(f"{identity!r} is no id", where=f"{source}:{file.line_of(*at, 'id')}", hint=hint)
    title, description = data.get("title"), data.get("description")
    if not isinstance(title, str) or not isinstance(description, str) or not title.strip():
        missing = "title" if not isinstance(title, str) or not title.strip() else "description"
        raise InputError(f"the story {identity} has no {missing}", where=where, hint=f"write its {missing}")
    files: Any = data.get("files") or {}
    if not isinstance(files, dict):
        raise InputError(
            "files is no mapping", where=f"{source}:{file.line_of(*at, 'files')}", hint="write create, modify"
        )
    creates, changes = _texts(files.get("create")), _texts(files.get("modify"))
    criteria = _texts(data.get("acceptance_criteria"))
    return Story(
        id=identity,
        key=identity,
        title=title.strip(),
        epic=epic,
        text=dump_yaml(written),
        goal=description.strip(),
        criteria=tuple(Criterion(number=number, text=one) for number, one in enumerate(criteria, 1)),
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
    """`acceptanceCriteria`, `Acceptance-Criteria` and `acceptance_criteria` are one name."""
    return re.sub(r"[-_\s]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name))).lower()


def _texts(value: Any) -> tuple[str, ...]:
    many = value if isinstance(value, list) else [value]
    return tuple(str(one).strip() for one in many if one is not None and str(one).strip())


def _check_prefixes(stories: Sequence[Story], file: YamlFile) -> None:
    for one in stories:
        for other in stories:
            if other.id.startswith(f"{one.id}-"):
                what = f"the ids {one.id!r} and {other.id!r} cannot be told apart in file names"
                raise InputError(what, where=f"{file.path}:{other.line}", hint="number one of them anew")


def read_tasks(text: str, source: str, specification: str = "") -> tuple[Story, ...]:
    """Read spec-kit's `tasks.md`: each phase is a story, and waits for what its kind waits for.

    Args:
        text: the whole file.
        source: its path, relative to the project.
        specification: the `spec.md` beside it, for goals and acceptance scenarios.

    Raises:
        InputError: no phase with tasks, or a template.
    """
    refuse_template(text, source)
    parts = parse(text)
    wanted = _user_stories(specification)
    lines = text.splitlines(keepends=True)
    stories: list[Story] = []
    for number, part in enumerate(parts):
        phase = _PHASE.match(part.title) if part.level == 2 else None
        body = region(parts, number)
        tasks = tuple(
            task for one in body for block in one.blocks if isinstance(block, Bullets) for task in _boxes(block)
        )
        if phase and tasks:
            after = parts[number + len(body)].line - 1 if number + len(body) < len(parts) else len(lines)
            whole = "".join(lines[part.line - 1 : after]).rstrip() + "\n"
            about = _USER_STORY.match(phase[2])
            goal, criteria = _wanted(body, wanted.get(about[1]) if about else None)
            named = tuple(dict.fromkeys(one for task in tasks for one in _FILE.findall(task.text)))
            stories.append(
                Story(
                    id=f"US{about[1]}" if about else f"phase-{phase[1].lower()}",
                    title=(about[2] if about else phase[2]).strip(),
                    epic=Path(source).parent.name,
                    text=whole,
                    goal=goal,
                    criteria=tuple(Criterion(number=n, text=one) for n, one in enumerate(criteria, 1)),
                    tasks=tasks,
                    status="done" if all(task.done for task in tasks) else "backlog",
                    depends_on=_waits_for(stories, is_user_story=about is not None),
                    changes=named,
                    source=source,
                    line=part.line,
                )
            )
    if not stories:
        hint = 'write tasks as "- [ ] T001 ..." below "## Phase 1: ..."'
        raise InputError("holds no phase with tasks", where=source, hint=hint)
    return tuple(stories)


def _wanted(body: Sequence[Part], told: tuple[str, tuple[str, ...]] | None) -> tuple[str, tuple[str, ...]]:
    """Goal and criteria of a phase: those of the specification, else what the phase says of itself."""
    goal, criteria = told or ("", ())
    stated = "\n".join(line.text for one in body for block in one.blocks for line in getattr(block, "lines", ()))
    said = {name: match[1] for name in ("Goal", "Purpose", "Independent Test")
            if (match := re.search(rf"^{name}:\s*(.+)$", stated, re.MULTILINE))}  # fmt: skip
    goal = goal or said.get("Goal") or said.get("Purpose") or ""
    return goal, criteria or ((said["Independent Test"],) if "Independent Test" in said else ())


def _boxes(block: Bullets) -> list[Task]:
    found = []
    for item in block.items:
        match = _TASK.match(" ".join(line.text for line in item.lines))
        if match:
            found.append(Task(text=f"{match[2]} {match[4]}".strip(), done=match[1] in "xX", line=item.line))
    return found


def _waits_for(earlier: Sequence[Story], *, is_user_story: bool) -> tuple[str, ...]:
    """User stories wait for the phases that prepare them; what comes behind user stories waits for all."""
    if is_user_story:
        return tuple(one.id for one in earlier if one.id.startswith("phase-"))
    return tuple(one.id for one in earlier)


def _user_stories(specification: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Number -> what the specification says that it is for, and its acceptance scenarios."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    parts: tuple[Part, ...] = parse(specification) if specification else ()
    for part in parts:
        if match := _USER_STORY.match(part.title):
            goal = next(
                (" ".join(line.text for line in block.lines) for block in part.blocks if hasattr(block, "lines")), ""
            )
            scenarios = [
                " ".join(line.text for line in item.lines)
                for block in part.blocks
                if isinstance(block, Bullets) and block.ordered
                for item in block.items
            ]
            found[match[1]] = (goal, tuple(scenarios))
    return found
