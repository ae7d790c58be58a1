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
_project_tool = tool(effect="idempotent", fresh=True)


def reading_tools(root: Path) -> list[ToolDefinition]:
    """Return tools that read a project and change nothing."""
    folder = _Folder(root)
    return [
        _project_tool(method) for method in (folder.list_files, folder.read_file, folder.search)
    ]


def editing_tools(root: Path) -> list[ToolDefinition]:
    """Return tools that change a project's files, and none beyond its folder."""
    folder = _Folder(root)
    methods = (folder.edit_file, folder.write_file, folder.delete_file)
    return [_project_tool(method) for method in methods]


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def list_files(self, part: str = "") -> dict[str, Any]:
        """List the files whose paths hold `part`."""
        names = [name for name in self._names() if part in name]
        return {"files": names[:MAX_FILES], "total": len(names)}

    def read_file(
        self, path: _Path, first_line: _Number = 1, last_line: _Number = MAX_LINES
    ) -> dict[str, Any]:
        """Read lines of a file, each with its number."""
        lines = _text(self._file(path)).split("\n")
        selected = lines[first_line - 1 : min(last_line, first_line + MAX_LINES - 1)]
        if last_line < first_line:
            problem = f"line {last_line} stands before line {first_line}"
            raise ToolRefused(problem, hint="name the first line first")
        if not selected:
            raise ToolRefused(f"the file has {len(lines)} lines", hint="ask for lines that it has")
        numbered = []
        for number, line in enumerate(selected, first_line):
            numbered.append(f"{number}\t{line[:_LINE]}")
        return {"lines": "\n".join(numbered), "total_lines": len(lines)}

    def search(self, pattern: str, part: str = "") -> dict[str, Any]:
        """Find the lines that match a regular expression, in the files whose paths hold `part`."""
        try:
            compiled = re.compile(pattern)
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
                if compiled.search(line):
                    total += 1
                    if len(rows) < MAX_MATCHES:
                        rows.append(f"{name}:{number}: {line.strip()[:_LINE]}")
        return {"matches": rows, "total": total}

    def edit_file(self, path: _Path, old: str, new: str) -> str:
        """Replace a text that stands exactly once in a file."""
        file = self._file(path)
        text = _text(file)
        if not old or old == new:
            raise ToolRefused(
                "there is nothing to replace", hint="give the old text and another new one"
            )
        # A call that was interrupted after its work may be made again.
        if text.count(old) == 0 and text.count(new) == 1:
            return "The file already holds the new text."
        if text.count(old) != 1:
            raise ToolRefused(
                f"the old text stands {text.count(old)} times in the file",
                hint="give a text that stands exactly once, with lines around it",
            )
        write_atomic(file, text.replace(old, new).encode())
        return "Replaced."

    def write_file(self, path: _Path, text: str) -> str:
        """Write a whole file, new or not."""
        file = self._path(path)
        if file.is_dir():
            raise ToolRefused("it is a folder", hint="name a file")
        # The atomic write makes a new file, which would lose an executable's mode.
        mode = file.stat().st_mode & 0o777 if file.is_file() else 0o644
        write_atomic(file, text.encode("utf-8", "replace"))
        file.chmod(mode)
        return "Written."

    def delete_file(self, path: _Path) -> str:
        """Delete a file."""
        self._path(path).unlink(missing_ok=True)
        return "Deleted."

    def _names(self) -> list[str]:
        paths = []
        for folder, subfolders, names in os.walk(self.root):
            # os.walk goes only into the folders that stay in this list.
            subfolders[:] = [name for name in subfolders if name not in _SKIPPED]
            for name in names:
                if name != ".git":  # a file in a worktree
                    paths.append(Path(folder, name).relative_to(self.root).as_posix())
        return sorted(paths)

    def _file(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise ToolRefused(f"there is no file {name}", hint="list_files names all files")
        if path.stat().st_size > _BYTES:
            raise ToolRefused(f"the file has more than {_BYTES >> 20} MiB", hint="search it")
        return path

    def _path(self, name: str) -> Path:
        """Return the real path of a name, which must be in the folder and not git's own."""
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
        raise ToolRefused("the file is not UTF-8 text", hint="do not change it") from error
