"""Files shared by processes: locks that are freed with their holder, JSON lines, Optuna's
journal of trials.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError
from transom.store.file_lock import lock_file
from transom.studies.optional import optuna_missing

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

TRIALS = "trials.journal"


class FileLock:
    """An advisory lock on a file, between processes and threads; the kernel frees it when its
    holder dies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BufferedRandom | None = None

    def acquire(self, *, wait: bool = True) -> bool:
        """Take the lock; False if another one holds it and `wait` is off."""
        file = self.path.open("ab+")  # each open file is a separate holder, also in one process
        try:
            lock_file(file, wait=wait)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def append_line(path: Path, event: Mapping[str, Any]) -> None:
    """Append one line of JSON, after removing a line that a kill or a full disk cut short."""
    # Half a line from a killed writer would also spoil the line after it.
    _cut_torn_line(path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(event, sort_keys=True) + "\n")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete lines of a JSON lines file; nothing if it is missing."""
    with suppress(FileNotFoundError), path.open(encoding="utf-8") as lines:
        for line in lines:
            with suppress(ValueError):
                yield json.loads(line)


def _cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line."""
    with suppress(FileNotFoundError), path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        start = file.seek(max(0, size - 1_000_000))
        end = file.read()
        if not end.endswith(b"\n"):
            file.truncate(start + end.rfind(b"\n") + 1)


class _JournalLock(FileLock):
    """Optuna's lock around a write; it also removes an incomplete last line."""

    def acquire(self, *, wait: bool = True) -> bool:
        is_held = super().acquire(wait=wait)
        _cut_torn_line(self.path.with_name(TRIALS))
        return is_held


def open_storage(folder: Path, url: str | None = None) -> BaseStorage:
    """Open or create a storage of trials.

    Args:
        folder: the study's folder, which has the storage if there is no URL.
        url: URL of a database, or path of a journal file, as Optuna's command line takes it.

    Raises:
        InputError: Optuna is not installed, or the storage cannot be opened.
    """
    try:
        from optuna.storages import get_storage  # noqa: PLC0415  slow
        from optuna.storages.journal import JournalFileBackend, JournalStorage  # noqa: PLC0415
    except ImportError as error:
        raise optuna_missing() from error
    # The study's own file: its lock mends what a kill left.
    if url is None:
        lock: Any = _JournalLock(folder / "journal.lock")
        with lock:
            backend = JournalFileBackend(str(folder / TRIALS), lock_obj=lock)
        return JournalStorage(backend)
    if "://" not in url:
        # Optuna's own lock, for other programs may write this file, too.
        try:
            return JournalStorage(JournalFileBackend(url))
        except OSError as error:
            raise InputError(
                f"the storage cannot be opened: {error.strerror}", place=url
            ) from error
    try:
        return get_storage(url)
    # SQLAlchemy and the drivers of databases raise errors of their own.
    except Exception as error:
        # The URL may have a password, and the error may repeat it.
        raise InputError(
            f"the storage cannot be opened: {type(error).__name__}",
            place=url.split("://")[0] + "://...",
            hint="give a URL such as sqlite:///trials.db or postgresql://HOST/DATABASE, and install"
            " the driver of its database",
        ) from error
