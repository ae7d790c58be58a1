"""Jobs in the terms of Transom: which command they belong to, and which code may do them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transom import __version__
from transom.runs.journal import VERSION
from transom.store import Record, WorkerJob

ITEM, PROGRAM = "item", "program"
"""The kinds of jobs: an item of a batch, or a whole command line."""

GROUPS = "jobs/"
"""What the names of all groups begin with."""
ENQUEUED = "enqueued"
"""A record in the journal of a run whose work was given to workers."""
ANSWERED, HELD, LINE = "answered", "held", "line"
"""Records in the stream of a group: an answer, a job that is done later, a line of progress."""
TROUBLES = "job_troubles"
"""The table of documents with the jobs that did not go as usual."""


def new_group(run_id: str) -> str:
    """Return the name of a new group of jobs, which a run gives to the workers."""
    return f"{GROUPS}{run_id}/{secrets.token_hex(4)}"


def code_version() -> str:
    """Return the version of this code: one version does not go on with the runs of another."""
    return f"{__version__}/{VERSION}"


def queue_name(name: str, version: str = "") -> str:
    """Return the name of a queue of jobs that one version of the code may do."""
    return f"{name}@{version or code_version()}"


def queue_of(full_name: str) -> tuple[str, str]:
    """Return the name of a queue and the version of its jobs; see `queue_name`."""
    name, _, version = full_name.partition("@")
    return name, version


@dataclass(frozen=True)
class Submission:
    """Jobs that one command gave to the workers.

    Attributes:
        group: the name of the stream of their answers.
        queue: the name of their queue, without a version.
        targets: what tells the jobs apart, e.g. the paths of items.
        place: the command and the workspace; see `transom.cli.hand`.
        priority: jobs of a higher one are taken first.
    """

    group: str
    queue: str
    targets: Sequence[str]
    place: Mapping[str, Any]
    priority: int = 0

    def jobs(self, numbers: Iterable[int]) -> list[WorkerJob]:
        """Return some of the jobs."""
        name = queue_name(self.queue)
        jobs: list[WorkerJob] = []
        for number in numbers:
            target = self.targets[number]
            # Two commands for one item do not work on its run at the same time.
            lock = f"{self.queue}:{self.place['workspace']}:{target}"
            data = {**self.place, "target": target}
            jobs.append(WorkerJob(name, self.group, number, lock, data, self.priority))
        return jobs


def submission_open_in(records: Iterable[Record]) -> Mapping[str, Any] | None:
    """Return what a run's journal keeps of a submission that is not finished; None if all are."""
    open_submission: Mapping[str, Any] | None = None
    for record in records:
        data: Any = record.data
        if record.kind == ENQUEUED:
            open_submission = data
        elif record.kind == "closed":
            open_submission = None
    return open_submission
