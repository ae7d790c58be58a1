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

from transom.store.file_lock import lock_file
from transom.studies.optional import optuna_missing

if TYPE_CHECKING:
    from optuna.storages import JournalStorage

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


def open_storage(folder: Path) -> JournalStorage:
    """Open or create the storage in a study's folder; InputError if Optuna is not installed."""
    try:
        from optuna.storages.journal import JournalFileBackend, JournalStorage  # noqa: PLC0415  slow
    except ImportError as error:
        raise optuna_missing() from error
    lock: Any = _JournalLock(folder / "journal.lock")
    with lock:
        backend = JournalFileBackend(str(folder / TRIALS), lock_obj=lock)
    return JournalStorage(backend)
