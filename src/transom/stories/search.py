"""What is looked for in a project, and the files that it may be in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError

_SKIPPED = {"node_modules", "target", "build", "dist", "venv", "__pycache__", "site-packages", "vendor"}
_HIDDEN_ALLOWED = {".bmad-core", ".specify", "_bmad-output"}
_MOST_FILES = 50_000


@dataclass(frozen=True)
class Search:
    """An epic that is looked for.

    Attributes:
        project: its folder.
        epic: as it was asked for.
        place: the file or folder that the epic was asked for by; None where it is no path.
        files: candidates, sorted.
    """

    project: Path
    epic: str
    place: Path | None
    files: tuple[Path, ...]

    @staticmethod
    def of(project: Path, epic: str) -> Search:
        """Look through a project's folder.

        Raises:
            InputError: it holds too many files.
        """
        place = Path(os.path.normpath(project / epic))
        return Search(project, epic, place if epic and place.exists() else None, tuple(_files(project)))

    @property
    def number(self) -> str:
        """Of the epic, "" where it has none."""
        return number_of(self.epic)

    def names(self, path: Path) -> bool:
        """Whether the epic was asked for by this file, or by a folder that it lies in."""
        return self.place is not None and path.is_relative_to(self.place)

    def relative(self, path: Path) -> str:
        """A path as backlogs name it."""
        return path.relative_to(self.project).as_posix()


def _files(project: Path) -> list[Path]:
    """Candidates below the project, sorted; links are not followed, and folders of packages are passed over."""
    found: list[Path] = []
    for folder, folders, names in os.walk(os.path.normpath(project)):
        folders[:] = sorted(
            one for one in folders if one not in _SKIPPED and (not one.startswith(".") or one in _HIDDEN_ALLOWED)
        )
        found += [Path(folder, name) for name in sorted(names) if name.endswith((".md", ".yaml", ".yml"))]
        if len(found) > _MOST_FILES:
            raise InputError("holds too many files to look through", where=str(project), hint="name a folder within it")
    return found


def same_epic(epic: str, other: str) -> bool:
    """Whether two names are of one epic."""
    return epic.lower() == other.lower() or (number_of(epic) != "" and number_of(epic) == number_of(other))


def number_of(epic: str) -> str:
    """The number in an epic's name, "" where it has none: `epic-1`, `1`, `Epic 01`, `epic-1-login`."""
    match = re.fullmatch(r"(?:epic[-_ ]?)?0*(\d+[a-z]?)|epic[-_ ]?0*(\d+[a-z]?)[-_ ].+", epic.strip(), re.IGNORECASE)
    return (match[1] or match[2]).lower() if match else ""
