"""The files that a session knows, and the resolution of paths that a role or a file writes.

A role knows files by names relative to the roots, never by paths of the machine. It never sees how
a `${NAME}` in a file is resolved.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.errors import ToolRefused
from transom.tools.files import is_file, named_files, real_path, shown_name, under

_LIST_FIRST = "call list_available_files first, and name a file as its result does"
_LIST_AGAIN = "name a file as a result of list_available_files or named_files does"


@dataclass(frozen=True)
class ReadablePlaces:
    """The folders and files that a session may read.

    Attributes:
        roots: only files under these are listed.
        own: files that may be read wherever they lie; files that they name are looked for in their
            folders.
        variables: NAME -> the folder that `${NAME}` stands for in paths that a file writes.
    """

    roots: tuple[Path, ...]
    own: tuple[Path, ...] = ()
    variables: Mapping[str, Path] = field(default_factory=dict)

    @property
    def near(self) -> tuple[Path, ...]:
        """The folders below which files may be read."""
        folders = list(self.roots)
        for path in self.own:
            folders += [path.parent, real_path(path).parent]
        return tuple(dict.fromkeys(folders))


class Catalogue:
    """The discovered files of one session.

    Args:
        places: the folders and files that the session may read.
        discovery_first: whether only discovered files may be read.
    """

    def __init__(self, places: ReadablePlaces, *, discovery_first: bool = True) -> None:
        self._places = places
        self._discovery_first = discovery_first
        self._files: dict[str, Path] = {}
        self._written: dict[str, set[str]] = {}

    def learn(self, files: Mapping[str, Path], written: Mapping[str, str]) -> None:
        """Record files by their names, and the names of paths as files write them."""
        self._files |= files
        for word, name in written.items():
            self._written.setdefault(word, set()).add(name)

    def file(self, requested: str) -> tuple[str, Path]:
        """Return the name and the real path of a file that may be read now.

        Raises:
            ToolRefused: there is no such file, or it may not be read.
        """
        path = self._files.get(requested) or self._as_written(requested)
        path = path or self._discovered(requested)
        if not under(path, self._places.near):
            raise ToolRefused(
                "the path leads out of the folders that may be read", hint=_LIST_AGAIN
            )
        if not is_file(path):
            raise ToolRefused("the file is not there any more", hint=_LIST_FIRST)
        return self.name_of(path), path

    def folders(self, search_root: str) -> list[Path]:
        """Return the folders to list: those of that name, or all roots if it is empty.

        Raises:
            ToolRefused: no root has a folder of that name.
        """
        roots = self._places.roots
        if not search_root:
            return list(roots)
        folders = []
        for path in self.candidates(search_root):
            # os.path.isdir never raises, unlike Path.is_dir.
            if under(path, roots) and os.path.isdir(path):  # noqa: PTH112
                folders.append(path)
        if not folders:
            raise ToolRefused(
                "there is no such folder", hint="leave search_root empty to look everywhere"
            )
        return folders

    def name_of(self, path: Path) -> str:
        """Return the name that a file is known by, or would be."""
        real = real_path(path)
        for name, file in self._files.items():
            if file == real:
                return name
        return self._relative_name(path)

    def names(self, paths: Iterable[Path]) -> dict[str, Path]:
        """Return names for files that are not known yet, with their real paths.

        Two files never share a name.
        """
        files = dict(self._files)
        new: dict[str, Path] = {}
        for path in paths:
            real, name = real_path(path), self._relative_name(path)
            if real in files.values():
                continue
            if name in files:
                name = self._numbered_name(path, name, files)
            files[name] = new[name] = real
        return new

    def _numbered_name(self, path: Path, name: str, taken_names: Collection[str]) -> str:
        """Return a free name for a file whose relative name another root's file has."""
        root_name = "other"
        for root in self._places.near:
            if path.is_relative_to(root):
                root_name = root.name
                break
        number = 1
        while f"{root_name}#{number}/{name}" in taken_names:
            number += 1
        return f"{root_name}#{number}/{name}"

    def named_in(self, lines: Iterable[str], source: Path) -> dict[str, Path]:
        """Return readable files that lines of a file name: path as written -> real path.

        A file that was reported under the same written path is left out.
        """
        new = {}
        files = named_files(lines, source, self._places.near, self._places.variables)
        for word, path in files.items():
            real = real_path(path)
            if real != source and self.name_of(path) not in self._written.get(word, ()):
                new[word] = real
        return new

    def _as_written(self, requested: str) -> Path | None:
        """Return the file that a result has named so; None if no result has."""
        names = self._written.get(requested, set())
        # Two files may write the same relative path, each meaning another file.
        if len(names) > 1:
            raise ToolRefused(
                f"several files are written so: {', '.join(sorted(names))}",
                hint="name one of these",
            )
        for name in names:
            return self._files[name]
        return None

    def _discovered(self, requested: str) -> Path:
        """Return a discovered file that is requested by another name."""
        existing = []
        for ending in ("", ".gz"):
            for candidate in self.candidates(requested):
                path = Path(f"{candidate}{ending}")
                if is_file(path):
                    existing.append(real_path(path))
        inside = [path for path in existing if under(path, self._places.near)]
        if existing and not inside:
            raise ToolRefused(
                "the path leads out of the folders that may be read", hint=_LIST_AGAIN
            )
        discovered = set(self._files.values())
        for path in inside:
            if path in discovered or not self._discovery_first:
                return path
        # Before any discovery, a missing file is not told from an undiscovered one.
        if inside or (self._discovery_first and not discovered):
            raise ToolRefused("the file has not been discovered yet", hint=_LIST_FIRST)
        raise ToolRefused("there is no such file", hint=_LIST_AGAIN)

    def candidates(self, requested: str) -> list[Path]:
        """Return the paths that a path or a glob of a role may refer to.

        Raises:
            ToolRefused: the path is absolute, or contains `..`.
        """
        if ".." in requested.split("/"):
            raise ToolRefused("a path may not lead upwards with ..", hint=_LIST_AGAIN)
        if Path(requested).is_absolute():
            raise ToolRefused("absolute paths are not taken", hint=_LIST_AGAIN)
        return [root / requested for root in self._places.roots]

    def _relative_name(self, path: Path) -> str:
        """Return a path relative to the first root that holds it."""
        roots: Sequence[Path] = self._places.near
        is_below = any(path.is_relative_to(root) for root in roots)
        # Links are followed only if the path as written lies under no root.
        if not is_below or ".." in path.parts:
            path, roots = real_path(path), [real_path(root) for root in roots]
        # A name of the file system may hold bytes that are no UTF-8, and a model is sent UTF-8.
        return shown_name(path, roots).encode("utf-8", "backslashreplace").decode()
