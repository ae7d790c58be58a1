"""A process of its own for something that is to be killed, and what it left in the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transom.store import SqliteStore


def attempt(walk: Callable[[], object]) -> int:
    """Fork, walk, leave; the wait status of the child. What it raises is said on its stderr,
    status 1.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        walk()
    except BaseException as error:  # noqa: BLE001  the child must end here, whatever happens
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


async def records(work: Path) -> list[Any]:
    """All records of all runs of the workspace `work/w`."""
    async with SqliteStore.open(work / "w" / "state.db") as store:
        return [record for stream in store.streams("run/") for record in store.read(stream)]
