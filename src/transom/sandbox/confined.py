"""The program that runs a project's command at level L2, for machines without namespaces.

It is run by path with `python -I -S -B`, without transom and site-packages:

    confined.py PLAN COMMAND...

PLAN is a JSON object: `caller`, the id of the process that starts this one; `filter`, the compiled
system-call filter in hexadecimal; `readable` and `writable`, the paths that Landlock grants.

The program itself stays outside of the confinement. It adopts orphans of the command, and kills
them when the command has ended, so that no process outlives it. It ends with the command's exit
code.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import signal
import stat
import struct
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

# Rights of Landlock. A rule for a file that is no folder may only grant the rights of files.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER

# Numbers of the kernel, which are equal on all processors.
_ADD_RULE, _PATH_BENEATH = 445, 1
_SET_DEATH_SIGNAL, _SET_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 36, 38

_CANNOT_START = 127


def kernel_steps() -> ModuleType:
    """Return the module of the worker's program, which has the lock-down steps.

    It is loaded by path: a package of this name may be absent, or an older one.
    """
    path = Path(__file__).with_name("child.py")
    specification = importlib.util.spec_from_file_location("child", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


# From here to the end: steps of the real process. Tests observe them from outside.
def lock_down(plan: dict[str, Any]) -> None:  # pragma: no cover
    """Give up every right that the plan does not grant; OSError names the step that failed."""
    steps = kernel_steps()
    libc = steps.load_libc()
    steps.checked_call("no_new_privs", libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    ruleset, file_rights = steps.landlock_ruleset(libc)
    for path in plan["readable"]:
        _grant(steps, libc, ruleset, path, _READ)
    for path in plan["writable"]:
        _grant(steps, libc, ruleset, path, file_rights)
    steps.enforce_ruleset(libc, ruleset)
    steps.drop_capabilities(libc)
    steps.checked_call("pdeathsig", libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    steps.load_filter(libc, bytes.fromhex(plan["filter"]))


def _grant(
    steps: ModuleType, libc: Any, ruleset: int, path: str, rights: int
) -> None:  # pragma: no cover
    """Grant rights on a file or on everything below a folder; a missing path grants nothing."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _OF_A_FILE
    rule = ctypes.c_char_p(struct.pack("=Qi", rights, descriptor))
    result = libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    steps.checked_call(f"Landlock rule for {path}", result)
    os.close(descriptor)


def children(pid: int) -> list[int]:  # pragma: no cover
    """Return the children of a process; none if it has ended."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:  # pragma: no cover
    """Return all processes below one, each before its own children."""
    below = []
    for child in children(pid):
        below.append(child)
        below += descendants(child)
    return below


def end_descendants() -> None:  # pragma: no cover
    """Kill and reap all descendants of this process, until none is left.

    A killed process hands its children to this one, so that the next round finds them.
    """
    while True:
        # A parent is killed before its children, or it would go on when one of them has ended.
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def stop(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # pragma: no cover
    """End the command and this process: the caller's process has ended."""
    end_descendants()
    os._exit(128 + signal_number)


def start(plan: dict[str, Any], argv: list[str]) -> int:  # pragma: no cover
    """Start the command in a confined process; returns the process's id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        lock_down(plan)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror or error}\n".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(_CANNOT_START)


def wait_for(command: int) -> int:  # pragma: no cover
    """Return the command's exit code, as a shell reports it; orphans are reaped on the way."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code


def main() -> None:  # pragma: no cover
    """Run the command, and end with its exit code."""
    plan, argv = json.loads(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, stop)
    # The caller may be killed without warning: then this process is told, and ends the command.
    libc.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != plan["caller"]:  # it was killed before the line above
        os._exit(_CANNOT_START)
    code = wait_for(start(plan, argv))
    end_descendants()
    os._exit(code)


if __name__ == "__main__":  # pragma: no cover
    main()
