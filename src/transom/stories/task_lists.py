"""Numbered task lists: the `tasks.md` of a folder that holds requirements or a proposal beside it.

Two forms are usual. A list of numbered boxes, whose lines name the requirements that they meet, has
a `requirements.md` beside it; each first number is a story. Sections of boxes that carry out one
proposed change have a `proposal.md` beside them, and scenarios below `specs/`; the change is one
story, since nothing says which section serves which scenario.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError
from transom.formats.markdown import (
    Bullets,
    ListItem,
    MarkdownPart,
    Node,
    items,
    iter_lines,
    parse,
    region,
)
from transom.formats.text_files import TextFile
from transom.stories.story import Story, Task

_BOX = re.compile(r"^\[([ xX~-])\](\*?)\s+")
_NUMBER = re.compile(r"^(\d+)((?:\.\d+)*)\.?(\*?)\s+(?=\S)")
_REQUIREMENT = re.compile(r"^requirement\s+(\d+)\b", re.IGNORECASE)
_MEETS = re.compile(r"^\W*requirements?\W*:(.+)$", re.IGNORECASE)
_GOAL = re.compile(r"^\W*(?:user\s+story|objective)\W*:[\s*_]*(.+)$", re.IGNORECASE)
_RANGE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[-–—]\s*(\d+(?:\.\d+)?))?")
_SCENARIO = re.compile(r"^scenario\W", re.IGNORECASE)


@dataclass(frozen=True)
class _Entry:
    """A box of the list: `[ ] 2.1 Store the rows`.

    Attributes:
        number: its first number, or "".
        is_part: whether its number has a second part.
        is_optional: whether a star behind the box or the number says that it may be left out.
        requirements: the numbers that its lines name.
    """

    number: str
    is_part: bool
    is_optional: bool
    task: Task
    requirements: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class _Requirement:
    goal: str
    criteria: tuple[str, ...]


def read_task_list(path: Path, text: str, source: str) -> tuple[Story, ...]:
    """Read the stories of a numbered task list.

    Args:
        path: the file; what lies beside it tells the form.
        text: its text.
        source: its path, relative to the project.

    Raises:
        InputError: the list has no boxes that can be read.
    """
    entries: list[_Entry] = []
    titles: dict[str, str] = {}
    for part in parse(text):
        entries += _entries(part.blocks)
        if part.number:
            titles.setdefault(part.number.rstrip("."), part.title)
    stories: tuple[Story, ...] = ()
    if entries and path.with_name("proposal.md").is_file():
        stories = (_change(path, entries, text, source),)
    elif path.with_name("requirements.md").is_file():
        requirements = _requirements(TextFile(path.with_name("requirements.md")).whole())
        listed = []
        for number, group in _grouped(entries).items():
            listed.append(_group(path, group, titles.get(number, ""), requirements, source))
        stories = tuple(listed)
    if not stories:
        hint = 'write tasks as "- [ ] T001 ..." below "## Phase 1: ...", or as "- [ ] 1. ..."'
        raise InputError("holds no phase with tasks", place=source, hint=hint)
    return stories


def _entries(blocks: Sequence[Node]) -> Iterator[_Entry]:
    """Yield the boxes of lists in their order, each before those within it."""
    for item in items(blocks):
        text = _joined(item)
        if box := _BOX.match(text):
            text = text[box.end() :]
            first = second = star = ""
            # The star may follow the box or the number: `- [ ]* 2.1` and `- [ ] 2.1*`.
            if number := _NUMBER.match(text):
                first, second, star = number[1], number[2], number[3]
            yield _Entry(
                number=first,
                is_part=bool(second),
                is_optional=bool(box[2] or star),
                task=Task(text=text, done=box[1] in "xX"),
                requirements=tuple(_met(item)),
                line=item.line,
            )
        yield from _entries(item.blocks)


def _joined(item: ListItem) -> str:
    texts = [line.text for line in item.lines]
    return " ".join(text for text in texts if not _MEETS.match(text)).strip()


def _met(item: ListItem) -> Iterator[str]:
    """Yield the numbers of the requirements that a box names, not those of boxes within it."""
    lines = [*item.lines]
    for block in item.blocks:
        if not isinstance(block, Bullets):
            lines += iter_lines([block])
            continue
        for inner in block.items:
            if not _BOX.match(_joined(inner)):
                lines += inner.lines
    for line in lines:
        if match := _MEETS.match(line.text):
            for first, last in _RANGE.findall(match[1]):
                yield from _numbers(first, last)


def _numbers(first: str, last: str) -> list[str]:
    """Return the numbers of a range: `1.2` to `1.4`, also written `1.2-4`; `last` may be ""."""
    section, dot, start = first.rpartition(".")
    end = last.rpartition(".")[2] or start
    if "." in last and last.rpartition(".")[0] != section:
        return [first, last]
    return [f"{section}{dot}{number}" for number in range(int(start), int(end) + 1)]


def _requirements(text: str) -> dict[str, _Requirement]:
    """Return number -> requirement of `### Requirement 1` with its numbered criteria."""
    parts = parse(text)
    requirements: dict[str, _Requirement] = {}
    for place, part in enumerate(parts):
        match = _REQUIREMENT.match(part.title)
        if match is None:
            continue
        goal = ""
        criteria: list[str] = []
        for inner in region(parts, place):
            for line in iter_lines(inner.blocks):
                wish = _GOAL.match(line.text)
                if wish and not goal:
                    goal = wish[1].strip()
            for block in inner.blocks:
                # Lists without numbers explain; tasks name criteria by their number.
                if isinstance(block, Bullets) and block.ordered:
                    criteria += map(_joined, block.items)
        # A requirement that is told again further down does not replace the first.
        requirements.setdefault(match[1], _Requirement(goal, tuple(criteria)))
    return requirements


def _grouped(entries: Sequence[_Entry]) -> dict[str, list[_Entry]]:
    """Return first number -> its boxes. A box without a number belongs to those before it."""
    groups: dict[str, list[_Entry]] = {}
    number = ""
    for entry in entries:
        number = entry.number or number
        if number:
            groups.setdefault(number, []).append(entry)
    return groups


def _group(
    path: Path,
    group: Sequence[_Entry],
    heading: str,
    requirements: Mapping[str, _Requirement],
    source: str,
) -> Story:
    """Return the story of the boxes with one first number.

    Args:
        heading: the title of the section with that number, or "".
    """
    head = next((entry for entry in group if not entry.is_part), None)
    title = heading
    if head or not heading:
        title = _NUMBER.sub("", (head or group[0]).task.text)
    goal = ""
    criteria: dict[str, None] = {}
    for entry in group:
        for name in entry.requirements:
            requirement = requirements.get(_first(name))
            if requirement and not goal:
                goal = requirement.goal
            criteria.update(dict.fromkeys(_criteria_named(name, requirements)))
    required = [entry for entry in group if not entry.is_optional]
    is_done = all(entry.task.done for entry in required)
    return Story(
        id=group[0].number,
        title=title,
        epic=path.parent.name,
        text="\n".join(_line(entry) for entry in group) + "\n",
        goal=goal or title,
        criteria=tuple(criteria),
        tasks=tuple(entry.task for entry in group),
        status="done" if is_done else "backlog",
        unclear=_contradiction(head, group, source),
        source=source,
        line=(head or group[0]).line,
    )


def _contradiction(head: _Entry | None, group: Sequence[_Entry], source: str) -> str:
    """Return what in a group of boxes speaks against its own status, or ""."""
    place = f"{source}:{(head or group[0]).line}"
    open_parts = [entry for entry in group if entry is not head and not entry.task.done]
    is_open = any(not entry.is_optional for entry in open_parts)
    if head and head.task.done and is_open:
        return f"{place} is ticked, and a task of it is not"
    if head and not head.task.done and len(group) > 1 and not open_parts:
        return f"{place} is not ticked, and all of its tasks are"
    # Nothing that was ticked shows that the group is done, or that it was left out.
    is_optional = all(entry.is_optional for entry in group)
    is_ticked = all(entry.task.done for entry in group)
    if is_optional and not is_ticked:
        return f"{place}: all of its tasks are optional"
    return ""


def _first(name: str) -> str:
    return name.partition(".")[0]


def _criteria_named(name: str, requirements: Mapping[str, _Requirement]) -> tuple[str, ...]:
    """Return the criteria that a name means: `2.3` is the third of requirement 2, `2` is all."""
    requirement = requirements.get(_first(name))
    if requirement is None:
        return ()
    place = name.partition(".")[2]
    return requirement.criteria[int(place) - 1 : int(place)] if place else requirement.criteria


def _line(entry: _Entry) -> str:
    indent = "  " if entry.is_part else ""
    return f"{indent}- [{'x' if entry.task.done else ' '}] {entry.task.text}"


def _change(path: Path, entries: Sequence[_Entry], text: str, source: str) -> Story:
    """Return the story of a proposed change: its scenarios are the criteria."""
    proposal = parse(TextFile(path.with_name("proposal.md")).whole())
    heading = next((part.title for part in proposal if part.level == 1), path.parent.name)
    goal = heading
    for part in proposal:
        if part.title.lower().startswith("why"):
            goal = " ".join(line.text for line in iter_lines(part.blocks))
            break
    criteria: list[str] = []
    for page in sorted(path.parent.glob("specs/**/*.md")):
        criteria += map(_scenario, _added(parse(TextFile(page).whole())))
    is_done = all(entry.task.done for entry in entries)
    return Story(
        id=path.parent.name,
        title=heading.partition(":")[2].strip() or heading,
        epic=path.parent.name,
        text=text,
        goal=goal,
        criteria=tuple(criteria),
        tasks=tuple(entry.task for entry in entries),
        status="done" if is_done else "backlog",
        source=source,
    )


def _added(parts: Sequence[MarkdownPart]) -> Iterator[MarkdownPart]:
    """Yield the scenarios of a change, without those of requirements that it removes."""
    is_removed = False
    for part in parts:
        if part.level == 2:
            is_removed = part.title.lower().startswith("removed")
        elif _SCENARIO.match(part.title) and not is_removed:
            yield part


def _scenario(part: MarkdownPart) -> str:
    title = re.sub(r"^scenario\s*:?\s*", "", part.title, flags=re.IGNORECASE)
    steps = " ".join(line.text for line in iter_lines(part.blocks))
    return f"{title}: {steps}" if steps else title
