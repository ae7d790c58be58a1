"""Runs a program with the user's own rights, without a sandbox.

No process of its group outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from transom.errors import InputError
from transom.sandbox.commands import Done
from transom.sandbox.process import start_group

_MOST_OUTPUT = 4 << 20


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
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write(prompt.encode("utf-8", "replace"))
        stdin.seek(0)
        variables = {**os.environ, **environment}
        try:
            process = await start_group(
                *argv, cwd=folder, env=variables, stdin=stdin, stdout=stdout, stderr=stderr
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
            # Also after a normal end: the program may have left processes in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            flood_task.cancel()
            code = await process.wait()
        if not ended:
            return Done(124, "", "", ended="time")
        return Done(code, _head(stdout), _head(stderr))


async def _flood(*files: IO[bytes]) -> int:
    """Return when the program has printed too much."""
    while all(os.fstat(file.fileno()).st_size <= _MOST_OUTPUT for file in files):
        await asyncio.sleep(0.5)
    return _MOST_OUTPUT


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode("utf-8", "replace")
