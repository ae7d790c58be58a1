"""Stories in Markdown: one story a file (BMAD v4 and v6), a page of epics, the tasks of
spec-kit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    items,
    iter_lines,
    parse,
    region,
)
from transom.formats.yaml_files import parse_yaml
from transom.stories.completion import bare_title, outer_mark, story_mark
from transom.stories.status import find_status, front_matter
from transom.stories.story import ASKED, CLOSED, Story, Task, placeholders, read_status
from transom.stories.written_criteria import (
    ACCEPTANCE,
    BOX,
    criteria_of_blocks,
    criteria_of_field,
    full_title,
    is_label,
    joined,
    read_criteria,
)

_TITLE = re.compile(
    r"^(?:user\s+)?story\s+(\d+-\d+[a-z]?(?=\s*[:–—])|\d+[a-z]?(?:\.\d+[a-z]?)*)"
    r"(?:\s*[:–—-]\s*|\.?\s+)(.+)$",
    re.IGNORECASE,
)
_EPIC = re.compile(r"^epic\s+(\d+[a-z]?)\s*(?:[:–—-]\s*(.*))?$", re.IGNORECASE)
_OF_EPIC = re.compile(
    r"^epic\s\d+[a-z]?\b[^\n]{0,100}?[–—:-]\s(?=(?:user\s)?story\s\d)", re.IGNORECASE
)
"""The epic before the story in a heading: `Epic 3: Pages - Story 3.2: Links`."""
_PHASE = re.compile(r"^phase\s+(\w+(?:\.\w+)*)\s*[:–—-]\s*(.+)$", re.IGNORECASE)
_USER_STORY = re.compile(
    r"^(?:user\s+story\s+|US[- ]?)(\d+)\s*[:–—-]\s*(.+?)(?:\((?:priority|P\d\b).*)?$", re.IGNORECASE
)
_FOREIGN_STORY = re.compile(
    r"^\D{2,40}(\d++)\s*+[:–—-]\s.{0,200}?\([^()]{0,80}\bP\d\b[^()]{0,80}\)"
)
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
_FEWESTBOXES = 2
_SLUG_ID = re.compile(r"^(\d+)-(?:(\d+[a-z]?)-)?")


def read_story_file(text: str, source: str) -> Story:
    """Read the text of a file with one story; `source` is its path, relative to the project.

    Raises:
        InputError: no story, several stories, or a template; with file:line.
    """
    refuse_template(text, source)
    parts, front = parse(text), front_matter(text)
    titles: list[tuple[int, re.Match[str]]] = []
    for place, part in enumerate(parts):
        if match := _TITLE.match(_OF_EPIC.sub("", bare_title(part))):
            titles.append((place, match))
    extra: dict[str, Any] = {}
    key = PurePosixPath(source).name.removesuffix(".md").removesuffix(".story")
    slug = _SLUG_ID.match(key)
    if titles:
        number, match = titles[0]
        identity, title = match[1].replace("-", "."), match[2]
    elif front.get("title") and (fields := _front_fields(text, source)):
        number, title = 0, front["title"][1]
        file_id = key.partition("-")[0]
        if slug and slug[2]:
            file_id = f"{slug[1]}.{slug[2]}"
        identity = str(fields.get("id") or fields.get("story") or file_id)
        extra["criteria"] = _front_criteria(fields) or read_criteria(parts)
    else:
        hint = 'begin it with "# Story 1.1: Title", or name the backlog\'s own file'
        raise InputError("holds no story", place=source, hint=hint)
    # A title of the first level is the file's own; others in it are examples or references.
    if parts[number].level > 1 and len(titles) > 1:
        hint = "name the epic that they belong to"
        raise InputError("holds several stories", place=source, hint=hint)
    extra["owns_file"] = True
    extra["key"] = key if slug else ""
    extra["source"] = source
    status = find_status(text)
    if status:
        extra["status"] = read_status(status.text)
        extra["status_text"] = status.text
    goal = _section(parts[number:], "story", "user story", "intent", "description", "goal")
    # With its criteria in the front matter, a story may be told without any heading.
    if "criteria" in extra and not goal and parts:
        goal = _goal(parts[0].blocks)
    story = _story(parts[number:], id=identity, title=title, text=text, goal=goal, **extra)
    return story.model_copy(update={"unclear": _finished_mark(story, parts[number:])})


def _finished_mark(story: Story, parts: Sequence[MarkdownPart]) -> str:
    """Return what in a story's file speaks against its status that it is to be built, or "".

    A file may say in a language or form of its own that the work is done.
    """
    if story.status in CLOSED:
        return ""
    boxes = [*_boxes(_blocks(parts))]
    is_ticked = all(box.done for box in boxes)
    # One box alone in a file may be anything, such as an example.
    fewest = _FEWESTBOXES if story.owns_file else 1
    if len(boxes) >= fewest and is_ticked:
        return f"{story.source} says {story.status_text or 'no status'!r}, and every box is ticked"
    mark = story_mark(story, parts)
    return f"{story.source}:{story.line} says {mark!r}" if mark else ""


def _front_fields(text: str, source: str) -> dict[str, Any]:
    """Return the front matter if it describes a story: it has an id, criteria or an intent."""
    match = re.match(r"---\r?\n(.*?\r?\n)---\r?$", text, re.DOTALL | re.MULTILINE)
    if match is None:
        return {}
    data: Any = parse_yaml(match[1], Path(source)).data
    if not isinstance(data, dict):
        return {}
    # Pages of a documentation site have front matter, too, with a title alone.
    if not {"id", "story", "acceptance_criteria", "criteria", "status"} & {*data}:
        return {}
    return data


def _front_criteria(fields: dict[str, Any]) -> tuple[str, ...]:
    return criteria_of_field(fields.get("acceptance_criteria") or fields.get("criteria"))


def read_epics(text: str, source: str) -> tuple[Story, ...]:
    """Read the stories of a page of epics (`## Epic 1: ...`, `### Story 1.1: ...`).

    Raises:
        InputError: no story, two stories with one id, or a template.
    """
    refuse_template(text, source)
    parts = parse(text)
    stories: list[Story] = []
    gone: list[bool] = []
    for number, part in enumerate(parts):
        match = _TITLE.match(bare_title(part))
        # Level 0 is the text before the first heading.
        if match is None or not part.level:
            continue
        body = _region(parts, number)
        waits = ""
        for line in iter_lines(_blocks(body)):
            if _WAITS.match(line.text):
                waits = line.text
                break
        extra: dict[str, Any] = {"goal": _goal(part.blocks), "status": "backlog"}
        extra["source"] = source
        story_text = _cut(text, parts, number, len(body))
        # The text begins with the story's heading: its status is looked for as in a file.
        if status := find_status(story_text):
            extra |= {"status": read_status(status.text), "status_text": status.text}
        extra["depends_on"] = tuple(dict.fromkeys(re.findall(r"\b\d+\.\d+[a-z]?\b", waits)))
        identity = match[1].replace("-", ".")
        if "." not in identity and (epic := _epic_above(parts, number)):
            identity = f"{epic}.{identity}"
        story = _story(body, id=identity, title=match[2], text=story_text, **extra)
        unclear = _finished_mark(story, body)
        if story.status not in CLOSED and (outer := outer_mark(parts, number)):
            unclear = f"{source}:{story.line} is below {outer!r}"
        if story.status in ASKED:
            unclear = f"{source}:{story.line} says {story.status_text!r}"
        gone.append("~~" in full_title(part))
        stories.append(story.model_copy(update={"unclear": unclear}))
    if not stories:
        hint = 'write each one below "### Story 1.1: Title"'
        raise InputError("holds no story", place=source, hint=hint)
    ids = [story.id for story in stories]
    # A story that is struck out leaves its number to another.
    stories = [
        story
        for story, is_gone in zip(stories, gone, strict=True)
        if not (is_gone and ids.count(story.id) > 1)
    ]
    ids = [story.id for story in stories]
    for story in stories:
        if ids.count(story.id) > 1:
            problem, place = f"has two stories {story.id}", f"{source}:{story.line}"
            raise InputError(problem, place=place, hint="number them apart")
    return tuple(stories)


def _epic_above(parts: Sequence[MarkdownPart], number: int) -> str:
    """Return the number of the epic in whose section a heading is, or ""."""
    level = parts[number].level
    for part in reversed(parts[:number]):
        if 0 < part.level < level:
            level = part.level
            if match := _EPIC.match(bare_title(part)):
                return match[1]
    return ""


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
        # Headings of the second level are the phases; deeper ones divide a phase.
        if part.level != 2:
            continue
        phase = _phase_of(part.title, len(stories) + 1)
        body = region(parts, number)
        tasks: list[Task] = []
        files: dict[str, None] = {}
        for box in _boxes(_blocks(body)):
            if _TASK.match(box.text):
                tasks.append(box.model_copy(update={"text": _TASK.sub(r"\1 ", box.text)}))
                files |= dict.fromkeys(_FILE.findall(tasks[-1].text))
        if not tasks:
            continue
        ids = [earlier.id for earlier in stories]
        about = _USER_STORY.match(phase.title)
        if about:
            story, title = about[1], about[2]
        else:
            story, title = _marked_story(body, ids), phase.title
        goal, criteria = _goal_and_criteria(body, specified.get(story) if story else None)
        # User stories depend on earlier set-up phases, other phases on all before them.
        prepares = [name for name in ids if not story or name.startswith("phase-")]
        is_done = all(task.done for task in tasks)
        stories.append(
            Story(
                # A later part of a phase has the phase's number again.
                id=_unused(f"US{story}" if story else f"phase-{phase.number}", ids),
                title=title.strip(),
                epic=PurePosixPath(source).parent.name,
                text=_cut(text, parts, number, len(body)),
                goal=goal,
                criteria=criteria,
                tasks=tuple(tasks),
                status="done" if is_done else "backlog",
                depends_on=tuple(prepares),
                changes=tuple(files),
                source=source,
                line=part.line,
            )
        )
    if not stories:
        hint = 'write tasks as "- [ ] T001 ..." below "## Phase 1: ..."'
        raise InputError("holds no phase with tasks", place=source, hint=hint)
    return tuple(stories)


def _marked_story(body: Sequence[MarkdownPart], ids: Sequence[str]) -> str:
    """Return the number of the user story that all tasks of a phase name, unless it has a phase.

    Tasks name their story in each language: `[US1]`.
    """
    marks = {*_story_marks(_blocks(body))}
    if len(marks) != 1 or f"US{min(marks)}" in ids:
        return ""
    return marks.pop()


def _unused(identity: str, taken_ids: Sequence[str]) -> str:
    """Return an id, with a number behind it if it is taken."""
    name, number = identity, 1
    while name in taken_ids:
        number += 1
        name = f"{identity}-{number}"
    return name


class _Phase(NamedTuple):
    number: str
    title: str


def _phase_of(title: str, place: int) -> _Phase:
    """Return the phase that a heading names; one in another language is counted."""
    if match := _PHASE.match(title):
        return _Phase(match[1].lower(), match[2])
    before, _, after = title.partition(":")
    number = re.search(r"\d+", before)
    return _Phase(number[0] if number else str(place), after.strip() or title)


def _story_marks(blocks: Sequence[Node]) -> Iterator[str]:
    """Yield the numbers of the user stories that tasks name."""
    for line in iter_lines(blocks):
        if task := re.search(r"\bT\d+\b", line.text):
            yield from re.findall(r"\[US(\d+)\]", line.text[task.end() :])


def _specified(text: str) -> dict[str, MarkdownPart]:
    """Return number -> the part of each user story of a specification.

    In another language a heading of the third level has its number and its priority.
    """
    parts = parse(text)
    stories: dict[str, MarkdownPart] = {}
    for form in (_USER_STORY, _FOREIGN_STORY):
        for part in parts:
            if match := form.match(part.title):
                stories[match[1]] = part
        if stories:
            break
    return stories


def read_boxes(text: str) -> list[Task]:
    """Return the list items with a check box of a text."""
    return [*_boxes(_blocks(parse(text)))]


def refuse_template(text: str, source: str) -> None:
    """Raise InputError if the heading or story is a placeholder: the file is a template."""
    heading = next((part.line for part in parse(text) if part.level == 1), 0)
    lines = text.splitlines()
    for line, mark in placeholders(text):
        # Placeholders elsewhere are gaps of a real story; SM is told to fill them.
        if line == heading or lines[line - 1].startswith(("title:", "# ", "### Story")):
            problem = f"is a template: {mark} is not filled in"
            raise InputError(problem, place=f"{source}:{line}", hint="fill it in")


def _story(body: Sequence[MarkdownPart], *, title: str, **extra: Any) -> Story:
    """Build a story from its parts; the first one is its heading."""
    fields: dict[str, Any] = {"title": title.strip(), "line": body[0].line}
    fields["epic"] = f"epic-{extra['id'].partition('.')[0]}"
    fields["creates"], fields["changes"] = _named_files(body)
    tasks: list[Task] = []
    for part in body:
        # Boxes elsewhere are checklists of the review, not work to do.
        if re.match(r"tasks\b", bare_title(part), re.IGNORECASE):
            tasks += _boxes(part.blocks)
    fields["tasks"] = tuple(tasks)
    if "criteria" not in extra:
        fields["criteria"] = read_criteria(body)
    return Story.model_validate({**fields, **extra})


def _region(parts: Sequence[MarkdownPart], start: int) -> Sequence[MarkdownPart]:
    """Return a heading's parts; a story's sections may be headings of its own level."""
    stop = start + 1
    while stop < len(parts):
        part = parts[stop]
        is_own = part.level > parts[start].level
        if part.level == parts[start].level:
            is_own = bool(_SECTION.match(part.title))
        title = bare_title(part)
        # Another story ends this one, even if its heading is deeper by mistake.
        if not is_own or _TITLE.match(title) or _EPIC.match(title):
            break
        stop += 1
    return parts[start:stop]


def _cut(text: str, parts: Sequence[MarkdownPart], start: int, count: int) -> str:
    """Return the text of `count` parts."""
    lines = text.splitlines(keepends=True)
    stop = len(lines)
    if start + count < len(parts):
        stop = parts[start + count].line - 1
    return "".join(lines[parts[start].line - 1 : stop]).rstrip() + "\n"


def _blocks(parts: Sequence[MarkdownPart]) -> list[Node]:
    """Return the blocks of several parts, in their order."""
    blocks: list[Node] = []
    for part in parts:
        blocks += part.blocks
    return blocks


def _section(parts: Sequence[MarkdownPart], *titles: str) -> str:
    for part in parts:
        if part.title.lower().strip() not in titles:
            continue
        # A heading without a text of its own may divide the story only.
        text = joined([*iter_lines(part.blocks)])
        if text:
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
    goal = ""
    criteria: list[str] = []
    scenarios: list[Node] = []
    for block in specification.blocks if specification else ():
        if isinstance(block, Paragraph):
            # The first paragraph is the journey; later ones give reasons and ways to test it.
            goal = goal or joined(block.lines)
            if scenarios or block.lines[0].text.lower().startswith("given"):
                scenarios.append(block)
        elif isinstance(block, Bullets) and block.ordered:
            criteria += [joined(item.lines) for item in block.items]
    # Scenarios may stand one after the other, without a list.
    criteria = criteria or [*criteria_of_blocks(scenarios)]
    labelled: dict[str, str] = {}
    for line in iter_lines(_blocks(body)):
        name, colon, text = line.text.partition(":")
        if colon:
            labelled.setdefault(name, text.strip())
    goal = goal or labelled.get("Goal") or labelled.get("Purpose") or ""
    test = labelled.get("Independent Test")
    if test and not criteria:
        criteria.append(test)
    return goal, tuple(criteria)


def _boxes(blocks: Sequence[Node]) -> Iterator[Task]:
    """Yield the list items with a check box as tasks, nested ones included."""
    for item in items(blocks):
        text = joined(item.lines)
        if box := BOX.match(text):
            numbers: tuple[int, ...] = ()
            if served := _SERVES.search(text):
                numbers = tuple(map(int, re.findall(r"\d+", served[1])))
            yield Task(text=text[box.end() :], done=box[1] in "xX", criteria=numbers)
        yield from _boxes(item.blocks)


def _named_files(parts: Sequence[MarkdownPart]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files below a heading such as "Files to Create/Modify": new ones, and others."""
    creates: dict[str, None] = {}
    changes: dict[str, None] = {}
    for part in parts:
        if not _FILES.match(part.title):
            continue
        rows: list[tuple[InlineText, ...]] = []
        for block in part.blocks:
            if isinstance(block, MarkdownTable):
                rows += block.rows
        # Without a table, each line of the section names a file.
        for cells in rows or [(line,) for line in iter_lines(part.blocks)]:
            path = _first_path(cells)
            if path and _NEW.search(cells[-1].text):
                creates[path] = None
            elif path:
                changes[path] = None
    return tuple(creates), tuple(changes)


def _first_path(cells: Sequence[InlineText]) -> str:
    """Return the first path that is written as code in a row, or ""."""
    for cell in cells:
        for code in cell.codes:
            if _PATH.match(code):
                return code
    return ""
