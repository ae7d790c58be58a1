"""The program inside the sandbox: locks itself down, then loads untrusted code and answers calls.

It is run by path with `python -P -s -S -B`, without transom and site-packages. It gets the compiled
seccomp filter from its parent, which keeps libseccomp out of this process.

Frames, big-endian. In: `u32 header length, u64 body length`, a JSON header, a raw body (code, or
the one large text).
Out: `u32 length`, a JSON object that repeats the request's `id`; each request has a new random id,
so that a reply written beforehand matches none. Text is UTF-8 with lone surrogates kept
("surrogatepass").

The audit hook below is not a security boundary, since code can get around it. It turns a forbidden
act into an answer with its line, and ends the process also where the code catches the error
(`except: pass`). The boundary is the kernel: seccomp, Landlock, rlimits, namespaces.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import io
import json
import math
import os
import signal
import struct
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

try:
    import resource
except ImportError:  # on Windows, where this program is imported and never run
    resource = None  # type: ignore[assignment]

CODE_NAME = "atoms.py"
REQUEST_FD, REPLY_FD = 3, 4
PRELUDE_MODULES = (
    "re",
    "fnmatch",
    "json",
    "math",
    "datetime",
    "collections",
    "itertools",
    "functools",
    "string",
)
PRELUDE_TYPES = ("List", "Dict", "Optional", "Any", "Tuple", "Iterable")
IMPORTABLE = (
    *PRELUDE_MODULES,
    "typing",
    "__future__",
    "abc",
    "bisect",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "decimal",
    "enum",
    "heapq",
    "numbers",
    "operator",
    "textwrap",
    "types",
    "unicodedata",
)
# Modules that the standard library imports at first use, when no file can be opened any more.
_LAZY = (
    "_strptime",
    "encodings.latin_1",
    "encodings.cp1252",
    "encodings.ascii",
    "encodings.utf_16",
    "weakref",
)
_DENIED = frozenset(
    {
        "open",
        "os",
        "socket",
        "subprocess",
        "ctypes",
        "shutil",
        "tempfile",
        "mmap",
        "fcntl",
        "pty",
        "resource",
        "signal",
        "_thread",
        "glob",
        "pathlib",
        "syslog",
        "faulthandler",
    }
)
_MESSAGE_CHARS = 500


class NotAllowed(ImportError):
    """Raised for an import that the sandbox refuses."""


class _Closed:
    """The only finder after lock-down: names the allowed imports instead of searching a disk."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> NoReturn:  # noqa: ARG004
        raise NotAllowed(f"{name} cannot be imported here; there are {', '.join(IMPORTABLE)}")


class Printed(io.TextIOBase):
    """The target of `print`: keeps text up to a limit and drops the rest, so that much output is
    not an error.
    """

    def __init__(self, fd: int, limit: int) -> None:
        self._fd, self._remaining = fd, limit

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        data = text[: self._remaining].encode("utf-8", "backslashreplace")[: self._remaining]
        if data:
            self._remaining -= os.write(self._fd, data)
        return len(text)


class Channel:
    """Frames on two file descriptors."""

    def __init__(self, request_fd: int, reply_fd: int) -> None:
        self._in = io.FileIO(request_fd, closefd=False)
        self._reply_fd = reply_fd
        self.id: object = None
        self.limit = 1 << 26

    def receive(self) -> tuple[dict[str, Any], str] | None:
        """Return the next request as (header, body), or None when the parent has closed the
        pipe.
        """
        head = self._exactly(12)
        if head is None:
            return None
        header_length, body_length = struct.unpack(">IQ", head)
        header, body = self._exactly(header_length), self._exactly(body_length)
        if header is None or body is None:
            return None
        header_data: dict[str, Any] = json.loads(bytes(header))
        self.id = header_data["id"]
        return header_data, str(body, "utf-8", "surrogatepass")

    def answer(self, value: object) -> bool:
        """Send a result; False if it could not be sent and a failure was sent instead."""
        try:
            data = json.dumps({"id": self.id, "ok": True, "value": value}, allow_nan=False).encode(
                "ascii"
            )
        except (TypeError, ValueError, RecursionError) as error:
            self.fail("schema", f"the result is not JSON: {describe(error)}")
            return False
        if len(data) > self.limit:
            self.fail("output", f"the result takes {len(data)} bytes, the limit is {self.limit}")
            return False
        self._send(data)
        return True

    def fail(self, kind: str, message: str, line: int | None = None) -> None:
        reply = {
            "id": self.id,
            "ok": False,
            "kind": kind,
            "message": message[:_MESSAGE_CHARS],
            "line": line,
        }
        self._send(json.dumps(reply).encode("ascii"))

    def _send(self, data: bytes) -> None:
        view = memoryview(struct.pack(">I", len(data)) + data)
        while view:
            view = view[os.write(self._reply_fd, view) :]

    def _exactly(self, count: int) -> bytearray | None:
        data = bytearray(count)
        view, position = memoryview(data), 0
        while position < count:
            got = self._in.readinto(view[position:])
            if not got:
                return None
            position += got
        return data


def describe(error: BaseException) -> str:
    """Return `Type: message`, also if the exception's own `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"[:_MESSAGE_CHARS]
    except BaseException:  # noqa: BLE001  # __str__ is untrusted code as well
        return type(error).__name__


def code_line(error: BaseException) -> int | None:
    """Return the innermost line of the given code that the exception passed through."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == CODE_NAME else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CODE_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def namespace() -> dict[str, Any]:
    """Return the namespace that code is executed in: that of a real module, which dataclasses
    look up by name.
    """
    module = types.ModuleType("atoms")
    sys.modules["atoms"] = module
    names = {name: importlib.import_module(name) for name in PRELUDE_MODULES}
    typing = importlib.import_module("typing")
    module.__dict__.update(names, **{name: getattr(typing, name) for name in PRELUDE_TYPES})
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_offered}
    return module.__dict__


def import_offered(
    name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    """Import an allowed module; the replacement of `import` for the code.

    This is not a security boundary either. It turns `import os`, which would be of no use, into an
    error with its line.
    """
    # The interpreter's own C code imports through here as well (datetime wants _strptime); it
    # passes an empty list.
    if name not in IMPORTABLE and fromlist != [] and level == 0:
        _Closed.find_spec(name)
    return builtins.__import__(name, globals_, locals_, fromlist, level)


class Host:
    """Loads the code once and answers calls to its functions."""

    def __init__(self, channel: Channel, cpu_seconds: int) -> None:
        self.channel = channel
        self.names = namespace()
        self._cpu_seconds = cpu_seconds
        self._running = False

    def serve(self) -> None:
        """Answer until the parent closes the pipe or a call fails: a failed process answers
        nothing more.
        """
        while (received := self.channel.receive()) is not None:
            header, body = received
            renew_cpu(self._cpu_seconds)
            if not self._answer(
                {"load": self._load, "call": self._call, "constants": self._constants}, header, body
            ):
                return

    def _answer(
        self, ops: dict[str, Callable[..., object]], header: dict[str, Any], body: str
    ) -> bool:
        self._running = True
        try:
            return self.channel.answer(ops[header["op"]](header, body))
        except MemoryError as error:
            line = code_line(error)
            # frees the frames' objects, since the answer needs some memory
            error.__traceback__ = None
            self.channel.fail("memory", "it needs more memory than its limit", line)
        except BaseException as error:  # noqa: BLE001  it becomes an answer
            self.channel.fail("crash", describe(error), code_line(error))
        finally:
            self._running = False
        return False

    def _load(self, header: dict[str, Any], body: str) -> None:  # noqa: ARG002  as the others
        self._running = False  # at a syntax error CPython itself tries to open the source
        code = compile(body, CODE_NAME, "exec", dont_inherit=True)
        self._running = True
        exec(code, self.names)

    def _call(self, header: dict[str, Any], body: str) -> object:
        function, arguments = self.names.get(header["name"]), header["args"]
        if not callable(function):
            raise NameError(f"the code defines no function {header['name']}")
        if header["text"] is not None:
            arguments[header["text"]] = body
        return function(**arguments)

    def _constants(self, header: dict[str, Any], body: str) -> object:  # noqa: ARG002  as the others
        return {name: self.names[name] for name in header["names"] if name in self.names}

    def audit(self, event: str, args: tuple[object, ...]) -> None:
        """Audit hook: end the process at a forbidden act of the code, with its line."""
        if not self._running or event.partition(".")[0] not in _DENIED:
            return
        self._running = False
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != CODE_NAME:
            frame = frame.f_back
        line = frame.f_lineno if frame is not None else None
        detail = f" ({ascii(args[0])[:80]})" if args and isinstance(args[0], str | int) else ""
        self.channel.fail("killed", f"the sandbox does not allow {event}{detail}", line)
        os._exit(0)


def renew_cpu(seconds: int) -> None:
    """Move the soft CPU limit to `seconds` from now, so that a worker may answer for many files."""
    limit = math.ceil(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


# From here to the end: irrevocable steps of the real child. Tests observe them from outside.
def lock_down(plan: dict[str, Any]) -> None:  # pragma: no cover
    """Give up every right that the plan names; OSError names the step that failed."""
    for name in (*IMPORTABLE, *_LAZY):
        importlib.import_module(name)
    time.tzset()
    warnings.simplefilter("ignore")
    os.environ.clear()
    libc = load_libc()
    if libc is not None:
        checked_call("no_new_privs", libc.prctl(38, 1, 0, 0, 0))
    if plan["landlock"]:
        enforce_ruleset(libc, landlock_ruleset(libc)[0])
    resource.setrlimit(resource.RLIMIT_AS, (plan["memory_bytes"], plan["memory_bytes"]))
    for limit in (
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_CORE,
        resource.RLIMIT_NOFILE,
    ):
        resource.setrlimit(limit, (0, 0))
    if plan["filter"] is not None:
        drop_capabilities(libc)
    if libc is not None:
        # last, since a change of credentials clears it
        checked_call("pdeathsig", libc.prctl(1, signal.SIGKILL, 0, 0, 0))
    sys.path[:], sys.path_hooks[:] = [], []
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [_Closed]
    if plan["filter"] is not None:
        load_filter(libc, bytes.fromhex(plan["filter"]))
    for name in ("ctypes", "_ctypes", "ctypes._endian"):
        sys.modules.pop(name, None)
    sys.argv[:], sys.orig_argv[:] = [], []
    # Both would reveal folders of the machine.
    sys.executable = sys._base_executable = ""  # type: ignore[attr-defined]


def load_libc() -> Any:  # pragma: no cover
    """Return the C library of this process on Linux, else None."""
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def checked_call(step: str, result: int) -> int:  # pragma: no cover
    """Return the result of a call, or raise OSError with the step's name if it failed."""
    if result < 0:
        raise OSError(f"{step}: {os.strerror(ctypes.get_errno())}")
    return result


def landlock_ruleset(libc: Any) -> tuple[int, int]:  # pragma: no cover
    """Return a Landlock ruleset that grants nothing yet, and the file rights that it handles.

    It handles every right that this kernel knows: files, TCP ports, signals to outside.
    """
    abi = min(checked_call("Landlock", libc.syscall(444, None, 0, 1)), 6)
    files = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}.get(
        abi, (1 << 16) - 1
    )
    rules = struct.pack("=QQQ", files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = checked_call(
        "Landlock", libc.syscall(444, ctypes.c_char_p(rules), ctypes.c_size_t(size), 0)
    )
    return ruleset, files


def enforce_ruleset(libc: Any, ruleset: int) -> None:  # pragma: no cover
    """Take every handled right from this process that the ruleset does not grant."""
    checked_call("Landlock", libc.syscall(446, ruleset, 0))
    os.close(ruleset)


def drop_capabilities(libc: Any) -> None:  # pragma: no cover
    """Give up all capabilities of this process."""
    # version 3: two sets of three words
    header, none = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    checked_call("capset", libc.capset(header, none))


def load_filter(libc: Any, program: bytes) -> None:  # pragma: no cover
    """Load a compiled system-call filter into this process, for good."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    descriptor = Program(len(program) // 8, program)
    checked_call("seccomp", libc.prctl(22, 2, ctypes.byref(descriptor), 0, 0))


def main() -> None:  # pragma: no cover
    """Move the pipes off the standard descriptors, lock down, serve."""
    os.dup2(0, REQUEST_FD, inheritable=False)
    os.dup2(1, REPLY_FD, inheritable=False)
    os.dup2(2, 0)
    os.dup2(2, 1)
    channel = Channel(REQUEST_FD, REPLY_FD)
    received = channel.receive()
    if received is None:
        return
    plan = received[0]
    try:
        lock_down(plan)
    except (OSError, ValueError, ImportError) as error:
        channel.fail("lock", str(error))
        return
    channel.limit = plan["reply_bytes"]
    sys.stdout = sys.stderr = Printed(2, plan["stderr_bytes"])
    host = Host(channel, plan["cpu_seconds"])
    sys.addaudithook(host.audit)
    channel.answer(None)
    host.serve()


if __name__ == "__main__":  # pragma: no cover
    main()
    os._exit(0)  # no shutdown code of the interpreter runs after untrusted code
