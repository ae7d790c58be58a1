"""Starts a process in its own group, and kills the group, even if the start is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any


async def start_group(*argv: str, **options: Any) -> Process:
    """Start a process by `asyncio.create_subprocess_exec` in its own session; a cancelled start
    leaves no process.

    asyncio itself hangs when it is cancelled while it connects the pipes (CPython issues 103847,
    125502), and the process lives on. So the start is always completed, and the group is killed
    then.

    Raises:
        OSError: the process cannot be started.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*argv, start_new_session=True, **options)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Further cancellations may arrive while the start is awaited.
        while not starting.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await _end(starting.result())
        raise


def kill_group(process: Process) -> None:
    """Kill the whole group, and new children of bubblewrap, which do not yet die with it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGSTOP)  # no process is started from here on
            for child in _below(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.killpg(process.pid, signal.SIGKILL)


def _below(pid: int) -> list[int]:
    """Return the processes below this one."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:  # the process has ended
        return []
    processes = []
    for child in map(int, text.split()):
        processes += [child, *_below(child)]
    return processes


async def _end(process: Process) -> None:
    """Kill a process that nobody waits for, and wait until its pipes are closed."""
    kill_group(process)
    if process.stdin is not None:
        process.stdin.close()
    ended = asyncio.ensure_future(process.wait())
    while not ended.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([ended])
