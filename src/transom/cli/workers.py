"""`transom worker` and `transom workers`: who does the work of distributed commands."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import Annotated, Any

import typer

from transom.cli.app import nearest, root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, table
from transom.errors import InputError
from transom.store import PostgresAddress, open_jobs
from transom.workers import GROUPS, QueueWorker, WorkersOverview, overview_of

QUEUES = ("check", "investigate", "release", "story", "study", "eval")
"""The queues of jobs: the groups of commands that may be distributed."""
_EVERY = ",".join(QUEUES)

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Number of jobs to do at once.")
]
Queues = Annotated[str, typer.Option(metavar="NAME,NAME", help="Queues whose jobs to do.")]
Drain = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", min=0.0, help="Time that jobs have to end after SIGTERM or Ctrl-C."
    ),
]


@command(root, "worker", example="transom worker -j 8 --queues check")
async def worker(
    session: Session, jobs: Jobs = 8, queues: Queues = _EVERY, drain: Drain = 60.0
) -> int:
    """Do the jobs of distributed commands until SIGTERM or Ctrl-C.

    Start as many workers as you like, on any machine that reaches the workspace's folder and its
    database. If one dies, the others take its jobs over.
    """
    names = _queues_in(queues)
    # A workspace in a file is refused here, with the command that moves it.
    async with (
        open_jobs(session.workspace.store_location) as queue,
        session.open_store() as store,
    ):
        address = session.workspace.server
        assert isinstance(address, PostgresAddress)
        doer = QueueWorker(
            queue,
            store,
            address,
            name=f"{socket.gethostname()}:{os.getpid()}",
            queues=names,
            places=jobs,
            progress=session.progress,
        )
        loop = asyncio.get_running_loop()

        def drain_now() -> None:
            session.progress("the worker takes no further job, and ends those that it has")
            doer.stop()

        # A service manager stops a worker with SIGTERM, a person with Ctrl-C.
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, drain_now)
        session.progress(
            f"worker {socket.gethostname()}:{os.getpid()} does {counted(jobs, 'job')} at once of"
            f" {', '.join(names)}"
        )
        await doer.work(drain)
    return 0


@command(root, "workers", example="transom workers")
async def list_workers(session: Session) -> int:
    """List the workers that live, and the jobs that wait for them."""
    async with (
        open_jobs(session.workspace.store_location) as queue,
        session.workspace.open_store_for_reading() as store,
    ):
        overview = await overview_of(queue, store)
    return session.show(_document(overview), *_lines(overview))


def _document(overview: WorkersOverview) -> dict[str, Any]:
    jobs: list[dict[str, Any]] = []
    for row in overview.waiting:
        job = {
            "queue": row.queue,
            "group": row.group,
            "waiting": row.waiting,
            "running": row.running,
            "unserved": overview.why_unserved(row.queue) or None,
        }
        jobs.append(job)
    return {
        "schema": "transom.workers/1",
        "workers": [worker.to_json() for worker in overview.workers],
        "jobs": jobs,
    }


def _lines(overview: WorkersOverview) -> list[str]:
    """Return the workers and the jobs as two tables, and why jobs are not served."""
    workers: list[tuple[str, ...]] = []
    for worker in overview.workers:
        queues = ",".join(worker.queues)
        load = f"{worker.running} of {worker.places}"
        age = f"{worker.silent_seconds:.0f} s ago"
        workers.append((worker.name, worker.version, queues, load, age))
    lines = table(workers, head=("WORKER", "VERSION", "QUEUES", "JOBS", "HEARD"))
    if not lines:
        lines = ["no worker lives; start one: transom worker"]
    jobs: list[tuple[str, ...]] = []
    reasons: set[str] = set()
    for row in overview.waiting:
        group = row.group.removeprefix(GROUPS)
        jobs.append((row.queue, group, str(row.waiting), str(row.running)))
        if row.waiting:
            reasons.add(overview.why_unserved(row.queue))
    if jobs:
        lines += ["", *table(jobs, head=("QUEUE", "JOBS OF", "WAITING", "RUNNING"))]
    return [*lines, *sorted(reasons - {""})]


def _queues_in(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in QUEUES:
            raise InputError(
                f"there is no queue {name!r}",
                place="--queues",
                hint=f"did you mean {nearest(name, QUEUES)}? there are {', '.join(QUEUES)}",
            )
    # For example, `--queues ,` names none.
    if not names:
        raise InputError("no queue is named", place="--queues", hint=f"name {', '.join(QUEUES)}")
    return names
