"""Finds the files of a project's backlog. Folders of tools, archives, examples and other
repositories are reported, and never read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transom.errors import InputError
from transom.formats.yaml_files import read_text
from transom.stories.markdown_story import read_epics, read_story_file
from transom.stories.status import Drift, SprintStatus
from transom.stories.story import Story

STORY_FILE = r"(?:story[-_. ])?(?:[A-Za-z]\w*?-)?(\d+)[.-](\d+[a-z]?)(?:[._-].*)?\.md"
LIST = r"stories\.ya?ml"
SHEET = r"sprint-status(?!.*template).*\.ya?ml"
PAGE = r"epics?(?:[-_].*)?\.md|epic-\d+.*\.md"
TASKS = r"tasks\.md"
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
_NOT_OWN = re.compile(
    # A numbered folder is a feature, even if it is about templates.
    r"(?:_?bmad(?:-(?:core|method))?|\..*|(?!\d).*templates?|archived?s?|old|attic"
    r"|examples?|samples?|fixtures)$",
    re.IGNORECASE,
)
"""Folders whose stories are those of a tool, examples, or work of before. They are reported."""
_HIDDEN_ALLOWED = {".bmad-core", ".specify", ".kiro", "_bmad-output"}
_MOST_REPORTED = 20

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
        sources = {story.source for story in self.stories}
        if self.sprint:
            sources.add(self.sprint.source)
        return tuple(sorted(sources))


class BacklogSearch:
    """The search for an epic in a project.

    Attributes:
        place: the file or folder that the epic's name is a path of; None if it is not a path.
        number: the epic's number, "" without one.
        files: candidate files, sorted; links are not followed, folders of packages are skipped.
    """

    def __init__(self, project: Path, epic: str) -> None:
        self.project, self.epic, self.number = project, epic, number_of(epic)
        place = Path(os.path.normpath(project / epic))
        self.place = place if epic and place.exists() else None
        self.files: list[Path] = []
        self.skipped: list[str] = []
        top = os.path.normpath(project)
        for folder, folders, names in os.walk(top):
            inner = []
            for name in sorted(folders):
                path = Path(folder, name)
                if name in _SKIPPED:
                    continue
                # A person may name a folder that is else left out.
                is_asked_for = self.place is not None and self.place.is_relative_to(path)
                if is_asked_for or name in _HIDDEN_ALLOWED:
                    inner.append(name)
                elif _NOT_OWN.match(name):
                    self._skip_folder(path, "a folder of a tool, an archive or examples")
                elif (path / ".git").exists():
                    self._skip_folder(path, "another repository")
                else:
                    inner.append(name)
            # `os.walk` goes on into the folders that are left in its list.
            folders[:] = inner
            for name in sorted(names):
                if name.endswith((".md", ".yaml", ".yml")):
                    self.files.append(Path(folder, name))
        # JSON files are many in a project, so a task list in JSON must be named.
        if self.place is not None and self.place.suffix == ".json":
            self.files.append(self.place)

    def _skip_folder(self, folder: Path, why: str) -> None:
        """Report a folder that is not read, if it has files of a backlog."""
        if len(self.skipped) >= _MOST_REPORTED:
            return
        forms = re.compile("|".join((STORY_FILE, LIST, r"sprint-status.*\.ya?ml", TASKS)))
        for _, __, names in os.walk(folder):
            matches = [name for name in names if forms.fullmatch(name)]
            if matches:
                self.skipped.append(f"{self.relative(folder)} ({why}, with {matches[0]})")
                return

    def skip(self, path: Path, why: str) -> None:
        """Report a file that is not read."""
        if len(self.skipped) < _MOST_REPORTED:
            self.skipped.append(f"{self.relative(path)}: {why}")

    def files_like(self, form: str) -> list[Path]:
        """Return the files whose names match a regular expression."""
        return [path for path in self.files if re.fullmatch(form, path.name)]

    def names(self, path: Path) -> bool:
        """Whether the epic was given as this file, or as a folder that contains it."""
        return self.place is not None and path.is_relative_to(self.place)

    def means(self, other: str) -> bool:
        """Whether another name is a name of the same epic."""
        if self.epic.lower() == other.lower():
            return True
        return self.number != "" and self.number == number_of(other)

    def relative(self, path: Path) -> str:
        """Return a path relative to the project, with slashes."""
        return path.relative_to(self.project).as_posix()

    def story_file(self, path: Path) -> Story:
        return read_story_file(read_text(path), self.relative(path))

    def stories_on_page(self, path: Path) -> tuple[Story, ...]:
        """Return the stories of a page of epics; none if it has none, or is a template that was
        not asked for.
        """
        text = read_text(path)
        if not re.search(r"^##+ .{0,40}?\bStory \d", text, re.MULTILINE):
            return ()
        try:
            return read_epics(text, self.relative(path))
        except InputError as error:
            # A page that was not asked for may be a report about the epic.
            if self.names(path):
                raise
            self.skip(path, error.problem)
            return ()


def number_of(epic: str) -> str:
    """Return the number in an epic's name, "" without one: `epic-1`, `1`, `Epic 01`,
    `epic-1-login`.
    """
    match = re.fullmatch(
        r"(?:epic[-_ ]?)?(?P<digits>\d+)(?P<letter>[a-z]?)", epic.strip(), re.IGNORECASE
    ) or re.match(r"epic[-_ ]?(?P<digits>\d+)(?P<letter>[a-z]?)[-_ ].", epic.strip(), re.IGNORECASE)
    if match is None:
        return ""
    return (match["digits"].lstrip("0") or "0") + match["letter"].lower()
