"""File tools for a role, with limits that hold over its whole session.

Four tools, each layer narrower than the one above: list, read a header, search, read a range.
A role knows files by names relative to the roots, and never sees how a `${NAME}` is resolved. A
session's spending and discoveries change only by the notes of its results, so that a session whose
results come from a journal is the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.canonical import Json
from transom.errors import ToolRefused
from transom.tools.catalogue import Catalogue, ReadablePlaces
from transom.tools.definition import Arguments, ToolDefinition, ToolLimits, ToolReturn
from transom.tools.excerpts import KeywordCount, KeywordMatch, Slice, cut_out, search
from transom.tools.file_specs import HEADER, LIST, RANGE, SEARCH
from transom.tools.files import discover, file_type, fits, real_path, under

MOST_LINES = 200
MOST_CONTEXT = 50
_FILES = 20  # a listing names at most
_MATCHES = 3  # a keyword
_CHARACTERS = 2_000  # of one match with the lines around it, and of one line


@dataclass(frozen=True)
class FileLimits:
    """Limits of a session.

    Attributes:
        lines_per_call: of one header or range, 200 at most.
        total_bytes: of all content together, that of searches included.
        header_lines: of a header if the call does not name a number.
        discovery_first: whether only files that a result has named can be read.
    """

    lines_per_call: int = MOST_LINES
    total_bytes: int = 102_400
    header_lines: int = 100
    discovery_first: bool = True


class FileSession:
    """The file tools of one role, and the bytes that they have spent."""

    def __init__(
        self,
        places: ReadablePlaces,
        limits: FileLimits | None = None,
        known_files: Iterable[Path] = (),
    ) -> None:
        """Make a session; `known_files` are those that the role was told of."""
        self._places = places
        self._limits = limits or FileLimits()
        self._catalogue = Catalogue(places, discovery_first=self._limits.discovery_first)
        self._catalogue.learn(self._catalogue.names(known_files), {})
        self._spent = 0
        # Calls of one reply wait for each other, in their order: they share the limits.
        self._turn = asyncio.Lock()

    def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the four tools. They share this session's limits."""
        handlers = (
            (LIST, self._list),
            (HEADER, self._header),
            (SEARCH, self._search),
            (RANGE, self._range),
        )
        definitions = []
        for spec, handler in handlers:
            definition = ToolDefinition(
                spec.name,
                spec.description,
                spec.parameters,
                self._in_turn(handler),
                effect="pure",
                # The session limits bytes; a call may wait for the ones before it.
                limits=ToolLimits(seconds=None),
                # A model that has lost a result reads the file again.
                fresh=True,
                recall=self.recall,
            )
            definitions.append(definition)
        return tuple(definitions)

    def recall(self, note: Json) -> None:
        """Apply a result's note: bytes spent, files discovered, paths resolved."""
        match note:
            case {"bytes": int(spent), "known": dict(known), "written": dict(written)}:
                self._spent += spent
                paths = {name: Path(str(path)) for name, path in known.items()}
                self._catalogue.learn(paths, {word: str(name) for word, name in written.items()})

    def _in_turn(
        self, work: Callable[[Arguments], ToolReturn]
    ) -> Callable[[Arguments], Awaitable[ToolReturn]]:
        async def run(arguments: Arguments) -> ToolReturn:
            async with self._turn:
                outcome = await asyncio.to_thread(work, arguments)
                self.recall(outcome.note)
            return outcome

        return run

    def _list(self, arguments: Any) -> ToolReturn:
        catalogue, search_root = self._catalogue, arguments["search_root"]
        max_files = min(int(arguments["max_files"]), _FILES)
        patterns = arguments["patterns"]
        for pattern in patterns:
            catalogue.candidates(pattern)  # refuses a pattern that leads out of the roots
        folders = catalogue.folders(search_root)
        own_files = []
        for path in self._places.own:
            name = catalogue.name_of(path)
            is_inside = not search_root or under(path, folders)
            if is_inside and any(fits(name, pattern) for pattern in patterns):
                own_files.append(path)
        listing = discover(
            own_files, self._places.roots, patterns, max_files=max_files, inside=folders
        )
        new = catalogue.names([file.path for file in listing.files])
        new_names = {path: name for name, path in new.items()}
        files: list[Json] = []
        for file in listing.files:
            name = new_names.get(real_path(file.path)) or catalogue.name_of(file.path)
            files.append({"path": name, "size": file.size, "type": file.type})
        content: Json = {
            "files": files,
            "total_found": listing.total_found,
            "truncated": listing.total_found > len(files),
        }
        return ToolReturn(content, _note(0, new))

    def _header(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        max_lines = int(arguments.get("max_lines", self._limits.header_lines))
        part = self._cut_out(path, 1, min(max_lines, self._lines_per_call))
        content: dict[str, Json] = {
            "file_path": name,
            "content": part.text,
            "lines_read": len(part.lines),
            "file_size": path.stat().st_size,
            "encoding": part.encoding,
        }
        if not part.is_complete:
            content["truncated"] = True
        return self._result(path, content, part.lines, len(part.text.encode()))

    def _search(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        matches, counts = search(
            path,
            arguments["keywords"],
            context=min(int(arguments["context_lines"]), MOST_CONTEXT),
            max_matches=min(int(arguments["max_matches_per_keyword"]), _MATCHES),
            characters=_CHARACTERS,
        )
        affordable, spent = self._affordable(matches)
        rows: list[Json] = []
        lines: list[str] = []
        for match in affordable:
            row: Json = {
                "keyword": match.keyword,
                "line_number": match.line_number,
                "content": match.content,
            }
            rows.append(row)
            lines += match.content.split("\n")
        total = sum([count.lines for count in counts.values()])
        content: dict[str, Json] = {"file_path": name, "matches": rows, "total_matches": total}
        if total > len(affordable):
            content |= {"truncated": True, "left_out": _left_out(counts, affordable)}
        return self._result(path, content, lines, spent)

    def _range(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        first, requested_end = int(arguments["start_line"]), int(arguments["end_line"])
        if requested_end < first:
            raise ToolRefused(
                "end_line is before start_line", hint="give start_line first, then a later end_line"
            )
        last = min(requested_end, first + self._lines_per_call - 1)
        part = self._cut_out(path, first, last)
        if not part.lines:
            raise ToolRefused(f"the file has {part.last} lines", hint="ask for lines that it has")
        content: dict[str, Json] = {
            "file_path": name,
            "content": part.text,
            "start_line": first,
            "end_line": part.last,
            "truncated": not part.is_complete or (part.goes_on and last < requested_end),
        }
        return self._result(path, content, part.lines, len(part.text.encode()))

    @property
    def _lines_per_call(self) -> int:
        return min(self._limits.lines_per_call, MOST_LINES)

    def _cut_out(self, path: Path, first: int, last: int) -> Slice:
        remaining = self._limits.total_bytes - self._spent
        part = cut_out(path, first, last, most_bytes=remaining, line_characters=_CHARACTERS)
        # Not even the first line fits.
        if not part.lines and not part.is_complete:
            raise self._quota()
        return part

    def _affordable(self, matches: Sequence[KeywordMatch]) -> tuple[list[KeywordMatch], int]:
        affordable: list[KeywordMatch] = []
        spent = 0
        for match in matches:
            cost = len(match.content.encode())
            if self._spent + spent + cost > self._limits.total_bytes:
                break
            spent += cost
            affordable.append(match)
        if matches and not affordable:
            raise self._quota()
        return affordable, spent

    def _quota(self) -> ToolRefused:
        spent = f"{self._spent} of {self._limits.total_bytes} bytes of content are spent"
        hint = "call no reading tool any more: answer with what you have"
        return ToolRefused(f"no more can be read: {spent}", hint=hint)

    def _result(
        self, path: Path, content: dict[str, Json], lines: Iterable[str], spent: int
    ) -> ToolReturn:
        """Return a result with the files that its lines name.

        They count as discovered, and their names as content that was read.
        """
        named = self._catalogue.named_in(lines, path)
        new = self._catalogue.names(named.values())
        new_names = {file: name for name, file in new.items()}
        rows: list[Json] = []
        discovered: dict[str, Path] = {}
        written: dict[str, str] = {}
        for word, file in list(named.items())[:_FILES]:
            name = new_names.get(file) or self._catalogue.name_of(file)
            row: Json = {
                "written": word,
                "path": name,
                "size": file.stat().st_size,
                "type": file_type(file),
            }
            cost = len(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            if self._spent + spent + cost > self._limits.total_bytes:
                break
            spent += cost
            rows.append(row)
            discovered[name], written[word] = file, name
        if rows:
            content["named_files"] = rows
        return ToolReturn(dict(content), _note(spent, discovered, written))

    def _file(self, requested: str) -> tuple[str, Path]:
        if self._spent >= self._limits.total_bytes:
            raise self._quota()
        return self._catalogue.file(requested)


def _note(spent: int, files: Mapping[str, Path], written: Mapping[str, str] | None = None) -> Json:
    """Return the note of a result, which `FileSession.recall` applies."""
    return {
        "bytes": spent,
        "known": {name: str(path) for name, path in files.items()},
        "written": dict(written or {}),
    }


def _left_out(counts: Mapping[str, KeywordCount], matches: Sequence[KeywordMatch]) -> Json:
    """Return how many matches of each keyword are left out, and the lines of the first of them."""
    rows: list[Json] = []
    for keyword, count in counts.items():
        returned = {match.line_number for match in matches if match.keyword == keyword}
        lines: list[Json] = [line for line in count.first if line not in returned]
        missing = count.lines - len(returned)
        if missing > 0:
            rows.append({"keyword": keyword, "matches": missing, "lines": lines})
    return rows
