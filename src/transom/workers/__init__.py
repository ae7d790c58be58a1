"""Workers: processes on any machine that share the jobs of one PostgreSQL database."""

from transom.workers.hands import Hand, HandEnded
from transom.workers.jobs import (
    ANSWERED,
    ENQUEUED,
    HELD,
    ITEM,
    LINE,
    PROGRAM,
    Submission,
    code_version,
    submission_open_in,
)
from transom.workers.overview import WorkersOverview, WorkerState, overview_of
from transom.workers.submitting import follow, submit
from transom.workers.worker import QueueWorker

__all__ = [
    "ANSWERED",
    "ENQUEUED",
    "HELD",
    "ITEM",
    "LINE",
    "PROGRAM",
    "Hand",
    "HandEnded",
    "QueueWorker",
    "Submission",
    "WorkerState",
    "WorkersOverview",
    "code_version",
    "follow",
    "overview_of",
    "submission_open_in",
    "submit",
]
