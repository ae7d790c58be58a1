"""Git, as the orchestrator uses it: no hooks, no helpers of the repository, and nothing is thrown away.

It never resets or deletes a commit that it did not make: what stands in a worktree's way is parked on a branch first.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from transom.canonical import digest
from transom.errors import InputError
from transom.sandbox.process import kill_group, start_group
from transom.stories.handoff import Action

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgsign=false",
    "gc.auto=0",
    "core.quotePath=false",
)
_WHO = {"GIT_AUTHOR_NAME": "Transom", "GIT_AUTHOR_EMAIL": "transom@localhost"}
_COMMITTER = {name.replace("AUTHOR", "COMMITTER"): value for name, value in _WHO.items()}
_ACTIONS: Mapping[str, Action] = {"A": "created", "D": "deleted"}


STORY_TRAILER = "Transom-Story"
"""Of the commit that merges a story: `EPIC/STORY`."""
OWN_TRAILER = "Transom-Own"
"""Of commits that the orchestrator can make again at any time."""


class GitFailed(InputError):
    """A git command ended with an error."""


@dataclass(frozen=True)
class Change:
    """A changed file. `mode` is git's: `120000` of a link, `160000` of a submodule, zeros of a deleted file."""

    path: str
    action: Action
    mode: str


class Look(NamedTuple):
    """How a worktree stands: the branch, the head's commit, changed and untracked paths."""

    branch: str
    head: str
    paths: tuple[str, ...]


class Git:
    """Git in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def __call__(self, *args: str, stdin: str | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run `git ARGS`; its output without the last line end.

        Raises:
            GitFailed: naming the command and what git said.
        """
        code, out, err = await self.attempt(*args, stdin=stdin, env=env)
        if code:
            said = " ".join((err or out).split())[:400]
            raise GitFailed(f"git {args[0]} failed: {said}", where=str(self.folder), hint="look at it with git status")
        return out.removesuffix("\n")

    async def attempt(
        self, *args: str, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """The same; exit code, output and errors, whatever they are."""
        options = [word for one in _SAFE for word in ("-c", one)]
        around = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        around |= {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **(env or {})}
        pipe = asyncio.subprocess.PIPE
        try:
            line = ("git", *options, *args)
            process = await start_group(*line, cwd=self.folder, env=around, stdin=pipe, stdout=pipe, stderr=pipe)
        except FileNotFoundError as error:
            raise InputError("cannot run git", where=str(self.folder), hint="install git; check the folder") from error
        try:
            out, err = await process.communicate((stdin or "").encode())
        finally:
            kill_group(process)  # where it was cancelled: it must not write on
        return process.returncode or 0, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace")

    async def commit_of(self, name: str) -> str | None:
        """The commit that a name stands for; None where there is none."""
        code, out, _ = await self.attempt("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return out.strip() if code == 0 else None

    async def branch(self) -> str:
        """The branch that is checked out; "" where none is."""
        return (await self.attempt("symbolic-ref", "--short", "--quiet", "HEAD"))[1].strip()

    async def look(self) -> Look:
        """Branch, head and what differs from it, the workspace left out."""
        options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        unseen = "--ignore-submodules=dirty"  # git would run what the settings of a repository in here name
        rows = (await self("status", *options, unseen)).split("\0")
        told = dict(row[2:].partition(" ")[::2] for row in rows if row.startswith("# "))
        cuts = {"1": 8, "u": 10, "?": 1, "2": 9}
        paths = [row.split(" ", cuts[row[0]])[cuts[row[0]]] for row in rows if row[:1] in cuts]
        branch = told.get("branch.head", "")
        mine = tuple(path for path in paths if not path.startswith(".transom"))
        return Look("" if branch == "(detached)" else branch, told.get("branch.oid", ""), mine)

    async def is_ancestor(self, old: str, new: str) -> bool:
        return (await self.attempt("merge-base", "--is-ancestor", old, new))[0] == 0

    async def commit_all(self, message: str) -> str:
        """Commit whatever changed, if anything did; the head afterwards."""
        await self("add", "--all")
        if await self("diff", "--cached", "--name-only", "-z"):
            await self("commit", "--no-verify", "--quiet", "--file=-", stdin=message, env=await self._who())
        return await self("rev-parse", "HEAD")

    async def commit_tree(self, parent: str, message: str) -> str:
        """A merge commit of what is checked out into `parent`, on no branch."""
        tree = await self("rev-parse", "HEAD^{tree}")
        return await self("commit-tree", tree, "-p", parent, "-p", "HEAD", stdin=message, env=await self._who())

    async def merge(self, commit: str, message: str) -> str:
        """Merge a commit into what is checked out; what git said where that conflicts, and nothing changed then."""
        who = await self._who()
        code, out, err = await self.attempt("merge", "--quiet", "--no-verify", "-m", message, commit, env=who)
        if code:
            await self.attempt("merge", "--abort")
        return " ".join((out or err).split())[:300] if code else ""

    async def forward(self, branch: str, old: str, new: str) -> str:
        """Move a branch forward, wherever it is checked out; why not, where a person's files are in the way."""
        for row in (await self("worktree", "list", "--porcelain")).split("\n\n"):
            if f"branch refs/heads/{branch}" in row.splitlines():
                folder = Path(row.splitlines()[0].removeprefix("worktree "))
                code, out, err = await Git(folder).attempt("merge", "--ff-only", "--quiet", new)
                return " ".join((err or out).split())[:300] if code else ""
        code, _, err = await self.attempt("update-ref", f"refs/heads/{branch}", new, old)
        return " ".join(err.split())[:300] if code else ""

    async def is_own(self, base: str) -> bool:
        """Whether all that stands above a commit can be made again by the orchestrator."""
        rows = await self("log", f"--format=%(trailers:key={OWN_TRAILER},valueonly,separator=%x2C)", f"{base}..HEAD")
        return all(row.strip() for row in rows.split("\n")) if rows else False

    async def snapshot(self, message: str) -> str:
        """A commit of everything that lies here, on no branch; index and files stay as they are."""
        with tempfile.TemporaryDirectory() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index", **await self._who()}
            await self("read-tree", "HEAD", env=env)
            await self("add", "--all", env=env)
            tree = await self("write-tree", env=env)
        return await self("commit-tree", tree, "-p", "HEAD", stdin=message, env=env)

    async def changes(self, base: str, head: str) -> tuple[Change, ...]:
        """What differs between two commits, file by file; a renamed file is deleted and created."""
        out = await self("diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--abbrev=40", base, head)
        pieces = out.split("\0")
        rows = zip(pieces[0::2], pieces[1::2], strict=False)
        return tuple(Change(path, _ACTIONS.get(meta.split()[4], "modified"), meta.split()[1]) for meta, path in rows)

    async def diff(self, base: str, head: str) -> str:
        """What differs between two commits, line by line."""
        out = await self("diff", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", base, head)
        return out.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    async def text(self, commit: str, path: str) -> str | None:
        """A file of a commit; None where it is not there."""
        code, out, _ = await self.attempt("show", f"{commit}:{path}")
        return out if code == 0 else None

    async def clear(self) -> None:
        """Take away all that no commit holds, ignored files too: tests must not pass by what is never merged."""
        await self("checkout", "--quiet", "--force", ".")
        await self("clean", "-ffdqx")

    async def park(self, name: str, message: str) -> str:
        """Keep all that lies here, commits and files, on a new branch `transom/parked/NAME-N`; the branch."""
        commit = await self.snapshot(message)
        number = 1
        while await self.commit_of(f"refs/heads/transom/parked/{name}-{number}"):
            number += 1
        branch = f"transom/parked/{name}-{number}"
        await self("update-ref", f"refs/heads/{branch}", commit)
        return branch

    async def state(self) -> dict[str, str]:
        """What a worktree's agent must leave alone, digested: refs, this checkout's files, git's settings and hooks."""
        refs = await self("for-each-ref", "--format=%(refname) %(objectname)")
        mine = "refs/heads/transom/"
        found = {
            ref: commit for ref, _, commit in (line.partition(" ") for line in refs.splitlines()) if mine not in ref
        }
        common = Path(await self("rev-parse", "--path-format=absolute", "--git-common-dir"))
        settings = [common / "config", *(common / "hooks").glob("*"), *(common / "info").glob("*")]
        for file in [*(self.folder / path for path in (await self.look()).paths[:2_000]), *settings]:
            path = file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else str(file)
            found[path] = digest(file.read_bytes()) if file.is_file() and not file.is_symlink() else "none"
        return found

    async def _who(self) -> dict[str, str]:
        """An identity for commits, where the person has not set one."""
        known = (await self.attempt("var", "GIT_AUTHOR_IDENT"))[0] == 0
        return {} if known else {**_WHO, **_COMMITTER}
