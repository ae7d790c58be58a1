"""Workers: processes on any machine that share a database's jobs."""

from transom.workers.following import follow, forget_answers, submit
from transom.workers.hands import Hand, HandEnded
from transom.workers.overview import WorkersOverview, WorkerState, overview_of
from transom.workers.submission import (
    ANSWERED,
    ENQUEUED,
    GROUPS,
    HELD,
    ITEM,
    LINE,
    PROGRAM,
    Submission,
    code_version,
    new_group,
    submission_open_in,
)
from transom.workers.worker import QueueWorker

__all__ = [
    "ANSWERED",
    "ENQUEUED",
    "GROUPS",
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
    "forget_answers",
    "new_group",
    "overview_of",
    "submission_open_in",
    "submit",
]
