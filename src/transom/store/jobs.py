"""The queue of jobs that workers on several machines share: its shapes, and how it is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from transom.errors import InputError, install_hint
from transom.store.location import PostgresAddress, StoreLocation


@dataclass(frozen=True)
class WorkerJob:
    """A piece of work that one worker takes.

    Attributes:
        queue: the queue that it waits in.
        group: the jobs that were put together; the name of the stream of their answers.
        number: tells the jobs of a group apart.
        lock: of two jobs with the same lock, one waits until the other is done.
        data: what the worker has to know, a JSON object.
        priority: jobs of a higher one are taken first.
        is_repeated: whether a worker had it before.
    """

    queue: str
    group: str
    number: int
    lock: str
    data: Mapping[str, Any]
    priority: int = 0
    is_repeated: bool = False


@dataclass(frozen=True)
class WaitingJobs:
    """How many jobs of a group wait in a queue, and how many are being worked on."""

    queue: str
    group: str
    waiting: int
    begun: int


@dataclass(frozen=True)
class LivingWorker:
    """A worker as the queue knows it.

    Attributes:
        id: its number, which no other worker ever has.
        silent_seconds: seconds since its last heartbeat, by the clock of the database.
        begun: the jobs that it works on.
    """

    id: int
    silent_seconds: float
    begun: int


class JobPostponed(Exception):
    """Raised by the function that does a job, if the job can only be done later.

    Attributes:
        seconds: after which the job may be taken again, by any worker.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds:g} s")
        self.seconds = seconds


DoJob: TypeAlias = Callable[[WorkerJob], Awaitable[None]]
"""Does a job. What it raises sends the job back into the queue, so that nothing is lost."""


class JobQueue(Protocol):
    """The queue of a database. A job stays in it until a worker has done it."""

    async def put(self, jobs: Sequence[WorkerJob]) -> None:
        """Put jobs into the queue, all of them or none."""
        ...

    async def numbers(self, group: str) -> set[int]:
        """Return the numbers of a group's jobs that are not done yet."""
        ...

    async def move(self, group: str, queue: str) -> int:
        """Move the waiting jobs of a group into another queue; returns how many there were."""
        ...

    async def waiting(self) -> list[WaitingJobs]:
        """Return how many jobs are not done yet, by queue and group."""
        ...

    async def workers(self) -> list[LivingWorker]:
        """Return the workers whose heartbeat is not long ago."""
        ...

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
        """Take jobs until `stop` is called and those that were begun are done.

        If the database cannot be reached, it is tried again until it can.

        Args:
            do: does one job.
            queues: the queues whose jobs are taken.
            places: how many jobs are done at once.
            drain_seconds: seconds after `stop` in which begun jobs may end; then they are
                cancelled, and go back into the queue.
            registered: takes the number of this worker, again after the database was away.
            lost: called with each job whose worker has died, before the job goes back into the
                queue.
        """
        ...

    def stop(self) -> None:
        """Take no further job."""
        ...


@asynccontextmanager
async def open_jobs(location: StoreLocation) -> AsyncIterator[JobQueue]:
    """Open the queue of a database, creating it if it is missing.

    Raises:
        InputError: the database is a file, or an extra is not installed.
        StoreError: the database cannot be reached.
    """
    if not isinstance(location, PostgresAddress):
        raise InputError(
            "workers share their jobs in PostgreSQL, and this workspace has its database in a file",
            where=str(location),
            hint="move it with: transom migrate postgresql://USER@HOST/DATABASE",
        )
    try:
        import procrastinate  # noqa: F401, PLC0415  an extra
        import psycopg  # noqa: F401, PLC0415  an extra
        import psycopg_pool  # noqa: F401, PLC0415  an extra
    except ImportError as error:
        raise InputError(
            f"workers need the extra `workers` ({error})", hint=install_hint("workers")
        ) from error
    from transom.store.postgres.jobs import open_postgres_jobs  # noqa: PLC0415  an extra

    async with open_postgres_jobs(location) as jobs:
        yield jobs
