"""Finds an epic's stories in a project, in any of the known backlog formats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.markdown_story import read_epics, read_story_file, read_tasks
from transom.stories.status import (
    Drift,
    SprintStatus,
    StatusLine,
    find_drift,
    read_gate,
    read_sprint_status,
)
from transom.stories.stories_yaml import read_stories_yaml
from transom.stories.story import Story, read_status

Shape = Literal["bmad-v4", "bmad-v6", "stories.yaml", "epics.md", "spec-kit"]

_STORY_FILE = r"(?:story[-_. ])?(\d+)[.-](\d+[a-z]?)(?:[.-].*)?\.md"
_LIST = r"stories\.ya?ml"
_SHEET = r"sprint-status.*\.ya?ml"
_PAGE = r"epics?\.md|epic-\d+.*\.md"
_TASKS = r"tasks\.md"
_SKIPPED = {
    "node_modules",
    "target",
    "build",
    "dist",
    "venv",
    "__pycache__",
    "site-packages",
    "vendor",
}
_HIDDEN_ALLOWED = {".bmad-core", ".specify", "_bmad-output"}


@dataclass(frozen=True)
class Backlog:
    """An epic's stories, in the order of work.

    `epic` is the name that was asked for; `source`, a file or folder, is relative to the project;
    `drift` has the stories whose file and sprint status disagree.
    """

    epic: str
    shape: Shape
    stories: tuple[Story, ...]
    source: str
    sprint: SprintStatus | None = None
    drift: tuple[Drift, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The backlog's files, relative to the project."""
        return tuple(
            sorted(
                {one.source for one in self.stories}
                | ({self.sprint.source} if self.sprint else set())
            )
        )


def find_backlog(project: Path, epic: str) -> Backlog:
    """Find and read the stories of an epic.

    Args:
        project: the project's folder.
        epic: `epic-1`, `1`, the id in `stories.yaml`, the name of a feature, or the path of a
            backlog's file or folder.

    Raises:
        InputError: the epic is unknown, or in two backlogs; a file cannot be read.
    """
    if not project.is_dir():
        raise InputError("is not a folder", where=str(project), hint="name the project's folder")
    search = _Search(project, epic)
    found = [
        one for read in (_stories_yaml, _v6, _v4, _spec_kit) for one in read(search)
    ] or _epics(search)
    if not found and search.place and search.place.is_file():
        story = read_any(search.place)  # raises InputError if it is not a backlog
        found = (
            [Backlog(epic, "bmad-v4", (story,), search.relative(search.place))]
            if isinstance(story, Story)
            else []
        )
    if not found:
        known = _known(search)
        hint = (
            f"there are {', '.join(known)}"
            if known
            else "write docs/epics/EPIC/stories.yaml, or name its file"
        )
        raise InputError(f"no epic {epic!r} was found", where=str(project), hint=hint)
    if len(found) > 1:
        names = " and ".join(one.source for one in found)
        raise InputError(
            f"the epic {epic!r} is in {names}",
            where=str(project),
            hint="name one of them with --epic",
        )
    return _ordered(found[0])


def read_any(path: Path) -> Any:
    """Read one backlog file: returns a Story, a tuple of stories, a SprintStatus, a QaGate or
    BMAD's settings.

    Raises:
        InputError: the file is of another kind, a template, or unreadable; with file:line.
    """
    source = str(path)
    if path.suffix in (".yaml", ".yml"):
        file = load_yaml(path)
        match file.data:
            case {"development_status": _}:
                return read_sprint_status(file, source)
            case {"gate": _}:
                return read_gate(file)
            case {"devStoryLocation": _, **settings}:
                return settings
        return read_stories_yaml(file, source)
    text = read_text(path)
    if re.search(r"^\s*- \[[ xX]\] T(?:\d{2,}|XXX)\b", text, re.MULTILINE):
        return read_tasks(text, source)
    if re.search(r"^##+ Epic ", text, re.MULTILINE) and re.search(
        r"^###+ Story ", text, re.MULTILINE
    ):
        return read_epics(text, source)
    if text.startswith("# Feature Specification:"):
        hint = "name the tasks.md beside it"
        raise InputError("is a specification, not a list of tasks", where=source, hint=hint)
    return read_story_file(text, source)


class _Search:
    """The search for an epic in a project.

    Attributes:
        place: the file or folder that the epic's name is a path of; None if it is not a path.
        number: the epic's number, "" without one.
        files: candidate files, sorted; links are not followed, folders of packages are skipped.
    """

    def __init__(self, project: Path, epic: str) -> None:
        self.project, self.epic, self.number = project, epic, _number_of(epic)
        place = Path(os.path.normpath(project / epic))
        self.place = place if epic and place.exists() else None
        self.files: list[Path] = []
        for folder, folders, names in os.walk(os.path.normpath(project)):
            hidden = {one for one in folders if one.startswith(".")} - _HIDDEN_ALLOWED
            folders[:] = sorted({*folders} - hidden - _SKIPPED)
            self.files += [
                Path(folder, name)
                for name in sorted(names)
                if name.endswith((".md", ".yaml", ".yml"))
            ]

    def called(self, form: str) -> list[Path]:
        """Return the files whose names match a regular expression."""
        return [path for path in self.files if re.fullmatch(form, path.name)]

    def names(self, path: Path) -> bool:
        """Whether the epic was given as this file, or as a folder that contains it."""
        return self.place is not None and path.is_relative_to(self.place)

    def means(self, other: str) -> bool:
        """Whether another name is a name of the same epic."""
        return self.epic.lower() == other.lower() or (
            self.number != "" and self.number == _number_of(other)
        )

    def relative(self, path: Path) -> str:
        """Return a path relative to the project, with slashes."""
        return path.relative_to(self.project).as_posix()

    def story_file(self, path: Path) -> Story:
        return read_story_file(read_text(path), self.relative(path))


def _number_of(epic: str) -> str:
    """Return the number in an epic's name, "" without one: `epic-1`, `1`, `Epic 01`,
    `epic-1-login`.
    """
    match = re.fullmatch(
        r"(?:epic[-_ ]?)?(?P<digits>\d+)(?P<letter>[a-z]?)", epic.strip(), re.IGNORECASE
    ) or re.match(r"epic[-_ ]?(?P<digits>\d+)(?P<letter>[a-z]?)[-_ ].", epic.strip(), re.IGNORECASE)
    if match is None:
        return ""
    return (match["digits"].lstrip("0") or "0") + match["letter"].lower()


def _stories_yaml(search: _Search) -> Iterator[Backlog]:
    named = [one for one in search.files if one == search.place and one.suffix != ".md"]
    for path in dict.fromkeys((*search.called(_LIST), *named)):
        text, source = TextFile(path).whole(), search.relative(path)
        declared = re.findall(r"^epic(?:_id)?:\s*([^#\n]+?)\s*(?:#.*)?$", text, re.MULTILINE)
        if re.fullmatch(_SHEET, path.name):
            continue
        if search.names(path) or any(
            map(search.means, (path.parent.name, *(one.strip(" \"'") for one in declared)))
        ):
            stories = read_stories_yaml(load_yaml(path), source)
            filed = tuple(_with_file(search, path.parent / "stories", one) for one in stories)
            yield Backlog(search.epic, "stories.yaml", filed, source)


def _with_file(search: _Search, folder: Path, story: Story) -> Story:
    """Return the entry with the contents of its own story file, if that exists."""
    kept = (
        "id",
        "epic",
        "depends_on",
        "spec_checkpoint",
        "done_checkpoint",
        "instructions",
        "allowed",
    )
    for path in search.called(rf"{re.escape(story.id)}-.*\.md"):
        if path.parent == folder:
            return search.story_file(path).model_copy(
                update={name: getattr(story, name) for name in kept}
            )
    return story


def _v6(search: _Search) -> Iterator[Backlog]:
    """Read a sprint status, with each story from its own file, else from the page of epics."""
    for path in search.called(_SHEET):
        sprint = read_sprint_status(load_yaml(path), search.relative(path))
        every = search.names(path)
        rows = {
            key: one
            for key, one in sprint.stories.items()
            if every or key.partition("-")[0] == search.number
        }
        if not rows:
            continue
        location = search.project / sprint.location.removeprefix("{project-root}/")
        folders = (path.parent, path.parent / "stories", location)
        own = [
            search.story_file(one) for one in search.called(_STORY_FILE) if one.parent in folders
        ]
        known = {one.id: one for page in search.called(_PAGE) for one in _on_page(search, page)}
        planned = {key: _planned_story(key, row, known, sprint.source) for key, row in rows.items()}
        filed = {**planned, **{one.key: one for one in own if one.key in rows}}
        stories = [
            one.model_copy(update={"epic": search.epic, "key": key}) for key, one in filed.items()
        ]
        mine = [one for one in own if one.key in rows or _number_of(one.epic) == search.number]
        drift = tuple(find_drift(mine, replace(sprint, stories=rows)))
        yield Backlog(search.epic, "bmad-v6", tuple(stories), sprint.source, sprint, drift)


def _planned_story(key: str, row: StatusLine, known: dict[str, Story], source: str) -> Story:
    """Return a story without a file of its own, from the page of epics or from its key alone."""
    epic, number, slug = key.split("-", 2)
    name, title = f"{epic}.{number}", slug.replace("-", " ").capitalize()
    story = known.get(name) or Story(
        id=name, title=title, text=f"# Story {name}: {title}\n", source=source, line=row.line
    )
    return story.model_copy(update={"status": read_status(row.text), "status_text": row.text})


def _v4(search: _Search) -> Iterator[Backlog]:
    """Find story files by name, in the configured folder or in a folder `stories`, at any depth."""
    if search.called(_SHEET):
        return
    config = search.project / ".bmad-core" / "core-config.yaml"
    data: Any = load_yaml(config).data if config.is_file() else {}
    place = search.project / str(
        (isinstance(data, dict) and data.get("devStoryLocation")) or "docs/stories"
    )
    folders: dict[Path, list[Story]] = {}
    for path in search.called(_STORY_FILE):
        known = path.is_relative_to(place) or "stories" in path.relative_to(search.project).parts
        if search.names(path) or (known and search.means(_epic_of(path))):
            folders.setdefault(path.parent, []).append(search.story_file(path))
    for folder, stories in folders.items():
        stories.sort(key=lambda one: [*map(int, re.findall(r"\d+", one.id))])
        mine = tuple(one.model_copy(update={"epic": search.epic}) for one in stories)
        yield Backlog(search.epic, "bmad-v4", mine, search.relative(folder))


def _epic_of(path: Path) -> str:
    match = re.fullmatch(_STORY_FILE, path.name)
    return f"epic-{match[1]}" if match else ""


def _spec_kit(search: _Search) -> Iterator[Backlog]:
    for path in search.called(_TASKS):
        feature = path.parent.name
        short = search.epic.isdigit() and feature.startswith(f"{search.epic}-")
        if search.names(path) or search.epic == feature or short:
            page, source = path.with_name("spec.md"), search.relative(path)
            stories = read_tasks(read_text(path), source, read_text(page) if page.is_file() else "")
            yield Backlog(search.epic, "spec-kit", stories, source)


def _epics(search: _Search) -> list[Backlog]:
    """Read pages of epics by their usual names, else any page with epics, such as a PRD."""
    for form in (_PAGE, r".*\.md"):
        backlogs = []
        for path in search.called(form) if search.number or search.place else ():
            stories = _on_page(search, path)
            mine = tuple(
                one for one in stories if search.names(path) or one.epic == f"epic-{search.number}"
            )
            backlogs += (
                [Backlog(search.epic, "epics.md", mine, search.relative(path))] if mine else []
            )
        if backlogs:
            return backlogs
    return []


def _on_page(search: _Search, path: Path) -> tuple[Story, ...]:
    """Return the stories of a page of epics; none if it has none, or is a template that was not
    asked for.
    """
    text = read_text(path)
    try:
        return (
            read_epics(text, search.relative(path))
            if re.search(r"^##+ Story \d", text, re.MULTILINE)
            else ()
        )
    except InputError:
        if search.names(path) or re.fullmatch(_PAGE, path.name):
            raise
        return ()


def _known(search: _Search) -> list[str]:
    """Return the first ten known epics, for an error's hint."""
    known = [search.relative(path) for path in search.called(_LIST)]
    known += [path.parent.name for path in search.called(_TASKS)]
    for path in search.called(_SHEET):
        known += re.findall(
            r"^\s+(epic-\d+[a-z]?):",
            TextFile(path).whole(),
            re.MULTILINE,
        )
    known += [_epic_of(path) for path in search.called(_STORY_FILE)]
    known += [one.epic for path in search.called(_PAGE) for one in _on_page(search, path)]
    return list(dict.fromkeys(known))[:10]


def _ordered(backlog: Backlog) -> Backlog:
    """Sort the stories so that each follows its dependencies.

    Raises:
        InputError: a dependency is unknown, or dependencies form a cycle.
    """
    left, ordered = [*backlog.stories], list[Story]()
    ids = {story.id for story in left}
    while left:
        waiting = {story.id for story in left}
        story = next((one for one in left if not waiting & {*one.depends_on}), None)
        if story is None:
            where, hint = f"{left[0].source}:{left[0].line}", "break the cycle of dependencies"
            raise InputError(
                f"{', '.join(one.id for one in left)} depend on each other", where=where, hint=hint
            )
        missing = next((one for one in story.depends_on if one not in ids), "")
        # other formats may name stories of other epics
        if missing and backlog.shape == "stories.yaml":
            what = f"{story.id} depends on an unknown story {missing}"
            hint = f"correct the id; known: {', '.join(sorted(ids))}"
            raise InputError(what, where=f"{story.source}:{story.line}", hint=hint)
        ordered.append(story)
        left.remove(story)
    return replace(backlog, stories=tuple(ordered))
