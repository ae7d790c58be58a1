"""Finds an epic's stories in a project, in any of the known backlog formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.backlog_search import (
    LIST,
    PAGE,
    SHEET,
    STORY_FILE,
    TASKS,
    Backlog,
    BacklogSearch,
)
from transom.stories.bmad import epic_by_title, read_sprint_backlogs, read_story_folders
from transom.stories.markdown_story import read_epics, read_story_file, read_tasks
from transom.stories.page_records import with_records
from transom.stories.status import read_gate, read_sprint_status
from transom.stories.stories_yaml import read_stories_yaml
from transom.stories.story import Story
from transom.stories.task_lists import read_task_list


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
        raise InputError("is not a folder", place=str(project), hint="name the project's folder")
    search = BacklogSearch(project, epic)
    backlogs: list[Backlog] = []
    for read in (_stories_yaml, read_sprint_backlogs, read_story_folders, _spec_kit):
        backlogs += read(search)
    # Pages of epics often describe what story files tell in full, so they come last.
    backlogs = backlogs or _epics(search)
    if not backlogs and search.place and search.place.is_file():
        story = read_any(search.place)  # raises InputError if it is not a backlog
        if isinstance(story, Story):
            source = search.relative(search.place)
            backlogs.append(Backlog(epic, "bmad-v4", (story,), source))
    if not backlogs:
        hint = "write docs/epics/EPIC/stories.yaml, or name its file"
        epics = _known_epics(search)
        if search.skipped:
            # What was left out is more likely to hold the epic than any other one is meant.
            hint = f"not read: {'; '.join(search.skipped[:5])}"
        elif epics:
            hint = f"there are {', '.join(epics)}"
        raise InputError(f"no epic {epic!r} was found", place=str(project), hint=hint)
    if len(backlogs) > 1:
        names = " and ".join(backlog.source for backlog in backlogs)
        hint = "name one of them with --epic"
        raise InputError(f"the epic {epic!r} is in {names}", place=str(project), hint=hint)
    return replace(_ordered(backlogs[0]), skipped=tuple(search.skipped))


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
    has_epic = re.search(r"^##+ [^\w\n]{0,10}Epic ", text, re.MULTILINE)
    if has_epic and re.search(r"^###+ [^\w\n]{0,10}Story ", text, re.MULTILINE):
        return read_epics(text, source)
    if text.startswith("# Feature Specification:"):
        hint = "name the tasks.md beside it"
        raise InputError("is a specification, not a list of tasks", place=source, hint=hint)
    return read_story_file(text, source)


def _stories_yaml(search: BacklogSearch) -> Iterator[Backlog]:
    paths = search.files_like(LIST)
    # A file that was named is read, whatever it is called.
    paths += [path for path in search.files if path == search.place and path.suffix != ".md"]
    for path in dict.fromkeys(paths):
        text, source = TextFile(path).whole(), search.relative(path)
        if re.fullmatch(SHEET, path.name):
            continue
        # The file may be of another epic, and not even valid: only its declaration is read yet.
        declared = re.findall(r"^epic(?:_id)?:\s*([^#\n]+?)\s*(?:#.*)?$", text, re.MULTILINE)
        names = [path.parent.name, *(name.strip(" \"'") for name in declared)]
        has_several = bool(re.search(r"^\W*epics\W*:", text, re.MULTILINE))
        if not (search.names(path) or has_several or any(map(search.means, names))):
            continue
        stories = read_stories_yaml(load_yaml(path), source)
        if has_several and not search.names(path):
            stories = tuple(story for story in stories if search.means(story.epic))
        if stories:
            filed = []
            for story in stories:
                filed.append(_with_file(search, path.parent / "stories", story))
            yield Backlog(search.epic, "stories.yaml", tuple(filed), source)


def _with_file(search: BacklogSearch, folder: Path, story: Story) -> Story:
    """Return the entry with the contents of its own story file, if that exists."""
    own_fields = (
        "id",
        "epic",
        "depends_on",
        "spec_checkpoint",
        "done_checkpoint",
        "instructions",
        "allowed",
    )
    for path in search.files_like(rf"{re.escape(story.id)}-.*\.md"):
        if path.parent == folder:
            # The list decides on order and checkpoints, the file tells the story.
            fields = {name: getattr(story, name) for name in own_fields}
            return search.story_file(path).model_copy(update=fields)
    return story


def _spec_kit(search: BacklogSearch) -> Iterator[Backlog]:
    for path in search.files_like(TASKS):
        feature = path.parent.name
        is_number = search.epic.isdigit() and feature.startswith(f"{search.epic}-")
        if not (search.names(path) or search.epic == feature or is_number):
            continue
        source, text = search.relative(path), read_text(path)
        # Other tools have a `tasks.md`, too; what lies beside it tells them apart.
        companions = ("requirements.md", "proposal.md")
        if any(path.with_name(name).is_file() for name in companions):
            yield Backlog(search.epic, "task-list", read_task_list(path, text, source), source)
            continue
        specification = ""
        for page in (path.with_name("spec.md"), path.parent.with_suffix(".md")):
            if page.is_file():
                specification = TextFile(page).whole()
                break
        yield Backlog(search.epic, "spec-kit", read_tasks(text, source, specification), source)


def _epics(search: BacklogSearch) -> list[Backlog]:
    """Read pages of epics by their usual names, else any page with epics, such as a PRD."""
    if not search.number and not search.place:
        return []
    for form in (PAGE, r".*\.md"):
        backlogs: list[Backlog] = []
        for path in search.files_like(form):
            stories = search.stories_on_page(path)
            if not search.names(path):
                stories = tuple(story for story in stories if story.epic == f"epic-{search.number}")
            if stories:
                stories = with_records(search, stories)
                backlogs.append(Backlog(search.epic, "epics.md", stories, search.relative(path)))
        if backlogs:
            return backlogs
    return []


def _known_epics(search: BacklogSearch) -> list[str]:
    """Return the first ten known epics, for an error's hint."""
    names = [search.relative(path) for path in search.files_like(LIST)]
    names += [path.parent.name for path in search.files_like(TASKS)]
    # A sheet that is not valid must not hide the names in it.
    for path in search.files_like(SHEET):
        text = TextFile(path).whole()
        names += re.findall(r"^\s+(epic-\d+[a-z]?):", text, re.MULTILINE)
    names += map(epic_by_title, search.files_like(STORY_FILE))
    for path in search.files_like(PAGE):
        names += [story.epic for story in search.stories_on_page(path)]
    return list(dict.fromkeys(names))[:10]


def _ordered(backlog: Backlog) -> Backlog:
    """Sort the stories so that each follows its dependencies.

    Raises:
        InputError: a dependency is unknown, or dependencies form a cycle.
    """
    remaining, ordered = [*backlog.stories], list[Story]()
    ids = {story.id for story in remaining}
    while remaining:
        waiting = {story.id for story in remaining}
        # The first that is ready: else the order of the file stays.
        story = next((ready for ready in remaining if not waiting & {*ready.depends_on}), None)
        if story is None:
            problem = f"{', '.join(entry.id for entry in remaining)} depend on each other"
            place = f"{remaining[0].source}:{remaining[0].line}"
            raise InputError(problem, place=place, hint="break the cycle of dependencies")
        missing = next((name for name in story.depends_on if name not in ids), "")
        # Other formats may name stories of other epics.
        if missing and backlog.shape == "stories.yaml":
            problem = f"{story.id} depends on an unknown story {missing}"
            hint = f"correct the id; known: {', '.join(sorted(ids))}"
            raise InputError(problem, place=f"{story.source}:{story.line}", hint=hint)
        ordered.append(story)
        remaining.remove(story)
    return replace(backlog, stories=tuple(ordered))
