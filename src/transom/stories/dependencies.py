"""The packages that a project's tests need, installed by the project's own command.

The command runs once for each state of the lock files, with network, before the first test run that
needs it. What it leaves is kept in the workspace and linked into each worktree while tests run, so
that a story may add a dependency, and each run sees the packages of its own commit.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_hex

from transom.errors import InputError
from transom.sandbox import Level, agent_line, run_openly
from transom.stories.git import Git

_SETTING = "stories.setup.command"


@dataclass(frozen=True)
class Dependencies:
    """How packages are installed.

    Attributes:
        command: the command, e.g. `npm ci`.
        locks: globs of the files that decide what it installs.
        cache: the folder that keeps what it installed.
        seconds: its limit.
        readable: paths that it may read beside the worktree and the system.
    """

    command: tuple[str, ...]
    locks: tuple[str, ...]
    cache: Path
    seconds: float
    readable: tuple[Path, ...] = ()

    async def install(self, worktree: Path, level: Level) -> Path:
        """Return the folder with the packages of a worktree's lock files; install them if needed.

        Raises:
            InputError: the command failed; the message has the end of its output.
        """
        repository = Git(worktree)
        folder = self.cache / await self._key(repository)
        if not folder.is_dir():
            before = await _untracked(repository)
            await self._run(worktree, level)
            await asyncio.to_thread(_keep, worktree, await _untracked(repository) - before, folder)
        return folder

    async def _key(self, repository: Git) -> str:
        """Digest the command and the lock files."""
        digest = hashlib.sha256(repr(self.command).encode())
        for path in await repository.paths("HEAD"):
            if any(PurePosixPath(path).match(glob) for glob in self.locks):
                with suppress(OSError):
                    digest.update(path.encode() + b"\0" + (repository.folder / path).read_bytes())
        return digest.hexdigest()[:24]

    async def _run(self, worktree: Path, level: Level) -> None:
        line: Sequence[str] = self.command
        if level is not Level.NONE:
            # The command runs code of the packages, so it sees none of the user's variables.
            variables = {name: os.environ.get(name, "") for name in ("PATH", "HOME", "LANG")}
            bare = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *line]
            readable = [*self.readable, *_program(line[0])]
            line = agent_line(worktree, bare, readable=readable, network=True)
        result = await run_openly(line, worktree, {}, seconds=self.seconds, setting=_SETTING)
        if result.ended == "time":
            problem = f"the set-up command reached its limit of {self.seconds:g} s"
            raise InputError(problem, place=_SETTING, hint="raise stories.setup.timeout")
        if result.code:
            output = f"{result.stdout}\n{result.stderr}".strip()[-300:]
            problem = f"the set-up command ended with exit code {result.code}: {output}"
            raise InputError(problem, place=_SETTING, hint="run it by hand in the project")


def _program(name: str) -> Iterator[Path]:
    """Yield the folder of a program that lies outside of the system's folders."""
    program = shutil.which(name)
    if program:
        yield Path(program).resolve().parent.parent


async def _untracked(repository: Git) -> frozenset[str]:
    """Return the files and folders of a worktree that git does not track."""
    listed = await repository("ls-files", "--others", "--directory", "--no-empty-directory", "-z")
    return frozenset(path.rstrip("/") for path in listed.split("\0") if path)


def _keep(worktree: Path, paths: frozenset[str], folder: Path) -> None:
    """Move what the command left to a folder, which appears as a whole or not at all."""
    fresh = folder.with_name(f"{folder.name}-{token_hex(4)}")
    fresh.mkdir(parents=True)
    for path in paths:
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(worktree / path, target)
    try:
        fresh.rename(folder)
    except OSError:  # another story has installed the same meanwhile
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def linked(folder: Path, worktree: Path) -> Iterator[None]:
    """Link the packages into a worktree until the tests have run; nothing of the worktree is
    replaced.
    """
    links = []
    for path in _outermost(folder, worktree):
        link = worktree / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
        links.append(link)
    try:
        yield
    finally:
        for link in links:
            with suppress(OSError):
                link.unlink()


def _outermost(folder: Path, worktree: Path) -> Iterator[Path]:
    """Yield the outermost paths below a folder that the worktree lacks."""
    for path in sorted(folder.iterdir()):
        own = worktree / path.name
        if not own.exists() and not own.is_symlink():
            yield path
        elif path.is_dir() and own.is_dir() and not own.is_symlink():
            yield from (inner for inner in _outermost(path, own))
