"""A start that is cancelled, at whatever moment: it ends at once, and no process is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sandbox.running import HONEST
from transom.sandbox import Level, Sandbox, probe, run_command

TURNS = (*range(8), 12, 20)
SOON = 10.0


def children() -> list[str]:
    """Processes below this one, however many threads started them."""
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        # a thread that ended since it was listed
        with suppress(FileNotFoundError, ProcessLookupError):
            found += (task / "children").read_text().split()
    return found


async def cancelled_after(turns: int, start: Callable[[], Awaitable[object]]) -> None:
    """Cancel a start after some turns of the event loop."""
    task = asyncio.ensure_future(start())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=SOON)
    assert done, f"cancelled after {turns} turns it does not end"


def test_of_a_worker(level: Level) -> None:
    async def start() -> None:
        async with Sandbox(level=level).worker(HONEST):
            await asyncio.sleep(SOON)

    async def go() -> None:
        for turns in TURNS:
            await cancelled_after(turns, start)
            assert children() == before, f"cancelled after {turns} turns it leaves a process"

    probe()
    before = children()
    asyncio.run(asyncio.wait_for(go(), 6 * SOON))


@pytest.mark.needs("L3")
def test_of_a_command(tmp_path: Path) -> None:
    async def go() -> None:
        for turns in TURNS:
            await cancelled_after(turns, lambda: run_command(["sleep", "60"], tmp_path))
            assert children() == before, f"cancelled after {turns} turns it leaves a process"

    before = children()
    asyncio.run(asyncio.wait_for(go(), 6 * SOON))
