"""Atom A asked about many texts: one process serves them, and each text is asked once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from transom.canonical import Json, digest
from transom.checklist.atoms import Entry, Source
from transom.checklist.run.pieces import with_pieces
from transom.checklist.run.runner import extract, scope_of, sources_of
from transom.errors import AtomFailed
from transom.formats.text_files import Facts, TextFile
from transom.sandbox import Sandbox, Worker

_QUOTED: Final = 120


@dataclass(frozen=True)
class RealFile:
    """The text of one of the item's files, or an excerpt of a long one, under the name that atom A is given."""

    name: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def with_line(self, number: int, line: str) -> str:
        """The text with another line in place of one; of the same length in lines where `line` is one."""
        lines = self.lines
        return "\n".join([*lines[: number - 1], line, *lines[number:]])


def quoted(file: RealFile, number: int) -> str:
    """A line of a file as a finding shows it."""
    line = " ".join(file.lines[number - 1].split())
    return json.dumps(line if len(line) <= _QUOTED else f"{line[:_QUOTED]}...", ensure_ascii=False)


@dataclass(frozen=True)
class Answer:
    """What atom A says of a text. `refused` says why it gives no entries, None where it gave them."""

    entries: tuple[Entry, ...] = ()
    refused: str | None = None

    @property
    def fields(self) -> list[str]:
        """The fields of all entries, in a form that can be compared."""
        return [_text(entry) for entry in self.entries]

    @property
    def said(self) -> list[tuple[Json, ...]]:
        """Place, value and fields of all entries; the quoted line changes with the text alone."""
        return [(one.line_number, one.value, _text(one)) for one in self.entries]


def _text(entry: Entry) -> str:
    return json.dumps(entry.parsed_fields, sort_keys=True)


class Probe:
    """Runs one atom A in a sandbox. A process that failed is replaced by a fresh one."""

    def __init__(self, code: str, sandbox: Sandbox) -> None:
        self._code, self._sandbox = with_pieces(code), sandbox
        self._worker: Worker | None = None
        self._answers: dict[str, Answer] = {}

    async def answer(self, name: str, text: str) -> Answer:
        """What atom A says of a text in a file of that name."""
        key = digest([name, text])
        if key not in self._answers:
            self._answers[key] = await self._asked(name, text)
        return self._answers[key]

    async def asked_again(self, name: str, text: str) -> Answer:
        """As `answer`, but asked although it was before."""
        return await self._asked(name, text)

    async def sources(self) -> tuple[Source, ...]:
        """The kinds of files that the atoms declare."""
        return await sources_of(await self._started())

    async def _asked(self, name: str, text: str) -> Answer:
        try:
            worker = await self._started()
            return Answer(tuple(await extract(worker, await scope_of(worker), _Shown(name, text), name)))
        except AtomFailed as error:
            await self.close()
            return Answer(refused=error.what)

    async def _started(self) -> Worker:
        if self._worker is None:
            self._worker = await self._sandbox.worker(self._code).__aenter__()
        return self._worker

    async def close(self) -> None:
        """End the process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Shown(TextFile):
    """A text in memory, read as a file is."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(Path(name))
        self._text = text

    def pieces(self) -> Iterator[str]:
        yield self._text
        self.facts = Facts(digest(self._text), len(self._text), self._text.count("\n"))
