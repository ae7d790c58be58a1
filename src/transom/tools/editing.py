"""Tools on a project's files: listing, reading, searching, and editing by exact replacement."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transom.canonical import Json, write_atomic
from transom.errors import ToolRefused
from transom.tools.definition import Arguments, ToolDefinition

MAX_LINES = 400
MAX_MATCHES = 100
MAX_FILES = 500
_LINE = 500  # characters shown of one
_BYTES = 4 << 20
_SKIPPED = {".git", ".hg", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".pytest_cache"}
_PATH: Json = {"type": "string", "description": "Relative to the project's folder."}


def reading_tools(root: Path) -> list[ToolDefinition]:
    """Tools that read a project and change nothing."""
    folder, number = _Folder(root), {"type": "integer", "minimum": 1}
    part: Json = {"type": "string", "default": ""}
    lines = {"first_line": {**number, "default": 1}, "last_line": {**number, "default": MAX_LINES}}
    files = "the files whose paths hold `part`"
    return [
        _tool("list_files", f"List {files}.", folder.files, part=part),
        _tool("read_file", "Read lines of a file, each with its number.", folder.read, ("path",), path=_PATH, **lines),
        _tool(
            "search", f"Find the lines that match a regular expression, in {files}.", folder.search,
            ("pattern",), pattern={"type": "string"}, part=part,
        ),
    ]  # fmt: skip


def editing_tools(root: Path) -> list[ToolDefinition]:
    """Tools that change a project's files; none reaches beyond its folder."""
    folder, text = _Folder(root), {"type": "string"}
    both = {"old": text, "new": text}
    once = "Replace a text that stands exactly once in a file."
    return [
        _tool("edit_file", once, folder.edit, ("path", "old", "new"), path=_PATH, **both),
        _tool("write_file", "Write a whole file, new or not.", folder.write, ("path", "text"), path=_PATH, text=text),
        _tool("delete_file", "Delete a file.", folder.delete, ("path",), path=_PATH),
    ]


def _tool(
    name: str, description: str, handler: Callable[[Arguments], Json], needs: tuple[str, ...] = (), **properties: Any
) -> ToolDefinition:
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": list(needs)}
    schema["additionalProperties"] = False
    # Files change between two equal calls, and a call that was cut off may be carried out again.
    return ToolDefinition(name, description, schema, handler, effect="idempotent", fresh=True)


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def files(self, arguments: Arguments) -> Json:
        part = str(arguments.get("part", ""))
        found = [name for name in self._names() if part in name]
        return {"files": [*found[:MAX_FILES]], "total": len(found)}

    def read(self, arguments: Arguments) -> Json:
        path = self._file(arguments)
        lines = _text(path).split("\n")
        first, last = int(str(arguments.get("first_line", 1))), int(str(arguments.get("last_line", MAX_LINES)))
        shown = lines[first - 1 : min(last, first + MAX_LINES - 1)]
        if not shown:
            raise ToolRefused(f"the file has {len(lines)} lines", hint="ask for lines that it has")
        numbered = "\n".join(f"{number}\t{line[:_LINE]}" for number, line in enumerate(shown, first))
        return {"lines": numbered, "total_lines": len(lines)}

    def search(self, arguments: Arguments) -> Json:
        try:
            pattern = re.compile(str(arguments["pattern"]))
        except re.error as error:
            raise ToolRefused(f"the pattern cannot be read: {error}", hint="escape special characters") from error
        part, rows, total = str(arguments.get("part", "")), list[str](), 0
        for name in self._names():
            path = self.root / name
            if part not in name or path.is_symlink() or path.stat().st_size > _BYTES:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
                if pattern.search(line[:10_000]):
                    total += 1
                    rows += [f"{name}:{number}: {line.strip()[:_LINE]}"] if len(rows) < MAX_MATCHES else []
        return {"matches": [*rows], "total": total}

    def edit(self, arguments: Arguments) -> Json:
        path, old, new = self._file(arguments), str(arguments["old"]), str(arguments["new"])
        text = _text(path)
        if not old or old == new:
            raise ToolRefused("there is nothing to replace", hint="give the old text and another new one")
        if text.count(old) == 0 and text.count(new) == 1:
            return "The file already holds the new text."  # a call that was cut off behind its work
        if text.count(old) != 1:
            what = f"the old text stands {text.count(old)} times in the file"
            raise ToolRefused(what, hint="give a text that stands exactly once, with lines around it")
        write_atomic(path, text.replace(old, new).encode())
        return "Replaced."

    def write(self, arguments: Arguments) -> Json:
        path = self._path(arguments)
        if path.is_dir():
            raise ToolRefused("it is a folder", hint="name a file")
        mode = path.stat().st_mode & 0o777 if path.is_file() else 0o644
        write_atomic(path, str(arguments["text"]).encode("utf-8", "replace"))
        path.chmod(mode)
        return "Written."

    def delete(self, arguments: Arguments) -> Json:
        self._path(arguments).unlink(missing_ok=True)
        return "Deleted."

    def _names(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(one for one in folders if one not in _SKIPPED)
            found += [Path(folder, name).relative_to(self.root).as_posix() for name in names if name != ".git"]
        return sorted(found)

    def _file(self, arguments: Arguments) -> Path:
        path = self._path(arguments)
        if not path.is_file():
            raise ToolRefused(f"there is no file {arguments['path']}", hint="list_files names those that there are")
        if path.stat().st_size > _BYTES:
            raise ToolRefused(f"the file has more than {_BYTES >> 20} MiB", hint="search it")
        return path

    def _path(self, arguments: Arguments) -> Path:
        """The real path of a name; it must be in the folder and not git's own."""
        name = str(arguments["path"])
        real = Path(os.path.realpath(self.root / name)) if "\0" not in name else Path("/")
        if not real.is_relative_to(self.root) or real == self.root:
            raise ToolRefused(f"{name!r} is outside the project", hint="name a file below the project's folder")
        if ".git" in real.relative_to(self.root).parts:
            raise ToolRefused(f"{name!r} is git's own", hint="name a file of the project")
        return real


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolRefused("the file is not UTF-8 text", hint="leave it as it is") from error
