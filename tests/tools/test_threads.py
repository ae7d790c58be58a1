"""A plain handler that hangs holds up nobody: other tools, other calls, and the end of the
program.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from transom.tools.threads import in_thread


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What handlers wait for; it opens when the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.slow
def test_a_program_whose_tools_hang_for_ever_goes_on_and_ends() -> None:
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.tools.hanging"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done good for ann\n", "")


def test_a_result_goes_to_the_loop_that_waits_for_it_and_a_loop_that_is_gone_is_not_missed(
    gate: threading.Event,
) -> None:
    ended = threading.Event()

    def hang() -> None:
        gate.wait()
        ended.set()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(hang), 0.01)

    async def stay(word: str) -> str:
        return await in_thread(lambda: word)

    asyncio.run(leave())
    gate.set()
    assert ended.wait(60)
    assert [asyncio.run(stay(word)) for word in ("one", "two")] == ["one", "two"]
