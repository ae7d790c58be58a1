"""The queue of jobs that workers on several machines share: its shapes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias


@dataclass(frozen=True)
class WorkerJob:
    """A piece of work that one worker takes.

    Attributes:
        queue: the queue that it waits in.
        group: the jobs that were put together; the name of the stream of their answers.
        number: tells the jobs of a group apart, which is not checked.
        lock: of two jobs with the same lock, one waits until the other is done.
        data: what the worker has to know, a JSON object.
        priority: jobs of a higher one are taken first.
        is_repeated: whether a worker had it before, also if that worker postponed it.
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
    running: int


@dataclass(frozen=True)
class LivingWorker:
    """A worker as the queue knows it.

    Attributes:
        id: its number, which no other worker ever has.
        silent_seconds: seconds since its last heartbeat, by the clock of the database.
        running: the jobs that it works on.
    """

    id: int
    silent_seconds: float
    running: int


class JobPostponed(Exception):
    """Raised by the function that does a job, if the job can only be done later.

    Attributes:
        seconds: after which the job may be taken again, by any worker.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds:g} s")
        self.seconds = seconds


DoJob: TypeAlias = Callable[[WorkerJob], Awaitable[None]]
"""Does a job. What it raises sends the job back into the queue, so that nothing is lost;
`JobPostponed` says after how many seconds.
"""


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
