"""Runs a sandboxed command on a project: it may write only there, and has no network.

Level L3: bubblewrap gives it its own namespaces, a system-call filter blocks all sockets. A pid
namespace dies with its first process, so no process of the command outlives it, daemons included.

Level L2, for machines without namespaces: Landlock grants the same paths, and the same filter acts.
It is weaker. Other processes of the user are visible, the link of a worktree to its repository can
be replaced, and a daemon outlives the command if this process is killed at the wrong moment. So it
is for code that the caller trusts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.errors import InputError, ProgramHidden, SandboxError
from transom.sandbox.enclosure import bubblewrap_line, granted, hidden_part, landlock_line
from transom.sandbox.launch import Level
from transom.sandbox.levels import require
from transom.sandbox.process import kill_group, start_group
from transom.sandbox.seccomp import command_filter

_CHUNK = 1 << 16
_SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
"""The search path of a command, before the readable folders of this process's own."""


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
class _StreamHead:
    """The beginning of a stream, up to a limit."""

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
    level: Level = Level.L3,
    setting: str = "the readable paths",
) -> Done:
    """Run a command in a project's folder, sandboxed at level L3 or L2.

    Args:
        argv: the command and its arguments, without a shell.
        project: its working directory, the only folder that it may write to; `/tmp` is its own
            scratch.
        readable: paths that it may read beside the system's folders.
        environment: variables beside `PATH`, `HOME` and `LANG`; this process's own are not passed
            on.
        level: L3, or L2 for code that the caller trusts.
        setting: where a person adds readable paths, for the hint of an error.

    Raises:
        SandboxUnavailable: this machine does not support the level.
        InputError: the command is empty, or the project is not a folder.
        ProgramHidden: the program exists, and the sandbox does not show it.
        SandboxError: the sandbox cannot be started.
    """
    if level not in (Level.L2, Level.L3):
        raise ValueError(f"commands are sandboxed at level L2 or L3, not {level.value}")
    require(level)
    if not argv:
        raise InputError("no command was given", hint="name a program")
    if not project.is_dir():
        raise InputError("is not a folder", place=str(project), hint="name the project's folder")
    limits = limits or CommandLimits()
    folder = project.resolve()
    variables = {
        "PATH": os.pathsep.join([*_SYSTEM_FOLDERS, *_shown_folders(readable)]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        **(environment or {}),
    }
    # Checked before the start: in the sandbox a hidden program looks like a missing one. A program
    # of the person's own search path is named with its folder, so that it can be made readable.
    search = variables["PATH"] + os.pathsep + os.environ.get("PATH", "")
    hidden = hidden_part(argv[0], level, folder, readable, search)
    if hidden is not None:
        raise _hidden(argv[0], hidden, setting)
    with _enclosed(level, folder, readable, variables) as (enclosure, descriptors):
        pipe = asyncio.subprocess.PIPE
        try:
            # The limits come first, so that they hold for the sandbox's own helper, too.
            process = await start_group(
                *(*_limited(limits), *enclosure, *argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                env=variables,
                cwd=folder,
                pass_fds=descriptors,
            )
        except OSError as error:
            raise SandboxError(f"the sandbox cannot be started: {error}") from error
        return await _watch(process, limits)


def _shown_folders(readable: Sequence[Path]) -> list[str]:
    """Return the folders of this process's own `PATH` that a sandbox shows beside the system's.

    A toolchain in a home, such as Node's or a virtual environment's, is then called by its name.
    """
    system = granted(())
    roots = [root for root in granted(readable) if root not in system]
    folders = []
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(os.path.abspath(entry))  # noqa: PTH100  `resolve` follows links
        is_shown = any(path.is_relative_to(root) for root in roots)
        if entry and is_shown:
            folders.append(str(path))
    return folders


@contextlib.contextmanager
def _enclosed(
    level: Level, project: Path, readable: Sequence[Path], environment: dict[str, str]
) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the words that go before a command, and the file descriptors that they need.

    At level L2 the environment says what is absent at level L3: the machine's `/tmp`, and its
    settings for git, which git must not even try to read.
    """
    if level is Level.L3:
        with _filter_descriptor() as descriptor:
            yield bubblewrap_line(project, readable, descriptor), (descriptor,)
        return
    with tempfile.TemporaryDirectory(prefix="transom-") as scratch:
        environment.setdefault("TMPDIR", scratch)
        environment.setdefault("GIT_CONFIG_NOSYSTEM", "1")
        environment.setdefault("GIT_ATTR_NOSYSTEM", "1")
        yield landlock_line(project, readable, Path(scratch)), ()


def _hidden(name: str, hidden: Path, setting: str) -> ProgramHidden:
    """Return the error for a program that exists outside of the sandbox only."""
    # A program of a virtual environment needs the library in the folder above.
    folder = hidden.parent.parent if hidden.parent.name == "bin" else hidden
    problem = "is not visible in the sandbox"
    if hidden != Path(name):
        problem = f"needs {hidden}, which {problem}"
    return ProgramHidden(problem, place=name, hint=f"add {folder} to {setting}")


async def _watch(process: asyncio.subprocess.Process, limits: CommandLimits) -> Done:
    stdout, stderr = _StreamHead(limits.output_bytes), _StreamHead(limits.output_bytes)
    assert process.stdout is not None and process.stderr is not None
    readers = asyncio.gather(
        _keep(process, process.stdout, stdout), _keep(process, process.stderr, stderr)
    )
    crowd_watch = asyncio.create_task(_count(process, limits.processes))
    ended = "itself"
    try:
        async with asyncio.timeout(limits.wall_seconds):
            await process.wait()
            await readers
    except TimeoutError:
        ended = "time"
    finally:
        kill_group(process)  # after a cancellation the command must not go on
        crowd_watch.cancel()
        await asyncio.shield(_reaped(process, readers))
    if crowd_watch.done() and not crowd_watch.cancelled():
        ended = "processes"
    if stdout.full or stderr.full:
        ended = "output"
    # asyncio may not have seen the end of a process that was killed just now.
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Done(128 - code if code < 0 else code, _text(stdout), _text(stderr), ended)


async def _keep(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, head: _StreamHead
) -> None:
    while data := await stream.read(_CHUNK):
        head.data += data[: head.limit - len(head.data)]
        if len(head.data) >= head.limit and not head.full:
            head.full = True
            kill_group(process)


async def _count(process: asyncio.subprocess.Process, max_processes: int) -> None:
    """Kill the command and return once it has more than `max_processes` processes."""
    # Often enough that a fork bomb stays small.
    while len(_descendants(process.pid, max_processes)) <= max_processes:
        await asyncio.sleep(0.05)
    kill_group(process)


def _descendants(pid: int, limit: int) -> list[int]:
    """Return the processes below a process, at most `limit` + 1.

    Orphans in its pid namespace are included.
    """
    pids, position = [pid], 0
    # Children are appended while the list is walked, so that grandchildren are found as well.
    while position < len(pids) <= limit + 1:
        with contextlib.suppress(OSError):  # a process may have ended meanwhile
            for task in Path(f"/proc/{pids[position]}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        position += 1
    return pids[1:]


async def _reaped(
    process: asyncio.subprocess.Process, readers: asyncio.Future[tuple[None, None]]
) -> None:
    await process.wait()
    with contextlib.suppress(asyncio.CancelledError):
        await readers


def _text(head: _StreamHead) -> str:
    return head.data.decode("utf-8", "replace")


def _limited(limits: CommandLimits) -> list[str]:
    """Return a shell command that sets the limits which bubblewrap inherits; no Python runs
    after the fork.
    """
    sizes = (
        f"ulimit -c 0; ulimit -v {limits.memory_bytes >> 10}; ulimit -f {limits.file_bytes >> 9}"
    )
    return ["/bin/sh", "-c", f'{sizes}; exec "$@"', "sh"]


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
