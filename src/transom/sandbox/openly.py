"""Runs a program with the user's own rights, without a sandbox.

No process that it starts outlives it, see `reaper`. On other systems than Linux, this holds for the
processes of its group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from transom.errors import InputError
from transom.sandbox.commands import Done
from transom.sandbox.launch import base_python
from transom.sandbox.process import start_group

_MOST_OUTPUT = 4 << 20
_REAPER = Path(__file__).with_name("reaper.py")
_REAPING_SECONDS = 15.0


async def run_openly(
    argv: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    prompt: str = "",
    seconds: float | None = None,
    setting: str,
) -> Done:
    """Run a program with the user's own rights and `prompt` on its stdin.

    Raises:
        InputError: the program cannot be started; the hint names `setting`.
    """
    # Files, not pipes: a daemon that outlives the program would keep a pipe open.
    with (
        TemporaryFile() as stdin,
        TemporaryFile() as stdout,
        TemporaryFile() as stderr,
        TemporaryFile() as failure,
    ):
        stdin.write(prompt.encode("utf-8", "replace"))
        stdin.seek(0)
        variables = {**os.environ, **environment}
        try:
            process = await start_group(
                *_reaped(argv, failure.fileno()),
                cwd=folder,
                env=variables,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(failure.fileno(),),
            )
        except OSError as error:
            problem = f"cannot be started: {error.strerror}"
            raise InputError(problem, place=argv[0], hint=f"correct {setting}") from error
        exit_task = asyncio.ensure_future(process.wait())
        flood_task = asyncio.ensure_future(_flood(stdout, stderr))
        try:
            ended, _ = await asyncio.wait(
                [exit_task, flood_task], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            flood_task.cancel()
            code = await _end(process)
        failure.seek(0)
        if number := failure.read(20):
            problem = f"cannot be started: {os.strerror(int(number))}"
            raise InputError(problem, place=argv[0], hint=f"correct {setting}")
        if not ended:
            return Done(124, "", "", ended="time")
        return Done(code, _head(stdout), _head(stderr))


def _reaped(argv: Sequence[str], failure: int) -> list[str]:
    """Return the command line under which no process of a program is lost."""
    if sys.platform != "linux":
        return [*argv]
    return [base_python(), "-I", "-S", str(_REAPER), str(failure), *argv]


async def _end(process: Process) -> int:
    """End a program with all that it started; returns its exit code."""
    try:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=_REAPING_SECONDS)
    finally:
        # Also after a normal end: the program may have left processes in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return await process.wait()


async def _flood(*files: IO[bytes]) -> int:
    """Return when the program has printed too much."""
    while all(os.fstat(file.fileno()).st_size <= _MOST_OUTPUT for file in files):
        await asyncio.sleep(0.5)
    return _MOST_OUTPUT


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode("utf-8", "replace")
