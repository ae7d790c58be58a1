"""Ending the processes of jobs: they carry a mark, whoever their parent is now.

Run as a program, `guard.py WORKER:` waits until its standard input ends, which happens when the worker that holds the
other end is gone, and ends that worker's jobs. It imports nothing of Transom, so that it starts and ends at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import psutil

MARK = "TRANSOM_STUDY_JOB"
"""Environment variable of every process of a job: `WORKER:FOLDER`."""


def end_marked(*, worker: str = "", folder: str = "", below: str = "") -> None:
    """Kill the processes of jobs: of a worker (its mark with the colon), in a folder, or in folders below one."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK, "")
            place = mark.partition(":")[2]
            mine = mark.startswith(worker) and folder in ("", place) and place.startswith(below and below + "/")
            if mark and mine and process.pid != os.getpid():
                process.kill()


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_marked(worker=sys.argv[1])
