"""Trial storage: an append-only file of Optuna's that survives kills and serves several workers."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError, install_hint

if TYPE_CHECKING:
    from optuna.storages import JournalStorage

TRIALS = "trials.journal"


class FileLock:
    """An advisory lock on a file; the kernel frees it when its holder dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        self._threads = threading.Lock()

    def acquire(self, *, wait: bool = True) -> bool:
        """Take it; False where another holds it and `wait` is off."""
        if not self._threads.acquire(blocking=wait):
            return False
        handle = -1
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException as error:
            if handle >= 0:
                os.close(handle)
            self._threads.release()
            if isinstance(error, BlockingIOError):
                return False
            raise
        self._handle = handle
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            self._threads.release()

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()


def cut_torn_line(path: Path) -> None:
    """Remove the end of a file of lines that has no line end."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        if end == 0:
            return
        file.seek(end - 1)
        if file.read(1) == b"\n":
            return
        start = max(0, end - 1_000_000)
        file.seek(start)
        file.truncate(start + file.read().rfind(b"\n") + 1)


class _JournalLock(FileLock):
    """Optuna's lock around a write. Whoever gets it first cuts off a line that a full disk left without its end."""

    def acquire(self, *, wait: bool = True) -> bool:
        taken = super().acquire(wait=wait)
        with suppress(FileNotFoundError):
            cut_torn_line(self.path.with_name(TRIALS))
        return taken


def open_storage(folder: Path) -> JournalStorage:
    """Open or make the storage in a study's folder.

    Raises:
        InputError: Optuna is not installed.
    """
    try:
        from optuna.storages.journal import JournalFileBackend, JournalStorage  # noqa: PLC0415  slow
    except ImportError as error:
        raise InputError("studies need Optuna", hint=install_hint("studies")) from error
    lock: Any = _JournalLock(folder / "journal.lock")
    with lock.locked():
        backend = JournalFileBackend(str(folder / TRIALS), lock_obj=lock)
    return JournalStorage(backend)
