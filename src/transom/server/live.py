"""Events for pages: one watcher looks for changes and draws, whatever the number of viewers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable

from transom.store import Store

# A change is seen at once by a person, and a look is one query.
LOOKS_PER_SECOND = 5
_LONGEST = 2.0
"""Seconds after which a page is drawn again though nothing was written: times go on, and processes
die in silence.
"""
HEARTBEAT = 15.0
"""Seconds without a change after which the fragment is sent again: it reveals a viewer that has
gone.
"""
_log = logging.getLogger(__name__)


class Feed:
    """A fragment of a page that all its viewers receive, again and again as it changes.

    Args:
        store: the store whose changes count.
        begin: returns a function that draws the fragment. It is called when the first viewer comes,
            and what it returns is dropped with the last one.
    """

    def __init__(self, store: Store, begin: Callable[[], Callable[[], str]]) -> None:
        self._store = store
        self._begin = begin
        self._viewers = 0
        self._watcher: asyncio.Task[None] | None = None
        self._closed = False
        self._event = b""
        # Set once, at the next event, and then replaced.
        self._next_event = asyncio.Event()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield events for one viewer; the first one, at once, is the fragment as it is."""
        self._viewers += 1
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        try:
            while not self._closed:
                # Read before the event is sent. A viewer that is slow misses events meanwhile, and
                # then gets the newest one.
                next_event = self._next_event
                # Drawn once for all: many viewers come back at the same time after a restart.
                if self._event:
                    yield self._event
                await next_event.wait()
        finally:
            self._viewers -= 1
            # Nobody looks: the database has rest.
            if not self._viewers and self._watcher is not None:
                self._watcher.cancel()
                self._watcher = None
                self._event = b""

    def close(self) -> None:
        """End all streams, so that they do not hold the server up."""
        self._closed = True
        self._next_event.set()

    async def _watch(self) -> None:
        draw = self._begin()
        changes = -1
        drawn_at = sent_at = 0.0
        while True:
            try:
                # In a thread: a slow disk, or a busy database, must not hold up other requests.
                latest_changes = await asyncio.to_thread(self._store.changes)
                if latest_changes != changes or time.monotonic() - drawn_at >= _LONGEST:
                    changes, drawn_at = latest_changes, time.monotonic()
                    event = _event(await asyncio.to_thread(draw))
                    # Most changes of the store are of no interest to this page.
                    if event != self._event or time.monotonic() - sent_at >= HEARTBEAT:
                        sent_at = time.monotonic()
                        self._send(event)
            # Viewers keep the last event, and the next look may succeed: without a watcher they
            # would wait forever.
            except Exception as error:  # noqa: BLE001
                _log.warning("a page could not be drawn: %s", error)
            await asyncio.sleep(1 / LOOKS_PER_SECOND)

    def _send(self, event: bytes) -> None:
        self._event = event
        self._next_event.set()
        self._next_event = asyncio.Event()


class Feeds:
    """The feeds of an application, each by the address of its stream.

    Args:
        store: the store whose changes count.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._feeds: dict[str, Feed] = {}

    def feed(self, address: str, begin: Callable[[], Callable[[], str]]) -> Feed:
        """Return the feed of an address; for `begin` see `Feed`."""
        return self._feeds.setdefault(address, Feed(self._store, begin))

    def close(self) -> None:
        """End all streams."""
        for feed in self._feeds.values():
            feed.close()


def _event(fragment: str) -> bytes:
    """Return a server-sent event."""
    # The format ends an event at an empty line, so each line has its prefix.
    lines = [f"data: {line}" for line in fragment.splitlines()]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")
