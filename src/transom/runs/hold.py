"""How long a run is held: until it is closed and the last stage at work in it has ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transom.errors import RunError


class Hold:
    """One walk's stages, and when the run may be freed.

    Args:
        run_id: named in errors.
        free: what gives the run back; each is called once or more.
    """

    def __init__(self, run_id: str, *free: Callable[[], None]) -> None:
        self._run_id = run_id
        self._free = free
        self._names: set[str] = set()
        self._paths: dict[Path, str] = {}
        self._at_work: Counter[asyncio.Task[Any]] = Counter()
        self._closed = False

    def claim(self, name: str, path: Path) -> None:
        """Make a name and a file a stage's own in this walk.

        Raises:
            RunError: the name was walked before, another stage writes the file, or the run is closed.
        """
        if self._closed:
            raise RunError(f"stage {name} begins after the run was closed", where=self._run_id)
        if name in self._names:
            raise RunError(f"stage {name} appears twice in one run", where=self._run_id)
        if path in self._paths:
            raise RunError(f"stages {self._paths[path]} and {name} write one file, {path}", where=self._run_id)
        self._names.add(name)
        self._paths[path] = name

    @contextmanager
    def working(self) -> Iterator[None]:
        """While it lasts the run is held, also where it is closed meanwhile."""
        task = asyncio.current_task()
        assert task is not None, "a stage is awaited"
        self._at_work[task] += 1
        try:
            yield
        finally:
            self._at_work[task] -= 1
            if not self._at_work[task]:
                del self._at_work[task]
            if self._closed:
                self.close()

    def close(self) -> None:
        """Free the run, or have the last stage at work do so."""
        self._closed = True
        if not self._at_work:
            for give_back in self._free:
                give_back()

    async def leave(self, error: BaseException | None) -> None:
        """Close, once the stages beside the one that ended the walk have ended, too.

        Their replies are paid for, and until then nobody else may write their files. Ctrl-C stops them.
        """
        self._closed = True
        beside = [task for task in self._at_work if task is not asyncio.current_task()]
        if error is not None and not isinstance(error, Exception):
            for task in beside:
                task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        self.close()
