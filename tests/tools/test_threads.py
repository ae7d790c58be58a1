"""A plain handler that hangs holds up nobody: other tools, other calls, and the end of the program."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from transom.errors import ToolBusyError
from transom.llm import ToolCall
from transom.tools import Toolbox, ToolDefinition, ToolLimits, definition
from transom.tools.threads import Threads

ANY: dict[str, Any] = {"type": "object"}


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
        [sys.executable, "-m", "tests.tools.hanging"], cwd=root, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done good for ann\n", "")


async def test_what_could_not_begin_says_so_and_is_not_counted(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = Threads(2)
    monkeypatch.setattr(definition, "THREADS", threads)
    box = Toolbox(
        [
            ToolDefinition("hang", "Hangs.", ANY, lambda arguments: gate.wait(), limits=ToolLimits(seconds=0.05)),
            ToolDefinition("good", "Works.", ANY, lambda arguments: "good", limits=ToolLimits(calls=1)),
        ]
    )
    for number in range(2):
        ran = await box.run(ToolCall(str(number), "hang", {}))
        assert ran.error == "ToolTimeoutError"
    late = await box.run(ToolCall("2", "good", {}), seconds=0.05)
    assert late.error == "ToolBusyError" and late.result.trust == "ours"
    assert json.loads(late.result.content)["error"].startswith("the tool could not begin")
    box.recall(late)
    gate.set()
    ran = await box.run(ToolCall("3", "good", {}))  # it waits until one of the two has come to its end
    assert ran.result.content == "good"
    assert (await box.run(ToolCall("4", "good", {}))).error == "ToolQuotaError"


async def test_places_are_handed_on_in_order_and_none_is_lost(gate: threading.Event) -> None:
    threads = Threads(1)
    await threads.place(None)
    first = asyncio.create_task(threads.run(gate.wait))
    waiting = [asyncio.create_task(threads.place(60)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    first.cancel()  # nobody waits for the thread any more; its place is taken until it ends
    done, _ = await asyncio.wait(waiting, timeout=0.05)
    assert done == {waiting[0]}
    gate.set()
    for place in waiting[1:]:
        await asyncio.wait_for(place, 60)
        assert await threads.run(lambda: "ran") == "ran"
    await threads.place(60)
    with pytest.raises(ToolBusyError):
        await threads.place(0.01)


async def test_whoever_is_cancelled_as_it_is_given_a_place_gives_it_back(gate: threading.Event) -> None:
    threads = Threads(1)
    await threads.place(None)
    running = asyncio.create_task(threads.run(gate.wait))
    waiting = asyncio.create_task(threads.place(60))
    await asyncio.sleep(0)
    waiter = threads._waiting[0]
    gate.set()
    while not waiter.done():  # the thread gives its place, and this loop has not heard of it
        threading.Event().wait(0.001)
    waiting.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    assert waiting.cancelled()
    await threads.place(60)


def test_a_result_goes_to_the_loop_that_waits_for_it_and_a_loop_that_is_gone_is_not_missed(
    gate: threading.Event,
) -> None:
    threads, ended = Threads(4), threading.Event()

    def hang() -> None:
        gate.wait()
        ended.set()

    async def leave() -> None:
        await threads.place(None)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(threads.run(hang), 0.01)

    async def stay(word: str) -> str:
        await threads.place(None)
        return await threads.run(lambda: word)

    asyncio.run(leave())
    gate.set()
    assert ended.wait(60)
    assert [asyncio.run(stay(word)) for word in ("one", "two")] == ["one", "two"]


async def test_a_plain_handler_of_the_run_has_a_place_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = Threads(2)
    monkeypatch.setattr(definition, "THREADS", threads)
    box = Toolbox([ToolDefinition("own", "Works.", ANY, lambda arguments: "good", of_run=True)])
    for number in range(3):
        assert (await box.run(ToolCall(str(number), "own", {}))).result.content == "good"
    for _ in range(2):
        await threads.place(1)
    with pytest.raises(ToolBusyError):
        await threads.place(0.01)
