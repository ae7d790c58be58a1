"""Stories in Markdown: one story a file (BMAD v4 and v6), a page of epics, the tasks of
spec-kit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from transom.errors import InputError
from transom.formats.markdown import (
    Bullets,
    InlineText,
    MarkdownPart,
    MarkdownTable,
    Node,
    Paragraph,
    iter_lines,
    parse,
    region,
)
from transom.formats.yaml_files import parse_yaml
from transom.stories.status import find_status, front_matter
from transom.stories.story import Story, Task, placeholders, read_status
from transom.stories.written_criteria import (
    ACCEPTANCE,
    BOX,
    full_title,
    is_label,
    joined,
    read_criteria,
)

_TITLE = re.compile(
    r"^(?:user\s+)?story\s+(\d+[a-z]?(?:\.\d+[a-z]?)*)(?:\s*[:–—-]\s*|\.?\s+)(.+)$", re.IGNORECASE
)
_EPIC = re.compile(r"^epic\s+(\d+[a-z]?)\s*(?:[:–—-]\s*(.*))?$", re.IGNORECASE)
_PHASE = re.compile(r"^phase\s+(\w+(?:\.\w+)*)\s*[:–—-]\s*(.+)$", re.IGNORECASE)
_USER_STORY = re.compile(r"^user\s+story\s+(\d+)\s*[:–—-]\s*(.+?)(?:\(priority.*)?$", re.IGNORECASE)
_TASK = re.compile(r"^(T\d+|TXXX)\s+(?:\[[^\]]*\]\s*)*")
_FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+\.\w+)")
_SERVES = re.compile(r"\bACs?\s*+:?\s*+((?:#?\d++[\s,&]*+(?:and\s++)?)+)", re.IGNORECASE)
_SECTION = re.compile(
    r"^(?:acceptance|tasks|(?:dev|technical)\s+notes|prerequisites|dependencies|files)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(r"(?:prerequisites?|depend(?:s on|encies))\s*:", re.IGNORECASE)
_FILES = re.compile(r"^files?\s+to\s+(?:create|modify|change|touch)", re.IGNORECASE)
_NEW = re.compile(r"\b(?:new|create[ds]?)\b", re.IGNORECASE)
_PATH = re.compile(r"^[\w.@-]+(?:/[\w.@+-]+)*$")
_DONE_SIGN = re.compile("[✅☑✔✓]")
_FEWESTBOXES = 2
_SLUG_ID = re.compile(r"^(\d+)-(?:(\d+[a-z]?)-)?")


def read_story_file(text: str, source: str) -> Story:
    """Read the text of a file with one story; `source` is its path, relative to the project.

    Raises:
        InputError: no story, several stories, or a template; with file:line.
    """
    refuse_template(text, source)
    parts, front = parse(text), front_matter(text)
    titles = [
        (number, match)
        for number, part in enumerate(parts)
        if (match := _TITLE.match(full_title(part)))
    ]
    extra: dict[str, Any] = {}
    key = PurePosixPath(source).name.removesuffix(".md").removesuffix(".story")
    slug = _SLUG_ID.match(key)
    if titles:
        number, identity, title = titles[0][0], titles[0][1][1], titles[0][1][2]
    elif front.get("title") and (fields := _front_fields(text, source)):
        number, title = 0, front["title"][1]
        file_id = f"{slug[1]}.{slug[2]}" if slug and slug[2] else key.partition("-")[0]
        identity = str(fields.get("id") or fields.get("story") or file_id)
        extra["criteria"] = _front_criteria(fields) or read_criteria(parts)
    else:
        hint = 'begin it with "# Story 1.1: Title", or name the backlog\'s own file'
        raise InputError("holds no story", place=source, hint=hint)
    if parts[number].level > 1 and len(titles) > 1:
        raise InputError(
            "holds several stories", place=source, hint="name the epic that they belong to"
        )
    status = find_status(text)
    extra |= {"owns_file": True, "key": key if slug else "", "source": source}
    extra |= {"status": read_status(status.text), "status_text": status.text} if status else {}
    goal = _section(parts[number:], "story", "user story", "intent", "description", "goal")
    if "criteria" in extra and not goal:
        goal = _goal(parts[0].blocks) if parts else ""
    story = _story(parts[number:], id=identity, title=title, text=text, goal=goal, **extra)
    return story.model_copy(update={"unclear": _finished_mark(story, parts[number:])})


def _finished_mark(story: Story, parts: Sequence[MarkdownPart]) -> str:
    """Return what in a story's file speaks against its status that it is to be built, or "".

    A file may say in a language or form of its own that the work is done.
    """
    if story.status not in ("backlog", "ready", "unknown"):
        return ""
    boxes = [task for part in parts for task in _boxes(part.blocks)]
    if len(boxes) >= _FEWESTBOXES and all(box.done for box in boxes):
        return f"{story.source} says {story.status_text or 'no status'!r}, and every box is ticked"
    if not story.status_text:
        for part in parts:
            if _DONE_SIGN.search(part.title):
                return f"{story.source}:{part.line} says {part.title!r}"
    return ""


def _front_fields(text: str, source: str) -> dict[str, Any]:
    """Return the front matter if it describes a story: it has an id, criteria or an intent."""
    match = re.match(r"---\r?\n(.*?\r?\n)---\r?$", text, re.DOTALL | re.MULTILINE)
    data: Any = parse_yaml(match[1], Path(source)).data if match else None
    if not isinstance(data, dict):
        return {}
    is_story = {"id", "story", "acceptance_criteria", "criteria", "status"} & {*data}
    return data if is_story else {}


def _front_criteria(fields: dict[str, Any]) -> tuple[str, ...]:
    listed = fields.get("acceptance_criteria") or fields.get("criteria") or ()
    entries = listed if isinstance(listed, list) else [listed]
    return tuple(str(entry).strip() for entry in entries if str(entry).strip())


def read_epics(text: str, source: str) -> tuple[Story, ...]:
    """Read the stories of a page of epics (`## Epic 1: ...`, `### Story 1.1: ...`).

    Raises:
        InputError: no story, two stories with one id, or a template.
    """
    refuse_template(text, source)
    parts = parse(text)
    stories: list[Story] = []
    for number, part in enumerate(parts):
        if part.level and (match := _TITLE.match(full_title(part))):
            body = _region(parts, number)
            waits = next((line.text for line in _lines(body) if _WAITS.match(line.text)), "")
            extra: dict[str, Any] = {
                "goal": _goal(part.blocks),
                "status": "backlog",
                "source": source,
            }
            extra["depends_on"] = tuple(dict.fromkeys(re.findall(r"\b\d+\.\d+[a-z]?\b", waits)))
            story_text = _cut(text, parts, number, len(body))
            stories.append(_story(body, id=match[1], title=match[2], text=story_text, **extra))
    if not stories:
        raise InputError(
            "holds no story", place=source, hint='write each one below "### Story 1.1: Title"'
        )
    ids = [story.id for story in stories]
    if twice := next((story for story in stories if ids.count(story.id) > 1), None):
        raise InputError(
            f"has two stories {twice.id}", place=f"{source}:{twice.line}", hint="number them apart"
        )
    return tuple(stories)


def read_tasks(text: str, source: str, specification: str = "") -> tuple[Story, ...]:
    """Read spec-kit's `tasks.md`, each phase as a story; goals and criteria come from the `spec.md`
    beside it.

    Raises:
        InputError: no phase with tasks, or a template.
    """
    refuse_template(text, source)
    parts = parse(text)
    specified = _specified(specification)
    stories: list[Story] = []
    for number, part in enumerate(parts):
        phase = _phase_of(part.title, len(stories) + 1) if part.level == 2 else None
        body = region(parts, number)
        tasks = tuple(
            box.model_copy(update={"text": _TASK.sub(r"\1 ", box.text)})
            for box in _boxes([block for inner in body for block in inner.blocks])
            if _TASK.match(box.text)
        )
        if not phase or not tasks:
            continue
        about = _USER_STORY.match(phase.title)
        marks = {mark for inner in body for mark in _story_marks(inner.blocks)}
        # Tasks name their story in each language: [US1].
        story = about[1] if about else ""
        if (
            not about
            and len(marks) == 1
            and f"US{min(marks)}" not in {earlier.id for earlier in stories}
        ):
            story = marks.pop()
        goal, criteria = _goal_and_criteria(body, specified.get(story) if story else None)
        files = [file for task in tasks for file in _FILE.findall(task.text)]
        prepares = [
            earlier.id for earlier in stories if not story or earlier.id.startswith("phase-")
        ]
        identity = f"US{story}" if story else f"phase-{phase.number}"
        stories.append(
            Story(
                # A later part of a phase has the phase's number again.
                id=_unused(identity, {earlier.id for earlier in stories}),
                title=(about[2] if about else phase.title).strip(),
                epic=PurePosixPath(source).parent.name,
                text=_cut(text, parts, number, len(body)),
                goal=goal,
                criteria=criteria,
                tasks=tasks,
                status="done" if all(task.done for task in tasks) else "backlog",
                # user stories depend on earlier set-up phases, other phases on all
                depends_on=tuple(prepares),
                changes=tuple(dict.fromkeys(files)),
                source=source,
                line=part.line,
            )
        )
    if not stories:
        hint = 'write tasks as "- [ ] T001 ..." below "## Phase 1: ..."'
        raise InputError("holds no phase with tasks", place=source, hint=hint)
    return tuple(stories)


def _unused(identity: str, taken_ids: set[str]) -> str:
    """Return an id, with a number behind it if it is taken."""
    names = (identity if number == 1 else f"{identity}-{number}" for number in count(1))
    return next(name for name in names if name not in taken_ids)


class _Phase(NamedTuple):
    number: str
    title: str


def _phase_of(title: str, place: int) -> _Phase:
    """Return the phase that a heading names; one in another language is counted."""
    if match := _PHASE.match(title):
        return _Phase(match[1].lower(), match[2])
    number = re.search(r"\d+", title.partition(":")[0])
    return _Phase(number[0] if number else str(place), title.partition(":")[2].strip() or title)


def _story_marks(blocks: Sequence[Node]) -> Iterator[str]:
    """Yield the numbers of the user stories that tasks name."""
    for line in iter_lines(blocks):
        yield from re.findall(r"\bT\d++\b.{0,400}?\[US(\d+)\]", line.text)


def _specified(text: str) -> dict[str, MarkdownPart]:
    """Return number -> the part of each user story of a specification.

    In another language a heading of the third level has its number and its priority.
    """
    parts = parse(text)
    stories = {match[1]: part for part in parts if (match := _USER_STORY.match(part.title))}
    if stories:
        return stories
    foreign = re.compile(r"^\D{2,40}(\d++)\s*+[:–—-]\s.{0,200}?\([^()]{0,80}\bP\d\b[^()]{0,80}\)")
    return {match[1]: part for part in parts if (match := foreign.match(part.title))}


def read_boxes(text: str) -> list[Task]:
    """Return the list items with a check box of a text."""
    return [task for part in parse(text) for task in _boxes(part.blocks)]


def refuse_template(text: str, source: str) -> None:
    """Raise InputError if the heading or story is a placeholder: the file is a template."""
    heading = next((part.line for part in parse(text) if part.level == 1), 0)
    lines = text.splitlines()
    for line, mark in placeholders(text):
        if line == heading or lines[line - 1].startswith(("title:", "# ", "### Story")):
            raise InputError(
                f"is a template: {mark} is not filled in",
                place=f"{source}:{line}",
                hint="fill it in",
            )


def _story(body: Sequence[MarkdownPart], *, title: str, **extra: Any) -> Story:
    """Build a story from its parts; the first one is its heading."""
    creates, changes = _named_files(body)
    tasks = [
        task
        for part in body
        if re.match(r"tasks\b", part.title, re.IGNORECASE)
        for task in _boxes(part.blocks)
    ]
    fields = {
        "creates": creates,
        "changes": changes,
        "tasks": tuple(tasks),
        "criteria": read_criteria(body),
        **extra,
    }
    epic = f"epic-{extra['id'].partition('.')[0]}"
    return Story.model_validate(
        {"title": title.strip(), "epic": epic, "line": body[0].line, **fields}
    )


def _region(parts: Sequence[MarkdownPart], start: int) -> Sequence[MarkdownPart]:
    """Return a heading's parts; a story's sections may be headings of its own level."""
    stop = start + 1
    while stop < len(parts):
        part = parts[stop]
        own = part.level > parts[start].level or (
            part.level == parts[start].level and _SECTION.match(part.title)
        )
        if not own or _TITLE.match(full_title(part)) or _EPIC.match(full_title(part)):
            break
        stop += 1
    return parts[start:stop]


def _cut(text: str, parts: Sequence[MarkdownPart], start: int, count: int) -> str:
    """Return the text of `count` parts."""
    lines = text.splitlines(keepends=True)
    stop = parts[start + count].line - 1 if start + count < len(parts) else len(lines)
    return "".join(lines[parts[start].line - 1 : stop]).rstrip() + "\n"


def _lines(parts: Sequence[MarkdownPart]) -> Iterator[InlineText]:
    return (line for part in parts for line in iter_lines(part.blocks))


def _section(parts: Sequence[MarkdownPart], *titles: str) -> str:
    for part in parts:
        if part.title.lower().strip() in titles and (text := joined([*iter_lines(part.blocks)])):
            return text
    return ""


def _goal(blocks: Sequence[Node]) -> str:
    """Return the text before the first bold label: the sentence of the user story."""
    lines: list[InlineText] = []
    for block in blocks:
        if not isinstance(block, Paragraph) or is_label(block, ACCEPTANCE):
            break
        lines += block.lines
    return joined(lines)


def _goal_and_criteria(
    body: Sequence[MarkdownPart], specification: MarkdownPart | None
) -> tuple[str, tuple[str, ...]]:
    """Return goal and criteria of a phase, from the specification, else from the phase's own
    text.
    """
    blocks = specification.blocks if specification else ()
    goal = next((joined(block.lines) for block in blocks if isinstance(block, Paragraph)), "")
    lists = [block for block in blocks if isinstance(block, Bullets) and block.ordered]
    criteria = tuple(joined(item.lines) for block in lists for item in block.items)
    labelled: dict[str, str] = {}
    for line in _lines(body):
        name, colon, text = line.text.partition(":")
        if colon:
            labelled.setdefault(name, text.strip())
    test = labelled.get("Independent Test")
    return goal or labelled.get("Goal") or labelled.get("Purpose") or "", criteria or (
        (test,) if test else ()
    )


def _boxes(blocks: Sequence[Node]) -> Iterator[Task]:
    """Yield the list items with a check box as tasks, nested ones included."""
    for item in (item for block in blocks if isinstance(block, Bullets) for item in block.items):
        text = joined(item.lines)
        if box := BOX.match(text):
            served = _SERVES.search(text)
            numbers = tuple(map(int, re.findall(r"\d+", served[1]))) if served else ()
            yield Task(text=text[box.end() :], done=box[1] in "xX", criteria=numbers)
        yield from _boxes(item.blocks)


def _named_files(parts: Sequence[MarkdownPart]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files below a heading such as "Files to Create/Modify": new ones, and others."""
    creates: dict[str, None] = {}
    changes: dict[str, None] = {}
    for part in (part for part in parts if _FILES.match(part.title)):
        rows = [
            row for block in part.blocks if isinstance(block, MarkdownTable) for row in block.rows
        ]
        for cells in rows or [(line,) for line in iter_lines(part.blocks)]:
            if codes := [code for cell in cells for code in cell.codes if _PATH.match(code)]:
                (creates if _NEW.search(cells[-1].text) else changes)[codes[0]] = None
    return tuple(creates), tuple(changes)
