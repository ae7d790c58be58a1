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
from transom.sandbox.enclosure import bubblewrap_line, hidden_part, landlock_line
from transom.sandbox.launch import Level
from transom.sandbox.levels import require
from transom.sandbox.process import kill_group, start_group
from transom.sandbox.seccomp import command_filter

_CHUNK = 1 << 16


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
        raise InputError("is not a folder", where=str(project), hint="name the project's folder")
    limits = limits or CommandLimits()
    folder = project.resolve()
    given = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        **(environment or {}),
    }
    hidden = hidden_part(argv[0], level, folder, readable, given["PATH"])
    if hidden is not None:
        raise _hidden(argv[0], hidden, setting)
    with _enclosed(level, folder, readable, given) as (enclosure, descriptors):
        pipe = asyncio.subprocess.PIPE
        try:
            process = await start_group(
                *(*_limited(limits), *enclosure, *argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                env=given,
                cwd=folder,
                pass_fds=descriptors,
            )
        except OSError as error:
            raise SandboxError(f"the sandbox cannot be started: {error}") from error
        return await _watch(process, limits)


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
    # a program of an environment needs its library beside it
    folder = hidden.parent.parent if hidden.parent.name == "bin" else hidden
    problem = "is not visible in the sandbox"
    if hidden != Path(name):
        problem = f"needs {hidden}, which {problem}"
    return ProgramHidden(problem, where=name, hint=f"add {folder} to {setting}")


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
