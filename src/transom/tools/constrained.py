"""File tools for a role, with limits that hold over its whole session.

Four tools, each layer narrower than the one above: list, read a header, search, read a range.
Beneath them `${NAME}`s are resolved, which a role never sees: it knows files by names relative to
the roots. What a session has spent and discovered changes only by the notes of its results, so that
a session whose results come from a journal is the same.
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
from transom.tools.catalogue import Catalogue, Places
from transom.tools.definition import Arguments, ToolDefinition, ToolLimits, ToolReturn
from transom.tools.excerpts import Count, Match, Slice, cut_out, search
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
        header_lines: of a header where the call does not say.
        discovery_first: whether only files that a result has named can be read.
    """

    lines_per_call: int = MOST_LINES
    total_bytes: int = 102_400
    header_lines: int = 100
    discovery_first: bool = True


class FileSession:
    """The file tools of one role, and what they spent; `known`: files that it was told of,
    relative to the roots.
    """

    def __init__(
        self, places: Places, limits: FileLimits | None = None, known: Iterable[Path] = ()
    ) -> None:
        self._places = places
        self._limits = limits or FileLimits()
        self._catalogue = Catalogue(places, discovery_first=self._limits.discovery_first)
        self._catalogue.learn(self._catalogue.names(known), {})
        self._spent = 0
        # calls of one reply wait for each other, in their order: they share the limits
        self._turn = asyncio.Lock()

    def tools(self) -> tuple[ToolDefinition, ...]:
        """The four tools. They share this session's limits."""
        works = (
            (LIST, self._list),
            (HEADER, self._header),
            (SEARCH, self._search),
            (RANGE, self._range),
        )
        # Looks are not remembered for a model: it asks again where it has lost one. Their limits
        # are the session's.
        return tuple(
            ToolDefinition(
                spec.name,
                spec.description,
                spec.parameters,
                self._in_turn(work),
                effect="pure",
                limits=ToolLimits(seconds=None),
                fresh=True,
                recall=self.recall,
            )
            for spec, work in works
        )

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
        catalogue, within = self._catalogue, arguments["search_root"]
        most = min(int(arguments["max_files"]), _FILES)
        patterns = arguments["patterns"]
        for pattern in patterns:
            catalogue.meant(pattern)
        folders = catalogue.folders(within)
        own = [
            path
            for path in self._places.own
            if any(fits(catalogue.name_of(path), pattern) for pattern in patterns)
        ]
        first = [path for path in own if not within or under(path, folders)]
        found = discover(first, self._places.roots, patterns, most=most, inside=folders)
        new = catalogue.names(file.path for file in found.files)
        fresh = {path: name for name, path in new.items()}
        files: list[Json] = []
        for file in found.files:
            name = fresh.get(real_path(file.path)) or catalogue.name_of(file.path)
            files.append({"path": name, "size": file.size, "type": file.type})
        content: Json = {
            "files": files,
            "total_found": found.total_found,
            "truncated": found.total_found > len(files),
        }
        return ToolReturn(content, _note(0, new))

    def _header(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        wanted = int(arguments.get("max_lines", self._limits.header_lines))
        part = self._cut_out(path, 1, min(wanted, self._lines_per_call))
        content: dict[str, Json] = {
            "file_path": name,
            "content": part.text,
            "lines_read": len(part.lines),
            "file_size": path.stat().st_size,
            "encoding": part.encoding,
        }
        if not part.whole:
            content["truncated"] = True
        return self._result(path, content, part.lines, len(part.text.encode()))

    def _search(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        matches, counts = search(
            path,
            arguments["keywords"],
            context=min(int(arguments["context_lines"]), MOST_CONTEXT),
            most=min(int(arguments["max_matches_per_keyword"]), _MATCHES),
            characters=_CHARACTERS,
        )
        kept, spent = self._affordable(matches)
        rows: list[Json] = [
            {"keyword": match.keyword, "line_number": match.line_number, "content": match.content}
            for match in kept
        ]
        total = sum(count.lines for count in counts.values())
        content: dict[str, Json] = {"file_path": name, "matches": rows, "total_matches": total}
        if total > len(kept):
            content |= {"truncated": True, "left_out": _left_out(counts, kept)}
        lines = [line for match in kept for line in match.content.split("\n")]
        return self._result(path, content, lines, spent)

    def _range(self, arguments: Any) -> ToolReturn:
        name, path = self._file(arguments["file_path"])
        first, wanted = int(arguments["start_line"]), int(arguments["end_line"])
        if wanted < first:
            raise ToolRefused(
                "end_line is before start_line", hint="give start_line first, then a later end_line"
            )
        last = min(wanted, first + self._lines_per_call - 1)
        part = self._cut_out(path, first, last)
        if not part.lines:
            raise ToolRefused(f"the file has {part.last} lines", hint="ask for lines that it has")
        content: dict[str, Json] = {
            "file_path": name,
            "content": part.text,
            "start_line": first,
            "end_line": part.last,
            "truncated": not part.whole or (part.more and last < wanted),
        }
        return self._result(path, content, part.lines, len(part.text.encode()))

    @property
    def _lines_per_call(self) -> int:
        return min(self._limits.lines_per_call, MOST_LINES)

    def _cut_out(self, path: Path, first: int, last: int) -> Slice:
        left = self._limits.total_bytes - self._spent
        part = cut_out(path, first, last, most_bytes=left, line_characters=_CHARACTERS)
        if not part.lines and not part.whole:
            raise self._quota()
        return part

    def _affordable(self, matches: Sequence[Match]) -> tuple[list[Match], int]:
        kept: list[Match] = []
        spent = 0
        for match in matches:
            cost = len(match.content.encode())
            if self._spent + spent + cost > self._limits.total_bytes:
                break
            spent += cost
            kept.append(match)
        if matches and not kept:
            raise self._quota()
        return kept, spent

    def _quota(self) -> ToolRefused:
        what = (
            f"no more can be read: {self._spent} of {self._limits.total_bytes} bytes of content are"
            " spent"
        )
        return ToolRefused(what, hint="call no reading tool any more: answer with what you have")

    def _result(
        self, path: Path, content: dict[str, Json], lines: Iterable[str], spent: int
    ) -> ToolReturn:
        """A result with the files that its lines name. They count as discovered, and their names
        as read.
        """
        found = self._catalogue.named_in(lines, path)
        new = self._catalogue.names(found.values())
        fresh = {file: name for name, file in new.items()}
        rows: list[Json] = []
        known: dict[str, Path] = {}
        written: dict[str, str] = {}
        for word, file in list(found.items())[:_FILES]:
            name = fresh.get(file) or self._catalogue.name_of(file)
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
            known[name], written[word] = file, name
        if rows:
            content["named_files"] = rows
        return ToolReturn(dict(content), _note(spent, known, written))

    def _file(self, asked: str) -> tuple[str, Path]:
        if self._spent >= self._limits.total_bytes:
            raise self._quota()
        return self._catalogue.file(asked)


def _note(spent: int, known: Mapping[str, Path], written: Mapping[str, str] | None = None) -> Json:
    return {
        "bytes": spent,
        "known": {name: str(path) for name, path in known.items()},
        "written": dict(written or {}),
    }


def _left_out(counts: Mapping[str, Count], kept: Sequence[Match]) -> Json:
    """How many matches of each keyword are not shown, and the lines of the first of them."""
    rows: list[Json] = []
    for keyword, count in counts.items():
        shown = {match.line_number for match in kept if match.keyword == keyword}
        lines: list[Json] = [line for line in count.first if line not in shown]
        if count.lines > len(shown):
            rows.append({"keyword": keyword, "matches": count.lines - len(shown), "lines": lines})
    return rows
