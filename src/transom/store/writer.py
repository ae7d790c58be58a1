"""Commits writes in the event loop, or in a thread, where simultaneous writes share a commit (group
commit).

Handing a write to the thread and waiting for it costs more than the commit. So a task that is the
only writer commits in the event loop, as long as that does not hold up anybody else: the thread's
queue is empty, no other process holds the lock, and either the last synced commits were quick or
the loop has no other task. A slow disk blocks other tasks once, like opening the database; then the
thread commits until the disk has been quick for a while. When several tasks write in turn the
thread commits, and writes that arrive during a commit share the next one. The thread starts with
the first write that is handed to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Condition, RLock, Thread
from typing import Any

from transom.errors import StoreError
from transom.store.committer import PROVEN, CommitOutcome, Job, TransactionRunner, Work
from transom.store.location import StoreLocation

_GATHERING = 0.02  # seconds that a write without a waiting caller waits to share the next commit
_TURN = 0.005  # seconds after which a task that commits in the event loop yields to others


class Writer:
    """Runs jobs in the order of their submission, many in one transaction; it closes the
    committer.
    """

    def __init__(
        self,
        committer: TransactionRunner,
        location: StoreLocation,
        after_append: Callable[[int], None] | None = None,
    ) -> None:
        self._committer = committer
        self._location = location
        self._after_append = after_append
        self._appends = 0
        self._queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._queued = 0  # jobs handed to the thread and not committed yet
        self._waiting: list[Job] = []
        # handed to the thread without a waiting caller, who may not know its end yet
        self._unheard: list[Job] = []
        self._last = 0  # id of the task of the last awaited write; 0 before the first
        # the loop with a timer for held writes
        self._timed: asyncio.AbstractEventLoop | None = None
        self._turn = 0.0
        self._lock = RLock()  # so that no job can come after the last one
        self._door = Condition(self._lock)
        self._closed = False
        self._ended = False
        self._closing: list[asyncio.Future[Any]] = []
        self._thread: Thread | None = None

    @property
    def commits(self) -> int:
        """Number of transactions committed so far."""
        return self._committer.commits

    async def submit(self, work: Work, *, sync: bool = False, stream: str = "") -> Any:
        """Run `work` in a transaction, after all earlier jobs.

        Args:
            work: called with the connection; may be called again after a rollback.
            sync: whether the commit must reach the disk (`synchronous=FULL`) before the result is
                returned.
            stream: the stream that it appends to; "" for other writes.

        Returns:
            Its result after the commit. A cancellation takes effect when the write is over.

        Raises:
            StoreError: the write failed and changed nothing, or the store is closed.
        """
        loop = asyncio.get_running_loop()
        cancelled = await self._earlier(stream, loop) if self._unheard else None
        job = Job(work, None, sync, stream)
        with self._lock:
            self._hold(job)
            me = id(asyncio.current_task(loop))
            commits_here = self._last in (0, me) and not self._queued
            # The task waits for its commit in any case, so a slow disk costs a lone task nothing.
            commits_here = commits_here and (self._committer.quick >= PROVEN or _is_only_task(loop))
            self._last = me
            batch, self._waiting = self._waiting, []
            try:
                outcomes = self._committer.commit_at_once(batch) if commits_here else None
            except BaseException:
                # Interrupted. The held writes of others are still to be committed.
                self._waiting = batch[:-1]
                raise
            if outcomes is None:
                future = job.future = _Decided(loop=loop)
                self._push(batch, stream)
        if outcomes is None:
            result = await future
        else:
            self._settle(batch, outcomes, own_loop=loop)
            if loop.time() > self._turn + _TURN:
                await asyncio.sleep(0)
                self._turn = loop.time()
            own_outcome = outcomes[-1]
            if own_outcome.error:
                raise own_outcome.error
            result = own_outcome.result
        if cancelled:
            raise cancelled
        return result

    async def _earlier(
        self, stream: str, loop: asyncio.AbstractEventLoop
    ) -> asyncio.CancelledError | None:
        """Wait for earlier appends to the stream: a later one is not written where one of them
        failed.

        Returns:
            A cancellation that came meanwhile, to be raised once the later one is written.
        """
        cancelled = None
        futures: list[asyncio.Future[Any]] = []
        with self._lock:
            unheard, self._unheard = self._unheard, []
            for job in unheard:
                if job.future is None or job.future.done():
                    continue
                self._unheard.append(job)
                if job.stream == stream:
                    futures.append(job.future)
        for future in futures:
            if future.get_loop() is loop:
                try:
                    await future
                except asyncio.CancelledError as error:
                    cancelled = error
        return cancelled

    def hand_over_soon(self, work: Work, *, stream: str = "") -> asyncio.Future[Any]:
        """Do the same without waiting: it is committed with the next write, or shortly."""
        loop = asyncio.get_running_loop()
        future = _Decided(loop=loop)
        job = Job(work, future, False, stream, soon=True)
        with self._lock:
            self._hold(job)
            if self._timed is not loop:  # the timer of a closed loop never fires
                self._timed = loop
                loop.call_later(_GATHERING, self._time_is_up)
        return future

    def finish(self, stream: str) -> None:
        """Block until all earlier appends to the stream have ended, so that a read sees them."""
        with self._door:
            if not any(job.stream == stream for job in (*self._waiting, *self._unheard)):
                return
            self._push_waiting()
            while self._queued and not self._ended:
                self._door.wait()

    def _hold(self, job: Job) -> None:
        if self._closed:
            raise StoreError("the store is closed", place=str(self._location))
        self._waiting.append(job)

    def _push(self, batch: list[Job], awaited: str = "") -> None:
        if batch:
            self._unheard += [job for job in batch if job.soon and job.stream != awaited]
            self._queued += len(batch)
            self._queue.put(batch)
            self._start()

    def _push_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        self._push(batch)

    def _start(self) -> None:
        # a signal may have interrupted its start
        if self._thread is None or not self._thread.is_alive():
            # A daemon: a process that dies without closing must not hang; an open transaction then
            # rolls back.
            self._thread = Thread(target=self._serve, name="transom-store", daemon=True)
            self._thread.start()

    def _time_is_up(self) -> None:
        with self._door:
            self._timed = None
            self._push_waiting()

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
        await ended  # joining in another thread would cost more than the last commit
        if self._thread:
            self._thread.join()

    def _end(self) -> None:
        """End the queue; closing the connection writes the log into the database."""
        self._push_waiting()
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
                    self._door.notify_all()
                self._settle(batch, outcomes)
            self._committer.close()
        finally:
            with self._door:
                self._ended = True
                self._door.notify_all()
            for ended in self._closing:
                with suppress(RuntimeError):  # the loop is closed
                    ended.get_loop().call_soon_threadsafe(_resolve, ended, CommitOutcome())

    def _next_batch(self) -> list[Job]:
        """Return all waiting jobs, at least one; empty once the store is closed and the queue is
        empty.
        """
        batch: list[Job] = []
        while not batch or not self._queue.empty():  # this thread is the only consumer
            jobs = self._queue.get()
            if jobs is None:
                if batch:
                    self._queue.put(None)  # put the end marker back until the jobs are done
                break
            batch += jobs
        return batch

    def _settle(
        self,
        batch: Sequence[Job],
        outcomes: Sequence[CommitOutcome],
        *,
        own_loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Resolve the futures; `own_loop` is the loop of the calling thread."""
        elsewhere: dict[
            asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], CommitOutcome]]
        ] = {}
        for job, outcome in zip(batch, outcomes, strict=True):
            if self._after_append and job.stream and outcome.error is None:
                self._call_hook(outcome, self._after_append)
            if job.future is None:
                continue
            loop = job.future.get_loop()
            if loop is own_loop:
                _resolve(job.future, outcome)
            else:
                elsewhere.setdefault(loop, []).append((job.future, outcome))
        for loop, settled in elsewhere.items():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_resolve_all, settled)

    def _call_hook(self, outcome: CommitOutcome, after_append: Callable[[int], None]) -> None:
        self._appends += 1
        try:
            after_append(self._appends)
        except BaseException as error:  # noqa: BLE001 - raised where the append is awaited
            outcome.error = error


def _is_only_task(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the running task is the only one of its loop."""
    return len(asyncio.all_tasks(loop)) == 1


def _resolve_all(settled: Sequence[tuple[asyncio.Future[Any], CommitOutcome]]) -> None:
    for future, outcome in settled:
        _resolve(future, outcome)


class _Decided(asyncio.Future[Any]):
    """A future that cannot be cancelled: a write in progress always completes."""

    def cancel(self, msg: object = None) -> bool:
        del msg
        return False


def _resolve(future: asyncio.Future[Any], outcome: CommitOutcome) -> None:
    if future.done():  # already resolved
        return
    if outcome.error is None:
        future.set_result(outcome.result)
    else:
        future.set_exception(outcome.error)
