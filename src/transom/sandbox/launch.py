"""Start of a worker: level and limits, the command line, and the child's lock-down plan."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from transom.errors import SandboxUnavailable
from transom.sandbox.seccomp import filter_program

_CHILD = Path(__file__).with_name("child.py")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


class Level(Enum):
    """A level of isolation. Each level includes the one before it."""

    NONE = "none"
    """A separate process with rlimits and the user's rights. Only on request."""
    L1 = "L1"
    """No new privileges, no capabilities, seccomp allow-list without files, sockets, processes,
    signals.
    """
    L2 = "L2"
    """Landlock without any grants."""
    L3 = "L3"
    """bubblewrap: own namespaces, no network, only the interpreter visible, read-only."""


@dataclass(frozen=True)
class WorkerLimits:
    """The limits of a worker.

    Attributes:
        wall_seconds: wall time per call, and for loading the code; enforced by the parent.
        cpu_seconds: CPU time per call; enforced by the kernel, in case the parent cannot.
        memory_bytes: address space, plus room for the text (twice `text_bytes`).
        text_bytes: the largest text of one call, in UTF-8.
        reply_bytes: the largest reply, as JSON.
        stderr_bytes: bytes kept of the code's output.
    """

    wall_seconds: float = 60
    cpu_seconds: int = 60
    memory_bytes: int = 1 << 30
    text_bytes: int = 256 << 20
    reply_bytes: int = 64 << 20
    stderr_bytes: int = 64 << 10


def command(level: Level) -> list[str]:
    """Return the command line of a worker at a level."""
    python = [base_python(), "-P", "-s", "-S", "-B", str(_CHILD)]
    if level is not Level.L3:
        return python
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed", hint="run as root: apt-get install -y bubblewrap"
        )
    line = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    # A path may be missing on this system: `/lib64` is, on some.
    for path in _visible():
        line += ["--ro-bind-try", path, path]
    # The empty root that bubblewrap makes would be writable.
    return [*line, "--remount-ro", "/", "--chdir", "/", "--", *python]


def environment(hash_seed: int) -> dict[str, str]:
    """Return the whole environment of a worker, which the worker empties before it loads code.

    A fixed hash seed makes the order of a set of strings, and so a verdict's bytes, equal in each
    run. In an otherwise empty environment `-P -s` has the effect of `-I`, which itself would ignore
    the seed.
    """
    return {"PYTHONHASHSEED": str(hash_seed), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def plan(level: Level, limits: WorkerLimits) -> dict[str, object]:
    """Return the child's lock-down plan, the header of its first frame."""
    return {
        "op": "lock",
        "filter": None if level is Level.NONE else filter_program().hex(),
        "landlock": level in (Level.L2, Level.L3),
        "memory_bytes": limits.memory_bytes + 2 * limits.text_bytes,
        "cpu_seconds": limits.cpu_seconds,
        "reply_bytes": limits.reply_bytes,
        "stderr_bytes": limits.stderr_bytes,
    }


def base_python() -> str:
    """Return the interpreter that a virtual environment was made from."""
    # The environment's own may be a copy, which does not find the standard library.
    if sys.prefix != sys.base_prefix:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        python = Path(sys.base_prefix, "bin", name)
        if python.is_file():
            return str(python.resolve())
    return str(Path(sys.executable).resolve())


def _visible() -> list[str]:
    """Return the paths that an L3 worker can see: interpreter, libraries, and its program."""
    paths = [
        base_python(),
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        str(_CHILD),
        *_LIBRARIES,
    ]
    # An interpreter that is built as a shared library needs that as well.
    shared = sysconfig.get_config_var("LDLIBRARY")
    if shared and ".so" in str(shared):
        paths.append(str(Path(sysconfig.get_config_var("LIBDIR")) / str(shared)))
    return list(dict.fromkeys(paths))
