"""Runs a program with the user's own rights, without a sandbox; no process of its group outlives
it.
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
    """Run a program with the user's own rights and `prompt` on its stdin; no process of its group
    outlives it.

    Raises:
        InputError: the program cannot be started; the hint names `setting`.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(prompt.encode("utf-8", "replace"))
        given.seek(0)
        try:
            around = {**os.environ, **environment}
            process = await start_group(
                *argv, cwd=folder, env=around, stdin=given, stdout=out, stderr=err
            )
        except OSError as error:
            what, hint = f"cannot be started: {error.strerror}", f"correct {setting}"
            raise InputError(what, where=argv[0], hint=hint) from error
        ends = [asyncio.ensure_future(one) for one in (process.wait(), _flood(out, err))]
        try:
            ended, _ = await asyncio.wait(
                ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            ends[1].cancel()
            code = await process.wait()
        return Done(code, _head(out), _head(err)) if ended else Done(124, "", "", ended="time")


async def _flood(*files: IO[bytes]) -> int:
    """Return when the program has printed too much."""
    while all(os.fstat(one.fileno()).st_size <= _MOST_OUTPUT for one in files):
        await asyncio.sleep(0.5)
    return _MOST_OUTPUT


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode("utf-8", "replace")
