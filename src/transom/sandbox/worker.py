"""A worker: one process for one version of untrusted code, with limits enforced by the parent."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import struct
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Self

from transom.errors import AtomFailed, SandboxError
from transom.sandbox.child import CODE_NAME
from transom.sandbox.frames import frame_head, one_line, parse_payload
from transom.sandbox.launch import Level, WorkerLimits, command, environment, plan
from transom.sandbox.levels import require, unavailable
from transom.sandbox.process import kill_group, start_group

_START_SECONDS = 30
_CHUNK = 1 << 20
_CONSTANT_BYTES = 1 << 16
_ENVELOPE = 4096  # bytes around the value, and for a failure's message, beyond a small reply limit
_KINDS = frozenset({"crash", "memory", "output", "schema", "killed", "timeout"})


class Sandbox:
    """A level of isolation with limits, for making workers.

    Args:
        limits: the limits of each worker.
        level: the level; None: the best of this machine (found by trying, about 0.2 s once per
            process).
        hash_seed: the interpreter's hash seed; two seeds show whether code depends on the order of
            a set.

    Raises:
        SandboxUnavailable: this machine does not support the level.
    """

    def __init__(
        self, limits: WorkerLimits | None = None, level: Level | None = None, *, hash_seed: int = 0
    ) -> None:
        self.limits = limits or WorkerLimits()
        self.level = require(level)
        self._hash_seed = hash_seed

    def seeded(self, hash_seed: int) -> Sandbox:
        """Return this sandbox with another hash seed."""
        return Sandbox(self.limits, self.level, hash_seed=hash_seed)

    def worker(self, code: str) -> Worker:
        """Return a worker for the code, which starts at `async with`."""
        return Worker(code, self.limits, self.level, environment(self._hash_seed))


class Worker:
    """A process that has loaded the code and answers calls to its functions, one at a time.

    It ends with the first failure, since its state may be damaged; later calls need a new worker.
    """

    def __init__(
        self, code: str, limits: WorkerLimits, level: Level, env: Mapping[str, str]
    ) -> None:
        self._code, self._limits, self._level, self._env = code, limits, level, dict(env)
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._printed = bytearray()
        self._flooded = False

    @property
    def printed(self) -> str:
        """The output of the code so far, up to `Limits.stderr_bytes`. Untrusted."""
        return self._printed.decode("utf-8", "replace")

    async def __aenter__(self) -> Self:
        """Start, lock down, load the code.

        Raises:
            SandboxUnavailable: the process could not lock itself down.
            AtomFailed: the code could not be loaded.
        """
        try:
            await self._start()
            await self._ask({"op": "load"}, self._encoded(self._code))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process. After successful calls, a last request shows whether the code sent
        additional replies.

        Raises:
            AtomFailed: a reply came before its request, so earlier replies may be forged too.
        """
        try:
            if error is None and self._process is not None:
                await self.constants([])
        finally:
            await self.close()

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        """Call a function of the code by keyword arguments (JSON values).

        Returns:
            Its result as JSON; the caller must check its shape.

        Raises:
            AtomFailed: with `kind`, and with `atoms.py:LINE` if the code raised.
            SandboxError: the worker has already ended.
        """
        texts = {key: value for key, value in args.items() if isinstance(value, str)}
        largest = max(texts, key=lambda key: len(texts[key]), default=None)
        # The largest text, usually a log, travels as raw bytes: as JSON it would be escaped, and
        # read twice.
        small_args = {key: value for key, value in args.items() if key != largest}
        body = b"" if largest is None else self._encoded(texts[largest])
        header = {"op": "call", "name": name, "args": small_args, "text": largest}
        return await self._ask(header, body)

    async def constants(self, names: Iterable[str]) -> dict[str, object]:
        """Return the values of module-level names, which must be JSON.

        Names that the code does not set are omitted.
        """
        requested = list(names)
        values = await self._ask({"op": "constants", "names": requested}, max_bytes=_CONSTANT_BYTES)
        if not isinstance(values, dict) or not set(values) <= set(requested):
            await self.close()
            raise _failure("schema", "the constants are not an object with the requested names")
        return values

    async def close(self) -> None:
        """Kill the process group and wait for its end; may be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        kill_group(process)
        await asyncio.shield(asyncio.ensure_future(self._reap(process)))

    async def _reap(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        # A RuntimeError means that a call in another task is reading, and empties the pipe.
        with contextlib.suppress(RuntimeError):
            while await process.stdout.read(_CHUNK):  # a paused transport would never see its end
                pass
        if self._drain is not None:
            await self._drain
        await process.wait()

    async def _start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        with tempfile.TemporaryDirectory(prefix="transom-") as empty:
            # bubblewrap needs a folder that stays; other levels get one that is removed after their
            # start.
            folder = "/" if self._level is Level.L3 else empty
            try:
                self._process = await start_group(
                    *command(self._level),
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    env=self._env,
                    cwd=folder,
                )
            except OSError as error:
                raise SandboxError(f"the sandbox process cannot be started: {error}") from error
        _widen(self._process)
        self._drain = asyncio.create_task(self._keep_printed(self._process))
        try:
            locks = plan(self._level, self._limits)
            await self._within(_START_SECONDS, lambda: self._exchange(locks, b"", _ENVELOPE))
        except AtomFailed as error:
            raise unavailable(
                self._level, f"{error.problem} {one_line(self.printed)}".strip()
            ) from error

    async def _keep_printed(self, process: asyncio.subprocess.Process) -> None:
        """Read stderr to its end. The child itself limits `print`, so a flood is deliberate."""
        assert process.stderr is not None
        limit = self._limits.stderr_bytes
        total = 0
        while data := await process.stderr.read(1 << 16):
            total += len(data)
            self._printed += data[: limit - len(self._printed)]
            if total > 2 * limit and not self._flooded:
                self._flooded = True
                kill_group(process)

    async def _ask(
        self, header: Mapping[str, object], body: bytes = b"", *, max_bytes: int | None = None
    ) -> object:
        async with self._one_at_a_time:
            if self._process is None:
                raise SandboxError(
                    "this worker has ended", hint="make a new worker for the next call"
                )
            max_bytes = (
                self._limits.reply_bytes
                if max_bytes is None
                else min(max_bytes, self._limits.reply_bytes)
            )
            return await self._within(
                self._limits.wall_seconds, lambda: self._exchange(header, body, max_bytes)
            )

    async def _within(self, seconds: float, work: Callable[[], Awaitable[object]]) -> object:
        """Run under a wall-clock limit; every error, cancellation included, ends the process."""
        try:
            async with asyncio.timeout(seconds):
                return await work()
        except TimeoutError:
            await self.close()
            raise AtomFailed(
                f"it did not end within {seconds:g} s", kind="timeout", place=CODE_NAME
            ) from None
        except BaseException:
            await self.close()
            raise

    async def _exchange(self, header: Mapping[str, object], body: bytes, max_bytes: int) -> object:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        call_id = secrets.token_hex(8)
        head = frame_head(call_id, header, len(body))
        try:
            await _send(process.stdin, head, body)
            length = struct.unpack(">I", await process.stdout.readexactly(4))[0]
            if length > max_bytes + _ENVELOPE:
                raise _failure("output", f"the reply has {length} bytes, the limit is {max_bytes}")
            answer = parse_payload(await process.stdout.readexactly(length), call_id)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise await self._death(process) from None
        except ValueError as error:
            raise _failure("schema", f"the reply cannot be read: {one_line(str(error))}") from None
        if not answer.ok:
            raise _failure(answer.kind, answer.message, answer.line)
        return answer.value

    async def _death(self, process: asyncio.subprocess.Process) -> AtomFailed:
        """Return an error that tells why the process closed its pipe without an answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await process.wait()
        if self._flooded:
            return _failure(
                "output", f"it wrote more than {2 * self._limits.stderr_bytes} bytes to stderr"
            )
        code = process.returncode
        if code is None:
            return _failure("crash", "it closed its pipe")
        # bubblewrap reports a signal as a shell does.
        number = 0
        if code < 0:
            number = -code
        elif self._level is Level.L3:
            number = code - 128
        if number == signal.SIGXCPU:
            return _failure(
                "timeout", f"it used more than {self._limits.cpu_seconds} s of CPU time"
            )
        if number == signal.SIGSYS:
            return _failure("killed", "it made a system call that the sandbox forbids")
        if number == signal.SIGKILL:
            return _failure(
                "killed", "it was killed from outside (the machine may be out of memory)"
            )
        if number in list(signal.Signals):
            return _failure("crash", f"it crashed with {signal.Signals(number).name}")
        return _failure("crash", f"it ended by itself with exit code {code}")

    def _encoded(self, text: str) -> bytes:
        limit = self._limits.text_bytes
        # A text has at least as many bytes as characters, so a long one is not encoded at all.
        body = text.encode("utf-8", "surrogatepass") if len(text) <= limit else b""
        if len(text) > limit or len(body) > limit:
            raise AtomFailed(
                f"the text is larger than {limit >> 20} MiB",
                kind="output",
                hint="split the file",
            )
        return body


def _failure(kind: str, problem: str, line: int | None = None) -> AtomFailed:
    """Return the error for a failure."""
    # The kind may come from the child, which may send anything.
    known_kind = kind if kind in _KINDS else "crash"
    place = CODE_NAME if line is None else f"{CODE_NAME}:{line}"
    return AtomFailed(problem, kind=known_kind, place=place)


async def _send(pipe: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
    # In pieces: one write of a long text would be copied into the transport's buffer as a whole.
    pipe.write(head)
    view = memoryview(body)
    while view:
        pipe.write(view[:_CHUNK])
        await pipe.drain()
        view = view[_CHUNK:]


def _widen(process: asyncio.subprocess.Process) -> None:
    """Enlarge the pipe for the text from 64 KiB to 1 MiB, so that a long log takes fewer turns."""
    assert process.stdin is not None
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415  not on Windows

        with contextlib.suppress(OSError):  # a user's share of pipe memory may be used up
            fcntl.fcntl(process.stdin.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _CHUNK)
