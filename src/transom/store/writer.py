"""Who commits: a thread of its own, in which writes that come together share a commit, or the writer itself.

Handing a write to the thread and waiting for it costs more than the commit. So a task whose writes nobody else's come
between commits them itself, in the event loop, as long as that does not hold up the loop: the last synced commits were
quick, nothing waits for the thread, and no other process holds the lock. A slow disk holds it up once, as opening the
database did; the thread then commits until the disk has been quick for a while. Where many tasks write in turn the
thread commits, and what was handed over while it was at that shares the next commit (group commit). It is started with
the first write that is handed to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from transom.errors import StoreError
from transom.store.committer import PROVEN, CommitOutcome, Committer, Job, Work

_GATHERING = 0.02  # seconds that a write which nobody waits for yet waits for the next one, to share its commit
_TURN = 0.005  # seconds, after which a task that commits by itself lets others have their turn


class Writer:
    """Runs jobs in the order they were handed over, many in one transaction.

    Args:
        committer: usable from another thread; closed by the writer.
        path: the database file, for messages.
        after_append: see `SqliteStore.open`.
    """

    def __init__(self, committer: Committer, path: Path, after_append: Callable[[int], None] | None = None) -> None:
        self._committer = committer
        self._path = path
        self._after_append = after_append
        self._appends = 0
        self._queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._queued = 0  # jobs that are the thread's, and not committed yet
        self._held: list[Job] = []
        self._last = 0  # who waited for a write last; 0 as long as nobody has
        self._timed: asyncio.AbstractEventLoop | None = None  # which knows when held writes have waited enough
        self._turn = 0.0
        self._door = Lock()  # so that no job can slip in behind the last one
        self._closed = False
        self._ended = False
        self._closing: list[asyncio.Future[Any]] = []
        self._thread: Thread | None = None

    @property
    def commits(self) -> int:
        """Transactions committed so far."""
        return self._committer.commits

    async def submit(self, work: Work, *, sync: bool = False, stream: str = "") -> Any:
        """Run `work` in a transaction, after all that was handed over before.

        Args:
            work: is given the connection, may be called again after a rollback.
            sync: the commit reaches the disk (`synchronous=FULL`) before its result is there.
            stream: that it appends to; "" for a write that is no append.

        Returns:
            Its result after the commit. Who is cancelled meanwhile hears of it when the write is over.

        Raises:
            StoreError: the write failed and left nothing behind, or the store is closed.
        """
        loop = asyncio.get_running_loop()
        job = Job(work, _Decided(loop=loop), sync, stream)
        with self._door:
            self._hold(job)
            me = id(asyncio.current_task(loop))
            here = self._last in (0, me) and not self._queued and self._committer.quick >= PROVEN
            self._last = me
            batch, self._held = self._held, []
            outcomes = self._committer.commit_at_once(batch) if here else None
            if outcomes is None:
                self._push(batch)
        if outcomes is not None:
            self._settle(batch, outcomes, here=loop)
        if outcomes is not None and loop.time() > self._turn + _TURN:
            await asyncio.sleep(0)
            self._turn = loop.time()
        return await job.future

    def hand_over_soon(self, work: Work, *, stream: str = "") -> asyncio.Future[Any]:
        """The same without waiting: it is committed together with the next write, or in a moment."""
        loop = asyncio.get_running_loop()
        job = Job(work, _Decided(loop=loop), False, stream, soon=True)
        with self._door:
            self._hold(job)
            if self._timed is not loop:  # one that has ended by now tells nobody
                self._timed = loop
                loop.call_later(_GATHERING, self._time_is_up)
        return job.future

    def _hold(self, job: Job) -> None:
        if self._closed:
            raise StoreError("the store is closed", where=str(self._path))
        self._held.append(job)

    def _push(self, batch: list[Job]) -> None:
        if batch:
            self._queued += len(batch)
            self._queue.put(batch)
            self._start()

    def _push_held(self) -> None:
        batch, self._held = self._held, []
        self._push(batch)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # a signal may have come in the middle of starting it
            # A daemon: a process that dies without closing must not hang; an open transaction then rolls back.
            self._thread = Thread(target=self._serve, name="transom-store", daemon=True)
            self._thread.start()

    def _time_is_up(self) -> None:
        with self._door:
            self._timed = None
            self._push_held()

    async def close(self) -> None:
        """Finish the queue, then close the connection. Closing twice does no harm."""
        ended = asyncio.get_running_loop().create_future()
        with self._door:
            if not self._closed:
                self._closed = True
                self._end()
            if not self._ended:
                self._closing.append(ended)
            else:
                ended.set_result(None)
        await ended  # not by a thread that joins: starting one, and ending it, costs more than the last commit
        if self._thread:
            self._thread.join()

    def _end(self) -> None:
        """By whoever commits: closing the connection puts what is in the log into the database."""
        self._push_held()
        if self._thread is None and self._committer.quick >= PROVEN:
            self._committer.close()
            self._ended = True
        else:
            self._queue.put(None)
            self._start()

    def _serve(self) -> None:
        try:
            while batch := self._next_batch():
                outcomes = self._committer.commit(batch)
                with self._door:
                    self._queued -= len(batch)
                self._settle(batch, outcomes)
            self._committer.close()
        finally:
            with self._door:
                self._ended = True
            for ended in self._closing:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    ended.get_loop().call_soon_threadsafe(_resolve, ended, CommitOutcome())

    def _next_batch(self) -> list[Job]:
        """Everything that waits, at least one job; empty once the store is closed and the queue is done."""
        batch: list[Job] = []
        while not batch or not self._queue.empty():  # nobody else takes from it
            jobs = self._queue.get()
            if jobs is None:
                if batch:
                    self._queue.put(None)  # the end, seen while jobs were collected: meet it again afterwards
                break
            batch += jobs
        return batch

    def _settle(
        self, batch: Sequence[Job], outcomes: Sequence[CommitOutcome], *, here: asyncio.AbstractEventLoop | None = None
    ) -> None:
        """Tell everybody; `here` is the loop in whose thread this is called."""
        elsewhere: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], CommitOutcome]]] = {}
        for job, outcome in zip(batch, outcomes, strict=True):
            if self._after_append and job.stream and outcome.error is None:
                self._tell(outcome, self._after_append)
            loop = job.future.get_loop()
            if loop is here:
                _resolve(job.future, outcome)
            else:
                elsewhere.setdefault(loop, []).append((job.future, outcome))
        for loop, settled in elsewhere.items():
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_resolve_all, settled)

    def _tell(self, outcome: CommitOutcome, after_append: Callable[[int], None]) -> None:
        self._appends += 1
        try:
            after_append(self._appends)
        except BaseException as error:  # noqa: BLE001 - raised where the append is awaited
            outcome.error = error


def _resolve_all(settled: Sequence[tuple[asyncio.Future[Any], CommitOutcome]]) -> None:
    for future, outcome in settled:
        _resolve(future, outcome)


class _Decided(asyncio.Future[Any]):
    """A write that is under way comes to its end, also where nobody waits for it any more."""

    def cancel(self, msg: object = None) -> bool:
        del msg
        return False


def _resolve(future: asyncio.Future[Any], outcome: CommitOutcome) -> None:
    if future.done():  # cancelled while it waited
        return
    if outcome.error is None:
        future.set_result(outcome.result)
    else:
        future.set_exception(outcome.error)
