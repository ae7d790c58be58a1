"""Runs a solver's command: one folder, one thread, limits on time, memory and disk, no process left
behind.

Every process of a job has a mark in its environment, so that processes outside the tree are found
too. A guard process (`guard.py`) kills the jobs of a worker that was killed.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from transom.errors import InputError
from transom.store.disk_room import has_no_room
from transom.studies import guard
from transom.studies.guard import MARK, end_marked
from transom.studies.study import JobLimits

_POLL, _WATCH = 0.02, 0.25
_GRACE = 2.0
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CCX_NPROC_STIFFNESS",
    "NUMBER_OF_CPUS",
)
_KEPT = 1_000_000
_ROOM = 500_000  # bytes; with less, a solver may not even be able to write its error of a full disk

_WORKER = secrets.token_hex(8)
_guard: subprocess.Popen[bytes] | None = None
_guard_lock = threading.Lock()


@dataclass(frozen=True)
class Ended:
    """The end of a command: exit status (negative for a signal), the class of the limit that ended
    it, wall time.

    `stopped` is the class and the limit.
    """

    return_code: int
    stopped: tuple[str, str] | None
    seconds: float


def run_job(command: Sequence[str], folder: Path, limits: JobLimits) -> Ended:
    """Run a command in its folder; its output goes to `stdout.txt` and `stderr.txt` there.

    Raises:
        InputError: the command cannot be started.
        OSError: the folder cannot be written.
    """
    _ensure_guard()
    # One thread each: several workers share the machine, and results stay repeatable.
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), MARK: f"{_WORKER}:{folder}"}
    began = time.monotonic()
    with (folder / "stdout.txt").open("wb") as stdout, (folder / "stderr.txt").open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            hint = "install it or correct solver.command; `transom doctor` lists what is found"
            raise InputError(
                f"the solver {command[0]} cannot be started: {error.strerror}", hint=hint
            ) from error
        try:
            stopped = watch(process, folder, limits, began)
        finally:
            with suppress(ProcessLookupError):
                # also processes that cleared their environment
                os.killpg(process.pid, signal.SIGKILL)
            end_marked(worker=f"{_WORKER}:", folder=str(folder))
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
    for name in ("stdout.txt", "stderr.txt"):
        _shorten(folder / name)
    if stopped is None and process.returncode and has_no_room(folder, _ROOM):
        stopped = (
            "disk_full",
            f"it ended with return code {process.returncode}, and no room is left",
        )
    return Ended(process.returncode, stopped, time.monotonic() - began)


class Process(Protocol):
    """A process that can be waited for, as those of `subprocess`."""

    @property
    def pid(self) -> int: ...

    def wait(self, timeout: float | None = None) -> object:
        """Wait for the end; raise `subprocess.TimeoutExpired` if it does not come."""


def watch(
    process: Process, folder: Path, limits: JobLimits, began: float
) -> tuple[str, str] | None:
    """Wait for the end, or for a limit, which is returned."""
    looked = began
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
            return None
        # Memory and disk are looked at less often, for each look walks all processes and files.
        moment = time.monotonic()
        if moment - began > limits.seconds:
            return "timeout", f"limits.seconds is {limits.seconds:g}"
        if moment - looked > _WATCH:
            looked = moment
            if _memory(process.pid) > limits.memory:
                return (
                    "memory_error",
                    f"limits.memory is {limits.memory.human_readable(decimal=True)}",
                )
            if _size(folder) > limits.disk:
                return "output_flood", f"limits.disk is {limits.disk.human_readable(decimal=True)}"


def _memory(pid: int) -> int:
    memory = 0
    with suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.Error):
                memory += process.memory_info().rss
    return memory


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.lstat().st_blocks * 512
    return size


def _ensure_guard() -> None:
    """Start the guard if it is not running; its standard input ends when this worker exits."""
    global _guard
    with _guard_lock:
        # The guard outlives a worker that is killed, and kills what that one had started.
        if _guard is None or _guard.poll() is not None:
            command = [sys.executable, "-I", guard.__file__, f"{_WORKER}:"]
            null = subprocess.DEVNULL
            _guard = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
            )
            atexit.register(_guard.communicate)  # ends the guard at a normal exit


def _shorten(path: Path) -> None:
    """Keep the beginning and the end of very long output."""
    size = path.stat().st_size
    if size > 4 * _KEPT:
        with path.open("r+b") as file:
            file.seek(size - _KEPT)
            end = file.read()
            file.seek(_KEPT)
            file.write(b"\n... %d bytes left out ...\n" % (size - 2 * _KEPT) + end)
            file.truncate()
