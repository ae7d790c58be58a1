"""A hand: the process that does jobs of a command for another process; see `transom.workers.hands`.

The first line of its standard input says what command it serves, as JSON:

    {kind, entry, workspace, base_url?, purse?, fetches?, format?, verbosity?}

If `kind` is `item`, each further line is a job, `{ticket, target}`, and each line of its output an
answer: `{ticket, verdict, busy?, trouble?, again?, cause?}`. If it is `program`, the hand gives the
command of the entry, and ends with it. It ends at once when its input does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any, NoReturn

from transom.checklist.judging import reason_of
from transom.cli.app import load, main
from transom.cli.check.answers import verdict_for
from transom.cli.check.options import CheckArguments
from transom.cli.check.steps import answer_of, run_one
from transom.cli.command import arguments_of, words_of
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import ProviderError, RunBusy, StoreError, TransomError
from transom.store import Store
from transom.workers import ITEM

_PATIENCE = 30.0  # seconds for which a database may be away when a hand begins
_PAUSE = 1.0


async def _serve(session: Session, entry: dict[str, Any]) -> NoReturn:
    """Do the jobs that arrive on the standard input."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    options: CheckArguments = arguments_of(entry, "check batch")["options"]
    async with await _opened_store(session) as store, asyncio.TaskGroup() as group:
        while line := await reader.readline():
            group.create_task(_answer_job(session, store, options, json.loads(line)))
        # The batch has ended, so no process reads the answers of the jobs at work.
        os._exit(1)


async def _opened_store(session: Session) -> Store:
    """Open the database; one that is away, such as in a restart, may come back soon."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return session.open_store()
        except StoreError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_PAUSE)


async def _answer_job(
    session: Session, store: Store, options: CheckArguments, job: dict[str, Any]
) -> None:
    """Write one target's answer; its run is resumed by itself."""
    target = Path(job["target"])
    try:
        if target.is_dir():
            # A person resumes the run of an item by itself, not the whole batch.
            own_session = session.recording("check run", targets=[str(target)])
            outcome: Any = await run_one(own_session, store, target, options, set())
        else:
            own_session = session.recording("check all", items=[str(target)])
            outcome = await answer_of(own_session, store, replace(options, item=target))
    except TransomError as error:
        outcome = error
    verdict = verdict_for(target, outcome, options.day)
    answer: dict[str, Any] = {
        "ticket": job["ticket"],
        "verdict": verdict.model_dump(mode="json", by_alias=True),
    }
    # The batch treats these three otherwise than a verdict.
    if isinstance(outcome, RunBusy):
        answer["busy"] = True
    elif isinstance(outcome, StoreError):
        answer["trouble"] = True
    elif isinstance(outcome, ProviderError) and outcome.retryable:
        seconds = session.settings.execution.retry_after
        answer |= {"again": seconds, "cause": reason_of(verdict)}
    print(json.dumps(answer), flush=True)


def _run_command(place: dict[str, Any]) -> int:
    """Run a whole command line."""
    entry = place["entry"]
    parent = os.dup(0)
    # The command itself must find no input, or it would read what the parent writes.
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  a descriptor is wanted
        os.dup2(nothing.fileno(), 0)

    def end_with_parent() -> None:
        while os.read(parent, 4096):
            pass
        os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()
    os.chdir(entry["cwd"])
    options = ["--workspace", place["workspace"], "--format", place["format"]]
    if place["verbosity"] < 0:
        options.append("-q")
    options += ["-v"] * place["verbosity"]
    return main([*words_of(entry, *options)])


def _leave_it_to_the_parent(number: int, frame: FrameType | None) -> None:
    """Go on: the parent ends this process by closing its input."""


def serve() -> int:
    """Read the first line, and do what it says."""
    # Slurm and systemd send SIGTERM to all processes of a worker, which lets its jobs come to their
    # end. A function, since what is ignored would be ignored by every program started here, too.
    signal.signal(signal.SIGTERM, _leave_it_to_the_parent)
    # The worker tells that the database is away, for all of its hands.
    logging.getLogger("transom.store.postgres.outages").setLevel(logging.ERROR)
    # Unbuffered, so that no job is read with it.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        place = json.loads(lines.readline())
    load(place["entry"]["command"].partition(" ")[0])
    if place["kind"] != ITEM:
        return _run_command(place)
    options = CommonOptions(
        quiet=True, workspace=Path(place["workspace"]), base_url=place.get("base_url")
    )
    session = Session.start(options).recorded_session(place["entry"])
    session = replace(session, shared_purse=place.get("purse", ""), is_part=True)
    try:
        return session.execute(lambda: _serve(session, place["entry"]))
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(serve())
