"""Objects that belong to one event loop: side by side, in turns, and one after another."""

from __future__ import annotations

import asyncio
import gc
import weakref

from transom.llm.loops import PerLoop


class Client:
    """Something that a loop has."""


def test_loops_in_turns_keep_their_own() -> None:
    clients = PerLoop(Client)

    async def get() -> Client:
        return clients.get()

    async def pop() -> Client | None:
        return clients.pop()

    with asyncio.Runner() as one, asyncio.Runner() as other:
        first, second = one.run(get()), other.run(get())
        assert first is not second
        assert [one.run(get()), other.run(get())] == [first, second]
        assert other.run(pop()) is second
        assert other.run(pop()) is None
        assert one.run(get()) is first, "another loop's is in use there"
        assert other.run(get()) is not second


def test_a_loop_that_was_closed_leaves_nothing_behind() -> None:
    clients = PerLoop(Client)

    async def get() -> Client:
        return clients.get()

    loop = asyncio.new_event_loop()
    lost, there = loop.run_until_complete(get()), weakref.ref(loop)
    loop.close()
    assert asyncio.run(get()) is not lost
    del loop
    gc.collect()
    assert there() is None
