"""Tools on a project's files: listing, reading, searching, and editing by exact replacement."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from transom.canonical import write_atomic
from transom.errors import ToolRefused
from transom.formats.text_files import TextFile
from transom.tools.definition import ToolDefinition
from transom.tools.functions import tool

MAX_LINES = 400
MAX_MATCHES = 100
MAX_FILES = 500
_LINE = 500  # characters shown of one
_BYTES = 4 << 20
_SEARCHED = 10_000  # characters of a line
_SKIPPED = {
    ".git",
    ".hg",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    ".mypy_cache",
    ".pytest_cache",
}
_Path: TypeAlias = Annotated[str, Field(description="Relative to the project's folder.")]
_Number: TypeAlias = Annotated[int, Field(ge=1)]
# Files change between two equal calls, and a call that was cut off may be carried out again.
_made = tool(effect="idempotent", fresh=True)


def reading_tools(root: Path) -> list[ToolDefinition]:
    """Tools that read a project and change nothing."""
    folder = _Folder(root)
    return [_made(one) for one in (folder.list_files, folder.read_file, folder.search)]


def editing_tools(root: Path) -> list[ToolDefinition]:
    """Tools that change a project's files; none reaches beyond its folder."""
    folder = _Folder(root)
    return [_made(one) for one in (folder.edit_file, folder.write_file, folder.delete_file)]


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def list_files(self, part: str = "") -> dict[str, Any]:
        """List the files whose paths hold `part`."""
        found = [name for name in self._names() if part in name]
        return {"files": found[:MAX_FILES], "total": len(found)}

    def read_file(
        self, path: _Path, first_line: _Number = 1, last_line: _Number = MAX_LINES
    ) -> dict[str, Any]:
        """Read lines of a file, each with its number."""
        lines = _text(self._file(path)).split("\n")
        shown = lines[first_line - 1 : min(last_line, first_line + MAX_LINES - 1)]
        if not shown:
            raise ToolRefused(f"the file has {len(lines)} lines", hint="ask for lines that it has")
        numbered = "\n".join(
            f"{number}\t{line[:_LINE]}" for number, line in enumerate(shown, first_line)
        )
        return {"lines": numbered, "total_lines": len(lines)}

    def search(self, pattern: str, part: str = "") -> dict[str, Any]:
        """Find the lines that match a regular expression, in the files whose paths hold `part`."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolRefused(
                f"the pattern cannot be read: {error}", hint="escape special characters"
            ) from error
        rows, total = list[str](), 0
        for name in self._names():
            path = self.root / name
            if part not in name or path.is_symlink() or path.stat().st_size > _BYTES:
                continue
            for number, line in enumerate(TextFile(path).lines(_SEARCHED), 1):
                if wanted.search(line):
                    total += 1
                    rows += (
                        [f"{name}:{number}: {line.strip()[:_LINE]}"]
                        if len(rows) < MAX_MATCHES
                        else []
                    )
        return {"matches": rows, "total": total}

    def edit_file(self, path: _Path, old: str, new: str) -> str:
        """Replace a text that stands exactly once in a file."""
        file = self._file(path)
        text = _text(file)
        if not old or old == new:
            raise ToolRefused(
                "there is nothing to replace", hint="give the old text and another new one"
            )
        if text.count(old) == 0 and text.count(new) == 1:
            return "The file already holds the new text."  # a call that was cut off behind its work
        if text.count(old) != 1:
            what = f"the old text stands {text.count(old)} times in the file"
            raise ToolRefused(
                what, hint="give a text that stands exactly once, with lines around it"
            )
        write_atomic(file, text.replace(old, new).encode())
        return "Replaced."

    def write_file(self, path: _Path, text: str) -> str:
        """Write a whole file, new or not."""
        file = self._path(path)
        if file.is_dir():
            raise ToolRefused("it is a folder", hint="name a file")
        mode = file.stat().st_mode & 0o777 if file.is_file() else 0o644
        write_atomic(file, text.encode("utf-8", "replace"))
        file.chmod(mode)
        return "Written."

    def delete_file(self, path: _Path) -> str:
        """Delete a file."""
        self._path(path).unlink(missing_ok=True)
        return "Deleted."

    def _names(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(one for one in folders if one not in _SKIPPED)
            found += [
                Path(folder, name).relative_to(self.root).as_posix()
                for name in names
                if name != ".git"
            ]
        return sorted(found)

    def _file(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise ToolRefused(
                f"there is no file {name}", hint="list_files names those that there are"
            )
        if path.stat().st_size > _BYTES:
            raise ToolRefused(f"the file has more than {_BYTES >> 20} MiB", hint="search it")
        return path

    def _path(self, name: str) -> Path:
        """The real path of a name; it must be in the folder and not git's own."""
        real = Path(os.path.realpath(self.root / name)) if "\0" not in name else Path("/")
        if not real.is_relative_to(self.root) or real == self.root:
            raise ToolRefused(
                f"{name!r} is outside the project", hint="name a file below the project's folder"
            )
        if ".git" in real.relative_to(self.root).parts:
            raise ToolRefused(f"{name!r} is git's own", hint="name a file of the project")
        return real


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolRefused("the file is not UTF-8 text", hint="leave it as it is") from error
