"""Reads the backlogs of BMAD: the sprint status of v6 with its story files, and the folder of story
files of v4.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml, read_text
from transom.stories.backlog_search import PAGE, SHEET, STORY_FILE, Backlog, BacklogSearch
from transom.stories.page_records import slug_of
from transom.stories.status import (
    SECTION,
    SprintStatus,
    StatusLine,
    find_drift,
    load_sprint_status,
    read_sprint_status,
    read_story_key,
)
from transom.stories.story import ASKED, CLOSED, Story, read_status

_TITLE_NUMBER = re.compile(
    r"^#+\s+(?:user\s+)?story\s+(\d+)[.-](\d+)", re.IGNORECASE | re.MULTILINE
)

_PLAIN_NAME = re.compile(r"(?:^|/)(?:story[-_. ])?\d+[.-]\d+[a-z]?(?:[._-]story)?\.md$", re.I)
"""A file named by its story's number alone."""


def read_sprint_backlogs(search: BacklogSearch) -> Iterator[Backlog]:
    """Yield the epic's stories of each sprint status, with each story from its own file, else from
    the page of epics.

    Only files of the epic's own rows are read.
    """
    sheet_folders: set[Path] = set()
    # The sheet of the usual name comes before those for a part of the work.
    for path in sorted(search.files_like(SHEET), key=lambda path: path.stem != "sprint-status"):
        is_named = search.names(path)
        if path.parent in sheet_folders and not is_named:
            search.skip(path, "the sprint status beside it has the epic")
            continue
        sheet = load_sprint_status(path)
        # A sheet of another form belongs to another tool, unless it was asked for.
        has_section = isinstance(sheet.data, dict) and SECTION in sheet.data
        if not is_named and not has_section:
            search.skip(path, f"has no {SECTION}")
            continue
        sprint = read_sprint_status(sheet, search.relative(path))
        rows = {key: row for key, row in sprint.stories.items() if is_named or _is_of(search, key)}
        if not rows:
            _report_rows(search, sprint)
            continue
        sheet_folders.add(path.parent)
        yield _backlog_of(search, path, sprint, rows)


def _backlog_of(
    search: BacklogSearch, sheet: Path, sprint: SprintStatus, rows: Mapping[str, StatusLine]
) -> Backlog:
    """Return the stories of some rows of a sprint status."""
    stories_on_pages: dict[str, Story] = {}
    for page in search.files_like(PAGE):
        for story in search.stories_on_page(page):
            stories_on_pages[story.id] = story
            stories_on_pages[f"{story.id}-{slug_of(story.title)}"] = story
    stories: dict[str, Story] = {}
    for key, row in rows.items():
        stories[key] = _planned_story(key, row, stories_on_pages, sprint.source)
    location = search.project / sprint.location.removeprefix("{project-root}/")
    files = _story_files(search, rows, (sheet.parent, sheet.parent / "stories", location))
    keys = _files_of_rows(files, rows)
    own: list[Story] = []
    for file, key in keys.items():
        try:
            story = search.story_file(file)
        except InputError as error:
            search.skip(file, error.problem)
            # Nobody works on a closed story: its file need not be read. A file of another name
            # may be notes about the story.
            if stories[key].status not in CLOSED and _is_named(file, key):
                unreadable = {"unreadable": str(error), "source": search.relative(file)}
                stories[key] = stories[key].model_copy(update=unreadable)
            continue
        own.append(story.model_copy(update={"key": key}))
        stories[key] = _with_sheet(own[-1], rows[key], sprint.source)
    other_keys = ", ".join(sprint.other_keys[:5])
    if other_keys:
        search.skip(sheet, f"rows that are no stories: {other_keys}")
    # A file of the epic without a row is reported, and not worked on.
    for file in files:
        if file not in keys and search.means(_epic_of(file)):
            with contextlib.suppress(InputError):
                own.append(search.story_file(file))
            search.skip(file, "the sprint status does not list it")
    epic_stories = []
    for key, story in stories.items():
        epic_stories.append(story.model_copy(update={"epic": search.epic, "key": key}))
    drift = tuple(find_drift(own, replace(sprint, stories=rows)))
    return Backlog(search.epic, "bmad-v6", tuple(epic_stories), sprint.source, sprint, drift)


def _story_files(
    search: BacklogSearch, rows: Mapping[str, StatusLine], folders: Sequence[Path]
) -> list[Path]:
    """Return the pages in the folders of stories; deeper down, the first of the name of a row."""
    pages = search.files_like(r".*\.md")
    files = [file for file in pages if file.parent in folders]
    found = {_stem(file) for file in files}
    for file in pages:
        stem = _stem(file)
        if stem in rows and any(file.is_relative_to(folder) for folder in folders):
            if stem not in found:
                files.append(file)
            elif file not in files:
                search.skip(file, f"another file tells {stem}")
            found.add(stem)
    return files


def _is_of(search: BacklogSearch, key: str) -> bool:
    """Whether a row of the sprint status belongs to the epic."""
    parts = read_story_key(key)
    if parts is None:
        return False
    # Several teams may number their epics from 1; their rows begin with a word of their own.
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


def _stem(file: Path) -> str:
    return file.name.removesuffix(".md").removesuffix(".story")


def _is_named(file: Path, key: str) -> bool:
    return _stem(file) == key


def _files_of_rows(files: Sequence[Path], rows: Mapping[str, StatusLine]) -> dict[Path, str]:
    """Return file -> its row.

    If a row has a file of its own name, other files of its number are notes.
    """
    keys: dict[Path, str] = {}
    keys_with_file: set[str] = set()
    for file in files:
        key = _key_of(file, rows)
        if key is None:
            continue
        keys[file] = key
        if _is_named(file, key):
            keys_with_file.add(key)
    for file, key in [*keys.items()]:
        if key in keys_with_file and not _is_named(file, key):
            del keys[file]
    return keys


def _key_of(file: Path, rows: Mapping[str, StatusLine]) -> str | None:
    """Return the row that a story's file belongs to: of the same name, or the same number."""
    stem = _stem(file)
    if stem in rows:
        return stem
    match = re.fullmatch(STORY_FILE, file.name)
    if match is None:
        return None
    fitting = []
    for key in rows:
        parts = read_story_key(key)
        if parts and not parts.prefix and (parts.epic, parts.number) == (match[1], match[2]):
            fitting.append(key)
    # Titles change after the sheet was written; the number alone decides if it is unique.
    return fitting[0] if len(fitting) == 1 else None


def _with_sheet(story: Story, row: StatusLine, sheet: str) -> Story:
    """Return a story that is unclear if its file and the sprint status disagree on whether it is
    to be built.
    """
    in_sheet = read_status(row.text)
    if in_sheet in ASKED:
        return story.model_copy(update={"unclear": f"{sheet}:{row.line} says {row.text!r}"})
    if in_sheet in CLOSED and story.status in CLOSED:
        return story.model_copy(update={"unclear": ""})
    if (in_sheet in CLOSED) == (story.status in CLOSED):
        return story
    # A file without a status says nothing against the sheet.
    if story.status == "unknown" and not story.status_text:
        fields = {"status": in_sheet, "status_text": row.text, "unclear": ""}
        return story.model_copy(update=fields)
    differ = f"{story.source} says {story.status_text!r}, and {sheet}:{row.line} {row.text!r}"
    return story.model_copy(update={"unclear": differ})


def _planned_story(
    key: str, row: StatusLine, stories_on_pages: Mapping[str, Story], source: str
) -> Story:
    """Return a story without a file of its own, from the page of epics or from its key alone."""
    parts = read_story_key(key)
    assert parts is not None, key  # the sheet has no other keys
    title = parts.slug.replace("-", " ").capitalize()
    name = f"{parts.epic}.{parts.number}"
    story = stories_on_pages.get(f"{name}-{parts.slug}")
    if parts.prefix:
        name = f"{parts.prefix}-{name}"
    # Each team with a prefix has numbers of its own, so only the title tells whose story it is.
    story = story.model_copy(update={"id": name}) if story else stories_on_pages.get(name)
    if story is None:
        text = f"# Story {name}: {title}\n"
        story = Story(id=name, title=title, text=text, source=source, line=row.line)
    fields: dict[str, str] = {"status": read_status(row.text), "status_text": row.text}
    # A page is seldom written on: it says nothing against a sheet that calls the story done.
    fields["unclear"] = "" if fields["status"] in CLOSED else story.unclear
    if fields["status"] in ASKED:
        fields["unclear"] = f"{source}:{row.line} says {row.text!r}"
    elif story.status in CLOSED and fields["status"] not in CLOSED:
        differ = f"{story.source}:{story.line} says {story.status_text!r}"
        fields["unclear"] = f"{differ}, and {source}:{row.line} {row.text!r}"
    return story.model_copy(update=fields)


def read_story_folders(search: BacklogSearch) -> Iterator[Backlog]:
    """Yield the epic's stories of each folder of story files: the configured one, or a folder
    `stories` at any depth.
    """
    # With a sprint status the same files are read row by row.
    if search.files_like(SHEET):
        return
    place = _story_location(search.project)
    folders: dict[Path, list[Story]] = {}
    for path in search.files_like(STORY_FILE):
        parts = path.relative_to(search.project).parts
        is_in_folder = path.is_relative_to(place) or "stories" in parts
        if not (search.names(path) or (is_in_folder and search.means(epic_by_title(path)))):
            continue
        try:
            story = search.story_file(path)
        except InputError as error:
            search.skip(path, error.problem)
            story = _unreadable(path, search.relative(path), str(error))
        folders.setdefault(path.parent, []).append(story)
    for folder, folder_stories in folders.items():
        stories = _without_notes(search, folder_stories)
        # Text order would put story 1.10 before 1.2.
        stories.sort(key=lambda story: [*map(int, re.findall(r"\d+", story.id))])
        epic_stories = []
        for story in stories:
            epic_stories.append(_clear(story.model_copy(update={"epic": search.epic})))
        yield Backlog(search.epic, "bmad-v4", tuple(epic_stories), search.relative(folder))


def _story_location(project: Path) -> Path:
    """Return the folder of story files, as the settings of BMAD v4 name it."""
    config = project / ".bmad-core" / "core-config.yaml"
    data: Any = {}
    if config.is_file():
        data = load_yaml(config).data
    location = ""
    if isinstance(data, dict):
        location = str(data.get("devStoryLocation") or "")
    return project / (location or "docs/stories")


def _without_notes(search: BacklogSearch, stories: Sequence[Story]) -> list[Story]:
    """Return the stories without plans and reports about another one of the same number."""
    written = {story.id for story in stories if story.status_text and not story.unreadable}
    plainly_named = {story.id for story in stories if _PLAIN_NAME.search(story.source)}
    own_stories = []
    for story in stories:
        if story.id in plainly_named and not _PLAIN_NAME.search(story.source):
            search.skip(search.project / story.source, f"another file tells story {story.id}")
            continue
        # `1.2a` may be notes about story 1.2.
        number = re.sub(r"(?<=\d)[a-z]$", "", story.id)
        is_told = story.status_text or (story.criteria and story.goal)
        is_note = story.unreadable or not is_told
        if is_note and {story.id, number} & written:
            why = story.unreadable or "it has no status, and another file tells the story"
            search.skip(search.project / story.source, why)
        else:
            own_stories.append(story)
    return own_stories


def _clear(story: Story) -> Story:
    """Return a story that is unclear if its own status does not say whether it is to be built."""
    if story.status_text and story.status in ASKED:
        return story.model_copy(update={"unclear": f"{story.source} says {story.status_text!r}"})
    return story


def _unreadable(path: Path, source: str, why: str) -> Story:
    """Return a story in the place of a file that cannot be read."""
    match = re.fullmatch(STORY_FILE, path.name)
    name = path.stem
    if match:
        name = f"{match[1]}.{match[2]}"
    return Story(id=name, title=path.stem, text=why, source=source, unreadable=why)


def _epic_of(path: Path) -> str:
    match = re.fullmatch(STORY_FILE, path.name)
    return f"epic-{match[1]}" if match else ""


def epic_by_title(path: Path) -> str:
    """Return the epic of a story's file: the name says it, and the title says which number counts.

    A name may begin with the order of work: `01-26.10-pages.md` is story 26.10.
    """
    # A file that cannot be read is reported when its epic is worked on.
    with contextlib.suppress(InputError):
        match = _TITLE_NUMBER.search(read_text(path))
        if match and re.search(rf"(?<!\d){match[1]}[.-]{match[2]}(?!\d)", path.name):
            return f"epic-{match[1]}"
    return _epic_of(path)
