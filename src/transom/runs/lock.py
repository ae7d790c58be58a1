"""One process a run: an advisory lock that the kernel frees however the process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

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
