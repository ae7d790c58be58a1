"""Events for pages: one watcher looks for changes, whatever the number of viewers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from transom.store import Store

# A change is seen at once by a person, and a look is one query.
LOOKS_PER_SECOND = 5
_LONGEST = 2.0
"""Seconds after which a page is sent again though nothing was written: times go on, and processes
die in silence.
"""
# Seconds without a change after which a comment is sent: it reveals a viewer that has gone.
_HEARTBEAT = 15.0


class Feed:
    """A fragment of a page that all its viewers receive, again and again as it changes.

    Args:
        store: the store whose changes count.
        draw: returns the fragment.
    """

    def __init__(self, store: Store, draw: Callable[[], str]) -> None:
        self._store = store
        self._draw = draw
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._closed = False

    async def events(self) -> AsyncIterator[bytes]:
        """Yield events for one viewer; the first one, at once, is the fragment as it is."""
        # A queue of one: a viewer that is slow gets the newest fragment, and misses older ones.
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(1)
        self._viewers.add(queue)
        try:
            if self._watcher is None:
                self._watcher = asyncio.create_task(self._watch())
            # Drawing reads the database, which may take a while on a slow disk.
            yield _event(await asyncio.to_thread(self._draw))
            while not self._closed:
                try:
                    event = await asyncio.wait_for(queue.get(), _HEARTBEAT)
                except TimeoutError:
                    event = b": still here\n\n"
                if event is None:
                    return
                yield event
        finally:
            self._viewers.discard(queue)
            # Nobody looks: the database has rest.
            if not self._viewers and self._watcher is not None:
                self._watcher.cancel()
                self._watcher = None

    def close(self) -> None:
        """End all streams, so that they do not hold the server up."""
        self._closed = True
        for queue in self._viewers:
            _put(queue, None)

    async def _watch(self) -> None:
        last_changes, drawn, waited = self._store.changes(), "", 0.0
        while True:
            await asyncio.sleep(1 / LOOKS_PER_SECOND)
            waited += 1 / LOOKS_PER_SECOND
            changes = self._store.changes()
            if changes == last_changes and waited < _LONGEST:
                continue
            last_changes, waited = changes, 0.0
            fragment = await asyncio.to_thread(self._draw)
            # Most changes of the store are of no interest to this page.
            if fragment == drawn:
                continue
            drawn = fragment
            event = _event(fragment)
            for queue in self._viewers:
                _put(queue, event)


def _put(queue: asyncio.Queue[bytes | None], event: bytes | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(event)


def _event(fragment: str) -> bytes:
    """Return a server-sent event."""
    # The format ends an event at an empty line, so each line has its prefix.
    lines = [f"data: {line}" for line in fragment.splitlines()]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")
