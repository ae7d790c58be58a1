"""How a worker is started: the shapes of level and limits, the command line, what the child is told to give up."""

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
    """How far untrusted code is shut in. Each level holds everything of the one before it."""

    NONE = "none"
    """A process of its own with rlimits; its rights are the user's. Only on request."""
    L1 = "L1"
    """No new privileges, no capabilities, seccomp allow-list without files, sockets, processes, signals."""
    L2 = "L2"
    """Landlock that grants nothing."""
    L3 = "L3"
    """bubblewrap: own namespaces, no network, only the interpreter to see, read-only."""


@dataclass(frozen=True)
class Limits:
    """What a worker may use.

    Attributes:
        wall_seconds: per call, and for loading the code; held by the parent.
        cpu_seconds: per call; held by the kernel, for when the parent cannot.
        memory_bytes: address space, beside room for the text (twice `text_bytes`).
        text_bytes: the largest text of one call, in UTF-8.
        reply_bytes: the largest reply, as JSON.
        stderr_bytes: what is kept of what the code prints.
    """

    wall_seconds: float = 60
    cpu_seconds: int = 60
    memory_bytes: int = 1 << 30
    text_bytes: int = 256 << 20
    reply_bytes: int = 64 << 20
    stderr_bytes: int = 64 << 10


def command(level: Level) -> list[str]:
    """The command line of a worker at this level."""
    python = [_python(), "-P", "-s", "-S", "-B", str(_CHILD)]
    if level is not Level.L3:
        return python
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable("bubblewrap is not installed (Debian: apt install bubblewrap)")
    binds = [word for path in _visible() for word in ("--ro-bind-try", path, path)]
    shut = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    return [bwrap, *shut, *binds, "--remount-ro", "/", "--chdir", "/", "--", *python]


def environment(hash_seed: int) -> dict[str, str]:
    """The whole environment of a worker, which it empties before it loads code.

    A fixed hash seed makes the order of a set of strings, and so a verdict's bytes, the same in each run. With an
    otherwise empty environment `-P -s` is what `-I` would be; `-I` itself would ignore the seed.
    """
    return {"PYTHONHASHSEED": str(hash_seed), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def plan(level: Level, limits: Limits) -> dict[str, object]:
    """What the child is told to give up: the header of its first frame."""
    return {
        "op": "lock",
        "filter": None if level is Level.NONE else filter_program().hex(),
        "landlock": level in (Level.L2, Level.L3),
        "memory_bytes": limits.memory_bytes + 2 * limits.text_bytes,
        "cpu_seconds": limits.cpu_seconds,
        "reply_bytes": limits.reply_bytes,
        "stderr_bytes": limits.stderr_bytes,
    }


def _python() -> str:
    """The interpreter below a virtual environment: that one has its standard library beside it."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def _visible() -> list[str]:
    """What an L3 worker can see of the disk: the interpreter, its library, shared libraries, its program."""
    paths = [_python(), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(_CHILD), *_LIBRARIES]
    shared = sysconfig.get_config_var("LDLIBRARY")
    if shared and ".so" in str(shared):
        paths.append(str(Path(sysconfig.get_config_var("LIBDIR")) / str(shared)))
    return list(dict.fromkeys(paths))
