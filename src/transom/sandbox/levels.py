"""Finds by trying which levels of isolation this machine supports."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

from transom.errors import SandboxUnavailable
from transom.sandbox.frames import parse_reply, request
from transom.sandbox.launch import Level, WorkerLimits, command, environment, plan

_PROBE_SECONDS = 20
_KERNEL_SETTINGS = Path("/proc/sys")
# Settings by which a system forbids namespaces to users: the value that forbids, one that allows.
_NAMESPACE_SETTINGS = (
    ("user/max_user_namespaces", "0", "10000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)


@dataclass(frozen=True)
class Probe:
    """The levels that this machine supports.

    Attributes:
        level: the best level that works; `Level.NONE` if none does.
        missing: for each higher level, what is missing and what a person can do about it.
    """

    level: Level
    missing: tuple[tuple[Level, str], ...]


@functools.cache
def probe() -> Probe:
    """Try the levels from the best down, each with a real child; about 0.2 s, once per process."""
    missing: list[tuple[Level, str]] = []
    for level in (Level.L3, Level.L2, Level.L1):
        problem = _try(level)
        if problem is None:
            return Probe(level, tuple(reversed(missing)))
        missing.append((level, "; ".join(filter(None, (problem, _remedy(problem))))))
    return Probe(Level.NONE, tuple(reversed(missing)))


def needs(level: Level) -> str:
    """Return what this machine lacks for a level and what a person can do about it, in one line.

    The line is empty if the level works.
    """
    return dict(probe().missing).get(level, "")


def require(level: Level | None) -> Level:
    """Return the level to use: the given one, or the best of this machine.

    Raises:
        SandboxUnavailable: this machine does not support it, or no level at all.
    """
    # No isolation is a person's explicit choice, and needs no probe.
    if level is Level.NONE:
        return level
    best = probe().level
    if level is None:
        # Without any level, the error names what the lowest one needs.
        level = Level.L1 if best is Level.NONE else best
    problem = needs(level)
    if problem:
        raise unavailable(level, problem)
    return level


def unavailable(level: Level, missing: str) -> SandboxUnavailable:
    """Return the error for a machine without the needed level."""
    return SandboxUnavailable(
        f"untrusted code cannot be isolated at level {level.value}: {missing}",
        hint="fix that, or accept the risk with --unsafe-no-sandbox",
    )


def _remedy(problem: str) -> str:
    """Return what a person can do about a problem of the kernel; "" if nothing is known."""
    if problem.startswith("Landlock: "):
        return "use Linux 5.13 or later with Landlock switched on"
    if not problem.startswith("bwrap: "):
        return ""
    # bubblewrap reports the failed call, and not the setting that forbids it.
    for name, forbids, allows in _NAMESPACE_SETTINGS:
        file = _KERNEL_SETTINGS / name
        if file.is_file() and file.read_text().strip() == forbids:
            return f"run as root: sysctl -w {name.replace('/', '.')}={allows}"
    return "in a container, start it with --privileged"


def _try(level: Level) -> str | None:
    """Return why a level does not work here, or None."""
    try:
        # The same two requests with which a worker begins: lock down, then load code.
        lock_frame = request("probe", plan(level, WorkerLimits()))
        frames = lock_frame + request("probe", {"op": "load"}, b"answer = 42")
        child = subprocess.run(
            command(level),
            input=frames,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            env=environment(0),
            cwd="/",
            check=False,
        )
    except SandboxUnavailable as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return f"the child did not answer within {_PROBE_SECONDS} s"
    except OSError as error:
        return f"the child did not start: {error}"
    try:
        locked, later_replies = parse_reply(child.stdout, "probe")
        if not locked.ok:
            return locked.message
        loaded, _ = parse_reply(later_replies, "probe")
    except ValueError:
        # The child, or bubblewrap around it, ended before it could answer.
        errors = child.stderr.decode(errors="replace").strip().splitlines()
        return errors[-1] if errors else f"the child ended with code {child.returncode}"
    return None if loaded.ok else loaded.message
