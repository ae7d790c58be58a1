"""How a run is held: one process a run, until it is closed and the last stage at work in it has ended."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transom.errors import RunBusy, RunError


class RunLock:
    """Holds a run for this process.

    Raises:
        RunBusy: another process holds it; the message names that process.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        path = folder / f"{run_id}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RunError(f"cannot lock the run: {error.strerror}", where=str(path)) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise _busy(holder, run_id) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Free the run; may be called twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _busy(holder: str, run_id: str) -> RunBusy:
    """For whoever comes second: a command, a program, or another part of the program that holds the run itself."""
    if holder == str(os.getpid()):
        return RunBusy(f"this process has run {run_id} open already", hint="go on with what has it open, or close that")
    who = f"process {holder}" if holder else "another process"
    return RunBusy(f"{who} is working on run {run_id}", hint="wait for it to end, then try again")


class RunLease:
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
