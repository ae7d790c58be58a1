"""Advisory locks on open files, which the system frees when their holder dies."""

from __future__ import annotations

from typing import Any

from transom.errors import InputError


def lock_file(file: Any, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file until it is closed.

    Args:
        file: the file, or its descriptor.
        shared: whether other shared locks of it are allowed beside this one.
        wait: whether to wait for its holder.

    Raises:
        BlockingIOError: another holder has it, and `wait` is off.
        InputError: this system has no such locks.
    """
    try:
        import fcntl  # noqa: PLC0415  not on Windows, where everything else can be imported
    except ImportError as error:
        raise InputError(
            "this system has no POSIX file locks, which runs, sessions and studies need",
            hint="use Linux, macOS, or Linux in Windows (WSL)",
        ) from error
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(file, operation if wait else operation | fcntl.LOCK_NB)
