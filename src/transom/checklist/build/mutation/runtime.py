"""What makes many runs of one checker cheap: files are read once, and a worker answers for a text once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from transom.canonical import digest
from transom.checklist.build.excerpt import excerpt
from transom.checklist.run.runner import Scope
from transom.errors import AtomFailed
from transom.formats.text_files import Facts, TextFile
from transom.sandbox import Level, Sandbox, Worker


class Desk:
    """Files as they are shown to the runtime: read once, cut where they are long, altered where a mutant says so.

    Args:
        texts: excerpts of long files that were made before.

    Attributes:
        texts: what is shown for a real path where nothing is altered.
        cut: those of which an excerpt is shown.
    """

    def __init__(self, texts: Mapping[Path, str] | None = None) -> None:
        self.texts: dict[Path, str] = dict(texts or {})
        self.cut = set(self.texts)
        self._altered: Mapping[Path, str] = {}

    def open(self, scope: Scope, path: Path) -> TextFile:
        """The file at a path, for a runtime that reads it as `scope` says."""
        del scope  # what is shown fits into memory
        return Shown(path, lambda: self.text(path))

    def text(self, path: Path) -> str:
        """The text that is shown for a path.

        Raises:
            InputError: it cannot be read.
        """
        real = Path(os.path.realpath(path))
        if real not in self.texts:
            self.texts[real], cut = excerpt(path)
            self.cut |= {real} if cut else set()
        return self._altered.get(real, self.texts[real])

    @contextmanager
    def showing(self, texts: Mapping[Path, str]) -> Iterator[None]:
        """Show other texts for a while."""
        self._altered = texts
        try:
            yield
        finally:
            self._altered = {}


class Shown(TextFile):
    """A file that shows another text than it holds."""

    def __init__(self, path: Path, text: Callable[[], str]) -> None:
        super().__init__(path)
        self._text = text

    def pieces(self) -> Iterator[str]:
        text = self._text()
        yield text
        self.facts = Facts(digest(text), len(text), text.count("\n"))


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
        """As `Worker.call`; what atom A answered to a whole text is not asked again.

        Raises:
            AtomFailed: as there.
        """
        only = name == "transom_piece" and args["last"] and not args["at"]
        if name != "extract_context" and not only:
            return await self._asked(name, args)
        key = digest({**args, "function": name})
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
