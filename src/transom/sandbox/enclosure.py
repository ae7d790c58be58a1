"""How a project's command is shut in: which paths it sees, and the command line that does it.

Level L3 gives the command its own file system, in which only the granted paths exist. At level L2
all paths exist, and Landlock refuses the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from transom.sandbox.launch import Level, base_python
from transom.sandbox.seccomp import command_filter

_CONFINED = Path(__file__).with_name("confined.py")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SCRATCH = Path("/tmp")
_SCRATCH_BYTES = 256 << 20  # of the command's own /tmp, which is in memory
_MOST_LINKS = 40  # as Linux follows at most
_INTERPRETER_BYTES = 256  # as Linux reads at most


def granted(readable: Sequence[Path]) -> list[Path]:
    """Return the paths that a command may read: the system's and `readable`, links resolved.

    A path that leads through a link is granted under its own name too, since the command may be
    called by that name.
    """
    paths = [Path(name) for name in _SYSTEM]
    paths += [path.resolve() for path in readable]
    for path in map(Path.absolute, readable):
        if not any(path.is_relative_to(known) for known in paths):
            paths.append(path)
    return list(dict.fromkeys(paths))


def bubblewrap_line(project: Path, readable: Sequence[Path], descriptor: int) -> list[str]:
    """Return the words that start a command in its own namespaces, level L3.

    Args:
        project: the folder that the command may write to.
        readable: see `granted`.
        descriptor: a file descriptor with the system-call filter.
    """
    words = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
    words += ["--new-session", "--cap-drop", "ALL", "--seccomp", str(descriptor)]
    # Own folders come after the paths, so that a granted `/` does not bring back the machine's.
    # What lies below the scratch folder comes after it, or the scratch folder would hide it.
    paths = granted(readable)
    for path in paths:
        if not _is_in_scratch(path):
            words += ["--ro-bind-try", str(path), str(path)]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--size", str(_SCRATCH_BYTES), "--tmpfs", str(_SCRATCH)]
    for path in paths:
        if _is_in_scratch(path):
            words += ["--ro-bind-try", str(path), str(path)]
    words += ["--bind", str(project), str(project)]
    # read-only in a worktree: git outside the sandbox follows it and runs hooks there
    link = project / ".git"
    if link.is_file() and not link.is_symlink():
        words += ["--ro-bind", str(link), str(link)]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(project)]
    return [*words, "--"]


def agent_line(
    folder: Path,
    argv: Sequence[str],
    *,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    network: bool = True,
) -> list[str]:
    """Return a command in its own namespaces, for an agent that is trusted with its own settings.

    The agent writes to `folder`, its own `/tmp` and home, and the writable paths. It sees the
    system, its own program, and the readable paths. Its process namespace ends with it.

    Args:
        folder: the agent's working directory.
        argv: the agent's command.
        readable, writable: paths that exist outside of the folder; an absent one is left out.
        network: whether it may use the network.
    """
    words = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
    words += ["--new-session", "--cap-drop", "ALL", *(["--share-net"] if network else [])]
    home = Path.home()
    search = os.environ.get("PATH", os.defpath)
    program = next(_candidates(argv[0], folder, search), None)
    needed = [] if program is None else [*_files_behind(program, links=True)]
    # Certificates, names of hosts and users: an agent that calls its server needs them.
    shown = [*granted(readable), Path("/etc"), Path("/opt"), *needed]
    hidden = [path for path in shown if path in (home, Path("/"), *home.parents)]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", str(_SCRATCH)]
    words += [] if home == Path("/") else ["--tmpfs", str(home)]
    for path in dict.fromkeys(path for path in shown if path not in hidden):
        words += ["--ro-bind-try", str(path), str(path)]
    if network:
        # `/etc/resolv.conf` is often a link to a file that a service of the system writes.
        resolver = Path("/etc/resolv.conf").resolve()
        words += ["--ro-bind-try", str(resolver), str(resolver)]
    for path in writable:
        words += ["--bind-try", str(path), str(path)]
    words += ["--bind", str(folder), str(folder)]
    link = folder / ".git"
    if link.is_file() and not link.is_symlink():
        words += ["--ro-bind", str(link), str(link)]
    return [*words, "--remount-ro", "/", "--chdir", str(folder), "--", *argv]


def landlock_line(project: Path, readable: Sequence[Path], scratch: Path) -> list[str]:
    """Return the words that start a command confined by Landlock and seccomp, level L2.

    Args:
        project: the folder that the command may write to.
        readable: see `granted`.
        scratch: the command's own folder for temporary files.
    """
    plan = {
        "caller": os.getpid(),
        "filter": command_filter().hex(),
        "readable": [str(path) for path in granted(readable)],
        "writable": [str(project), str(scratch), *_DEVICES],
    }
    return [base_python(), "-I", "-S", "-B", str(_CONFINED), json.dumps(plan)]


def hidden_part(
    name: str, level: Level, project: Path, readable: Sequence[Path], search: str
) -> Path | None:
    """Return the file that keeps a program from starting because the sandbox does not show it.

    That is the program itself, a link on the way to it, or the interpreter that its first line
    names. None: the program can start, or it exists nowhere, as the system will say.

    Args:
        name: the program, as the command names it.
        level: the level of the sandbox.
        project: the command's working directory.
        readable: see `granted`.
        search: the `PATH` of the command.
    """
    roots = [*granted(readable), project]
    if level is Level.L3:
        # A grant of `/` or of `/tmp` itself does not show the machine's `/tmp`.
        visible_roots = [root for root in roots if root != _SCRATCH]
        in_scratch = [root for root in roots if _is_in_scratch(root)]
    else:
        visible_roots = in_scratch = roots

    def is_shown(path: Path) -> bool:
        near = in_scratch if _is_in_scratch(path) else visible_roots
        return any(path.is_relative_to(root) for root in near)

    hidden: Path | None = None
    for program in _candidates(name, project, search):
        needed = [*_files_behind(program, links=level is Level.L3)]
        missing = [path for path in needed if not is_shown(path)]
        if not missing:
            return None
        hidden = hidden or missing[0]
    return hidden


def _is_in_scratch(path: Path) -> bool:
    return path != _SCRATCH and path.is_relative_to(_SCRATCH)


def _candidates(name: str, project: Path, search: str) -> Iterator[Path]:
    """Yield the existing files that a command name may mean, in the order of the search."""
    if "/" in name:
        folders = [project]
    else:
        folders = [Path(folder) for folder in search.split(os.pathsep) if folder]
    for folder in folders:
        path = Path(os.path.abspath(folder / name))  # noqa: PTH100  `resolve` follows links
        with contextlib.suppress(OSError):  # a folder of the search that this user may not enter
            if path.is_file():
                yield path


def _files_behind(program: Path, *, links: bool) -> Iterator[Path]:
    """Yield what must be visible for a program to start: links, its file, its interpreter.

    Args:
        program: an existing file.
        links: include the links on the way, not only the files at their ends.
    """
    while True:
        if links:
            yield from _links_to(program)
        end = program.resolve()
        yield end
        interpreter = _interpreter_of(end)
        if interpreter is None or not interpreter.is_file():
            return
        program = interpreter


def _links_to(path: Path) -> Iterator[Path]:
    """Yield the symbolic links that lead from a path to its file, in the order of the walk."""
    for _ in range(_MOST_LINKS):
        # the outermost link first: what follows it is another path
        first = next((step for step in (*reversed(path.parents), path) if step.is_symlink()), None)
        if first is None:
            return
        yield first
        remainder = path.relative_to(first)
        path = Path(os.path.normpath(first.parent / first.readlink() / remainder))


def _interpreter_of(program: Path) -> Path | None:
    """Return the interpreter that a script's first line names; None if the file is no script."""
    try:
        with program.open("rb") as file:
            head = file.read(_INTERPRETER_BYTES)
    except OSError:
        return None
    words = head.partition(b"\n")[0].removeprefix(b"#!").split()
    if not head.startswith(b"#!") or not words:
        return None
    return Path(os.fsdecode(words[0]))
