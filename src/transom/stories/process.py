"""A program that runs with a person's own rights: an agent, or tests where there is no sandbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.errors import InputError
from transom.sandbox import Done
from transom.sandbox.process import start_group

MAX_OUTPUT = 4 << 20


async def run_openly(
    argv: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    prompt: str = "",
    seconds: float | None = None,
    setting: str,
) -> Done:
    """Run a program to its end; nothing of its process group outlives it.

    Args:
        argv: the program and its arguments.
        folder: its working directory.
        environment: beside this program's own.
        prompt: on its stdin; it need not read all of it.
        seconds: it may take; None: as long as the stage that it is part of.
        setting: names the program in errors.

    Raises:
        InputError: it cannot be started.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        around = {**os.environ, **environment}
        process = await start_group(*argv, cwd=folder, env=around, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise InputError(f"cannot be started: {error.strerror}", where=argv[0], hint=f"correct {setting}") from error

    try:
        async with asyncio.timeout(seconds) as limit:
            out, err, _ = await asyncio.gather(
                _take(process, process.stdout), _take(process, process.stderr), _hand_over(process, prompt)
            )
            code = await process.wait()
        return Done(code, out, err)
    except TimeoutError:
        if not limit.expired():
            raise
        return Done(124, "", "", ended="time")
    finally:
        _end(process)


async def _take(process: Process, stream: asyncio.StreamReader | None) -> str:
    """What it prints; a program that prints too much is ended."""
    kept = bytearray()
    while stream and (data := await stream.read(1 << 16)):
        kept += data
        if len(kept) > MAX_OUTPUT:
            _end(process)
            break
    return kept[:MAX_OUTPUT].decode("utf-8", "replace")


async def _hand_over(process: Process, prompt: str) -> None:
    assert process.stdin
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(prompt.encode("utf-8", "replace"))
        await process.stdin.drain()
    process.stdin.close()


def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
