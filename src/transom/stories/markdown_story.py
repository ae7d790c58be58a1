"""Stories in Markdown: one story a file (BMAD v4 and v6, specifications of build-auto), or a page of epics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from transom.errors import InputError
from transom.formats.markdown import Bullets, Item, Node, Paragraph, Part, Table, iter_lines, parse
from transom.stories.story import Criterion, Story, Task, placeholders, read_status

_TITLE = re.compile(r"^(?:user\s+)?story\s+(\d+(?:\.\d+)*[a-z]?)(?:\s*[:–—-]\s*|\.?\s+)(.+)$", re.IGNORECASE)
_EPIC = re.compile(r"^epic\s+(\d+[a-z]?)\s*(?:[:–—-]\s*(.*))?$", re.IGNORECASE)
_STATUS = re.compile(r"^status:?\s*:\s*(.+)$", re.IGNORECASE)
_BOX = re.compile(r"^\[([ xX])\]\s+")
_SERVES = re.compile(r"\bACs?\s*:?\s*((?:#?\d+[\s,&]*(?:and\s+)?)+)", re.IGNORECASE)
_OWN_MARK = re.compile(r"\s*\(ACs?\s*:?\s*#?\d[^)]*\)\s*$", re.IGNORECASE)
_BEGINS = re.compile(r"^(?:given\b|(?:AC\s*#?)?\d+\s*[:.)])", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:AC\s*#?)?\d+\s*[:.)]\s*", re.IGNORECASE)
_LABEL = re.compile(r"^[A-Z][\w /-]{2,30}:(?:\s|$)")
_LONGEST_LABEL = 40
_CRITERIA = (
    re.compile(r"^(?:acceptance\b(?!\s+\w+\s+\w)|ACs?\b)", re.IGNORECASE),
    re.compile(r"^(?:success\s+criteria|conditions\s+of\s+satisfaction|requirements)\W*$", re.IGNORECASE),
)
"""Headings of criteria; one of the second form counts where there is none of the first."""
_SECTION = re.compile(
    r"^(?:acceptance|tasks|(?:dev|technical)\s+notes|prerequisites|dependencies|files)\b", re.IGNORECASE
)
_FILES = re.compile(r"^files?\s+to\s+(?:create|modify|change|touch)", re.IGNORECASE)
_NEW = re.compile(r"\b(?:new|create[ds]?)\b", re.IGNORECASE)
_PATH = re.compile(r"^[\w.@-]+(?:/[\w.@+-]+)*\.?\w*$")
_SLUG_ID = re.compile(r"^(\d+)-(\d+[a-z]?)-(.+)$")
_NO_STORY = 'begin it with "# Story 1.1: Title", or name the backlog\'s own file'


def read_story_file(text: str, source: str) -> Story:
    """Read a file that holds one story.

    Args:
        text: the whole file.
        source: its path, relative to the project; names it in errors.

    Raises:
        InputError: no story, or a template that nobody filled in; with file:line.
    """
    front, rest = front_matter(text)
    if front and re.search(r"^## Intent", rest, re.MULTILINE):
        return _read_spec(text, source)
    parts = parse(text)
    found = next(((number, match) for number, part in enumerate(parts) if (match := _TITLE.match(_full(part)))), None)
    if found is None:
        refuse_template(text, source)
        raise InputError("holds no story", where=source, hint=_NO_STORY)
    number, match = found
    if parts[number].level > 1 and sum(bool(_TITLE.match(_full(part))) for part in parts) > 1:
        raise InputError("holds several stories", where=source, hint="name the epic that they belong to")
    refuse_template(text, source)
    body = parts[number:]
    status = next((hit[1] for line in iter_lines(body[0].blocks) if (hit := _STATUS.match(line.text))), "")
    status = (
        status
        or front.get("status", "")
        or next((_plain(part.blocks) for part in body if part.title.lower() == "status"), "")
    )
    key = PurePosixPath(source).name.removesuffix(".md").removesuffix(".story")
    creates, changes = _named_files(body)
    return Story(
        id=match[1],
        title=match[2].strip(),
        key=key if re.match(r"\d+-", key) else "",
        epic=f"epic-{match[1].partition('.')[0]}",
        text=text,
        goal=_section(body, "story") or _section(body, "user story"),
        criteria=_criteria(body),
        tasks=_tasks(body),
        status=read_status(status),
        status_text=status.strip(),
        creates=creates,
        changes=changes,
        source=source,
        line=parts[number].line,
        owns_file=True,
    )


def read_epics(text: str, source: str, epic: str | None = None) -> tuple[Story, ...]:
    """The stories of a page of epics (`## Epic 1: ...`, `### Story 1.1: ...`), of one epic where it is named.

    Raises:
        InputError: no story, or a template.
    """
    refuse_template(text, source)
    parts = parse(text)
    lines = text.splitlines(keepends=True)
    stories = []
    for number, part in enumerate(parts):
        match = _TITLE.match(_full(part))
        if match is None or not part.level:
            continue
        body = _region(parts, number)
        after = parts[number + len(body)].line - 1 if number + len(body) < len(parts) else len(lines)
        creates, changes = _named_files(body)
        stories.append(
            Story(
                id=match[1],
                title=match[2].strip(),
                epic=f"epic-{match[1].partition('.')[0]}",
                text="".join(lines[part.line - 1 : after]).rstrip() + "\n",
                goal=_goal(body[0].blocks),
                criteria=_criteria(body),
                tasks=_tasks(body),
                status="backlog",
                creates=creates,
                changes=changes,
                depends_on=_prerequisites(body),
                source=source,
                line=part.line,
            )
        )
    if not stories:
        raise InputError("holds no story", where=source, hint='write each one below "### Story 1.1: Title"')
    ids = [story.id for story in stories]
    if twice := next((one for one in stories if ids.count(one.id) > 1), None):
        raise InputError(f"has two stories {twice.id}", where=f"{source}:{twice.line}", hint="number them apart")
    return tuple(story for story in stories if epic is None or story.epic == epic)


def _region(parts: Sequence[Part], start: int) -> Sequence[Part]:
    """A story's heading with what belongs to it; its sections may be headings of its own level."""
    stop = start + 1
    while stop < len(parts):
        one = parts[stop]
        own = one.level > parts[start].level or (one.level == parts[start].level and _SECTION.match(one.title))
        if not own or _TITLE.match(_full(one)) or _EPIC.match(_full(one)):
            break
        stop += 1
    return parts[start:stop]


def refuse_template(text: str, source: str) -> None:
    """Refuse a file whose heading or story is a placeholder: it is a template, and no work.

    Raises:
        InputError: naming line and placeholder.
    """
    heading = next((part for part in parse(text) if part.level == 1), None)
    lines = {heading.line} if heading else set()
    lines |= {
        number for number, line in enumerate(text.splitlines(), 1) if line.startswith(("title:", "# ", "### Story"))
    }
    for line, found in placeholders(text):
        if line in lines:
            raise InputError(f"is a template: {found} is not filled in", where=f"{source}:{line}", hint="fill it in")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields between two lines `---` at the beginning, and the rest; no fields where there are no such lines."""
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text, re.DOTALL)
    if match is None:
        return {}, text
    rows = (line.partition(":") for line in match[1].splitlines())
    fields = {name.strip(): value.partition(" #")[0].strip().strip("'\"") for name, _, value in rows}
    return fields, text[match.end() :]


def _read_spec(text: str, source: str) -> Story:
    """A specification that BMAD's build-auto writes: front matter, intent, tasks."""
    refuse_template(text, source)
    fields, rest = front_matter(text)
    body = parse(rest)
    stem = PurePosixPath(source).name.removesuffix(".md")
    identity = _SLUG_ID.match(stem)
    return Story(
        id=f"{identity[1]}.{identity[2]}" if identity else stem.partition("-")[0],
        title=fields.get("title", stem),
        key=stem,
        text=text,
        goal=_section(body, "intent"),
        criteria=_criteria(body),
        tasks=_tasks(body),
        status=read_status(fields.get("status", "")),
        status_text=fields.get("status", ""),
        source=source,
        owns_file=True,
    )


def _full(part: Part) -> str:
    return f"{part.number} {part.title}".strip()


def _plain(blocks: Sequence[Node]) -> str:
    return " ".join(line.text for line in iter_lines(blocks)).strip()


def _section(parts: Sequence[Part], title: str) -> str:
    return next((_plain(part.blocks) for part in parts if part.title.lower().strip() == title), "")


def _goal(blocks: Sequence[Node]) -> str:
    """What stands before the first bold label: the sentence of the user story."""
    kept: list[str] = []
    for block in blocks:
        if not isinstance(block, Paragraph) or _is_label(block, _CRITERIA[0]):
            break
        kept += [line.text for line in block.lines]
    return " ".join(kept)


def _criteria(parts: Sequence[Part]) -> tuple[Criterion, ...]:
    """List items, or groups that begin with Given, below a heading or bold label such as "Acceptance Criteria"."""
    blocks: Sequence[Node] = next((found for heading in _CRITERIA if (found := _below(parts, heading))), ())
    texts: list[str] = []
    for number, block in enumerate(blocks):
        if isinstance(block, Bullets):
            texts += [_item_text(item) for item in block.items]
        elif isinstance(block, Paragraph):
            begins = _BEGINS.match(block.lines[0].text)
            label = block.lines[0].lead.endswith(":") or _LABEL.match(block.lines[0].text)
            if texts and not begins and (label or isinstance(blocks[number - 1], Bullets)):
                break  # something else begins
            for line in block.lines:
                alone = line.text.lower().startswith("when") and texts and not texts[-1].lower().startswith("given")
                if _BEGINS.match(line.text) or alone or not texts:
                    texts.append(line.text)
                else:
                    texts[-1] = f"{texts[-1]} {line.text}"
    cleaned = [_NUMBER.sub("", _OWN_MARK.sub("", _BOX.sub("", one))).strip() for one in texts]
    return tuple(Criterion(number=number, text=one) for number, one in enumerate(filter(None, cleaned), 1))


def _below(parts: Sequence[Part], heading: re.Pattern[str]) -> list[Node]:
    """What stands below the first heading, or the first label within a text, of that form."""
    for part in parts:
        if heading.match(part.title):
            return [*part.blocks]
        for number, block in enumerate(part.blocks):
            if isinstance(block, Paragraph) and _is_label(block, heading):
                rest = [Paragraph(block.lines[1:], block.line)] if len(block.lines) > 1 else []
                return [*rest, *part.blocks[number + 1 :]]
    return []


def _is_label(block: Paragraph, heading: re.Pattern[str]) -> bool:
    first = block.lines[0]
    return bool(heading.match(first.lead or first.text)) and len(first.text) < _LONGEST_LABEL


def _item_text(item: Item) -> str:
    return " ".join([line.text for line in item.lines] + [line.text for line in iter_lines(item.blocks)])


def _tasks(parts: Sequence[Part]) -> tuple[Task, ...]:
    found: list[Task] = []
    for part in parts:
        if re.match(r"tasks\b", part.title, re.IGNORECASE):
            found += [task for block in part.blocks if isinstance(block, Bullets) for task in _boxes(block)]
    return tuple(found)


def _boxes(block: Bullets) -> Iterator[Task]:
    for item in block.items:
        first = item.lines[0].text if item.lines else ""
        if box := _BOX.match(first):
            text = first[box.end() :]
            served = _SERVES.search(text)
            numbers = tuple(int(one) for one in re.findall(r"\d+", served[1])) if served else ()
            yield Task(text=text, done=box[1] in "xX", criteria=numbers, line=item.line)
        for inner in item.blocks:
            if isinstance(inner, Bullets):
                yield from _boxes(inner)


def _named_files(parts: Sequence[Part]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files below a heading such as "Files to Create/Modify": new ones, and others."""
    creates: list[str] = []
    changes: list[str] = []
    for part in parts:
        if not _FILES.match(part.title):
            continue
        rows = [row for block in part.blocks if isinstance(block, Table) for row in block.rows]
        lines = [list(row) for row in rows] or [[line] for line in iter_lines(part.blocks)]
        for cells in lines:
            codes = [code for cell in cells for code in cell.codes if _PATH.match(code)]
            if codes:
                (creates if _NEW.search(" ".join(cell.text for cell in cells[-1:])) else changes).append(codes[0])
    return tuple(dict.fromkeys(creates)), tuple(dict.fromkeys(changes))


def _prerequisites(parts: Sequence[Part]) -> tuple[str, ...]:
    """`**Prerequisites:** Story 1.1, 1.2` or `**Depends on:** ...`."""
    for part in parts:
        for line in iter_lines(part.blocks):
            if re.match(r"(?:prerequisites?|depend(?:s on|encies))\s*:", line.text, re.IGNORECASE):
                return tuple(dict.fromkeys(re.findall(r"\b\d+\.\d+[a-z]?\b", line.text)))
    return ()
