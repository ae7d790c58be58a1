"""Finding an epic's stories in a project, in whichever of the known formats its backlog is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.listed import read_stories_yaml, read_tasks
from transom.stories.markdown_story import read_epics, read_story_file
from transom.stories.status import Drift, SprintStatus, find_drift, read_gate, read_sprint_status
from transom.stories.story import Story, read_status

Shape = Literal["bmad-v4", "bmad-v6", "stories.yaml", "epics.md", "spec-kit"]

_SKIPPED = {"node_modules", "target", "build", "dist", "venv", "__pycache__", "site-packages", "vendor"}
_HIDDEN_ALLOWED = {".bmad-core", ".specify", "_bmad-output"}
_STORY_FILE = re.compile(r"^(?:story[-_. ])?(\d+)[.-](\d+[a-z]?)(?:[.-].*)?\.md$")
_PAGE = re.compile(r"epics?\.md|epic-\d+.*\.md")
_MOST_FILES = 50_000


@dataclass(frozen=True)
class Backlog:
    """An epic's stories.

    Attributes:
        epic: as it was asked for.
        shape: the format.
        stories: in the order in which they are to be done.
        source: the file or folder that they were read from, relative to the project.
        sprint: the sprint status, where there is one.
        drift: stories whose file and whose sprint status disagree.
    """

    epic: str
    shape: Shape
    stories: tuple[Story, ...]
    source: str
    sprint: SprintStatus | None = None
    drift: tuple[Drift, ...] = ()


def find_backlog(project: Path, epic: str) -> Backlog:
    """Find and read the stories of an epic.

    Args:
        project: its folder.
        epic: `epic-1`, `1`, the id in `stories.yaml`, the folder of a feature, or the path of a backlog's file.

    Raises:
        InputError: no such epic, naming those that there are; two backlogs that have it; a file that cannot be read.
    """
    if not project.is_dir():
        raise InputError("is no folder", where=str(project), hint="name the project's folder")
    files = _files(project)
    found = [one for read in (_stories_yaml, _v6, _v4, _spec_kit) if (one := read(project, files, epic))]
    found = found or [one for one in (_epics(project, files, epic),) if one]
    if not found:
        known = _known(project, files)
        hint = f"there are {', '.join(known)}" if known else "write docs/epics/EPIC/stories.yaml, or name its file"
        raise InputError(f"no epic {epic!r} was found", where=str(project), hint=hint)
    if len(found) > 1:
        names = " and ".join(one.source for one in found)
        raise InputError(f"the epic {epic!r} is in {names}", where=str(project), hint="name one of them with --epic")
    backlog = found[0]
    _check_dependencies(backlog)
    return backlog


def read_any(path: Path) -> Any:
    """Read one file of a backlog, whatever it holds: a Story, a tuple of them, a SprintStatus, a QaGate.

    Raises:
        InputError: it is none of these, a template, or cannot be read; with file:line.
    """
    source = str(path)
    if path.suffix in (".yaml", ".yml"):
        file = load_yaml(path)
        data = file.data if isinstance(file.data, dict) else {}
        if "development_status" in data:
            return read_sprint_status(file, source)
        if "gate" in data:
            return read_gate(file, source)
        if "devStoryLocation" in data:
            return {name: value for name, value in data.items() if name in ("devStoryLocation", "qa", "prd")}
        return read_stories_yaml(file, source)
    text = read_text(path)
    if re.search(r"^\s*- \[[ xX]\] T(?:\d{2,}|XXX)\b", text, re.MULTILINE):
        return read_tasks(text, source)
    if re.search(r"^##+ Epic ", text, re.MULTILINE) and re.search(r"^###+ Story ", text, re.MULTILINE):
        return read_epics(text, source)
    if text.startswith("# Feature Specification:"):
        hint = "name the tasks.md beside it"
        raise InputError("is a specification, which has no tasks", where=source, hint=hint)
    return read_story_file(text, source)


def _files(project: Path) -> list[Path]:
    """Candidates below the project, sorted; links are not followed, and folders of packages are passed over."""
    found: list[Path] = []
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(
            one for one in folders if one not in _SKIPPED and (not one.startswith(".") or one in _HIDDEN_ALLOWED)
        )
        found += [Path(folder, name) for name in sorted(names) if name.endswith((".md", ".yaml", ".yml"))]
        if len(found) > _MOST_FILES:
            raise InputError("holds too many files to look through", where=str(project), hint="name the backlog's file")
    return found


def _named(path: Path, project: Path, epic: str) -> bool:
    """Whether the epic was asked for by the path of this file."""
    return epic.endswith((".md", ".yaml", ".yml")) and (project / epic).resolve() == path.resolve()


def _same(epic: str, other: str) -> bool:
    return epic.lower() == other.lower() or (_number(epic) != "" and _number(epic) == _number(other))


def _number(epic: str) -> str:
    match = re.fullmatch(r"(?:epic[-_ ]?)?(\d+[a-z]?)", epic.strip(), re.IGNORECASE)
    return match[1].lower() if match else ""


def _stories_yaml(project: Path, files: Sequence[Path], epic: str) -> Backlog | None:
    for path in files:
        if path.name not in ("stories.yaml", "stories.yml") and not _named(path, project, epic):
            continue
        if path.suffix == ".md" or path.name.startswith("sprint-status"):
            continue
        source = path.relative_to(project).as_posix()
        if not (_named(path, project, epic) or _same(epic, path.parent.name) or _declares(path, epic)):
            continue
        stories = read_stories_yaml(load_yaml(path), source)
        specified = [_with_file(project, path.parent / "stories", one) for one in stories]
        return Backlog(epic, "stories.yaml", tuple(specified), source)
    return None


def _declares(path: Path, epic: str) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return any(
        _same(epic, one.strip(" \"'")) for one in re.findall(r"^epic(?:_id)?:\s*([^#\n]+?)\s*(?:#.*)?$", text, re.M)
    )


def _with_file(project: Path, folder: Path, story: Story) -> Story:
    """The entry with the text of its own file, where that was written."""
    found = sorted(folder.glob(f"{story.id}-*.md")) if folder.is_dir() else []
    if not found:
        return story
    written = read_story_file(read_text(found[0]), found[0].relative_to(project).as_posix())
    kept = {"id": story.id, "key": written.key, "epic": story.epic, "depends_on": story.depends_on}
    checkpoints = {"spec_checkpoint": story.spec_checkpoint, "done_checkpoint": story.done_checkpoint}
    return written.model_copy(
        update={**kept, **checkpoints, "instructions": story.instructions, "allowed": story.allowed}
    )


def _story_files(project: Path, files: Iterable[Path]) -> list[Story]:
    named = [path for path in files if _STORY_FILE.match(path.name)]
    return [read_story_file(read_text(path), path.relative_to(project).as_posix()) for path in named]


def _v6(project: Path, files: Sequence[Path], epic: str) -> Backlog | None:
    sheets = [path for path in files if path.name.startswith("sprint-status") and path.suffix in (".yaml", ".yml")]
    for path in sheets:
        source = path.relative_to(project).as_posix()
        sprint = read_sprint_status(load_yaml(path), source)
        rows = sprint.of_epic(_number(epic)) if _number(epic) else {}
        if _named(path, project, epic):
            rows = dict(sprint.stories)
        if not rows:
            continue
        folders = {path.parent, path.parent / "stories", project / sprint.location.removeprefix("{project-root}/")}
        filed = {one.key: one for one in _story_files(project, [path for path in files if path.parent in folders])}
        pages = [path for path in files if _PAGE.fullmatch(path.name)]
        planned = {one.id: one for path in pages for one in _on_page(project, path)}
        stories = [filed.get(key) or _planned_story(key, status, planned, sprint) for key, status in rows.items()]
        mine = [one for one in filed.values() if one.key in rows or _number(one.epic) == _number(epic)]
        drift = find_drift(mine, replace(sprint, stories=rows))
        known = [one.model_copy(update={"epic": epic, "key": key}) for one, key in zip(stories, rows, strict=True)]
        return Backlog(epic, "bmad-v6", tuple(known), source, sprint, tuple(drift))
    return None


def _planned_story(key: str, status: str, planned: dict[str, Story], sprint: SprintStatus) -> Story:
    """A story without a file of its own: as the page of epics has it, or by its key alone."""
    epic, number, slug = key.split("-", 2)
    told = {"key": key, "status": read_status(status), "status_text": status}
    if story := planned.get(f"{epic}.{number}"):
        return story.model_copy(update=told)
    title = slug.replace("-", " ").capitalize()
    text = f"# Story {epic}.{number}: {title}\n"
    where = {"source": sprint.source, "line": sprint.lines[key]}
    return Story.model_validate({"id": f"{epic}.{number}", "title": title, "text": text, **told, **where})


def _v4(project: Path, files: Sequence[Path], epic: str) -> Backlog | None:
    config = project / ".bmad-core" / "core-config.yaml"
    data = load_yaml(config).data if config.is_file() else {}
    place = str(data.get("devStoryLocation") or "docs/stories") if isinstance(data, dict) else "docs/stories"
    folder = project / place
    if not _number(epic) or not folder.is_dir() or any(path.name.startswith("sprint-status") for path in files):
        return None

    def of_epic(path: Path) -> bool:
        match = _STORY_FILE.match(path.name)
        return path.parent == folder and match is not None and match[1] == _number(epic)

    stories = _story_files(project, filter(of_epic, files))
    if not stories:
        return None
    stories.sort(key=lambda one: [int(re.sub(r"\D", "", piece) or 0) for piece in one.id.split(".")])
    return Backlog(epic, "bmad-v4", tuple(one.model_copy(update={"epic": epic}) for one in stories), place)


def _spec_kit(project: Path, files: Sequence[Path], epic: str) -> Backlog | None:
    for path in files:
        feature = path.parent.name
        short = feature.partition("-")[0]
        asked = _named(path, project, epic) or epic == feature or (short.isdigit() and epic == short)
        if path.name != "tasks.md" or not asked:
            continue
        page = path.parent / "spec.md"
        source = path.relative_to(project).as_posix()
        stories = read_tasks(read_text(path), source, read_text(page) if page.is_file() else "")
        return Backlog(epic, "spec-kit", stories, source)
    return None


def _epics(project: Path, files: Sequence[Path], epic: str) -> Backlog | None:
    named = [path for path in files if _named(path, project, epic)]
    for path in named or [path for path in files if _PAGE.fullmatch(path.name)]:
        stories = [one for one in _on_page(project, path) if named or one.epic == f"epic-{_number(epic)}"]
        if stories:
            return Backlog(epic, "epics.md", tuple(stories), path.relative_to(project).as_posix())
    return None


def _on_page(project: Path, path: Path) -> tuple[Story, ...]:
    """The stories of a page of epics; none where it holds none."""
    text = read_text(path)
    return read_epics(text, path.relative_to(project).as_posix()) if re.search(r"^##+ Story \d", text, re.M) else ()


def _known(project: Path, files: Sequence[Path]) -> list[str]:
    names: list[str] = []
    for path in files:
        if path.name in ("stories.yaml", "stories.yml"):
            names.append(path.relative_to(project).as_posix())
        elif path.name == "tasks.md":
            names.append(path.parent.name)
        elif path.name.startswith("sprint-status"):
            text = path.read_text(encoding="utf-8", errors="replace")
            names += re.findall(r"^\s+(epic-\d+[a-z]?):", text, re.MULTILINE)
        elif match := _STORY_FILE.match(path.name):
            names.append(f"epic-{match[1]}")
    return list(dict.fromkeys(names))[:10]


def _check_dependencies(backlog: Backlog) -> None:
    """Every dependency is a story of the epic, and none waits for itself.

    Raises:
        InputError: naming the story and what it waits for.
    """
    known = {story.id: story for story in backlog.stories}
    for story in backlog.stories:
        where = f"{story.source}:{story.line}"
        for one in story.depends_on:
            if one not in known and backlog.shape == "stories.yaml":  # others name stories of other epics, too
                what = f"{story.id} waits for {one}, which is no story here"
                raise InputError(what, where=where, hint="correct the id")
        seen, todo = set[str](), [*story.depends_on]
        while todo:
            if (one := todo.pop()) == story.id:
                raise InputError(f"{story.id} waits for itself", where=where, hint="break the circle of dependencies")
            todo += known[one].depends_on if one in known and one not in seen else ()
            seen.add(one)
