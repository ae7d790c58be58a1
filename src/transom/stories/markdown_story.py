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
    ListItem,
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

_TITLE = re.compile(
    r"^(?:user\s+)?story\s+(\d+[a-z]?(?:\.\d+[a-z]?)*)(?:\s*[:–—-]\s*|\.?\s+)(.+)$", re.IGNORECASE
)
_EPIC = re.compile(r"^epic\s+(\d+[a-z]?)\s*(?:[:–—-]\s*(.*))?$", re.IGNORECASE)
_PHASE = re.compile(r"^phase\s+(\w+(?:\.\w+)*)\s*[:–—-]\s*(.+)$", re.IGNORECASE)
_USER_STORY = re.compile(r"^user\s+story\s+(\d+)\s*[:–—-]\s*(.+?)(?:\(priority.*)?$", re.IGNORECASE)
_BOX = re.compile(r"^\[([ xX])\]\s+")
_TASK = re.compile(r"^(T\d+|TXXX)\s+(?:\[[^\]]*\]\s*)*")
_FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+\.\w+)")
_SERVES = re.compile(r"\bACs?\s*+:?\s*+((?:#?\d++[\s,&]*+(?:and\s++)?)+)", re.IGNORECASE)
_OWN_MARK = re.compile(r"(?:(?<!\s)\s++)?\(ACs?\s*+:?\s*+#?\d[^)]{0,200}\)\s*+$", re.IGNORECASE)
_BEGINS = re.compile(r"^(?:given\b|(?:AC\s*#?)?\d+(?:\.\d+)*\s*[:.)])", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:AC\s*#?)?\d+(?:\.\d+)*\s*[:.)]\s*", re.IGNORECASE)
_LABEL = re.compile(r"^[A-Z][\w /-]{2,30}:(?:\s|$)")
_LONGEST_LABEL = 40
_CRITERIA = (
    re.compile(r"^(?:acceptance\b(?!\s+\w+\s+\w)|ACs?\b)", re.IGNORECASE),
    re.compile(
        r"^(?:success\s+criteria|conditions\s+of\s+satisfaction|requirements)\W*$", re.IGNORECASE
    ),
)
"""Headings of criteria; the second form counts only if no heading has the first."""
_CRITERION = re.compile(r"^(?:AC|acceptance criterion|criterion|scenario)?\s*+[-#.]?\s*+\d", re.I)
_NO_CRITERIA = re.compile(
    r"^\W*(?:out\s+of\s+scope|non-?goals?|notes?|references?|definition\s+of\s+done|risks?"
    r"|assumptions?|open\s+questions?)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"^(?:acceptance|tasks|(?:dev|technical)\s+notes|prerequisites|dependencies|files)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(r"(?:prerequisites?|depend(?:s on|encies))\s*:", re.IGNORECASE)
_FILES = re.compile(r"^files?\s+to\s+(?:create|modify|change|touch)", re.IGNORECASE)
_NEW = re.compile(r"\b(?:new|create[ds]?)\b", re.IGNORECASE)
_PATH = re.compile(r"^[\w.@-]+(?:/[\w.@+-]+)*$")
_MARKED = re.compile(r"^`?ACs?[-_ #]{0,2}\d")
_DONE_SIGN = re.compile("[✅☑✔✓]")
_FEWEST_BOXES = 2
_SLUG_ID = re.compile(r"^(\d+)-(?:(\d+[a-z]?)-)?")


def read_story_file(text: str, source: str) -> Story:
    """Read the text of a file with one story; `source` is its path, relative to the project.

    Raises:
        InputError: no story, several stories, or a template; with file:line.
    """
    refuse_template(text, source)
    parts, front = parse(text), front_matter(text)
    found = [
        (number, match) for number, part in enumerate(parts) if (match := _TITLE.match(_full(part)))
    ]
    more: dict[str, Any] = {}
    key = PurePosixPath(source).name.removesuffix(".md").removesuffix(".story")
    slug = _SLUG_ID.match(key)
    if found:
        number, identity, title = found[0][0], found[0][1][1], found[0][1][2]
    elif front.get("title") and (fields := _front_fields(text, source)):
        number, title = 0, front["title"][1]
        named = f"{slug[1]}.{slug[2]}" if slug and slug[2] else key.partition("-")[0]
        identity = str(fields.get("id") or fields.get("story") or named)
        more["criteria"] = _front_criteria(fields) or _criteria(parts)
    else:
        hint = 'begin it with "# Story 1.1: Title", or name the backlog\'s own file'
        raise InputError("holds no story", place=source, hint=hint)
    if parts[number].level > 1 and len(found) > 1:
        raise InputError(
            "holds several stories", place=source, hint="name the epic that they belong to"
        )
    status = find_status(text)
    more |= {"owns_file": True, "key": key if slug else "", "source": source}
    more |= {"status": read_status(status.text), "status_text": status.text} if status else {}
    goal = _section(parts[number:], "story", "user story", "intent", "description", "goal")
    if "criteria" in more and not goal:
        goal = _goal(parts[0].blocks) if parts else ""
    story = _story(parts[number:], id=identity, title=title, text=text, goal=goal, **more)
    return story.model_copy(update={"unclear": _finished_mark(story, parts[number:])})


def _finished_mark(story: Story, parts: Sequence[Part]) -> str:
    """Return what in a story's file speaks against its status that it is to be built, or "".

    A file may say in a language or form of its own that the work is done.
    """
    if story.status not in ("backlog", "ready", "unknown"):
        return ""
    boxes = [task for part in parts for task in _boxes(part.blocks)]
    if len(boxes) >= _FEWEST_BOXES and all(box.done for box in boxes):
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
        if part.level and (match := _TITLE.match(_full(part))):
            body = _region(parts, number)
            waits = next((one.text for one in _lines(body) if _WAITS.match(one.text)), "")
            more: dict[str, Any] = {
                "goal": _goal(part.blocks),
                "status": "backlog",
                "source": source,
            }
            more["depends_on"] = tuple(dict.fromkeys(re.findall(r"\b\d+\.\d+[a-z]?\b", waits)))
            whole = _cut(text, parts, number, len(body))
            stories.append(_story(body, id=match[1], title=match[2], text=whole, **more))
    if not stories:
        raise InputError(
            "holds no story", place=source, hint='write each one below "### Story 1.1: Title"'
        )
    ids = [story.id for story in stories]
    if twice := next((one for one in stories if ids.count(one.id) > 1), None):
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
    wanted = _specified(specification)
    stories: list[Story] = []
    for number, part in enumerate(parts):
        phase = _phase_of(part.title, len(stories) + 1) if part.level == 2 else None
        body = region(parts, number)
        tasks = tuple(
            one.model_copy(update={"text": _TASK.sub(r"\1 ", one.text)})
            for one in _boxes([block for inner in body for block in inner.blocks])
            if _TASK.match(one.text)
        )
        if not phase or not tasks:
            continue
        about = _USER_STORY.match(phase.title)
        marks = {mark for inner in body for mark in _story_marks(inner.blocks)}
        # Tasks name their story in each language: [US1].
        story = about[1] if about else ""
        if not about and len(marks) == 1 and f"US{min(marks)}" not in {one.id for one in stories}:
            story = marks.pop()
        goal, criteria = _wanted(body, wanted.get(story) if story else None)
        named = [file for task in tasks for file in _FILE.findall(task.text)]
        prepares = [one.id for one in stories if not story or one.id.startswith("phase-")]
        identity = f"US{story}" if story else f"phase-{phase.number}"
        stories.append(
            Story(
                # A later part of a phase has the phase's number again.
                id=_unused(identity, {one.id for one in stories}),
                title=(about[2] if about else phase.title).strip(),
                epic=PurePosixPath(source).parent.name,
                text=_cut(text, parts, number, len(body)),
                goal=goal,
                criteria=criteria,
                tasks=tasks,
                status="done" if all(task.done for task in tasks) else "backlog",
                # user stories depend on earlier set-up phases, other phases on all
                depends_on=tuple(prepares),
                changes=tuple(dict.fromkeys(named)),
                source=source,
                line=part.line,
            )
        )
    if not stories:
        hint = 'write tasks as "- [ ] T001 ..." below "## Phase 1: ..."'
        raise InputError("holds no phase with tasks", place=source, hint=hint)
    return tuple(stories)


def _unused(identity: str, taken: set[str]) -> str:
    """Return an id, with a number behind it if it is taken."""
    names = (identity if number == 1 else f"{identity}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


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
    found = {match[1]: part for part in parts if (match := _USER_STORY.match(part.title))}
    if found:
        return found
    foreign = re.compile(r"^\D{2,40}(\d++)\s*+[:–—-]\s.{0,200}?\([^()]{0,80}\bP\d\b[^()]{0,80}\)")
    return {match[1]: part for part in parts if (match := foreign.match(part.title))}


def read_boxes(text: str) -> list[Task]:
    """Return the list items with a check box of a text."""
    return [task for part in parse(text) for task in _boxes(part.blocks)]


def refuse_template(text: str, source: str) -> None:
    """Raise InputError if the heading or story is a placeholder: the file is a template."""
    heading = next((part.line for part in parse(text) if part.level == 1), 0)
    lines = text.splitlines()
    for line, found in placeholders(text):
        if line == heading or lines[line - 1].startswith(("title:", "# ", "### Story")):
            raise InputError(
                f"is a template: {found} is not filled in",
                place=f"{source}:{line}",
                hint="fill it in",
            )


def _story(body: Sequence[MarkdownPart], *, title: str, **more: Any) -> Story:
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
        "criteria": _criteria(body),
        **more,
    }
    epic = f"epic-{more['id'].partition('.')[0]}"
    return Story.model_validate(
        {"title": title.strip(), "epic": epic, "line": body[0].line, **fields}
    )


def _region(parts: Sequence[MarkdownPart], start: int) -> Sequence[MarkdownPart]:
    """Return a heading's parts; a story's sections may be headings of its own level."""
    stop = start + 1
    while stop < len(parts):
        one = parts[stop]
        own = one.level > parts[start].level or (
            one.level == parts[start].level and _SECTION.match(one.title)
        )
        if not own or _TITLE.match(_full(one)) or _EPIC.match(_full(one)):
            break
        stop += 1
    return parts[start:stop]


def _cut(text: str, parts: Sequence[MarkdownPart], start: int, count: int) -> str:
    """Return the text of `count` parts."""
    lines = text.splitlines(keepends=True)
    stop = parts[start + count].line - 1 if start + count < len(parts) else len(lines)
    return "".join(lines[parts[start].line - 1 : stop]).rstrip() + "\n"


def _full(part: MarkdownPart) -> str:
    return f"{part.number} {part.title}".strip()


def _lines(parts: Sequence[MarkdownPart]) -> Iterator[InlineText]:
    return (line for part in parts for line in iter_lines(part.blocks))


def _joined(lines: Sequence[InlineText]) -> str:
    return " ".join(line.text for line in lines).strip()


def _section(parts: Sequence[MarkdownPart], *titles: str) -> str:
    found = (
        _joined([*iter_lines(part.blocks)])
        for part in parts
        if part.title.lower().strip() in titles
    )
    return next(filter(None, found), "")


def _goal(blocks: Sequence[Node]) -> str:
    """Return the text before the first bold label: the sentence of the user story."""
    kept: list[InlineText] = []
    for block in blocks:
        if not isinstance(block, Paragraph) or _is_label(block, _CRITERIA[0]):
            break
        kept += block.lines
    return _joined(kept)


def _wanted(
    body: Sequence[MarkdownPart], specification: MarkdownPart | None
) -> tuple[str, tuple[str, ...]]:
    """Return goal and criteria of a phase, from the specification, else from the phase's own
    text.
    """
    blocks = specification.blocks if specification else ()
    goal = next((_joined(block.lines) for block in blocks if isinstance(block, Paragraph)), "")
    lists = [block for block in blocks if isinstance(block, Bullets) and block.ordered]
    criteria = tuple(_joined(item.lines) for block in lists for item in block.items)
    labelled: dict[str, str] = {}
    for line in _lines(body):
        name, colon, rest = line.text.partition(":")
        if colon:
            labelled.setdefault(name, rest.strip())
    test = labelled.get("Independent Test")
    return goal or labelled.get("Goal") or labelled.get("Purpose") or "", criteria or (
        (test,) if test else ()
    )


def _criteria(parts: Sequence[MarkdownPart]) -> tuple[str, ...]:
    """Return list items, or groups that begin with Given, below a heading or label like
    "Acceptance Criteria".
    """
    blocks, has_heading = next(
        (found for heading in _CRITERIA if (found := _below(parts, heading))[0]),
        (_marked(parts), True),
    )
    texts: list[str] = []
    is_ordered: bool | None = None
    for number, block in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        if isinstance(block, Bullets):
            is_step = number and _begins_given(blocks[number - 1]) and not _begins_given(block)
            if number and (_names_criterion(blocks[number - 1]) or is_step):
                texts[-1] = f"{texts[-1]} {_joined([*iter_lines([block])])}"
                continue
            is_ordered = block.ordered
            texts += [_joined([*item.lines, *iter_lines(item.blocks)]) for item in block.items]
        elif isinstance(block, Paragraph):
            if has_heading and _names_group(block, following):
                continue
            block = _without_group(block)
            begins = _BEGINS.match(block.lines[0].text)
            if _names_criterion(block) and isinstance(following, Bullets):
                texts.append(_joined(block.lines))
                continue
            if has_heading and not begins and isinstance(following, Bullets):
                # Below a heading, text before a list names a group of criteria.
                is_other = is_ordered is not None and following.ordered != is_ordered
                if is_other or _NO_CRITERIA.match(block.lines[0].text):
                    break
                continue
            has_list = any(isinstance(later, Bullets) for later in blocks[number:])
            if has_heading and not begins and not texts and has_list:
                continue  # an introduction
            label = block.lines[0].lead.endswith(":") or _LABEL.match(block.lines[0].text)
            if texts and not begins and (label or isinstance(blocks[number - 1], Bullets)):
                break  # a new section begins
            for line in block.lines:
                alone = (
                    line.text.lower().startswith("when")
                    and texts
                    and not texts[-1].lower().startswith("given")
                )
                if _BEGINS.match(line.text) or alone or not texts:
                    texts.append(line.text)
                else:
                    texts[-1] = f"{texts[-1]} {line.text}"
    return tuple(
        filter(
            None, (_NUMBER.sub("", _OWN_MARK.sub("", _BOX.sub("", one))).strip() for one in texts)
        )
    )


def _without_group(block: Paragraph) -> Paragraph:
    """Return a text without the name of a group in the line before numbered criteria.

    A list that begins with another number than 1 continues the paragraph of the name.
    """
    first, rest = block.lines[0], block.lines[1:]
    if first.text == first.lead and rest and _BEGINS.match(rest[0].text):
        return Paragraph(rest, rest[0].line)
    return block


def _names_group(block: Paragraph, following: Node | None) -> bool:
    """Whether a text is a bold name alone, before a text that begins a criterion."""
    return (
        len(block.lines) == 1
        and block.lines[0].text == block.lines[0].lead
        and not _NO_CRITERIA.match(block.lines[0].text)
        and isinstance(following, Paragraph)
        and bool(_BEGINS.match(following.lines[0].text))
    )


def _begins_given(block: Node) -> bool:
    """Whether a text, or the first item of a list, begins with Given."""
    if isinstance(block, Bullets):
        lines = block.items[0].lines if block.items else ()
    else:
        lines = block.lines if isinstance(block, Paragraph) else ()
    return bool(lines and re.match(r"given\b", _BOX.sub("", lines[0].text), re.IGNORECASE))


def _marked(parts: Sequence[Part]) -> list[Node]:
    """Return the first list whose items all carry a mark such as AC1, under a heading of any
    language; items that are struck out do not count.
    """
    for block in (block for part in parts for block in part.blocks):
        if not isinstance(block, Bullets):
            continue
        items = tuple(item for item in block.items if not _joined(item.lines).startswith("~~"))
        if items and all(_MARKED.match(_joined(item.lines)) for item in items):
            return [Bullets(items, block.line, block.ordered)]
    return []


def _names_criterion(block: Node) -> bool:
    """Whether a text numbers a criterion whose steps follow as a list: `**AC1 — Sign in:**`."""
    if not isinstance(block, Paragraph) or len(block.lines) > 1:
        return False
    return bool(
        block.lines[0].lead and re.match(r"AC\W*\d|scenario\W*\d", block.lines[0].text, re.I)
    )


def _below(parts: Sequence[MarkdownPart], heading: re.Pattern[str]) -> tuple[list[Node], bool]:
    """Return the blocks below the first heading, or the first label within a text, that matches,
    and whether it is a heading.

    Headings of a deeper level belong to the section. One that numbers a criterion is the criterion.
    """
    for place, part in enumerate(parts):
        if heading.match(part.title):
            return [*part.blocks, *_deeper(parts[place + 1 :], part.level)], True
        for number, block in enumerate(part.blocks):
            if isinstance(block, Paragraph) and _is_label(block, heading):
                rest = [Paragraph(block.lines[1:], block.line)] if len(block.lines) > 1 else []
                return [*rest, *part.blocks[number + 1 :]], False
    return [], False


def _deeper(parts: Sequence[MarkdownPart], level: int) -> Iterator[Node]:
    """Yield the blocks of the headings below a level; a numbered heading with its text is one
    item of a list.
    """
    for part in parts:
        if part.level <= level:
            return
        if _CRITERION.match(_full(part)):
            lines = [*iter_lines(part.blocks)]
            head = InlineText(f"{part.title}:" if lines else part.title, (), part.line)
            yield Bullets((ListItem((head, *lines), (), part.line),), part.line)
        else:
            yield from part.blocks


def _is_label(block: Paragraph, heading: re.Pattern[str]) -> bool:
    first = block.lines[0]
    return bool(heading.match(first.lead or first.text)) and len(first.text) < _LONGEST_LABEL


def _boxes(blocks: Sequence[Node]) -> Iterator[Task]:
    """Yield the list items with a check box as tasks, nested ones included."""
    for item in (item for block in blocks if isinstance(block, Bullets) for item in block.items):
        text = _joined(item.lines)
        if box := _BOX.match(text):
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
