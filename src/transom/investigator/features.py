"""A feature of a data folder, and one of its files."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from transom.canonical import Json
from transom.investigator.reading.recognition import (
    Recognition,
)

ISSUE_FILES: Final = ("feature_issue.json", "issue.json", "jira_issue.json")
_ISSUE_HEAD: Final = 1 << 16  # bytes in which an issue names its key and its fields


@dataclass(frozen=True)
class Feature:
    """A feature's row in `get_jira_data`.

    Attributes:
        folder: its folder's name in the data folder.
        category: Jira's key of the status category, "" if unknown.
        fix_versions: names of the releases that are to have it.
        components: names of the components that the issue lists.
    """

    folder: str
    jira_key: str
    feature_id: str
    summary: str
    status: str
    data_quality: str
    category: str = field(default="", compare=False)
    fix_versions: tuple[str, ...] = field(default=(), compare=False)
    components: tuple[str, ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Json]:
        """Return the six fields that the tool shows."""
        hidden = ("category", "fix_versions", "components")
        return {name: value for name, value in asdict(self).items() if name not in hidden}


@dataclass(frozen=True)
class SourceFile:
    """A file of a feature: its path, its name in evidence, and what it is taken for."""

    path: Path
    source: str
    recognition: Recognition


def is_inside(path: Path, folder: str) -> bool:
    """Return whether a path, with its links followed, is below a folder."""
    return os.path.realpath(path).startswith(folder + os.sep)


def may_be_issue(path: Path) -> bool:
    """Return whether a file may hold the issue, by its suffix and the keys at its beginning."""
    if path.suffix.casefold() != ".json":
        return False
    name = path.name.casefold()
    # Its place or its name says it; any other file is opened for a short look.
    if path.parent.name == "jira" or any(word in name for word in ("jira", "issue", "epic")):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_ISSUE_HEAD)
    except OSError:
        return False
    return b'"key"' in head and (b'"fields"' in head or b'"issues"' in head)
