"""The events of a page: drawn once for all viewers, and never the end of a stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import cast

import pytest

from transom.errors import StoreError
from transom.server import live
from transom.server.live import Feed
from transom.store import Store


class CountingStore:
    """A store whose changes a test counts up."""

    def __init__(self) -> None:
        self.number = 0

    def changes(self) -> int:
        return self.number


class Drawing:
    """Draws the number of the store's changes, and counts how often it was asked."""

    def __init__(self, store: CountingStore) -> None:
        self.store = store
        self.count = 0
        self.errors: list[Exception] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self) -> str:
        self.gate.wait(10)
        self.count += 1
        if self.errors:
            raise self.errors.pop()
        return f"<p>\n{self.store.number}\n</p>"


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def drawing(store: CountingStore) -> Drawing:
    return Drawing(store)


def feed_of(drawing: Drawing) -> Feed:
    return Feed(cast("Store", drawing.store), lambda: drawing)


def event(number: int) -> bytes:
    return f"data: <p>\ndata: {number}\ndata: </p>\n\n".encode()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def next_of(stream: AsyncGenerator[bytes, None]) -> bytes:
    async with asyncio.timeout(20):
        return await anext(stream)


async def test_many_viewers_that_come_at_once_are_one_drawing(drawing: Drawing) -> None:
    feed = feed_of(drawing)
    streams = [feed.events() for _ in range(300)]
    assert await asyncio.gather(*map(next_of, streams)) == [event(0)] * 300
    assert drawing.count == 1
    drawing.store.number = 1
    assert await asyncio.gather(*map(next_of, streams)) == [event(1)] * 300
    assert drawing.count == 2
    # A viewer that comes later has what the others see, without a drawing of its own.
    late = feed.events()
    assert await next_of(late) == event(1)
    assert drawing.count == 2
    feed.close()


async def test_what_looks_the_same_is_not_sent_again(
    drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_LONGEST", 0.0)
    feed = feed_of(drawing)
    stream = feed.events()
    assert await next_of(stream) == event(0)
    waiting = asyncio.create_task(next_of(stream))
    await until(lambda: drawing.count >= 3)
    assert not waiting.done()
    # Unless nothing was sent for long.
    monkeypatch.setattr(live, "HEARTBEAT", 0.0)
    assert await waiting == event(0)
    feed.close()


async def test_a_slow_viewer_misses_events_and_gets_the_newest(drawing: Drawing) -> None:
    feed = feed_of(drawing)
    slow, quick = feed.events(), feed.events()
    assert await next_of(slow) == await next_of(quick) == event(0)
    for number in (1, 2, 3):
        drawing.store.number = number
        assert await next_of(quick) == event(number)
    assert await next_of(slow) == event(3)
    feed.close()


async def test_a_drawing_that_fails_ends_no_stream(
    drawing: Drawing, caplog: pytest.LogCaptureFixture
) -> None:
    drawing.errors = [KeyError("a template"), StoreError("database is locked", place="state.db")]
    feed = feed_of(drawing)
    assert await next_of(feed.events()) == event(0)
    # The other one is held back if a server of this process logs once a minute.
    assert "a page could not be drawn" in caplog.text
    feed.close()


async def test_nobody_looks_while_there_are_no_viewers(
    drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_LONGEST", 0.0)
    feed = feed_of(drawing)
    stream = feed.events()
    await next_of(stream)
    await stream.aclose()
    count = drawing.count
    await asyncio.sleep(3 / live.LOOKS_PER_SECOND)
    assert drawing.count == count
    # The next viewer sees the present, not what the last one saw.
    drawing.store.number = 5
    assert await next_of(feed.events()) == event(5)
    feed.close()


async def test_the_end_of_the_server_ends_a_stream_that_waits_and_one_that_draws(
    drawing: Drawing,
) -> None:
    feed = feed_of(drawing)
    stream = feed.events()
    await next_of(stream)
    waiting = asyncio.create_task(next_of(stream))
    await asyncio.sleep(0)
    feed.close()
    with pytest.raises(StopAsyncIteration):
        await waiting
    drawing.gate.clear()
    other = feed_of(drawing)
    drawing_stream = asyncio.create_task(next_of(other.events()))
    await asyncio.sleep(0.05)
    other.close()
    with pytest.raises(StopAsyncIteration):
        await drawing_stream
    drawing.gate.set()
