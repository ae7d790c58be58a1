"""What makes many runs of one checker cheap: files are read once, and a worker answers for a text once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from transom.canonical import digest
from transom.errors import AtomFailed
from transom.formats.text_files import TextFile, read_text_file
from transom.sandbox import Level, Sandbox, Worker

LONGEST = 1 << 20


class Desk:
    """Files as they are shown to the runtime: read once, cut where they are long, altered where a mutant says so."""

    def __init__(self) -> None:
        self.texts: dict[Path, str] = {}
        self._files: dict[Path, TextFile] = {}
        self._altered: Mapping[Path, str] = {}

    def read(self, path: Path) -> TextFile:
        """The file at a path.

        Raises:
            InputError: it cannot be read.
        """
        real = Path(os.path.realpath(path))
        if real not in self._files:
            file = read_text_file(path)
            self._files[real] = replace(file, text=_head(file.text))
            self.texts[real] = self._files[real].text
        file = self._files[real]
        text = self._altered.get(real)
        return file if text is None else replace(file, text=text)

    @contextmanager
    def showing(self, texts: Mapping[Path, str]) -> Iterator[None]:
        """Show other texts for a while."""
        self._altered = texts
        try:
            yield
        finally:
            self._altered = {}


def _head(text: str) -> str:
    """The whole lines of the beginning; at a blank line, if one is near, so that no record is cut."""
    if len(text) <= LONGEST:
        return text
    end = text.rfind("\n\n", LONGEST // 2, LONGEST)
    return text[: (end if end >= 0 else text.rfind("\n", 0, LONGEST)) + 1]


class Kept:
    """A runner for one code whose worker serves many runs and remembers what atom A saw in a text.

    A worker that failed is replaced by a fresh one.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._code = ""
        self._worker: Worker | None = None
        self._answers: dict[str, object] = {}

    @property
    def level(self) -> Level:
        return self._sandbox.level

    @asynccontextmanager
    async def worker(self, code: str) -> AsyncIterator[Self]:
        if code != self._code:
            await self.close()
            self._code, self._answers = code, {}
        yield self

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        """As `Worker.call`; what `extract_context` answered to a text is not asked again.

        Raises:
            AtomFailed: as there.
        """
        if name != "extract_context":
            return await self._asked(name, args)
        key = digest(dict(args))
        if key not in self._answers:
            self._answers[key] = await self._asked(name, args)
        return self._answers[key]

    async def constants(self, names: Iterable[str]) -> dict[str, object]:
        return await (await self._started()).constants(names)

    async def _asked(self, name: str, args: Mapping[str, object]) -> object:
        try:
            return await (await self._started()).call(name, args)
        except AtomFailed:
            await self.close()
            raise

    async def _started(self) -> Worker:
        if self._worker is None:
            self._worker = await self._sandbox.worker(self._code).__aenter__()
        return self._worker

    def forget(self) -> None:
        """Ask again what was asked before."""
        self._answers.clear()

    async def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
