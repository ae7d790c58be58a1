"""Kills the processes of jobs, found by a mark in their environment, whoever their parent is.

Run as a program, `guard.py WORKER:` waits until its standard input ends, which happens when the
worker exits, and kills that worker's jobs. It imports nothing of Transom, so that it starts fast.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import psutil

MARK = "TRANSOM_STUDY_JOB"
"""Environment variable of every process of a job: `WORKER:FOLDER`."""


def end_marked(*, worker: str = "", folder: str = "", below: str = "") -> None:
    """Kill the processes of jobs: of a worker (its mark with the colon), in a folder, or in
    folders below one.
    """
    # A process may end between two looks, or belong to another user.
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK, "")
            place = mark.partition(":")[2]
            is_wanted = (
                mark.startswith(worker)
                and folder in ("", place)
                and place.startswith(below and below + "/")
            )
            if mark and is_wanted and process.pid != os.getpid():
                process.kill()


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_marked(worker=sys.argv[1])
