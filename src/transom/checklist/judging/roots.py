"""Roots: where the variables of input paths point, and how a path is shown in reports."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from glob import escape, glob
from pathlib import Path

from transom.errors import InputError
from transom.runs.recognising import glob_root, lies_in_workspace

MOST_FILES = 1_000
"""That one entry of `input_files` may name."""

_VARIABLE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True)
class Roots:
    """Folders that variables stand for.

    Attributes:
        given: `--var NAME=PATH`.
        defaults: from the settings; `given` wins.
        base: relative paths start here (the item's folder).
        others: `--root DIR`: more folders that may hold the files that a log names.
    """

    given: Mapping[str, Path] = field(default_factory=dict)
    defaults: Mapping[str, Path] = field(default_factory=dict)
    base: Path = Path()
    others: tuple[Path, ...] = ()

    @classmethod
    def with_defaults(
        cls,
        given: Mapping[str, Path],
        search_root: Path | None,
        base: Path,
        others: tuple[Path, ...] = (),
    ) -> Roots:
        """Add the usual variables under `paths.search_root`, if that is set."""
        usual = {"CHECKLIST_ROOT": "", "DESIGN_ROOT": "", "LOG_ROOT": "logs"} if search_root else {}
        return cls(
            given,
            {name: Path(search_root or "", folder) for name, folder in usual.items()},
            base,
            others,
        )

    def expand(self, written: str, where: str) -> Path:
        """A path with its variables replaced.

        Raises:
            InputError: a variable is not defined; it is named.
        """
        return self.base / self._replaced(written, where, str)

    def spread(self, written: str, where: str) -> list[tuple[str, Path]]:
        """Files that an entry of `input_files` names: name and path of one, or of all that a glob
        or a folder has.

        `~` is the user's home. In a glob `*`, `?` and `**` have their usual meaning, `[` is a plain
        character. A folder is read with the folders in it. Hidden files and workspaces are left
        out. What fits no file is a path that is not there. A file that lies there compressed alone
        is that one.

        Raises:
            InputError: a variable is not defined, or there are too many files.
        """
        home = os.path.expanduser(written) if written.startswith("~") else written  # noqa: PTH111  never raises
        path = self.expand(home, where)
        found: set[str] = set()
        named_folder = path
        if os.path.isdir(path):  # noqa: PTH112  unlike Path.is_dir it never raises
            found = set(glob(f"{escape(str(path))}/**", recursive=True))  # noqa: PTH207  Path.glob shows hidden files
        elif re.search(r"[*?]", home) and not os.path.exists(path):  # noqa: PTH110  as above
            named_folder = glob_root(path)
            pattern = Path(
                escape(str(self.base)), self._replaced(home.replace("[", "[[]"), where, escape)
            )
            found = {*glob(str(pattern), recursive=True), *glob(f"{pattern}.gz", recursive=True)}  # noqa: PTH207  as above
        named = (
            name
            for name in found
            if not name.endswith(".gz") or name.removesuffix(".gz") not in found
        )
        there = (name for name in named if not os.path.isdir(name))  # noqa: PTH112  a link to nothing is an error
        files = sorted(name for name in there if not lies_in_workspace(Path(name), named_folder))
        if len(files) > MOST_FILES:
            raise InputError(
                f"{written} names {len(files)} files, more than {MOST_FILES}", where=where
            )
        packed = not os.path.exists(path) and os.path.exists(f"{path}.gz")  # noqa: PTH110  as above
        return [(name, Path(name)) for name in files] or [
            (written, Path(f"{path}.gz") if packed else path)
        ]

    def _replaced(self, written: str, where: str, quoted: Callable[[str], str]) -> str:
        def value(found: re.Match[str]) -> str:
            name = found.group(1)
            root = self.given.get(name, self.defaults.get(name))
            if root is None:
                raise InputError(
                    f"the variable ${{{name}}} is not defined",
                    where=where,
                    hint=f"add --var {name}=PATH",
                )
            return quoted(str(root))

        if "\0" in written:
            raise InputError("a path holds a null character", where=where)
        return _VARIABLE.sub(value, written.strip())

    def folders(self) -> list[Path]:
        """Return the folders in which a name in a log is looked for: `--root`, then variables."""
        defaults = [path for name, path in self.defaults.items() if name not in self.given]
        return _existing([*self.others, *self.given.values(), *defaults])

    def readable(self) -> list[Path]:
        """Return the folders whose files may be read: those of `folders`, and the item's own.

        A relative name is not looked for in the item's folder: another file of that name may lie
        there than the tool read.
        """
        return _existing([*self.folders(), self.base])

    def shown(self, path: Path, written: str) -> str:
        """A path for reports: relative to the outermost `--var` root above it, else as it was
        written.
        """
        # A link is shown where it stands, if that is under a root; else where it leads.
        for place in (_absolute(path), real_path(path)):
            for roots in (self.given, self.defaults):
                folders = {_absolute(root) for root in roots.values()} | {
                    real_path(r) for r in roots.values()
                }
                above = [folder for folder in folders if place.is_relative_to(folder)]
                if above:
                    return place.relative_to(
                        min(above, key=lambda folder: len(folder.parts))
                    ).as_posix()
        for place, base in (
            (_absolute(path), _absolute(self.base)),
            (real_path(path), real_path(self.base)),
        ):
            if place.is_relative_to(base):
                return place.relative_to(base).as_posix()
        return written

    def qualified(self, path: Path) -> list[str]:
        """Names with the variable in them, for a file whose plain name is taken by one under
        another root.
        """
        real = real_path(path)
        roots = {**self.defaults, **self.given}
        above = [
            (name, real_path(root))
            for name, root in roots.items()
            if real.is_relative_to(real_path(root))
        ]
        return [f"${{{name}}}/{real.relative_to(root).as_posix()}" for name, root in above]


def _existing(folders: Iterable[Path]) -> list[Path]:
    """Return the real paths of the folders that exist, each once."""
    there = (folder for folder in folders if os.path.isdir(folder))  # noqa: PTH112  Path.is_dir may raise
    return list(dict.fromkeys(real_path(folder) for folder in there))


class Names:
    """Names of a run's files in entries and reports; two files never share a name."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._known: dict[Path, str] = {}

    def of(self, path: Path, written: str) -> str:
        """The name of a file, by the roots or as it was written."""
        real = real_path(path)
        if real not in self._known:
            names = [self._roots.shown(path, written), *self._roots.qualified(path), str(path)]
            self._known[real] = next(name for name in names if name not in self._known.values())
        return self._known[real]


def _absolute(path: Path) -> Path:
    """Without `..`, links kept."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow the links


def real_path(path: Path) -> Path:
    """Links followed; unlike Path.resolve it raises for no loop of links and for no name that is
    too long.
    """
    return Path(os.path.realpath(path))
