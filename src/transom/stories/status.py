"""Statuses in files: the sprint status, a story's own line, a QA gate; written back line by line, comments kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.markdown import Paragraph, iter_lines, parse
from transom.formats.yaml_files import YamlFile, parse_yaml, read_text
from transom.runs.artifact import write_file
from transom.stories.story import Status, Story, placeholders, read_status

SECTION = "development_status"
_STORY_KEY = re.compile(r"^(\d+[a-z]?)-(\d+[a-z]?)-.+$")
_STATUS_LINE = re.compile(r"^(\W*status\W*?:\W*?\s*)([^\s*_].*?)([*_]*\s*)$", re.IGNORECASE)
_V4: Mapping[str, str] = {
    "backlog": "Draft",
    "ready": "Approved",
    "in-progress": "InProgress",
    "review": "Review",
    "done": "Done",
}
_V6: Mapping[str, str] = {"ready": "ready-for-dev"}

Gate = Literal["PASS", "CONCERNS", "FAIL", "WAIVED"]


@dataclass(frozen=True)
class SprintStatus:
    """`sprint-status.yaml`.

    Attributes:
        source: its path, relative to the project.
        stories: key -> status as written, in the file's order.
        lines: key -> 1-based line.
        location: the folder of the story files as the file names it, "" where it does not.
    """

    source: str
    stories: Mapping[str, str]
    lines: Mapping[str, int]
    location: str = ""

    def of_epic(self, number: str) -> dict[str, str]:
        """Keys and statuses of one epic's stories."""
        return {key: status for key, status in self.stories.items() if key.partition("-")[0] == number}


@dataclass(frozen=True)
class QaGate:
    """A quality gate of BMAD v4."""

    story: str
    gate: Gate
    reason: str
    issues: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drift:
    """A story whose file and whose sprint status disagree; a side that lacks is None.

    Attributes:
        key: the story's.
        in_file, in_sprint: as written.
        file, sprint: where, as `file:line`.
    """

    key: str
    in_file: str | None
    in_sprint: str | None
    file: str = ""
    sprint: str = ""

    def __str__(self) -> str:
        if self.in_sprint is None:
            return f"{self.key}: {self.file} says {self.in_file}, the sprint status does not know it"
        if self.in_file is None:
            return f"{self.key}: {self.sprint} says {self.in_sprint}, there is no story file"
        return f"{self.key}: {self.file} says {self.in_file}, {self.sprint} says {self.in_sprint}"


def read_sprint_status(file: YamlFile, source: str) -> SprintStatus:
    """Read a sprint status.

    Raises:
        InputError: no `development_status`, or a status that is no text; with file:line.
    """
    data = file.data
    rows = data.get(SECTION) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(rows, dict):
        raise InputError(f"has no {SECTION}", where=source, hint=f"write `{SECTION}:` with a line for each story")
    for key, value in rows.items():
        if not isinstance(value, str):
            where = f"{source}:{file.line_of(SECTION, key)}"
            raise InputError(f"the status of {key} is {value!r}", where=where, hint="write e.g. ready-for-dev")
    stories = {key: str(value) for key, value in rows.items() if _STORY_KEY.match(key)}
    lines = {key: file.line_of(SECTION, key) for key in stories}
    return SprintStatus(source, stories, lines, str(data.get("story_location") or ""))


def read_gate(file: YamlFile, source: str) -> QaGate:
    """Read a QA gate.

    Raises:
        InputError: a template, or a gate other than PASS, CONCERNS, FAIL and WAIVED.
    """
    data: Any = file.data
    where = f"{source}:{file.line_of('gate')}"
    if not isinstance(data, dict) or "gate" not in data or "story" not in data:
        raise InputError("is no QA gate", where=source, hint="write story, gate and status_reason")
    if "template" in data or placeholders(str(data["gate"])):
        raise InputError("is a template of a QA gate", where=where, hint="name a gate that was made from it")
    gate = str(data["gate"]).upper()
    if gate not in ("PASS", "CONCERNS", "FAIL", "WAIVED"):
        raise InputError(f"{data['gate']!r} is no gate", where=where, hint="write PASS, CONCERNS, FAIL or WAIVED")
    rows = data.get("top_issues") or []
    issues = tuple(f"{one.get('id', '')} {one.get('finding', '')}".strip() for one in rows if isinstance(one, dict))
    return QaGate(str(data["story"]), gate, str(data.get("status_reason") or ""), issues)  # type: ignore[arg-type]  # one of the four


def find_drift(stories: Sequence[Story], sprint: SprintStatus) -> list[Drift]:
    """Stories whose own file and whose sprint status disagree. No file is right for what is only planned."""
    found = []
    filed = {story.key: story for story in stories if story.key and story.owns_file}
    for key, written in sprint.stories.items():
        story, place = filed.pop(key, None), f"{sprint.source}:{sprint.lines[key]}"
        if story is None and read_status(written) not in ("backlog", "unknown"):
            found.append(Drift(key, None, written, "", place))
        elif story and story.status != read_status(written):
            found.append(Drift(key, story.status_text or "nothing", written, story.source, place))
    found += [Drift(key, story.status_text or "nothing", None, story.source) for key, story in filed.items()]
    return found


def repair(
    project: Path, stories: Sequence[Story], sprint: SprintStatus, side: Literal["story", "sprint"]
) -> list[Drift]:
    """Settle what both sides name: the status of `side` is written to the other. Returns what was settled."""
    by_key = {story.key: story for story in stories}
    settled = []
    for drift in find_drift(stories, sprint):
        if drift.in_file is None or drift.in_sprint is None:
            continue
        story = by_key[drift.key]
        if side == "story" and story.status != "unknown":
            set_sprint_status(project / sprint.source, drift.key, story.status)
        elif side == "sprint" and read_status(drift.in_sprint) != "unknown":
            set_story_status(project / story.source, read_status(drift.in_sprint))
        else:
            continue
        settled.append(drift)
    return settled


def set_sprint_status(path: Path, key: str, status: Status) -> bool:
    """Write a story's status into the sprint status; only its one line changes. Whether it did.

    Raises:
        InputError: the file cannot be read or written, or the line is written in a way that cannot be kept.
    """
    text = read_text(path)
    sprint = read_sprint_status(parse_yaml(text, path), str(path))
    if key not in sprint.lines:
        raise InputError(f"has no story {key}", where=str(path), hint=f"add the line `{key}: {status}`")
    number = sprint.lines[key]
    line = _line(text, number)
    match = re.match(r"""^(\s*["']?[^:#"']+["']?\s*:\s*)(["']?)([^\s#"']+(?: [^\s#"']+)*)\2(\s*(?:#.*)?)$""", line)
    if match is None:
        raise InputError("the status cannot be replaced", where=f"{path}:{number}", hint=f"write `{key}: {status}`")
    return _put_line(path, text, number, f"{match[1]}{match[2]}{_V6.get(status, status)}{match[2]}{match[4]}")


def set_story_status(path: Path, status: Status) -> bool:
    """Write the status into a story's file, in the words of its format; only that line changes. Whether it did.

    Raises:
        InputError: the file has no status line.
    """
    text = read_text(path)
    front = re.match(r"---\r?\n(.*?)^---\r?$", text, re.DOTALL | re.MULTILINE)
    if front and (found := re.search(r"^status:.*$", front[1], re.MULTILINE)):
        number = 2 + front[1].count("\n", 0, found.start())
        written = rf"\g<1>\g<2>{_V6.get(status, status)}\g<2>\g<3>"
        line = re.sub(r"^(status:\s*)(['\"]?)[^'\"#]*?\2(\s*(?:#.*)?)$", written, _line(text, number))
        return _put_line(path, text, number, line)
    for part in parse(text):
        for row in iter_lines(part.blocks):
            if part.level <= 1 and (match := _STATUS_LINE.match(_line(text, row.line))):
                return _put_line(path, text, row.line, f"{match[1]}{_V6.get(status, status)}{match[3]}")
        if part.title.lower() == "status" and part.blocks and isinstance(part.blocks[0], Paragraph):
            number = part.blocks[0].lines[0].line
            marks = re.match(r"^([*_]*).*?([*_]*)$", _line(text, number))
            around = marks.groups() if marks else ("", "")
            return _put_line(path, text, number, f"{around[0]}{_V4.get(status, status)}{around[1]}")
    raise InputError("has no status line", where=str(path), hint='write "Status: ready-for-dev" below the title')


def tick_tasks(path: Path, story: Story) -> bool:
    """Tick a story's tasks in a list of tasks; whether anything changed. Lines that moved are found by their text.

    Raises:
        InputError: the file cannot be read or written.
    """
    text = read_text(path)
    changed = text
    for task in story.tasks:
        name = re.escape(task.text.split(" ", 1)[0])
        changed = re.sub(rf"^(\s*[-*] \[) (\]\s+{name}\b)", r"\1x\2", changed, count=1, flags=re.MULTILINE)
    if changed != text:
        write_file(path, changed.encode())
    return changed != text


def _line(text: str, number: int) -> str:
    return text.split("\n")[number - 1].removesuffix("\r")


def _put_line(path: Path, text: str, number: int, line: str) -> bool:
    lines = text.split("\n")
    end = "\r" if lines[number - 1].endswith("\r") else ""
    if lines[number - 1] == line + end:
        return False
    lines[number - 1] = line + end
    write_file(path, "\n".join(lines).encode())
    return True
