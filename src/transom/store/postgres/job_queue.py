"""The queue of jobs in PostgreSQL: Procrastinate gives each job to one worker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import psycopg
from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import Job as ProcrastinateJob
from procrastinate.worker import Worker

from transom.errors import StoreError
from transom.store.job_queue import DoJob, JobPostponed, LivingWorker, WaitingJobs, WorkerJob
from transom.store.location import PostgresAddress
from transom.store.postgres.connections import (
    PostgresConnection,
    client_name,
    connection_text,
    migrate,
    open_pool,
)
from transom.store.postgres.errors import store_error, typed_errors

HEARTBEAT_SECONDS = 2.0
STALLED_SECONDS = 10.0
"""Seconds after the last heartbeat of a worker from which on others take its jobs over."""
_LOOK_SECONDS = 5.0  # between two looks for jobs of dead workers
_LONGEST_SILENCE = 20.0  # of this process's own worker, while the database can be reached
_POLL_SECONDS = 2.0  # a new job is notified; one that is due again is not
_TASK = "transom.job"
_ROOM = "jobs"
_PATIENCE = 30.0

_log = logging.getLogger(__name__)

# Clocks of workers may differ from the server's, so "at once" is a time that is past everywhere.
_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
_LATER = "SELECT clock_timestamp() + %(seconds)s * interval '1 second' AS due"
_NUMBERS = """
    SELECT (args->>'number')::int AS number FROM procrastinate_jobs
    WHERE args->>'group' = %(group)s AND status IN ('todo', 'doing')
"""
_MOVE = """
    UPDATE procrastinate_jobs SET queue_name = %(queue)s
    WHERE args->>'group' = %(group)s AND status = 'todo' AND queue_name <> %(queue)s
    RETURNING id
"""
_WAITING = """
    SELECT queue_name, args->>'group' AS group,
        count(*) FILTER (WHERE status = 'todo') AS waiting,
        count(*) FILTER (WHERE status = 'doing') AS running
    FROM procrastinate_jobs WHERE task_name = %(task)s AND status IN ('todo', 'doing')
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_WORKERS = """
    SELECT worker.id, extract(epoch FROM now() - last_heartbeat)::float8 AS silent_seconds,
        count(job.id) AS running
    FROM procrastinate_workers AS worker
    LEFT JOIN procrastinate_jobs AS job ON job.worker_id = worker.id AND job.status = 'doing'
    WHERE last_heartbeat > now() - %(stalled)s * interval '1 second'
    GROUP BY worker.id ORDER BY worker.id
"""
# A worker that starts removes those that were silent for too long. One may only have been paused.
_COME_BACK = """
    INSERT INTO procrastinate_workers (id) OVERRIDING SYSTEM VALUE VALUES (%(id)s)
    ON CONFLICT DO NOTHING RETURNING id
"""


def _create(connection: PostgresConnection) -> None:
    connection.execute(App(connector=PsycopgConnector()).schema_manager.get_schema())
    # The group of a job is looked up for each progress line of a client.
    connection.execute(
        "CREATE INDEX procrastinate_jobs_by_group ON procrastinate_jobs ((args->>'group'))"
    )


_STEPS = (_create,)


@asynccontextmanager
async def open_postgres_jobs(address: PostgresAddress) -> AsyncIterator[PostgresJobs]:
    """Connect to the queue of a database, creating its tables if they are missing."""
    pool = open_pool(address, _PATIENCE)
    try:
        with typed_errors(address), pool.connection() as connection:
            migrate(connection, address, _ROOM, _STEPS)
    finally:
        pool.close()
    # Its messages about a database that is away are said by this module in one line.
    logging.getLogger("procrastinate").addHandler(logging.NullHandler())
    connector = PsycopgConnector(
        conninfo=connection_text(address),
        min_size=1,
        max_size=2,
        timeout=_PATIENCE,
        kwargs={"application_name": f"transom {client_name()}"[:63]},
    )
    app = App(connector=connector)
    with _typed(address):
        await app.open_async()
    try:
        yield PostgresJobs(app, address)
    finally:
        await app.close_async()


class PostgresJobs:
    """The queue of a database; see `JobQueue`."""

    def __init__(self, app: App, address: PostgresAddress) -> None:
        self._app = app
        self._address = address
        self._do: DoJob | None = None
        self._worker: Worker | None = None
        self._is_stopped = False
        self._hangs = asyncio.Event()
        self._heard_at = 0.0
        self._task = app.task(name=_TASK, pass_context=True, retry=_Retrying())(self._perform)

    async def put(self, jobs: Sequence[WorkerJob]) -> None:
        if not jobs:
            return
        deferred = []
        for job in jobs:
            # Its own method would put each job in a transaction of its own.
            deferrer = self._task.configure(queue=job.queue, lock=job.lock, priority=job.priority)
            arguments = {"group": job.group, "number": job.number, "data": dict(job.data)}
            deferred.append(deferrer.job.evolve(task_kwargs=arguments))
        with _typed(self._address):
            await self._app.job_manager.batch_defer_jobs_async(deferred)

    async def numbers(self, group: str) -> set[int]:
        rows = await self._query(_NUMBERS, group=group)
        return {row["number"] for row in rows}

    async def move(self, group: str, queue: str) -> int:
        return len(await self._query(_MOVE, group=group, queue=queue))

    async def waiting(self) -> list[WaitingJobs]:
        rows = await self._query(_WAITING, task=_TASK)
        return [
            WaitingJobs(row["queue_name"], row["group"], row["waiting"], row["running"])
            for row in rows
        ]

    async def workers(self) -> list[LivingWorker]:
        return [LivingWorker(**row) for row in await self._query(_WORKERS, stalled=STALLED_SECONDS)]

    async def work(
        self,
        do: DoJob,
        queues: Collection[str],
        places: int,
        *,
        drain_seconds: float,
        registered: Callable[[int], Awaitable[None]],
        lost: DoJob,
    ) -> None:
        self._do = do
        asyncio.get_running_loop().set_exception_handler(_log_only)
        looking = asyncio.create_task(self._look_after_stalled(lost))
        try:
            while not self._is_stopped:
                await self._work_while_connected(queues, places, drain_seconds, registered)
        finally:
            looking.cancel()

    def stop(self) -> None:
        self._is_stopped = True
        if self._worker is not None:
            _stop(self._worker)

    async def _work_while_connected(
        self,
        queues: Collection[str],
        places: int,
        drain_seconds: float,
        registered: Callable[[int], Awaitable[None]],
    ) -> None:
        """Take jobs until `stop` is called, or the connection breaks."""
        self._worker = worker = Worker(
            self._app,
            queues=[*queues],
            concurrency=places,
            install_signal_handlers=False,
            fetch_job_polling_interval=_POLL_SECONDS,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=STALLED_SECONDS,
            shutdown_graceful_timeout=drain_seconds,
            # The answers are kept in the store, so a job that is done leaves nothing here.
            delete_jobs="successful",
        )
        self._hangs.clear()
        self._heard_at = time.monotonic()
        hanging = asyncio.create_task(self._hangs.wait())
        try:
            running = asyncio.create_task(_run(worker))
            # The number is given by the database when the worker begins.
            while worker.worker_id is None and not running.done() and not hanging.done():
                await asyncio.sleep(0.02)
            if worker.worker_id is not None:
                await registered(worker.worker_id)
            if self._is_stopped:
                _stop(worker)
            await asyncio.wait({running, hanging}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            else:
                # It cannot be cancelled: it would wait for what it waits for already.
                _stop(worker)
                _log.warning("the queue was not heard of since it was cut off; it is opened anew")
        except (ProcrastinateException, psycopg.Error, StoreError, OSError) as error:
            _log.warning("the queue cannot be reached, it is tried again: %s", _line(error))
        finally:
            hanging.cancel()
        if not self._is_stopped:
            await asyncio.sleep(1.0)

    async def _perform(self, context: JobContext, /, **arguments: Any) -> None:
        del arguments  # the job has them
        assert self._do is not None
        try:
            await self._do(_job_of(context.job))
        except JobPostponed as postponed:
            [row] = await self._query(_LATER, seconds=postponed.seconds)
            raise _DueAgain(row["due"]) from None

    async def _look_after_stalled(self, lost: DoJob) -> None:
        """Give the jobs of dead workers back to the queue, for as long as this worker lives.

        This is no periodic job of the queue: it would wait for a free place of a worker, and all
        places may be taken for minutes.
        """
        manager = self._app.job_manager
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._look_after_own_worker()
                stalled = await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS)
                for job in stalled:
                    await lost(_job_of(job))
                    # Another worker may have been first.
                    with suppress(ProcrastinateException):
                        await manager.retry_job(job, retry_at=_AT_ONCE)
            except (ProcrastinateException, psycopg.Error, StoreError, OSError) as error:
                _log.warning("no look at dead workers' jobs was possible: %s", _line(error))
                # What hangs is known only while the database can be reached.
                self._heard_at = time.monotonic()

    async def _look_after_own_worker(self) -> None:
        """Bring this worker back to the list, or have it begun anew.

        Procrastinate's worker may wait for ever once its connections were cut off while it had
        jobs: it sends no heartbeat any more, and takes no job.
        """
        number = self._worker.worker_id if self._worker is not None else None
        if number is not None:
            await self._query(_COME_BACK, id=number)
        living = {worker.id for worker in await self.workers()}
        if self._is_stopped or number in living:
            self._heard_at = time.monotonic()
        elif time.monotonic() - self._heard_at > _LONGEST_SILENCE:
            self._hangs.set()

    async def _query(self, statement: Any, **values: Any) -> list[dict[str, Any]]:
        with _typed(self._address):
            rows: list[dict[str, Any]] = await self._app.connector.execute_query_all_async(
                statement, **values
            )
        return rows


class _DueAgain(Exception):
    """Raised by a job that is to be taken again at a time of the server's clock."""

    def __init__(self, due: datetime) -> None:
        super().__init__(due.isoformat())
        self.due = due


class _Retrying(BaseRetryStrategy):
    """Sends every job back into the queue that was not done: no job is dropped here."""

    def get_retry_decision(
        self, *, exception: BaseException, job: ProcrastinateJob
    ) -> RetryDecision:
        if isinstance(exception, _DueAgain):
            return RetryDecision(retry_at=exception.due)
        # A job is cancelled if its worker ends; another may take it at once.
        if isinstance(exception, Exception):
            _log.warning("job %s is done again: %s", job.id, _line(exception))
        return RetryDecision(retry_at=_AT_ONCE)


def _job_of(job: ProcrastinateJob) -> WorkerJob:
    arguments: dict[str, Any] = {**job.task_kwargs}
    return WorkerJob(
        job.queue,
        arguments["group"],
        arguments["number"],
        job.lock or "",
        arguments["data"],
        job.priority,
        job.attempts > 0,
    )


async def _run(worker: Worker) -> None:
    await worker.run()  # type: ignore[no-untyped-call]  # the library leaves it out


def _stop(worker: Worker) -> None:
    worker.stop()  # type: ignore[no-untyped-call]  # as above


@contextmanager
def _typed(address: PostgresAddress) -> Iterator[None]:
    """Convert errors of the queue to `StoreError`."""
    try:
        yield
    except ProcrastinateException as error:
        raise store_error(error.__cause__ or error, address) from error


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _log_only(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error that nobody awaits: e.g. that another worker has done a job meanwhile."""
    error = context.get("exception")
    if isinstance(error, ProcrastinateException | psycopg.Error):
        _log.info("%s: %s", context.get("message", ""), _line(error))
    else:
        loop.default_exception_handler(context)
