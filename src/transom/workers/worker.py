"""A worker: takes jobs from the queue, and has them done by processes of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transom.errors import StoreError
from transom.store import JobPostponed, JobQueue, PostgresAddress, Store, WorkerJob, keep_unchanged
from transom.workers.hands import HandEnded, run_program
from transom.workers.overview import WORKERS
from transom.workers.pool import HandPool
from transom.workers.submission import (
    ANSWERED,
    HELD,
    LINE,
    PROGRAM,
    TROUBLES,
    code_version,
    queue_name,
)

MOST_LOSSES = 3
"""How many processes a job may cost before it is given up."""
MOST_ORPHANED = 10
"""How many workers may die over a job before it is given up: machines fail more often than a job
ends them.
"""
_BUSY_SECONDS = 2.0
_ELSEWHERE_SECONDS = 5.0
_TIDY_SECONDS = 5.0
_PATIENCE_SECONDS = 30.0

_log = logging.getLogger(__name__)


class QueueWorker:
    """Does the jobs of some queues until it is told to stop.

    Each job is done at least once: a worker may die after the work and before it says so. What a
    job costs is paid once all the same, since its run's journal has every reply.
    """

    def __init__(
        self,
        jobs: JobQueue,
        store: Store,
        address: PostgresAddress,
        *,
        name: str,
        queues: Collection[str],
        places: int,
        progress: Callable[[str], None],
    ) -> None:
        """Prepare a worker.

        Args:
            jobs: the queue.
            store: the store of the same database, which keeps the answers.
            address: the database.
            name: the name of this worker for people.
            queues: names of queues, without a version.
            places: how many jobs are done at once.
            progress: shows a line.
        """
        self._jobs, self._store = jobs, store
        self._name, self._queues, self._places = name, sorted(queues), places
        self._progress = progress
        # A hand finds the database here, whatever the settings of its folder say.
        self._environ = {"TRANSOM_STORE": address.url}
        self._pool = HandPool(places, self._environ)
        self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._id = ""
        self._elsewhere: set[str] = set()

    async def work(self, drain_seconds: float) -> None:
        """Do jobs until `stop`, then those that were begun, for some seconds."""
        tidying = asyncio.create_task(self._tidy())
        try:
            await self._jobs.work(
                self._do,
                [queue_name(name) for name in self._queues],
                self._places,
                drain_seconds=drain_seconds,
                registered=self._register,
                lost=self._note_loss,
            )
        finally:
            tidying.cancel()
            await self._pool.close()
            if self._id:
                await self._store.delete(WORKERS, self._id)

    def stop(self) -> None:
        """Take no further job."""
        self._jobs.stop()

    # -- a job -------------------------------------------------------------------------------------

    async def _do(self, job: WorkerJob) -> None:
        if job.is_repeated and self._is_answered(job):
            return  # its worker died between the answer and the end of the job
        self._check_folders(job)
        key = _key(job)
        troubles: Any = self._store.get(TROUBLES, key) or {}
        answer: dict[str, Any]
        if troubles.get("lost", 0) >= MOST_LOSSES:
            answer = {"failed": f"its process ended {MOST_LOSSES} times before it was done"}
        elif troubles.get("orphaned", 0) >= MOST_ORPHANED:
            answer = {"failed": f"{MOST_ORPHANED} workers ended before it was done"}
        else:
            answer = await self._answer_of(job, alone="lost" in troubles)
        # Another worker's lease lasts some seconds longer than its heartbeat; or a person has the
        # run open.
        if answer.get("busy"):
            raise JobPostponed(_BUSY_SECONDS)
        # The database was away, or the run was taken over: the journal has all that was paid for.
        if answer.get("trouble") and troubles.get("lost", 0) + 1 < MOST_LOSSES:
            await self._note(job, "lost")
            raise JobPostponed(_BUSY_SECONDS)
        # A provider that failed is asked again once, as in a batch on one machine.
        seconds = answer.get("again", 0.0)
        if seconds and not troubles.get("held"):
            await self._note(job, "held")
            postponed = {
                "number": job.number,
                "until": time.time() + seconds,
                "cause": answer["cause"],
            }
            await self._tell(job, HELD, postponed)
            raise JobPostponed(seconds)
        await self._tell(job, ANSWERED, {"number": job.number, "worker": self._name, **answer})
        if troubles:
            await self._store.delete(TROUBLES, key)

    def _is_answered(self, job: WorkerJob) -> bool:
        for record in self._store.read(job.group):
            data: Any = record.data
            if record.kind == ANSWERED and data["number"] == job.number:
                return True
        return False

    async def _answer_of(self, job: WorkerJob, *, alone: bool) -> dict[str, Any]:
        try:
            if job.data["kind"] == PROGRAM:
                return await self._answer_of_program(job)
            # A job whose process ended gets one of its own: it may be the reason, and the others
            # of that process are not to be given up with it.
            group = _key(job) if alone else job.group
            return await self._pool.do(group, job.data, {"target": job.data["target"]})
        except HandEnded as ended:
            self._progress(f"{job.data['target']}: {ended}; it is done again")
            await self._note(job, "lost")
            raise JobPostponed(0.0) from ended

    async def _answer_of_program(self, job: WorkerJob) -> dict[str, Any]:
        async def tell(line: str) -> None:
            await self._tell(job, LINE, {"number": job.number, "line": line})

        environ = {**self._environ, "TRANSOM_RUN_PATIENCE": str(_PATIENCE_SECONDS)}
        answer = await run_program(job.data, environ, tell)
        # Only a signal ends a program without an answer: it was killed, e.g. for lack of memory.
        if answer["code"] < 0:
            raise HandEnded(answer["code"])
        return answer

    def _check_folders(self, job: WorkerJob) -> None:
        """Leave a job to other workers if its folders are not on this machine."""
        folders = [job.data["entry"]["cwd"]]
        # A workspace whose files are in the database is made where it is missing.
        if not job.data.get("fetches"):
            folders.append(job.data["workspace"])
        for folder in folders:
            if Path(folder).is_dir():
                continue
            if folder not in self._elsewhere:
                self._elsewhere.add(folder)
                self._progress(f"{folder} is not on this machine; its jobs are left to others")
            raise JobPostponed(_ELSEWHERE_SECONDS)

    async def _tell(self, job: WorkerJob, kind: str, data: dict[str, Any]) -> None:
        await self._store.append(job.group, kind, data, summarise=keep_unchanged)

    # -- troubles ----------------------------------------------------------------------------------

    async def _note_loss(self, job: WorkerJob) -> None:
        """Count a job whose worker died."""
        self._progress(f"{job.data['target']}: its worker does not answer; it is taken over")
        await self._note(job, "orphaned")

    async def _note(self, job: WorkerJob, trouble: str) -> None:
        key = _key(job)
        while True:
            old: Any = self._store.get(TROUBLES, key)
            new = {**(old or {}), trouble: (old or {}).get(trouble, 0) + 1}
            # Several workers may note the same loss.
            if await self._store.swap(TROUBLES, key, old, new):
                return

    # -- this worker -------------------------------------------------------------------------------

    async def _register(self, number: int) -> None:
        """Tell who this worker is, and forget those that have died."""
        living = {str(worker.id) for worker in await self._jobs.workers()}
        for worker_id in self._store.items(WORKERS):
            if worker_id not in living:
                await self._store.delete(WORKERS, worker_id)
        self._id = str(number)
        await self._introduce()

    async def _introduce(self) -> None:
        document: dict[str, Any] = {
            "name": self._name,
            "version": code_version(),
            "queues": [*self._queues],
            "places": self._places,
            "started_at": self._started_at,
        }
        await self._store.put(WORKERS, self._id, document)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_SECONDS)
            await self._pool.end_idle()
            try:
                # While this worker was paused or cut off, another one may have forgotten it.
                if self._id and self._store.get(WORKERS, self._id) is None:
                    await self._introduce()
            except StoreError as error:
                _log.warning("the list of workers cannot be reached: %s", error)


def _key(job: WorkerJob) -> str:
    return f"{job.group}/{job.number}"
