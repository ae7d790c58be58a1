"""Finds an epic's stories in a project, in any of the known backlog formats."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.backlog_search import (
    LIST,
    PAGE,
    SHEET,
    STORY_FILE,
    TASKS,
    BacklogSearch,
)
from transom.stories.markdown_story import read_epics, read_story_file, read_tasks
from transom.stories.status import (
    SECTION,
    Drift,
    SprintStatus,
    StatusLine,
    find_drift,
    load_sprint_status,
    read_gate,
    read_sprint_status,
    read_story_key,
)
from transom.stories.stories_yaml import read_stories_yaml
from transom.stories.story import CLOSED, Status, Story, read_status
from transom.stories.task_lists import read_task_list

_ASKED: frozenset[Status] = frozenset({"unknown", "review"})
"""Statuses of stories that may be built already: work in review is there."""
_TITLE_NUMBER = re.compile(
    r"^#+\s+(?:user\s+)?story\s+(\d+)[.-](\d+)", re.IGNORECASE | re.MULTILINE
)

Shape = Literal["bmad-v4", "bmad-v6", "stories.yaml", "epics.md", "spec-kit", "task-list", "github"]


@dataclass(frozen=True)
class Backlog:
    """An epic's stories, in the order of work.

    `epic` is the name that was asked for; `source`, a file or folder, is relative to the project;
    `drift` has the stories whose file and sprint status disagree; `skipped` says of each file and
    row that looks like part of a backlog, and was not read, why.
    """

    epic: str
    shape: Shape
    stories: tuple[Story, ...]
    source: str
    sprint: SprintStatus | None = None
    drift: tuple[Drift, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The backlog's files, relative to the project."""
        return tuple(
            sorted(
                {story.source for story in self.stories}
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
        raise InputError("is not a folder", place=str(project), hint="name the project's folder")
    search = BacklogSearch(project, epic)
    backlogs = [
        backlog for read in (_stories_yaml, _v6, _v4, _spec_kit) for backlog in read(search)
    ] or _epics(search)
    if not backlogs and search.place and search.place.is_file():
        story = read_any(search.place)  # raises InputError if it is not a backlog
        backlogs = (
            [Backlog(epic, "bmad-v4", (story,), search.relative(search.place))]
            if isinstance(story, Story)
            else []
        )
    if not backlogs:
        epics = _known_epics(search)
        if search.skipped:
            hint = f"not read: {'; '.join(search.skipped[:5])}"
            raise InputError(f"no epic {epic!r} was found", place=str(project), hint=hint)
        hint = (
            f"there are {', '.join(epics)}"
            if epics
            else "write docs/epics/EPIC/stories.yaml, or name its file"
        )
        raise InputError(f"no epic {epic!r} was found", place=str(project), hint=hint)
    if len(backlogs) > 1:
        names = " and ".join(backlog.source for backlog in backlogs)
        raise InputError(
            f"the epic {epic!r} is in {names}",
            place=str(project),
            hint="name one of them with --epic",
        )
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
    if re.search(r"^##+ Epic ", text, re.MULTILINE) and re.search(
        r"^###+ Story ", text, re.MULTILINE
    ):
        return read_epics(text, source)
    if text.startswith("# Feature Specification:"):
        hint = "name the tasks.md beside it"
        raise InputError("is a specification, not a list of tasks", place=source, hint=hint)
    return read_story_file(text, source)


def _stories_yaml(search: BacklogSearch) -> Iterator[Backlog]:
    epic_paths = [path for path in search.files if path == search.place and path.suffix != ".md"]
    for path in dict.fromkeys((*search.files_like(LIST), *epic_paths)):
        text, source = TextFile(path).whole(), search.relative(path)
        declared = re.findall(r"^epic(?:_id)?:\s*([^#\n]+?)\s*(?:#.*)?$", text, re.MULTILINE)
        if re.fullmatch(SHEET, path.name):
            continue
        names = [path.parent.name, *(name.strip(" \"'") for name in declared)]
        has_several = bool(re.search(r"^\W*epics\W*:", text, re.MULTILINE))
        if not (search.names(path) or has_several or any(map(search.means, names))):
            continue
        stories = read_stories_yaml(load_yaml(path), source)
        if has_several and not search.names(path):
            stories = tuple(story for story in stories if search.means(story.epic))
        if stories:
            filed = tuple(_with_file(search, path.parent / "stories", story) for story in stories)
            yield Backlog(search.epic, "stories.yaml", filed, source)


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
            return search.story_file(path).model_copy(
                update={name: getattr(story, name) for name in own_fields}
            )
    return story


def _v6(search: BacklogSearch) -> Iterator[Backlog]:
    """Read a sprint status, with each story from its own file, else from the page of epics.

    Only files of the epic's own rows are read.
    """
    sheet_folders: set[Path] = set()
    # The sheet of the usual name comes before those for a part of the work.
    for path in sorted(search.files_like(SHEET), key=lambda path: path.stem != "sprint-status"):
        every = search.names(path)
        if path.parent in sheet_folders and not every:
            search.skip(path, "the sprint status beside it has the epic")
            continue
        sheet = load_sprint_status(path)
        # A sheet of another form belongs to another tool, unless it was asked for.
        if not every and SECTION not in (sheet.data if isinstance(sheet.data, dict) else {}):
            search.skip(path, f"has no {SECTION}")
            continue
        sprint = read_sprint_status(sheet, search.relative(path))
        rows = {key: row for key, row in sprint.stories.items() if every or _is_of(search, key)}
        if not rows:
            _report_rows(search, sprint)
            continue
        sheet_folders.add(path.parent)
        location = search.project / sprint.location.removeprefix("{project-root}/")
        folders = (path.parent, path.parent / "stories", location)
        stories_on_pages = {
            story.id: story for page in search.files_like(PAGE) for story in _on_page(search, page)
        }
        stories = {
            key: _planned_story(key, row, stories_on_pages, sprint.source)
            for key, row in rows.items()
        }
        files = [file for file in search.files_like(r".*\.md") if file.parent in folders]
        own, unlisted = list[Story](), list[Path]()
        keys = _files_of_rows(files, rows)
        for file in files:
            key = keys.get(file)
            if key is None:
                if search.means(_epic_of(file)):
                    unlisted.append(file)
                continue
            try:
                story = search.story_file(file)
            except InputError as error:
                search.skip(file, error.problem)
                # Nobody works on a closed story: its file need not be read. A file of another name
                # may be notes about the story.
                if stories[key].status in CLOSED or not _is_named(file, key):
                    continue
                stories[key] = stories[key].model_copy(
                    update={"unreadable": str(error), "source": search.relative(file)}
                )
                continue
            own.append(story.model_copy(update={"key": key}))
            stories[key] = _with_sheet(own[-1], rows[key], sprint.source)
        other_keys = ", ".join(sprint.other_keys[:5])
        if other_keys:
            search.skip(path, f"rows that are no stories: {other_keys}")
        epic_stories = [
            story.model_copy(update={"epic": search.epic, "key": key})
            for key, story in stories.items()
        ]
        # A file of the epic without a row is reported, and not worked on.
        for file in unlisted:
            with contextlib.suppress(InputError):
                own.append(search.story_file(file))
            search.skip(file, "the sprint status does not list it")
        drift = tuple(find_drift(own, replace(sprint, stories=rows)))
        yield Backlog(search.epic, "bmad-v6", tuple(epic_stories), sprint.source, sprint, drift)


def _is_of(search: BacklogSearch, key: str) -> bool:
    """Whether a row of the sprint status belongs to the epic."""
    parts = read_story_key(key)
    if parts is None:
        return False
    if parts.prefix:
        return search.epic.lower() in (parts.epic_name.lower(), f"{parts.prefix}-{parts.epic}")
    return parts.epic.lstrip("0") == search.number


def _report_rows(search: BacklogSearch, sprint: SprintStatus) -> None:
    """Report the rows of a sprint status that no name of an epic without a prefix means."""
    prefixed: dict[str, str] = {}
    for key in sprint.stories:
        parts = read_story_key(key)
        if parts is not None and parts.prefix:
            prefixed.setdefault(parts.epic_name, key)
    for epic, key in prefixed.items():
        search.skipped.append(f"{sprint.source}: {key} and others belong to the epic {epic}")


def _is_named(file: Path, key: str) -> bool:
    return file.name.removesuffix(".md").removesuffix(".story") == key


def _files_of_rows(files: Sequence[Path], rows: Mapping[str, StatusLine]) -> dict[Path, str]:
    """Return file -> its row.

    If a row has a file of its own name, other files of its number are notes.
    """
    keys = {file: key for file in files if (key := _key_of(file, rows)) is not None}
    keys_with_file = {key for file, key in keys.items() if _is_named(file, key)}
    return {
        file: key for file, key in keys.items() if _is_named(file, key) or key not in keys_with_file
    }


def _key_of(file: Path, rows: Mapping[str, StatusLine]) -> str | None:
    """Return the row that a story's file belongs to: of the same name, or the same number."""
    stem = file.name.removesuffix(".md").removesuffix(".story")
    if stem in rows:
        return stem
    match = re.fullmatch(STORY_FILE, file.name)
    if match is None:
        return None
    number = f"{match[1]}-{match[2]}"
    fitting = [key for key in rows if key.startswith(f"{number}-")]
    return fitting[0] if len(fitting) == 1 else None


def _with_sheet(story: Story, row: StatusLine, sheet: str) -> Story:
    """Return a story that is unclear if its file and the sprint status disagree on whether it is
    to be built.
    """
    in_sheet = read_status(row.text)
    if in_sheet in _ASKED:
        return story.model_copy(update={"unclear": f"{sheet}:{row.line} says {row.text!r}"})
    if (in_sheet in CLOSED) == (story.status in CLOSED):
        return story
    if story.status == "unknown" and not story.status_text:
        return story.model_copy(update={"status": in_sheet, "status_text": row.text})
    differ = f"{story.source} says {story.status_text!r}, and {sheet}:{row.line} {row.text!r}"
    return story.model_copy(update={"unclear": differ})


def _planned_story(
    key: str, row: StatusLine, stories_on_pages: dict[str, Story], source: str
) -> Story:
    """Return a story without a file of its own, from the page of epics or from its key alone."""
    parts = read_story_key(key)
    assert parts is not None, key  # the sheet has no other keys
    name, title = f"{parts.epic}.{parts.number}", parts.slug.replace("-", " ").capitalize()
    name = f"{parts.prefix}-{name}" if parts.prefix else name
    story = stories_on_pages.get(name) or Story(
        id=name, title=title, text=f"# Story {name}: {title}\n", source=source, line=row.line
    )
    status = read_status(row.text)
    unclear = f"{source}:{row.line} says {row.text!r}" if status in _ASKED else ""
    return story.model_copy(update={"status": status, "status_text": row.text, "unclear": unclear})


def _v4(search: BacklogSearch) -> Iterator[Backlog]:
    """Find story files by name, in the configured folder or in a folder `stories`, at any depth."""
    if search.files_like(SHEET):
        return
    config = search.project / ".bmad-core" / "core-config.yaml"
    data: Any = load_yaml(config).data if config.is_file() else {}
    place = search.project / str(
        (isinstance(data, dict) and data.get("devStoryLocation")) or "docs/stories"
    )
    folders: dict[Path, list[Story]] = {}
    for path in search.files_like(STORY_FILE):
        is_in_folder = (
            path.is_relative_to(place) or "stories" in path.relative_to(search.project).parts
        )
        if not (search.names(path) or (is_in_folder and search.means(_epic_by_title(path)))):
            continue
        try:
            story = search.story_file(path)
        except InputError as error:
            search.skip(path, error.problem)
            story = _unreadable(path, search.relative(path), str(error))
        folders.setdefault(path.parent, []).append(story)
    for folder, folder_stories in folders.items():
        stories = _without_notes(search, folder_stories)
        stories.sort(key=lambda story: [*map(int, re.findall(r"\d+", story.id))])
        epic_stories = tuple(
            _clear(story.model_copy(update={"epic": search.epic})) for story in stories
        )
        yield Backlog(search.epic, "bmad-v4", epic_stories, search.relative(folder))


def _without_notes(search: BacklogSearch, stories: Sequence[Story]) -> list[Story]:
    """Return the stories without plans and reports about another one of the same number."""
    written = {story.id for story in stories if story.status_text and not story.unreadable}
    told_stories = []
    for story in stories:
        number = re.sub(r"(?<=\d)[a-z]$", "", story.id)
        is_note = story.unreadable or not (story.status_text or (story.criteria and story.goal))
        if is_note and {story.id, number} & written:
            why = story.unreadable or "it has no status, and another file tells the story"
            search.skip(search.project / story.source, why)
        else:
            told_stories.append(story)
    return told_stories


def _clear(story: Story) -> Story:
    """Return a story that is unclear if its own status does not say whether it is to be built."""
    if story.status_text and story.status in _ASKED:
        return story.model_copy(update={"unclear": f"{story.source} says {story.status_text!r}"})
    return story


def _unreadable(path: Path, source: str, why: str) -> Story:
    """Return a story in the place of a file that cannot be read."""
    match = re.fullmatch(STORY_FILE, path.name)
    name = f"{match[1]}.{match[2]}" if match else path.stem
    return Story(id=name, title=path.stem, text=why, source=source, unreadable=why)


def _epic_of(path: Path) -> str:
    match = re.fullmatch(STORY_FILE, path.name)
    return f"epic-{match[1]}" if match else ""


def _epic_by_title(path: Path) -> str:
    """Return the epic of a story's file: the name says it, and the title says which number counts.

    A name may begin with the order of work: `01-26.10-pages.md` is story 26.10.
    """
    with contextlib.suppress(InputError):
        match = _TITLE_NUMBER.search(read_text(path))
        if match and re.search(rf"(?<!\d){match[1]}[.-]{match[2]}(?!\d)", path.name):
            return f"epic-{match[1]}"
    return _epic_of(path)


def _spec_kit(search: BacklogSearch) -> Iterator[Backlog]:
    for path in search.files_like(TASKS):
        feature = path.parent.name
        short = search.epic.isdigit() and feature.startswith(f"{search.epic}-")
        if search.names(path) or search.epic == feature or short:
            page, source, text = path.with_name("spec.md"), search.relative(path), read_text(path)
            companions = ("requirements.md", "proposal.md")
            if any(path.with_name(name).is_file() for name in companions):
                stories = read_task_list(path, text, source)
                yield Backlog(search.epic, "task-list", stories, source)
                continue
            specification = TextFile(page).whole() if page.is_file() else ""
            yield Backlog(search.epic, "spec-kit", read_tasks(text, source, specification), source)


def _epics(search: BacklogSearch) -> list[Backlog]:
    """Read pages of epics by their usual names, else any page with epics, such as a PRD."""
    for form in (PAGE, r".*\.md"):
        backlogs = []
        for path in search.files_like(form) if search.number or search.place else ():
            stories = _on_page(search, path)
            epic_stories = tuple(
                story
                for story in stories
                if search.names(path) or story.epic == f"epic-{search.number}"
            )
            backlogs += (
                [Backlog(search.epic, "epics.md", epic_stories, search.relative(path))]
                if epic_stories
                else []
            )
        if backlogs:
            return backlogs
    return []


def _on_page(search: BacklogSearch, path: Path) -> tuple[Story, ...]:
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
    except InputError as error:
        # A page that was not asked for may be a report about the epic.
        if search.names(path):
            raise
        search.skip(path, error.problem)
        return ()


def _known_epics(search: BacklogSearch) -> list[str]:
    """Return the first ten known epics, for an error's hint."""
    names = [search.relative(path) for path in search.files_like(LIST)]
    names += [path.parent.name for path in search.files_like(TASKS)]
    for path in search.files_like(SHEET):
        names += re.findall(
            r"^\s+(epic-\d+[a-z]?):",
            TextFile(path).whole(),
            re.MULTILINE,
        )
    names += [_epic_by_title(path) for path in search.files_like(STORY_FILE)]
    names += [story.epic for path in search.files_like(PAGE) for story in _on_page(search, path)]
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
        story = next((ready for ready in remaining if not waiting & {*ready.depends_on}), None)
        if story is None:
            names = ", ".join(entry.id for entry in remaining)
            raise InputError(
                f"{names} depend on each other",
                place=f"{remaining[0].source}:{remaining[0].line}",
                hint="break the cycle of dependencies",
            )
        missing = next((name for name in story.depends_on if name not in ids), "")
        # other formats may name stories of other epics
        if missing and backlog.shape == "stories.yaml":
            problem = f"{story.id} depends on an unknown story {missing}"
            hint = f"correct the id; known: {', '.join(sorted(ids))}"
            raise InputError(problem, place=f"{story.source}:{story.line}", hint=hint)
        ordered.append(story)
        remaining.remove(story)
    return replace(backlog, stories=tuple(ordered))
