"""Which workers live, and what waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from transom.store import JobQueue, Store, WaitingJobs
from transom.workers.submission import queue_of

WORKERS = "workers"
"""The table of documents in which each worker says what it is."""


@dataclass(frozen=True)
class WorkerState:
    """A worker that lives.

    Attributes:
        name: its host and its process, `HOST:PID`.
        version: the version of its code.
        queues: the queues whose jobs it does.
        places: how many it does at once.
        running: how many it is doing.
        silent_seconds: seconds since its last heartbeat.
        started_at: when it started.
    """

    name: str
    version: str
    queues: tuple[str, ...]
    places: int
    running: int
    silent_seconds: float
    started_at: str

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "queues": [*self.queues]}


@dataclass(frozen=True)
class WorkersOverview:
    """The workers of a database and its jobs that are not done yet."""

    workers: Sequence[WorkerState]
    waiting: Sequence[WaitingJobs]

    def why_unserved(self, full_name: str) -> str:
        """Return why no worker does the jobs of a queue, and what to do; "" if one does."""
        name, version = queue_of(full_name)
        serving = [worker for worker in self.workers if name in worker.queues]
        if any(worker.version == version for worker in serving):
            return ""
        if not serving:
            return f"no worker serves the queue {name}; start one: transom worker --queues {name}"
        other_versions = ", ".join(sorted({worker.version for worker in serving}))
        return (
            f"no worker has version {version} of transom, only {other_versions}; start one of that"
            " version, or give the command again with the version of a worker"
        )


async def overview_of(jobs: JobQueue, store: Store) -> WorkersOverview:
    """Return the workers that live, and the jobs that are not done yet."""
    documents: dict[str, Any] = dict(store.items(WORKERS))
    workers: list[WorkerState] = []
    for living in await jobs.workers():
        # A worker that has just started has a heartbeat, and has not said yet what it is.
        if document := documents.get(str(living.id)):
            workers.append(
                WorkerState(
                    name=document["name"],
                    version=document["version"],
                    queues=tuple(document["queues"]),
                    places=document["places"],
                    running=living.running,
                    silent_seconds=living.silent_seconds,
                    started_at=document["started_at"],
                )
            )
    return WorkersOverview(workers, await jobs.waiting())
