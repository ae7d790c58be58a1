"""The files that a session knows, their names, and the resolution of paths that a role or a file
writes.

A role knows files by names relative to the roots, never by paths of the machine. `${NAME}`s that
files write are resolved beneath it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transom.errors import ToolRefused
from transom.tools.files import is_file, named_files, real_path, shown_name, under

_LIST_FIRST = "call list_available_files first, and name a file as its result does"
_LIST_AGAIN = "name a file as a result of list_available_files or named_files does"


@dataclass(frozen=True)
class Places:
    """The folders and files that a session may read.

    Attributes:
        roots: only files under these are listed.
        own: files that may be read wherever they lie, and beside which the files that they name are
            looked for.
        variables: what `${NAME}` stands for in paths that a file writes.
    """

    roots: tuple[Path, ...]
    own: tuple[Path, ...] = ()
    variables: Mapping[str, Path] = field(default_factory=dict)

    @property
    def near(self) -> tuple[Path, ...]:
        """The folders below which files may be read."""
        beside = (folder for path in self.own for folder in (path.parent, real_path(path).parent))
        return tuple(dict.fromkeys((*self.roots, *beside)))


class Catalogue:
    """The discovered files of one session; `discovery_first`: whether only these can be had."""

    def __init__(self, places: Places, *, discovery_first: bool = True) -> None:
        self._places = places
        self._discovery_first = discovery_first
        self._known: dict[str, Path] = {}
        self._written: dict[str, set[str]] = {}

    def learn(self, known: Mapping[str, Path], written: Mapping[str, str]) -> None:
        """Record files by their names, and the names of paths as files write them."""
        self._known |= known
        for word, name in written.items():
            self._written.setdefault(word, set()).add(name)

    def file(self, asked: str) -> tuple[str, Path]:
        """The name and the real path of a file that may be read now; ToolRefused says why it may
        not.
        """
        path = self._known.get(asked) or self._as_written(asked) or self._found(asked)
        if not under(path, self._places.near):
            raise ToolRefused(
                "the path leads out of the folders that may be read", hint=_LIST_AGAIN
            )
        if not is_file(path):
            raise ToolRefused("the file is not there any more", hint=_LIST_FIRST)
        return self.name_of(path), path

    def folders(self, search_root: str) -> list[Path]:
        """The folders to list: those of that name, or all roots where it is empty; ToolRefused
        where there is none.
        """
        if not search_root:
            return list(self._places.roots)
        there = [path for path in self.meant(search_root) if under(path, self._places.roots)]
        inside = [path for path in there if os.path.isdir(path)]  # noqa: PTH112  it never raises
        if not inside:
            raise ToolRefused(
                "there is no such folder", hint="leave search_root empty to look everywhere"
            )
        return inside

    def name_of(self, path: Path) -> str:
        """The name that a file is known by, or would be."""
        real = real_path(path)
        return next(
            (name for name, known in self._known.items() if known == real), self._shown(path)
        )

    def names(self, paths: Iterable[Path]) -> dict[str, Path]:
        """Names for files that are not known yet, with their real paths; two files never share
        one.
        """
        taken = dict(self._known)
        new: dict[str, Path] = {}
        for path in paths:
            real, name = real_path(path), self._shown(path)
            if real in taken.values():
                continue
            if name in taken:
                held = next(
                    (root.name for root in self._places.near if path.is_relative_to(root)), "other"
                )
                name = next(
                    one
                    for n in range(1, len(taken) + 2)
                    if (one := f"{held}#{n}/{name}") not in taken
                )
            taken[name] = new[name] = real
        return new

    def named_in(self, lines: Iterable[str], source: Path) -> dict[str, Path]:
        """Readable files that lines of a file name: as written -> real path; without those
        reported before.
        """
        found = named_files(lines, source, self._places.near, self._places.variables)
        return {
            word: real_path(path)
            for word, path in found.items()
            if real_path(path) != source and self.name_of(path) not in self._written.get(word, ())
        }

    def _as_written(self, asked: str) -> Path | None:
        """The file that a result has named so, where it is one only."""
        names = self._written.get(asked, set())
        if len(names) > 1:
            raise ToolRefused(
                f"several files are written so: {', '.join(sorted(names))}",
                hint="name one of these",
            )
        return next((self._known[name] for name in names), None)

    def _found(self, asked: str) -> Path:
        """A discovered file that is asked for by another name of it."""
        candidates = [
            Path(f"{path}{ending}") for ending in ("", ".gz") for path in self.meant(asked)
        ]
        there = [real_path(path) for path in candidates if is_file(path)]
        inside = [path for path in there if under(path, self._places.near)]
        if there and not inside:
            raise ToolRefused(
                "the path leads out of the folders that may be read", hint=_LIST_AGAIN
            )
        known = set(self._known.values())
        allowed = [path for path in inside if path in known or not self._discovery_first]
        if allowed:
            return allowed[0]
        if inside or (self._discovery_first and not known):
            raise ToolRefused("the file has not been discovered yet", hint=_LIST_FIRST)
        raise ToolRefused("there is no such file", hint=_LIST_AGAIN)

    def meant(self, asked: str) -> list[Path]:
        """The places that a path or a glob of a role may refer to; ToolRefused for absolute
        ones, and for `..`.
        """
        if ".." in asked.split("/"):
            raise ToolRefused("a path may not lead upwards with ..", hint=_LIST_AGAIN)
        if Path(asked).is_absolute():
            raise ToolRefused("absolute paths are not taken", hint=_LIST_AGAIN)
        return [root / asked for root in self._places.roots]

    def _shown(self, path: Path) -> str:
        """A path relative to the first root that holds it, as written or with links followed."""
        near = self._places.near
        held = any(path.is_relative_to(root) for root in near) and ".." not in path.parts
        name = (
            shown_name(path, near)
            if held
            else shown_name(real_path(path), [real_path(root) for root in near])
        )
        return name.encode("utf-8", "backslashreplace").decode()
