"""Starting a process in a group of its own, and ending the group: also where the start itself is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any


async def start_group(*argv: str, **options: Any) -> Process:
    """`asyncio.create_subprocess_exec` in a session of its own; cancelled, it leaves no process and ends soon.

    asyncio itself waits for ever where it is cancelled while it connects the pipes (CPython issues 103847, 125502), and
    the process lives on. So the start is carried through in any case, and the group is killed then.

    Raises:
        OSError: the process cannot be started.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, start_new_session=True, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        while not starting.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await _end(starting.result())
        raise


def kill_group(process: Process) -> None:
    """Kill the whole group, and what bubblewrap has just begun: it dies with bubblewrap only once it has said so."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGSTOP)  # nothing is begun from here on
            for child in _below(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.killpg(process.pid, signal.SIGKILL)


def _below(pid: int) -> list[int]:
    """Processes below this one."""
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in children for one in (child, *_below(child))]


async def _end(process: Process) -> None:
    """Kill a process that nobody waits for, and see its pipes closed."""
    kill_group(process)
    if process.stdin is not None:
        process.stdin.close()
    ended = asyncio.ensure_future(process.wait())
    while not ended.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([ended])
