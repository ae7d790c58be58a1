"""The side of a command that gives its work to the workers, and shows what comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from transom.store import JobQueue, Record, Store
from transom.workers.overview import overview_of
from transom.workers.submission import ANSWERED, GROUPS, Submission, queue_name

_POLL_SECONDS = 0.25
_LOOK_SECONDS = 5.0


async def submit(jobs: JobQueue, store: Store, submission: Submission) -> None:
    """Put the jobs of a submission into the queue that are neither answered nor in it.

    So a command that was killed halfway may be given again. Jobs that wait for another version of
    the code are moved to the queue of this one.
    """
    name = queue_name(submission.queue)
    await jobs.move(submission.group, name)
    # A job leaves the queue after its answer is kept, so the queue is read first.
    present = await jobs.numbers(submission.group)
    for record in store.read(submission.group):
        present |= _answered(record)
    missing = [number for number in range(len(submission.targets)) if number not in present]
    # In one transaction: a command that is killed here has put all jobs or none.
    await jobs.put(submission.jobs(missing))


async def follow(
    jobs: JobQueue, store: Store, submission: Submission, tell: Callable[[str], None]
) -> AsyncIterator[Record]:
    """Yield the records of a submission until each of its jobs is answered.

    Args:
        jobs: the queue.
        store: the store of the same database.
        submission: the jobs.
        tell: takes a line if no worker does the jobs.
    """
    open_numbers = {*range(len(submission.targets))}
    position, looked_at, last_reason = 0, time.monotonic(), ""
    while open_numbers:
        for record in store.read(submission.group, after=position):
            position = record.seq
            # A job may be answered twice, if its worker died just after the first answer.
            if record.kind == ANSWERED and not _answered(record) & open_numbers:
                continue
            open_numbers -= _answered(record)
            yield record
        # A command waits as long as it takes, but it says why nothing happens.
        if time.monotonic() - looked_at > _LOOK_SECONDS:
            looked_at = time.monotonic()
            reason = await _why_nothing_moves(jobs, store, submission)
            if reason and reason != last_reason:
                tell(reason)
            last_reason = reason
        if open_numbers:
            await asyncio.sleep(_POLL_SECONDS)


async def forget_answers(store: Store, run_id: str) -> None:
    """Remove the answers of all submissions of a run, which the run itself has by now."""
    for group in store.streams(f"{GROUPS}{run_id}/"):
        await store.forget(group)


async def _why_nothing_moves(jobs: JobQueue, store: Store, submission: Submission) -> str:
    overview = await overview_of(jobs, store)
    own_rows = [row for row in overview.waiting if row.group == submission.group and row.waiting]
    for row in own_rows:
        if reason := overview.why_unserved(row.queue):
            return reason
    return ""


def _answered(record: Record) -> set[int]:
    data: Any = record.data
    return {data["number"]} if record.kind == ANSWERED else set()
