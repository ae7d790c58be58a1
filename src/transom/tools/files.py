"""Read access to files for a model: discovery under roots, and bounded views of contents.

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
_TOKEN = re.compile(r"(?P<number>[-+]?\d[\d.:/%eE+-]*)(?!\w)|[\w$./\\-]+")
_LONGEST_WORD = 500
# A header ends after so many lines in a row that have the shape of earlier ones.
_REPEATS = 12
LONGEST_LINE = 65_536
"""Characters of one line that are read; the rest of it is ignored."""


@dataclass(frozen=True)
class Listed:
    """A discovered file: its path, its relative name, its bytes, and the type of its ending."""

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
    """Limits of a view.

    Attributes:
        header_lines: lines from the beginning of a file.
        matches: a keyword.
        context: lines around a match.
        total_bytes: over all files.
        line_characters: of a line.
    """

    header_lines: int = 100
    matches: int = 3
    context: int = 10
    total_bytes: int = 102_400
    line_characters: int = 2_000


def file_type(path: Path) -> str:
    """Return the type that a file's ending suggests; `.gz` is ignored."""
    return _TYPES.get(plain_name(path.name)[1], "unknown")


def plain_name(name: str) -> tuple[str, str]:
    """Return a base name without `.gz`, and its ending in lower case."""
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
    """Return a path with its links followed."""
    # Unlike Path.resolve, this raises neither for a loop of links nor for a name that is too long.
    return Path(os.path.realpath(path))


def is_file(path: Path) -> bool:
    """Return whether a regular file is at a path."""
    return os.path.isfile(path)  # noqa: PTH113  unlike Path.is_file it never raises


def shown_name(path: Path, roots: Iterable[Path]) -> str:
    """Return a path relative to the first root that holds it, or else its base name."""
    # An absolute path would tell a model about the machine, and differ from machine to machine.
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _shape(line: str) -> str:
    """Return a line with each number as `0`, each other word as `a`, and runs of blanks as one."""
    signs = _TOKEN.sub(lambda token: "0" if token["number"] else "a", line)
    return " ".join(signs.split())


def fits(name: str, pattern: str) -> bool:
    """Return whether a name fits a glob.

    A glob without folders is compared with the base name. A `.gz` ending is optional.
    """
    base_name = name.rpartition("/")[2]
    # `**` may also stand for no folder at all, which fnmatch does not know.
    globs = {pattern, pattern.removeprefix("**/"), pattern.replace("/**/", "/")}
    for glob in globs:
        text = name if "/" in glob else base_name
        if fnmatchcase(text, glob) or fnmatchcase(text.removesuffix(".gz"), glob):
            return True
    return False


def discover(
    first: Sequence[Path],
    roots: Sequence[Path],
    patterns: Sequence[str],
    *,
    max_files: int = 20,
    inside: Sequence[Path] | None = None,
) -> Listing:
    """List files: the given ones first, then those that fit the patterns, sorted by path.

    Args:
        first: files that are listed whatever their names, in this order; absent ones are left out.
        roots: folders that names are relative to.
        patterns: globs; see `fits`.
        max_files: limit on the listed files; `total_found` counts all.
        inside: folders under the roots to look in; None for the roots.
    """
    paths = [path for path in first if is_file(path)]
    real_paths = {real_path(path) for path in paths}
    for folder in roots if inside is None else inside:
        for path in _visible(folder):
            name = shown_name(path, roots)
            if not any(fits(name, pattern) for pattern in patterns):
                continue
            # A link may lead out of the roots, or to a file that is listed already.
            if is_file(path) and under(path, roots) and real_path(path) not in real_paths:
                real_paths.add(real_path(path))
                paths.append(path)
    files = []
    for path in paths[:max_files]:
        name = shown_name(path, roots)
        files.append(Listed(path, name, path.stat().st_size, file_type(path)))
    return Listing(tuple(files), len(paths))


def expand(written: str, variables: Mapping[str, Path]) -> str:
    """Return a path with its `${NAME}`s replaced.

    Raises:
        KeyError: a variable is not defined; the error's argument is its name.
    """
    return _VARIABLE.sub(lambda match: str(variables[match[1]]), written)


def named_files(
    lines: Iterable[str],
    source: Path,
    roots: Sequence[Path],
    variables: Mapping[str, Path] | None = None,
) -> dict[str, Path]:
    """Return the files under the roots that lines of a file name: path as written -> file.

    They are looked for as a check does: in the folder of the file that names them, under a root,
    by a variable, and compressed.
    """
    words: dict[str, None] = {}
    for line in lines:
        for word in _WORD.findall(line):
            words[word.rstrip(".:")] = None
    files: dict[str, Path] = {}
    for word in words:
        # Most words of a log are no paths, and a look at the disk is dear.
        if "." not in word[1:] or len(word) > _LONGEST_WORD or _NUMBER.fullmatch(word):
            continue
        file = _file_of_word(word, source, roots, variables or {})
        if file is not None:
            files[word] = file
    return files


def _file_of_word(
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
    paths: list[Path] = []
    for folder, subfolders, files in os.walk(root):
        visible = [name for name in subfolders if not name.startswith(".")]
        subfolders[:] = [name for name in visible if not is_workspace(Path(folder, name))]
        paths += [Path(folder, name) for name in files]
    return sorted(paths)


@dataclass
class Viewer:
    """A view of parts of files within one budget of bytes, and of the files that they name.

    Attributes:
        roots: only files under these are shown.
        limits: of the view.
        skipped: names of files that did not fit into the budget, or cannot be read.
        broken: files that cannot be read or are empty -> the reason.
        shown: the files that were shown, in order.
    """

    roots: Sequence[Path]
    limits: ViewLimits = field(default_factory=ViewLimits)
    skipped: list[str] = field(default_factory=list)
    broken: dict[Path, str] = field(default_factory=dict)
    shown: list[Path] = field(default_factory=list)
    _spent: int = 0

    def show(self, paths: Sequence[Path], keywords: Sequence[str]) -> str:
        """Return header and keyword matches of files, and of the files that these name."""
        views: list[str] = []
        # One step deep: the files that named files name are not followed.
        linked_paths: list[Path] = []
        for path in paths:
            view, lines = self._view(path, keywords)
            views.append(view)
            for linked_path in named_files(lines, path, self.roots).values():
                if linked_path not in (*linked_paths, *paths):
                    linked_paths.append(linked_path)
        views += [self._view(path, keywords)[0] for path in linked_paths]
        return "\n\n".join(filter(None, views))

    def names(self) -> list[str]:
        """Return the relative names of the files that were shown."""
        return [shown_name(path, self.roots) for path in self.shown]

    def _view(self, path: Path, keywords: Sequence[str]) -> tuple[str, list[str]]:
        name = shown_name(path, self.roots)
        if not under(path, self.roots):
            self.skipped.append(f"{name}: outside the roots")
            return "", []
        try:
            count, chosen = self._choose(path, keywords)
        except InputError as error:
            self.broken[path] = error.problem
            self.skipped.append(f"{name}: {error.problem}")
            return "", []
        self.shown.append(path)
        rows: list[str] = []
        previous = 0
        for number, line in chosen:
            self._spent += len(line.encode("utf-8", "surrogatepass"))
            if self._spent > self.limits.total_bytes:
                self.skipped.append(
                    f"{name}: shown up to line {previous}, the budget of bytes is spent"
                )
                break
            if number != previous + 1:
                rows.append("...")
            rows.append(f"{number:>6}| {line}")
            previous = number
        if previous < count:
            rows.append("...")
        head = f"### FILE {name} ({path.stat().st_size} bytes, {count} lines)"
        # All chosen lines, also those behind the budget: they may name files.
        return "\n".join([head, *rows]), [line for _, line in chosen]

    def _choose(self, path: Path, keywords: Sequence[str]) -> tuple[int, list[tuple[int, str]]]:
        """Return the number of lines, and the chosen ones with their numbers.

        Chosen are the header, and the lines around each keyword's first matches. The header ends
        early if it only repeats lines of known shapes, as the rows of a netlist do.
        """
        match_counts = {keyword.lower(): 0 for keyword in keywords}
        header: dict[int, str] = {}
        shapes: set[str] = set()
        repeats = 0
        around: dict[int, str] = {}
        recent: deque[tuple[int, str]] = deque(maxlen=self.limits.context)
        until = count = 0
        blank = True
        lines = TextFile(path, limit=STREAMED_BYTES).lines(LONGEST_LINE)
        for count, line in enumerate(lines, 1):
            blank = blank and not line.strip()
            short = line[: self.limits.line_characters]
            if count <= self.limits.header_lines and repeats < _REPEATS:
                header[count] = short
                shape = _shape(short)
                repeats = repeats + 1 if shape in shapes else 0
                shapes.add(shape)
            lowered = short.lower()
            for keyword, matches in match_counts.items():
                if matches < self.limits.matches and keyword in lowered:
                    match_counts[keyword] = matches + 1
                    until = count + self.limits.context
                    around.update(recent)
            if count <= until:
                around[count] = short
            recent.append((count, short))
        if blank:
            self.broken[path] = "is empty"
        return count, sorted({**around, **header}.items())
