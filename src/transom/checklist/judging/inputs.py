"""Which files a run reads: `input_files` with their variables, globs and folders resolved, and the
names under which reports show them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from glob import escape, glob
from pathlib import Path

from transom.checklist.item import InputName, Item
from transom.errors import InputError
from transom.runs.recognising import glob_root, lies_in_workspace

MOST_FILES = 1_000
"""Most files that one entry of `input_files` may name."""

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# The variables that are defined if `paths.search_root` is set, and their folders below it.
_SEARCH_ROOT_VARIABLES = {"CHECKLIST_ROOT": "", "DESIGN_ROOT": "", "LOG_ROOT": "logs"}


@dataclass(frozen=True)
class Inputs:
    """The files that a run reads.

    Attributes:
        names: the entries of `input_files`, as written.
        roots: the folders in which they are looked for.
        place: the file that lists them, for error messages.
    """

    names: tuple[InputName, ...]
    roots: Roots
    place: str = "input_files"

    @classmethod
    def of(cls, item: Item | None, roots: Roots) -> Inputs:
        """Return the inputs of an item, or no inputs if there is no item."""
        if item is None:
            return cls((), roots)
        return cls(item.input_files, roots, str(item.path))

    @property
    def paths(self) -> list[tuple[str, Path]]:
        """Return each file with its name as written; a glob or a folder may name several.

        Raises:
            InputError: a variable is not defined, or there are too many files.
        """
        paths = []
        for name in self.names:
            paths += self.roots.spread(name.written, f"{self.place}:{name.line}")
        return paths


@dataclass(frozen=True)
class Roots:
    """The folders that variables stand for, and those in which files are looked for.

    Attributes:
        values: `--var NAME=PATH`.
        defaults: variables from the settings; `values` win.
        base: the item's folder, in which relative paths start.
        other_roots: `--root DIR`: more folders that may hold input files, and the files that a log
            names.
    """

    values: Mapping[str, Path] = field(default_factory=dict)
    defaults: Mapping[str, Path] = field(default_factory=dict)
    base: Path = Path()
    other_roots: tuple[Path, ...] = ()

    @classmethod
    def with_defaults(
        cls,
        values: Mapping[str, Path],
        search_root: Path | None,
        base: Path,
        other_roots: tuple[Path, ...] = (),
    ) -> Roots:
        """Return the roots with the usual variables below `paths.search_root`, if that is set."""
        defaults: dict[str, Path] = {}
        if search_root:
            for name, folder in _SEARCH_ROOT_VARIABLES.items():
                defaults[name] = search_root / folder
        return cls(values, defaults, base, other_roots)

    def expand(self, written: str, place: str) -> Path:
        """Return a path with its variables replaced.

        Raises:
            InputError: a variable is not defined.
        """
        return self.base / self._with_values(written, place, str)

    def spread(self, written: str, place: str) -> list[tuple[str, Path]]:
        """Return name and path of each file that an entry of `input_files` names.

        A relative path that leads to no file from the item's folder is looked for in each of the
        `other_roots`. `~` is the user's home. In a glob `*`, `?` and `**` have their usual meaning,
        and `[` is a plain character. A folder is read with the folders in it. Hidden files and
        workspaces are left out. If nothing matches, the result is the path as written, which does
        not exist. If only a compressed file exists, the result is that file.

        Raises:
            InputError: a variable is not defined, or there are too many files.
        """
        files = self._files_below(written, place)
        for folder in self.other_roots:
            if files:
                break
            files = replace(self, base=folder)._files_below(written, place)
        return files or [(written, self.expand(_home_path(written), place))]

    def _files_below(self, written: str, place: str) -> list[tuple[str, Path]]:
        """Return what `spread` returns, for relative paths below `base`; [] if there is no file."""
        home = _home_path(written)
        path = self.expand(home, place)
        matches: set[str] = set()
        folder = path
        if os.path.isdir(path):  # noqa: PTH112  unlike Path.is_dir it never raises
            # Path.glob would name hidden files as well.
            matches = set(glob(f"{escape(str(path))}/**", recursive=True))  # noqa: PTH207
        elif re.search(r"[*?]", home) and not os.path.exists(path):  # noqa: PTH110  as above
            folder = glob_root(path)
            expanded = self._with_values(home.replace("[", "[[]"), place, escape)
            pattern = Path(escape(str(self.base)), expanded)
            matches = set(glob(str(pattern), recursive=True))  # noqa: PTH207  as above
            matches.update(glob(f"{pattern}.gz", recursive=True))  # noqa: PTH207  as above
        files = []
        for name in sorted(matches):
            has_plain_twin = name.endswith(".gz") and name.removesuffix(".gz") in matches
            # A dangling link stays, and is an error when it is read.
            is_folder = os.path.isdir(name)  # noqa: PTH112  as above
            if not has_plain_twin and not is_folder and not lies_in_workspace(Path(name), folder):
                files.append((name, Path(name)))
        # A wrong glob at the root of a project would otherwise read for hours.
        if len(files) > MOST_FILES:
            raise InputError(
                f"{written} names {len(files)} files, more than {MOST_FILES}", place=place
            )
        if files:
            return files
        for single in (path, Path(f"{path}.gz")):
            if os.path.exists(single):  # noqa: PTH110  as above
                return [(written, single)]
        # A dangling link is an error when it is read, and not a file that is elsewhere.
        return [(written, path)] if os.path.lexists(path) else []

    def _with_values(self, written: str, place: str, quote: Callable[[str], str]) -> str:
        """Return a path with the value of each variable, quoted, in its place."""

        def value(variable: re.Match[str]) -> str:
            name = variable.group(1)
            root = self.values.get(name, self.defaults.get(name))
            if root is None:
                raise InputError(
                    f"the variable ${{{name}}} is not defined",
                    place=place,
                    hint=f"add --var {name}=PATH",
                )
            return quote(str(root))

        # The operating system would raise a ValueError without a place.
        if "\0" in written:
            raise InputError("a path holds a null character", place=place)
        return _VARIABLE.sub(value, written.strip())

    def folders(self) -> list[Path]:
        """Return the folders in which a name in a log is looked for: `--root`, then variables."""
        defaults = []
        for name, path in self.defaults.items():
            if name not in self.values:
                defaults.append(path)
        return _existing([*self.other_roots, *self.values.values(), *defaults])

    def readable(self) -> list[Path]:
        """Return the folders whose files may be read: those of `folders`, and the item's own.

        A relative name in a log is not looked for in the item's folder, since a file of that name
        there need not be the file that the tool read.
        """
        return _existing([*self.folders(), self.base])

    def shown_name(self, path: Path, written: str) -> str:
        """Return a path for reports.

        It is relative to the outermost root above it, `--var` before the settings, else relative to
        the item's folder, else as written.
        """
        # A link is shown under the root that it stands in, or else under the root that it leads to.
        places = (absolute_path(path), real_path(path))
        for place in places:
            for roots in (self.values, self.defaults):
                folders = {absolute_path(root) for root in roots.values()}
                folders.update(map(real_path, roots.values()))
                above = [folder for folder in folders if place.is_relative_to(folder)]
                if above:
                    outermost = min(above, key=lambda folder: len(folder.parts))
                    return place.relative_to(outermost).as_posix()
        bases = (absolute_path(self.base), real_path(self.base))
        for place, base in zip(places, bases, strict=True):
            if place.is_relative_to(base):
                return place.relative_to(base).as_posix()
        return written

    def qualified(self, path: Path) -> list[str]:
        """Return names with a variable in them.

        They are for a file whose plain name is taken by a file under another root.
        """
        real = real_path(path)
        names = []
        for variable, root in {**self.defaults, **self.values}.items():
            real_root = real_path(root)
            if real.is_relative_to(real_root):
                names.append(f"${{{variable}}}/{real.relative_to(real_root).as_posix()}")
        return names


def _home_path(written: str) -> str:
    """Return a path with the user's home in place of `~`."""
    if not written.startswith("~"):
        return written
    # Unlike Path.expanduser this leaves the path of an unknown user as it is.
    return os.path.expanduser(written)  # noqa: PTH111


class Names:
    """The names of a run's files in entries and reports; two files never share a name."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._names: dict[Path, str] = {}

    def of(self, path: Path, written: str) -> str:
        """Return the name of a file, by the roots or as it was written."""
        real = real_path(path)
        if real not in self._names:
            # Unique names keep entries of two files with one base name apart.
            names = [self._roots.shown_name(path, written), *self._roots.qualified(path), str(path)]
            self._names[real] = next(name for name in names if name not in self._names.values())
        return self._names[real]


def _existing(folders: Iterable[Path]) -> list[Path]:
    """Return the real paths of the folders that exist, each once."""
    # Path.is_dir raises for a name that is too long.
    existing = [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112
    return list(dict.fromkeys(map(real_path, existing)))


def absolute_path(path: Path) -> Path:
    """Return a path without `..`; links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow the links


def real_path(path: Path) -> Path:
    """Return a path with its links followed.

    Unlike `Path.resolve` this raises neither for a loop of links nor for a name that is too long.
    """
    return Path(os.path.realpath(path))
