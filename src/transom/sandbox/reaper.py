"""The program between Transom and a program of the user: when that one ends, or when it is told to
stop, it ends every process that is left.

    python -I -S reaper.py STATUS_FD PROGRAM [ARGUMENT...]

It is run by path, without transom and site-packages. It is a subreaper (Linux, `man 2 prctl`): a
process whose parent ends becomes its child, also one in a session of its own, so none is lost and
none stays as a zombie. It exits as the program did. If the program cannot be started, the number of
the error is written to STATUS_FD.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PATIENCE = 5.0
"""Seconds for processes that the kernel does not end at once, and for those of other users."""


def main() -> None:
    """Run the program, and end what it leaves."""
    status_fd, argv = int(sys.argv[1]), sys.argv[2:]
    parent = os.getppid()
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A killed Transom leaves no program at work.
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    if os.getppid() != parent:
        return
    program = os.fork()
    if program == 0:
        _execute(argv, status_fd)
    os.close(status_fd)
    _exit_as(_wait_for(program))


def _execute(argv: list[str], status_fd: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    os.set_inheritable(status_fd, False)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(status_fd, str(error.errno).encode())
    finally:
        os._exit(127)


def _wait_for(program: int) -> int:
    """Reap all children until the program ends; returns its wait status."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            end_children()
            return status


def _stop(number: int, _: FrameType | None) -> None:
    """End everything when a signal asks for it."""
    for again in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    end_children()
    _exit_as(number)


def _exit_as(status: int) -> None:
    """Exit with the code, or by the signal, of a wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def end_children() -> None:
    """Kill and reap all processes below this one."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        # Stopped first, so that none starts another one while the list is read.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in _processes_below(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def _processes_below(pid: int) -> list[int]:
    """Return the children of a process, and theirs. Any of its threads may have started them."""
    processes = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            for child in map(int, listed.read_text().split()):
                processes += [child, *_processes_below(child)]
    return processes


if __name__ == "__main__":
    main()
