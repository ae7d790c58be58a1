"""Finding an epic's stories in a project, in whichever of the known formats its backlog is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.listed import read_stories_yaml, read_tasks
from transom.stories.markdown_story import read_epics, read_story_file
from transom.stories.search import Search, number_of, same_epic
from transom.stories.status import Drift, SprintStatus, find_drift, read_gate, read_sprint_status
from transom.stories.story import Story, read_status

Shape = Literal["bmad-v4", "bmad-v6", "stories.yaml", "epics.md", "spec-kit"]

_STORY_FILE = re.compile(r"^(?:story[-_. ])?(\d+)[.-](\d+[a-z]?)(?:[.-].*)?\.md$")
_PAGE = re.compile(r"epics?\.md|epic-\d+.*\.md")


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
        epic: `epic-1`, `1`, the id in `stories.yaml`, the name of a feature, or the path of a backlog's file or folder.

    Raises:
        InputError: no such epic, naming those that there are; two backlogs that have it; a file that cannot be read.
    """
    if not project.is_dir():
        raise InputError("is no folder", where=str(project), hint="name the project's folder")
    search = Search.of(project, epic)
    found = [one for read in (_stories_yaml, _v6, _v4, _spec_kit) for one in read(search)] or [*_epics(search)]
    if not found and search.place and search.place.is_file():
        story = read_any(search.place)  # says why, where it is no backlog
        found = [Backlog(epic, "bmad-v4", (story,), search.relative(search.place))] if isinstance(story, Story) else []
    if not found:
        known = _known(search)
        hint = f"there are {', '.join(known)}" if known else "write docs/epics/EPIC/stories.yaml, or name its file"
        raise InputError(f"no epic {epic!r} was found", where=str(project), hint=hint)
    if len(found) > 1:
        names = " and ".join(one.source for one in found)
        raise InputError(f"the epic {epic!r} is in {names}", where=str(project), hint="name one of them with --epic")
    _check_dependencies(found[0])
    return found[0]


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


def _stories_yaml(search: Search) -> Iterator[Backlog]:
    for path in search.files:
        named = search.place == path and path.suffix != ".md" and not path.name.startswith("sprint-status")
        if path.name not in ("stories.yaml", "stories.yml") and not named:
            continue
        if search.names(path) or same_epic(search.epic, path.parent.name) or _declares(path, search.epic):
            source = search.relative(path)
            stories = read_stories_yaml(load_yaml(path), source)
            filed = tuple(_with_file(search, path.parent / "stories", one) for one in stories)
            yield Backlog(search.epic, "stories.yaml", filed, source)


def _declares(path: Path, epic: str) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return any(
        same_epic(epic, one.strip(" \"'")) for one in re.findall(r"^epic(?:_id)?:\s*([^#\n]+?)\s*(?:#.*)?$", text, re.M)
    )


def _with_file(search: Search, folder: Path, story: Story) -> Story:
    """The entry with the text of its own file, where that was written."""
    found = sorted(folder.glob(f"{story.id}-*.md")) if folder.is_dir() else []
    if not found:
        return story
    written = read_story_file(read_text(found[0]), search.relative(found[0]))
    kept = ("id", "epic", "depends_on", "spec_checkpoint", "done_checkpoint", "instructions", "allowed")
    return written.model_copy(update={name: getattr(story, name) for name in kept})


def _story_files(search: Search, paths: Iterable[Path]) -> list[Story]:
    return [read_story_file(read_text(path), search.relative(path)) for path in paths if _STORY_FILE.match(path.name)]


def _v6(search: Search) -> Iterator[Backlog]:
    sheets = [path for path in search.files if _is_sheet(path)]
    for path in sheets:
        sprint = read_sprint_status(load_yaml(path), search.relative(path))
        rows = dict(sprint.stories) if search.names(path) else sprint.of_epic(search.number) if search.number else {}
        if not rows:
            continue
        location = search.project / sprint.location.removeprefix("{project-root}/")
        folders = {path.parent, path.parent / "stories", location}
        filed = {one.key: one for one in _story_files(search, [one for one in search.files if one.parent in folders])}
        pages = [one for one in search.files if _PAGE.fullmatch(one.name)]
        planned = {one.id: one for page in pages for one in _on_page(search, page)}
        stories = [filed.get(key) or _planned_story(key, status, planned, sprint) for key, status in rows.items()]
        mine = [one for one in filed.values() if one.key in rows or number_of(one.epic) == search.number]
        drift = find_drift(mine, replace(sprint, stories=rows))
        known = [
            one.model_copy(update={"epic": search.epic, "key": key}) for one, key in zip(stories, rows, strict=True)
        ]
        yield Backlog(search.epic, "bmad-v6", tuple(known), sprint.source, sprint, tuple(drift))


def _is_sheet(path: Path) -> bool:
    return path.name.startswith("sprint-status") and path.suffix in (".yaml", ".yml")


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


def _v4(search: Search) -> Iterator[Backlog]:
    """Story files by their names, in the folder that is configured or in one called `stories`, or below it."""
    if any(map(_is_sheet, search.files)):
        return
    place = _location(search.project)
    folders: dict[Path, list[Path]] = {}
    for path in search.files:
        match = _STORY_FILE.match(path.name)
        known = path.is_relative_to(place) or "stories" in path.relative_to(search.project).parts
        if match and (search.names(path) or (known and number_of(match[1]) == search.number)):
            folders.setdefault(path.parent, []).append(path)
    for folder, paths in folders.items():
        stories = sorted(_story_files(search, paths), key=lambda one: [*map(int, re.findall(r"\d+", one.id))])
        mine = tuple(one.model_copy(update={"epic": search.epic}) for one in stories)
        yield Backlog(search.epic, "bmad-v4", mine, search.relative(folder))


def _location(project: Path) -> Path:
    """Where the story files of BMAD v4 lie."""
    config = project / ".bmad-core" / "core-config.yaml"
    data = load_yaml(config).data if config.is_file() else {}
    place = data.get("devStoryLocation") if isinstance(data, dict) else None
    return project / str(place or "docs/stories")


def _spec_kit(search: Search) -> Iterator[Backlog]:
    for path in search.files:
        feature = path.parent.name
        short = feature.partition("-")[0]
        asked = search.names(path) or search.epic == feature or (short.isdigit() and search.epic == short)
        if path.name == "tasks.md" and asked:
            page, source = path.parent / "spec.md", search.relative(path)
            stories = read_tasks(read_text(path), source, read_text(page) if page.is_file() else "")
            yield Backlog(search.epic, "spec-kit", stories, source)


def _epics(search: Search) -> Iterator[Backlog]:
    """Pages of epics by their names; else any page that has them, such as a PRD."""
    pages = [path for path in search.files if path.suffix == ".md"]
    for chosen in ([path for path in pages if _PAGE.fullmatch(path.name)], pages):
        backlogs = []
        for path in chosen:
            stories = _on_page(search, path) if search.number or search.names(path) else ()
            mine = tuple(one for one in stories if search.names(path) or one.epic == f"epic-{search.number}")
            backlogs += [Backlog(search.epic, "epics.md", mine, search.relative(path))] if mine else []
        yield from backlogs
        if backlogs:
            return


def _on_page(search: Search, path: Path) -> tuple[Story, ...]:
    """The stories of a page of epics; none where it holds none, or is a template that nobody asked for."""
    text = read_text(path)
    if not re.search(r"^##+ Story \d", text, re.MULTILINE):
        return ()
    try:
        return read_epics(text, search.relative(path))
    except InputError:
        if search.names(path) or _PAGE.fullmatch(path.name):
            raise
        return ()


def _known(search: Search) -> list[str]:
    names: list[str] = []
    for path in search.files:
        if path.name in ("stories.yaml", "stories.yml"):
            names.append(search.relative(path))
        elif path.name == "tasks.md":
            names.append(path.parent.name)
        elif _is_sheet(path):
            text = path.read_text(encoding="utf-8", errors="replace")
            names += re.findall(r"^\s+(epic-\d+[a-z]?):", text, re.MULTILINE)
        elif match := _STORY_FILE.match(path.name):
            names.append(f"epic-{match[1]}")
        elif _PAGE.fullmatch(path.name):
            names += [one.epic for one in _on_page(search, path)]
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
