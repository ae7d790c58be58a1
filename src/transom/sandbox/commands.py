"""Runs a sandboxed command on a project: it may write only there, and has no network.

Level L3: bubblewrap gives it its own namespaces, a system-call filter blocks all sockets. A pid
namespace dies with its first process, so no process of the command outlives it, daemons included.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.errors import InputError, SandboxError
from transom.sandbox.launch import Level
from transom.sandbox.levels import require
from transom.sandbox.process import kill_group, start_group
from transom.sandbox.seccomp import command_filter

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_CHUNK = 1 << 16
_SCRATCH = 256 << 20  # bytes of its own /tmp, which is in memory


@dataclass(frozen=True)
class CommandLimits:
    """The limits of a command.

    Attributes:
        wall_seconds: wall time, enforced by the parent.
        output_bytes: bytes of stdout and of stderr each; more ends the command.
        processes: processes at a time, counted every 0.05 s, since the kernel's limit does not
            apply to root.
        memory_bytes: address space of each process.
        file_bytes: the largest file that the command may write.
    """

    wall_seconds: float = 300
    output_bytes: int = 1 << 20
    processes: int = 256
    memory_bytes: int = 4 << 30
    file_bytes: int = 1 << 30


@dataclass(frozen=True)
class Done:
    """The result of a command.

    Attributes:
        code: its exit code; 128 + N for a signal N, as in a shell.
        stdout, stderr: bytes as text, up to the limit. Untrusted.
        ended: `itself`, or the limit that ended it: `time`, `output` or `processes`.
    """

    code: int
    stdout: str
    stderr: str
    ended: str = "itself"


@dataclass
class _Kept:
    limit: int
    data: bytearray = field(default_factory=bytearray)
    full: bool = False


async def run_command(
    argv: Sequence[str],
    project: Path,
    *,
    limits: CommandLimits | None = None,
    readable: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command in a project's folder, sandboxed at level L3.

    Args:
        argv: the command and its arguments, without a shell.
        project: its working directory, the only folder that it may write to; `/tmp` is its own
            scratch.
        readable: paths that it may read beside the system's folders.
        environment: variables beside `PATH`, `HOME` and `LANG`; this process's own are not passed
            on.

    Raises:
        SandboxUnavailable: this machine does not support L3.
        InputError: the command is empty, or the project is not a folder.
        SandboxError: bubblewrap cannot be started.
    """
    require(Level.L3)
    if not argv:
        raise InputError("no command was given", hint="name a program")
    if not project.is_dir():
        raise InputError("is not a folder", where=str(project), hint="name the project's folder")
    limits = limits or CommandLimits()
    folder = project.resolve()
    given = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        **(environment or {}),
    }
    with _filter_descriptor() as descriptor:
        line = [*_limited(limits), *_bubblewrap(folder, readable, descriptor), "--", *argv]
        pipe = asyncio.subprocess.PIPE
        try:
            process = await start_group(
                *line,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                env=given,
                cwd=folder,
                pass_fds=(descriptor,),
            )
        except OSError as error:
            raise SandboxError(f"bubblewrap cannot be started: {error}") from error
    return await _watch(process, limits)


async def _watch(process: asyncio.subprocess.Process, limits: CommandLimits) -> Done:
    out, err = _Kept(limits.output_bytes), _Kept(limits.output_bytes)
    assert process.stdout is not None and process.stderr is not None
    readers = asyncio.gather(
        _keep(process, process.stdout, out), _keep(process, process.stderr, err)
    )
    many = asyncio.create_task(_count(process, limits.processes))
    ended = "itself"
    try:
        async with asyncio.timeout(limits.wall_seconds):
            await process.wait()
            await readers
    except TimeoutError:
        ended = "time"
    finally:
        kill_group(process)  # after a cancellation the command must not go on
        many.cancel()
        await asyncio.shield(_reaped(process, readers))
    if many.done() and not many.cancelled():
        ended = "processes"
    if out.full or err.full:
        ended = "output"
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Done(128 - code if code < 0 else code, _text(out), _text(err), ended)


async def _keep(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, kept: _Kept
) -> None:
    while data := await stream.read(_CHUNK):
        kept.data += data[: kept.limit - len(kept.data)]
        if len(kept.data) >= kept.limit and not kept.full:
            kept.full = True
            kill_group(process)


async def _count(process: asyncio.subprocess.Process, most: int) -> None:
    """Kill the command and return when it has more than `most` processes, so that a fork bomb
    stays small.
    """
    while len(_descendants(process.pid, most)) <= most:
        await asyncio.sleep(0.05)
    kill_group(process)


def _descendants(pid: int, most: int) -> list[int]:
    """Return the processes below one, at most `most` + 1; orphans in its pid namespace are
    included.
    """
    found, at = [pid], 0
    while at < len(found) <= most + 1:
        with contextlib.suppress(OSError):  # it may have ended
            for task in Path(f"/proc/{found[at]}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        at += 1
    return found[1:]


async def _reaped(
    process: asyncio.subprocess.Process, readers: asyncio.Future[tuple[None, None]]
) -> None:
    await process.wait()
    with contextlib.suppress(asyncio.CancelledError):
        await readers


def _text(kept: _Kept) -> str:
    return kept.data.decode("utf-8", "replace")


def _limited(limits: CommandLimits) -> list[str]:
    """Return a shell command that sets the limits which bubblewrap inherits; no Python runs
    after the fork.
    """
    sizes = (
        f"ulimit -c 0; ulimit -v {limits.memory_bytes >> 10}; ulimit -f {limits.file_bytes >> 9}"
    )
    return ["/bin/sh", "-c", f'{sizes}; exec "$@"', "sh"]


def _bubblewrap(project: Path, readable: Sequence[Path], descriptor: int) -> list[str]:
    bwrap = shutil.which("bwrap") or "bwrap"
    shut = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--seccomp",
        str(descriptor),
    ]
    seen = [*_SYSTEM, *(str(path.resolve()) for path in readable)]
    binds = [word for path in seen for word in ("--ro-bind-try", path, path)]
    own = [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        str(_SCRATCH),
        "--tmpfs",
        "/tmp",
        "--bind",
        str(project),
        str(project),
    ]
    # read-only in a worktree: git outside the sandbox follows it and runs hooks there
    link = project / ".git"
    own += ["--ro-bind", str(link), str(link)] if link.is_file() and not link.is_symlink() else []
    return [
        bwrap,
        *shut,
        *binds,
        *own,
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
        "--chdir",
        str(project),
    ]


@contextlib.contextmanager
def _filter_descriptor() -> Iterator[int]:
    """Yield the system-call filter as a file descriptor for bubblewrap."""
    descriptor = os.memfd_create("filter")
    try:
        os.write(descriptor, command_filter())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
