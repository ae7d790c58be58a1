"""Statuses in files: the sprint status, a story's own line, a QA gate; written line by line,
comments kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from transom.errors import InputError
from transom.formats.markdown import InlineText, MarkdownTable, Node, iter_lines, parse
from transom.formats.yaml_files import YamlFile, parse_yaml, read_text
from transom.formats.yaml_models import validate_yaml
from transom.runs.artifact import write_file
from transom.stories.story import Status, Story, placeholders, read_status

SECTION = "development_status"
_STORY_KEY = re.compile(
    r"^(?:(?P<prefix>[A-Za-z]\w*?)-)?(?P<epic>\d+[a-z]?)-(?P<number>\d+[a-z]?)-(?P<slug>.+)$"
)
_BARE_KEY = re.compile(r"^epic-(?P<prefix>)(?P<epic>\d+[a-z]?)-(?P<number>\d+[a-z]?)(?P<slug>)$")
_CRITERIA = re.compile(r"acceptance\b|ACs?\b", re.IGNORECASE)
_STATUS_LINE = re.compile(r"^status:?\s*[:=–—-]\s*(.+)$", re.IGNORECASE)
# One key whose value begins with a placeholder in braces.
_BARE_PLACE = re.compile(
    r"^(\w+:[ \t]+)(\{[\w-]++\}/(?>(?:[^\s#\"']|[ \t]++(?=[^\s#\"']))*))[ \t]*+$", re.MULTILINE
)
_V4: Mapping[str, str] = {
    "backlog": "Draft",
    "ready": "Approved",
    "in-progress": "InProgress",
    "review": "Review",
    "done": "Done",
}
_V6: Mapping[str, str] = {"ready": "ready-for-dev"}


@dataclass(frozen=True)
class StatusLine:
    """The place of a story's status in a file: the 1-based line, the text, and the format's
    words.
    """

    line: int
    text: str
    words: Mapping[str, str]


@dataclass(frozen=True)
class SprintStatus:
    """`sprint-status.yaml`: key -> status; and the folder of the stories' files, if named.

    `other_keys` are neither stories nor epics.
    """

    source: str
    stories: Mapping[str, StatusLine]
    location: str = ""
    other_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoryKey:
    """The parts of a key of the sprint status: `web-1-2-sign-in`."""

    prefix: str
    epic: str
    number: str
    slug: str

    @property
    def epic_name(self) -> str:
        """The name that `--epic` takes."""
        return f"{self.prefix}-epic-{self.epic}" if self.prefix else f"epic-{self.epic}"


def read_story_key(key: str) -> StoryKey | None:
    """Return the parts of a story's key; None if it is no key of a story."""
    match = _STORY_KEY.match(key.removeprefix("epic-"))
    # The word before the epic's number is no team: `epic-3-5` is story 5 of epic 3.
    match = match or _STORY_KEY.match(key) or _BARE_KEY.match(key)
    if match is None:
        return None
    return StoryKey(match["prefix"] or "", match["epic"], match["number"], match["slug"])


class QaGate(BaseModel):
    """A quality gate of BMAD v4."""

    model_config = ConfigDict(frozen=True)

    story: str
    gate: Annotated[
        Literal["PASS", "CONCERNS", "FAIL", "WAIVED"],
        BeforeValidator(lambda word: str(word).strip().upper()),
    ]
    status_reason: str = ""
    top_issues: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Drift:
    """A story whose file and sprint status disagree; None for a missing side."""

    key: str
    story: Story | None
    in_sprint: StatusLine | None
    source: str

    def __str__(self) -> str:
        row, story = self.in_sprint, self.story
        sheet = (
            f"{self.source}:{row.line} says {row.text}"
            if row
            else "the sprint status does not list it"
        )
        if story is None:
            return f"{self.key}: {sheet}, the story file is missing"
        return f"{self.key}: {story.source} says {story.status_text or 'nothing'}, {sheet}"


def read_sprint_status(file: YamlFile, source: str) -> SprintStatus:
    """Read a sprint status.

    Raises:
        InputError: `development_status` is missing, or a status is not a text; with file:line.
    """
    data = file.data if isinstance(file.data, dict) else {}
    rows = data.get(SECTION)
    if not isinstance(rows, dict):
        raise InputError(
            f"has no {SECTION}", place=source, hint=f"write `{SECTION}:` with a line for each story"
        )
    stories: dict[str, StatusLine] = {}
    other_keys: list[str] = []
    for key, value in rows.items():
        if not isinstance(value, str):
            place = f"{source}:{file.line_of(SECTION, key)}"
            raise InputError(
                f"the status of {key} is {value!r}", place=place, hint="write e.g. ready-for-dev"
            )
        if read_story_key(key):
            stories[key] = StatusLine(file.line_of(SECTION, key), value, _V6)
        # Rows of epics and retrospectives are known and no stories.
        elif not re.search(r"\bepic-\d", key):
            other_keys.append(key)
    location = str(data.get("story_location") or "")
    return SprintStatus(source, stories, location, tuple(other_keys))


def load_sprint_status(path: Path) -> YamlFile:
    """Load a sprint status."""
    return _parse_sheet(read_text(path), path)


def _parse_sheet(text: str, path: Path) -> YamlFile:
    """Parse a sprint status.

    BMAD writes `story_location: {project-root}/...` without quotes, which is no YAML.
    """
    return parse_yaml(_BARE_PLACE.sub(r'\1"\2"', text), path)


def read_gate(file: YamlFile) -> QaGate:
    """Read a QA gate.

    Raises:
        InputError: the file is a template, or the gate is not PASS, CONCERNS, FAIL or WAIVED; with
            file:line.
    """
    data = file.data if isinstance(file.data, dict) else {}
    if "template" in data or placeholders(str(data.get("gate"))):
        hint = "name a gate that was made from it"
        raise InputError("is a template of a QA gate", place=file.place_of("gate"), hint=hint)
    return validate_yaml(QaGate, file)


def front_matter(text: str) -> dict[str, tuple[int, str]]:
    """Return name -> (line, value) of the fields between two lines `---` at the beginning."""
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?$", text, re.DOTALL | re.MULTILINE)
    rows = [
        (number, *line.partition(":"))
        for number, line in enumerate(match[1].splitlines() if match else (), 2)
    ]
    return {
        name.strip(): (number, value.partition(" #")[0].strip(" \t'\""))
        for number, name, _, value in rows
    }


def find_status(text: str) -> StatusLine | None:
    """Find the status of a story's file: in front matter, a line below the title, or a section
    "Status".
    """
    number, written = front_matter(text).get("status", (0, ""))
    if written:
        return StatusLine(number, written, _V6)
    for place, part in enumerate(parse(text)):
        lines = [*labelled_lines(part.blocks)]
        # What is said behind the criteria of something's status is no status of the story, unless
        # it is one in known words.
        criteria = next((row.line for row in lines if _CRITERIA.match(row.text)), 0)
        # Below the title, or in the first section: further down it is somebody's text.
        if part.level <= 1 or place == 1:
            for line, following in zip_longest(lines, lines[1:]):
                if following and line.text.rstrip(": ").lower() == "status":
                    return StatusLine(following.line, following.text, _V6)
                match = _STATUS_LINE.match(line.text)
                if match and not (0 < criteria < line.line and read_status(match[1]) == "unknown"):
                    return StatusLine(line.line, match[1].strip(), _V6)
        if match := _STATUS_LINE.match(part.title):
            return StatusLine(part.line, match[1].strip(), _V4)
        if part.title.rstrip(": ").lower() == "status" and lines and lines[0].text:
            return StatusLine(lines[0].line, lines[0].text, _V4)
    return None


def labelled_lines(blocks: Sequence[Node]) -> Iterator[InlineText]:
    """Yield the lines of text; rows of a table are `name: value`, by their first cell or by the
    name of their column.
    """
    for block in blocks:
        if not isinstance(block, MarkdownTable):
            yield from map(_labelled, iter_lines([block]))
            continue
        pairs = [row[:2] for row in block.rows if len(row) > 1]
        for row in block.rows:
            pairs += zip(block.header, row, strict=False)
        for name, cell in (*pairs, *([block.header[:2]] if len(block.header) > 1 else ())):
            yield replace(cell, text=f"{name.text.rstrip(':')}: {cell.text}")


def _labelled(line: InlineText) -> InlineText:
    """Return a line as `name: value` if it is a row of pipes, or begins with a bold name."""
    # A table without a rule below its header is text for Markdown.
    if line.text.startswith("|"):
        cells = [cell.strip() for cell in line.text.strip("|").split("|")]
        return replace(line, text=": ".join(cells[:2]))
    value = line.text.removeprefix(line.lead).strip()
    if line.lead.lower() == "status" and value:
        return replace(line, text=f"{line.lead}: {value.lstrip(':=- ')}")
    return line


def find_drift(stories: Sequence[Story], sprint: SprintStatus) -> list[Drift]:
    """Return the stories whose file and sprint status disagree. A planned story needs no file."""
    # A page of epics has no status of its own to differ from the sheet.
    filed = {story.key: story for story in stories if story.key and story.owns_file}
    drifts = []
    for key, row in sprint.stories.items():
        story, status = filed.pop(key, None), read_status(row.text)
        if (story.status != status) if story else (status not in ("backlog", "unknown")):
            drifts.append(Drift(key, story, row, sprint.source))
    return drifts + [Drift(key, story, None, sprint.source) for key, story in filed.items()]


def repair(
    project: Path, stories: Sequence[Story], sprint: SprintStatus, side: Literal["story", "sprint"]
) -> list[Drift]:
    """Write the status of `side` to the other side, for stories that both sides have. Returns
    the repaired ones.
    """
    settled = []
    for drift in find_drift(stories, sprint):
        story = drift.story
        if story and side == "story" and drift.in_sprint and story.status != "unknown":
            set_sprint_status(project / sprint.source, drift.key, story.status)
        elif (
            story
            and side == "sprint"
            and (status := read_status(drift.in_sprint.text if drift.in_sprint else ""))
            != "unknown"
        ):
            set_story_status(project / story.source, status)
        else:
            continue
        settled.append(drift)
    return settled


def set_sprint_status(path: Path, key: str, status: Status) -> None:
    """Write a story's status into the sprint status; only its line changes.

    Raises:
        InputError: the file cannot be read or written, or the line's form cannot be edited.
    """
    text = read_text(path)
    sprint = read_sprint_status(_parse_sheet(text, path), str(path))
    if key not in sprint.stories:
        raise InputError(
            f"has no story {key}", place=str(path), hint=f"add the line `{key}: {status}`"
        )
    _put(path, text, sprint.stories[key], status)


def set_story_status(path: Path, status: Status) -> None:
    """Write the status into a story's file, in the words of its format; only its line changes.

    Raises:
        InputError: the file has no status line, or the line's form cannot be edited.
    """
    text = read_text(path)
    status_line = find_status(text)
    if status_line is None:
        raise InputError(
            "has no status line",
            place=str(path),
            hint='write "Status: ready-for-dev" below the title',
        )
    _put(path, text, status_line, status)


def tick_tasks(path: Path, story: Story) -> None:
    """Tick a story's tasks in a task list; tasks are found by their ids."""
    text = read_text(path)
    for task in story.tasks:
        # The text of a task may have changed; its id has not.
        name = re.escape(task.text.split(" ", 1)[0])
        box = rf"^(\s*[-*+] \[)[ ~-](\]\*?\s+\**{name}(?=[\s*]|$))"
        text = re.sub(box, r"\1x\2", text, count=1, flags=re.MULTILINE)
    write_file(path, text.encode())


def _put(path: Path, text: str, status_line: StatusLine, status: Status) -> None:
    """Replace a status in its line; marks, quotes, comments and the line end stay."""
    lines = text.split("\n")
    word, index = status_line.words.get(status, status), status_line.line - 1
    # Only the old word is replaced, so that signs and remarks around it stay.
    lines[index], count = re.subn(
        rf"(^\W*?(?i:status\W*?)?|[:|][^\w:|]*?){re.escape(status_line.text)}",
        rf"\g<1>{word}",
        lines[index],
        count=1,
    )
    if not count:
        place = f"{path}:{status_line.line}"
        raise InputError(
            "the status cannot be replaced", place=place, hint=f"write {word} there yourself"
        )
    write_file(path, "\n".join(lines).encode())
