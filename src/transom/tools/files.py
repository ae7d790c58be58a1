"""Read access to files for a model: discovery under declared roots, and bounded views of their
contents.

Only real paths under the roots are read; listings are sorted, bytes counted, lines numbered. The
text is untrusted data.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from transom.errors import InputError
from transom.formats.text_files import STREAMED_BYTES, TextFile
from transom.runs.recognising import is_workspace, lies_in_workspace

_TYPES = {
    ".log": "log",
    ".rpt": "report",
    ".v": "netlist",
    ".vg": "netlist",
    ".spef": "spef",
    ".sdc": "constraints",
    ".yaml": "config",
    ".yml": "config",
}
_WORD = re.compile(r"(?:\$\{\w+\}|[^\s\"'{}\[\](),;=])+")
_NUMBER = re.compile(r"[-+\d.eE:/%]+")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LONGEST_WORD = 500
LONGEST_LINE = 65_536
"""Characters of one line that are read; the rest of it is ignored."""


@dataclass(frozen=True)
class Listed:
    """A discovered file: its real path, the name it is shown by, bytes, and what its ending
    suggests.
    """

    path: Path
    name: str
    size: int
    type: str


@dataclass(frozen=True)
class Listing:
    """The result of a discovery: the listed files, and how many there are."""

    files: tuple[Listed, ...]
    total_found: int


@dataclass(frozen=True)
class ViewLimits:
    """Limits of a view: header lines, matches a keyword, lines around a match, bytes over all
    files.
    """

    header_lines: int = 100
    matches: int = 3
    context: int = 10
    total_bytes: int = 102_400
    line_characters: int = 2_000


def file_type(path: Path) -> str:
    """The type that a file's ending suggests; `.gz` is ignored."""
    return _TYPES.get(plain_name(path.name)[1], "unknown")


def plain_name(name: str) -> tuple[str, str]:
    """A base name without `.gz`, and its ending in lower case."""
    bare = name[:-3] if name.endswith(".gz") else name
    return bare, Path(bare).suffix.lower()


def under(path: Path, roots: Iterable[Path]) -> bool:
    """Return whether a path, links resolved, lies under a root and in no workspace below it."""
    real = real_path(path)
    for root in map(real_path, roots):
        if real.is_relative_to(root) and not lies_in_workspace(real, root):
            return True
    return False


def real_path(path: Path) -> Path:
    """Links followed; unlike Path.resolve it raises for no loop of links and for no name that is
    too long.
    """
    return Path(os.path.realpath(path))


def is_file(path: Path) -> bool:
    """Whether a regular file is there; unlike Path.is_file it never raises."""
    return os.path.isfile(path)  # noqa: PTH113  unlike Path.is_file it never raises


def shown_name(path: Path, roots: Iterable[Path]) -> str:
    """The path relative to the first root that holds it, else its base name: never an absolute
    path.
    """
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def fits(name: str, pattern: str) -> bool:
    """Whether a shown name fits a glob: its base name, or all of it where the glob names
    folders; `.gz` is optional.
    """
    bare = name.removesuffix(".gz")
    globs = {pattern, pattern.removeprefix("**/"), pattern.replace("/**/", "/")}
    for glob in globs:
        names = (name, bare) if "/" in glob else (name.rpartition("/")[2], bare.rpartition("/")[2])
        if any(fnmatchcase(one, glob) for one in names):
            return True
    return False


def discover(
    first: Sequence[Path],
    roots: Sequence[Path],
    patterns: Sequence[str],
    *,
    most: int = 20,
    inside: Sequence[Path] | None = None,
) -> Listing:
    """List files: the given ones first, then what fits the patterns under the roots, sorted by
    path.

    Args:
        first: files that are listed whatever their names, in this order; absent ones are left out.
        roots: what names are shown relative to.
        patterns: globs, see `fits`.
        most: at most so many files are listed; `total_found` counts all.
        inside: folders under the roots to look in; the roots where None.
    """
    found = [path for path in first if is_file(path)]
    seen = {real_path(path) for path in found}
    for folder in roots if inside is None else inside:
        for path in _visible(folder):
            name = shown_name(path, roots)
            wanted = any(fits(name, pattern) for pattern in patterns)
            if wanted and is_file(path) and under(path, roots) and real_path(path) not in seen:
                seen.add(real_path(path))
                found.append(path)
    listed = tuple(
        Listed(path, shown_name(path, roots), path.stat().st_size, file_type(path))
        for path in found[:most]
    )
    return Listing(listed, len(found))


def expand(written: str, variables: Mapping[str, Path]) -> str:
    """A path with its `${NAME}`s replaced; KeyError, whose argument is the name, where one is
    not defined.
    """
    return _VARIABLE.sub(lambda found: str(variables[found[1]]), written)


def named_files(
    lines: Iterable[str],
    source: Path,
    roots: Sequence[Path],
    variables: Mapping[str, Path] | None = None,
) -> dict[str, Path]:
    """Files that exist under the roots and that lines of a file name: path as written -> file.

    As a check resolves them: beside the file that names them, under a root, by a variable, and
    compressed.
    """
    found: dict[str, Path] = {}
    words = dict.fromkeys(word.rstrip(".:") for line in lines for word in _WORD.findall(line))
    for word in words:
        if "." not in word[1:] or len(word) > _LONGEST_WORD or _NUMBER.fullmatch(word):
            continue
        candidate = _named(word, source, roots, variables or {})
        if candidate is not None:
            found[word] = candidate
    return found


def _named(
    word: str, source: Path, roots: Sequence[Path], variables: Mapping[str, Path]
) -> Path | None:
    try:
        written = expand(word, variables)
    except KeyError:
        return None
    for ending in ("", ".gz"):
        for base in (source.parent, *roots):  # an absolute path stays what it is
            candidate = base / f"{written}{ending}"
            if is_file(candidate) and under(candidate, roots):
                return candidate
    return None


def _visible(root: Path) -> list[Path]:
    """Return the files below a folder, sorted, without those of hidden folders and workspaces."""
    found: list[Path] = []
    for folder, folders, files in os.walk(root):
        visible = [name for name in folders if not name.startswith(".")]
        folders[:] = [name for name in visible if not is_workspace(Path(folder, name))]
        found += [Path(folder, name) for name in files]
    return sorted(found)


@dataclass
class Viewer:
    """Shows parts of files within one budget of bytes, and follows the files that they name.

    Attributes:
        roots: only files under these are shown.
        limits: how much.
        skipped: names of files for which no bytes were left, or that cannot be read.
        broken: files that cannot be read or hold nothing, and why.
        shown: the files that were shown, in order.
    """

    roots: Sequence[Path]
    limits: ViewLimits = field(default_factory=ViewLimits)
    skipped: list[str] = field(default_factory=list)
    broken: dict[Path, str] = field(default_factory=dict)
    shown: list[Path] = field(default_factory=list)
    _spent: int = 0

    def show(self, paths: Sequence[Path], keywords: Sequence[str]) -> str:
        """Header and keyword matches of each file, and of the files that the shown lines name,
        one step deep.
        """
        views: list[str] = []
        named: list[Path] = []
        for path in paths:
            view, lines = self._view(path, keywords)
            views.append(view)
            others = named_files(lines, path, self.roots).values()
            named += [other for other in others if other not in (*named, *paths)]
        views += [self._view(path, keywords)[0] for path in named]
        return "\n\n".join(view for view in views if view)

    def names(self) -> list[str]:
        """The files that were shown, by the names they were shown by."""
        return [shown_name(path, self.roots) for path in self.shown]

    def _view(self, path: Path, keywords: Sequence[str]) -> tuple[str, list[str]]:
        name = shown_name(path, self.roots)
        if not under(path, self.roots):
            self.skipped.append(f"{name}: outside the roots")
            return "", []
        try:
            count, chosen = self._choose(path, keywords)
        except InputError as error:
            self.broken[path] = error.what
            self.skipped.append(f"{name}: {error.what}")
            return "", []
        self.shown.append(path)
        shown: list[str] = []
        previous = 0
        for number, line in chosen:
            self._spent += len(line.encode("utf-8", "surrogatepass"))
            if self._spent > self.limits.total_bytes:
                self.skipped.append(
                    f"{name}: shown up to line {previous}, the budget of bytes is spent"
                )
                break
            if number != previous + 1:
                shown.append("...")
            shown.append(f"{number:>6}| {line}")
            previous = number
        head = f"### FILE {name} ({path.stat().st_size} bytes, {count} lines)"
        return "\n".join([head, *shown, *(["..."] if previous < count else [])]), [
            line for _, line in chosen
        ]

    def _choose(self, path: Path, keywords: Sequence[str]) -> tuple[int, list[tuple[int, str]]]:
        """The number of lines, and the chosen ones: the header, and around each keyword's first
        matches.
        """
        wanted = {keyword.lower(): 0 for keyword in keywords}
        header: dict[int, str] = {}
        around: dict[int, str] = {}
        recent: deque[tuple[int, str]] = deque(maxlen=self.limits.context)
        until = count = 0
        blank = True
        lines = TextFile(path, limit=STREAMED_BYTES).lines(LONGEST_LINE)
        for count, line in enumerate(lines, 1):
            blank = blank and not line.strip()
            short = line[: self.limits.line_characters]
            if count <= self.limits.header_lines:
                header[count] = short
            lowered = short.lower()
            for keyword, matches in wanted.items():
                if matches < self.limits.matches and keyword in lowered:
                    wanted[keyword] = matches + 1
                    until = count + self.limits.context
                    around.update(recent)
            if count <= until:
                around[count] = short
            recent.append((count, short))
        if blank:
            self.broken[path] = "is empty"
        return count, sorted({**around, **header}.items())
