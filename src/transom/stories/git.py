"""Git and worktrees for the orchestrator: without hooks or a repository's helpers, and without loss
of work.

Commits of others are never reset or deleted: work in a worktree's way is parked on a branch first.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.canonical import digest
from transom.errors import InputError
from transom.sandbox.process import kill_group, start_group
from transom.store.disk_room import has_no_room
from transom.stories.story import Action

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgsign=false",
    "gc.auto=0",
    "core.quotePath=false",
)
_WHO = {"GIT_AUTHOR_NAME": "Transom", "GIT_AUTHOR_EMAIL": "transom@localhost"}
_COMMITTER = {name.replace("AUTHOR", "COMMITTER"): value for name, value in _WHO.items()}
_ACTIONS: Mapping[str, Action] = {"A": "created", "D": "deleted", "M": "modified", "T": "modified"}
_PLAIN_DIFF = ("diff", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")

_UNWATCHED = ("refs/heads/transom/", "refs/remotes/", "refs/stash", "refs/notes/", "refs/transom/")
_MERGES = "transom/merges"
"""File in git's folder: the merge commits of all epics, a line each."""
_MOST_WATCHED = 2_000  # changed files of a checkout
_NO_ROOM = re.compile(r"no space left|out of disk ?space|quota exceeded", re.IGNORECASE)

STORY_TRAILER = "Transom-Story"
"""Trailer of a story's merge commit: `EPIC/STORY`."""
OWN_TRAILER = "Transom-Own"
"""Trailer of commits that the orchestrator can make again at any time."""


@dataclass(frozen=True)
class Change:
    """A changed file. `mode` is git's: `120000` of a link, `160000` of a submodule, zeros of a
    deleted file.
    """

    path: str
    action: Action
    mode: str


class Git:
    """Git in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def __call__(
        self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> str:
        """Run `git ARGS`; returns its output without the last line end.

        Raises:
            InputError: git failed; names the command and git's message.
        """
        code, output, err = await self.attempt(*args, stdin=stdin, env=env)
        if code:
            message = _one_line(err or output)
            hint = "look at the folder with git status"
            # Git does not always say why it could not write.
            if _NO_ROOM.search(message) or has_no_room(self.folder):
                hint = "make room on its disk, and run the same command again"
            raise InputError(f"git {args[0]} failed: {message}", place=str(self.folder), hint=hint)
        return output.removesuffix("\n")

    async def attempt(
        self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run `git ARGS`; returns exit code, output and errors, also when it fails."""
        line = ("git", *(word for setting in _SAFE for word in ("-c", setting)), *args)
        # Variables such as GIT_DIR, which a hook sets, would lead git to another repository.
        around = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        around |= {
            "LC_ALL": "C.UTF-8",
            # Git must never wait for a password, nor take a lock that an editor needs.
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            **(env or {}),
        }
        pipe = asyncio.subprocess.PIPE
        try:
            process = await start_group(
                *line, cwd=self.folder, env=around, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except FileNotFoundError as error:
            if shutil.which("git") is None:
                hint = "run as root: apt-get install -y git"
                raise InputError("git is not installed", hint=hint) from error
            hint = "check the folder"
            raise InputError("git cannot be run", place=str(self.folder), hint=hint) from error
        try:
            output, err = await process.communicate(stdin.encode("utf-8", "surrogateescape"))
        finally:
            kill_group(process)  # after a cancellation it must not go on writing
        return (
            process.returncode or 0,
            output.decode("utf-8", "surrogateescape"),
            err.decode("utf-8", "replace"),
        )

    async def commit_of(self, name: str) -> str | None:
        """Return the commit of a name, or None."""
        code, output, _ = await self.attempt(
            "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"
        )
        return output.strip() if code == 0 else None

    async def branch(self) -> str:
        """Return the branch that is checked out; "" for a detached head."""
        return (await self.attempt("symbolic-ref", "--short", "--quiet", "HEAD"))[1].strip()

    async def free(self, branch: str, number: int = 0) -> str:
        """Return an unused branch name: this name, with a number from `number` on appended where
        needed.
        """
        while True:
            name = f"{branch}-{number}" if number else branch
            if await self.commit_of(f"refs/heads/{name}") is None:
                return name
            number += 1

    async def worktrees(self) -> dict[str, Path]:
        """Return branch -> folder of its worktree."""
        folders: dict[str, Path] = {}
        for block in (await self("worktree", "list", "--porcelain")).split("\n\n"):
            entry = dict(line.partition(" ")[::2] for line in block.splitlines())
            # A worktree with a detached head has no branch.
            if "branch" in entry:
                branch = entry["branch"].removeprefix("refs/heads/")
                folders[branch] = Path(entry["worktree"])
        return folders

    async def look(self) -> tuple[str, str, tuple[str, ...]]:
        """Return the branch, the head's commit, and the paths that differ from it, without the
        workspace's.
        """
        options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        # else git runs commands from the settings of submodules
        unseen = "--ignore-submodules=dirty"
        rows = (await self("status", *options, unseen)).split("\0")
        headers = dict(row[2:].partition(" ")[::2] for row in rows if row.startswith("# "))
        cuts = {"1": 8, "u": 10, "?": 1}
        paths = [row.split(" ", cuts[row[0]])[-1] for row in rows if row[:1] in cuts]
        own_paths = tuple(path for path in paths if not path.startswith(".transom"))
        return (
            headers["branch.head"].replace("(detached)", ""),
            headers.get("branch.oid", ""),
            own_paths,
        )

    async def commit_all(self, message: str) -> str:
        """Commit all changes, if any; returns the head."""
        await self("add", "--all")
        if await self("diff", "--cached", "--name-only", "-z"):
            await self(
                "commit",
                "--no-verify",
                "--quiet",
                "--file=-",
                stdin=message,
                env=await self._identity(),
            )
        return await self("rev-parse", "HEAD")

    async def commit_tree(self, tree: str, message: str, *parents: str) -> str:
        """Make a commit on no branch; returns its id."""
        words = [word for parent in parents for word in ("-p", parent)]
        return await self("commit-tree", tree, *words, stdin=message, env=await self._identity())

    async def merge(self, commit: str, message: str) -> str:
        """Merge a commit into the checked-out branch; "" or git's message on a conflict, which
        is rolled back.
        """
        words = ("merge", "--quiet", "--no-verify", "-m", message, commit)
        code, output, err = await self.attempt(*words, env=await self._identity())
        if code:
            await self.attempt("merge", "--abort")
        return _one_line(output or err) if code else ""

    async def forward(self, branch: str, old: str, new: str) -> str:
        """Fast-forward a branch, also if checked out; "" or git's message on failure, e.g. for
        local changes.
        """
        if folder := (await self.worktrees()).get(branch):
            # By default git overwrites ignored files, which may be a person's own.
            options = ("--ff-only", "--quiet", "--no-overwrite-ignore")
            code, output, err = await Git(folder).attempt("merge", *options, new)
        else:
            code, output, err = await self.attempt("update-ref", f"refs/heads/{branch}", new, old)
        return _one_line(err or output) if code else ""

    async def note_merge(self, commit: str) -> None:
        """Note a merge commit before the target has it, for epics that run at the same time."""
        # Worktrees share this folder, so each epic sees the merges of all others.
        notes = Path(await self("rev-parse", "--path-format=absolute", "--git-common-dir"), _MERGES)
        notes.parent.mkdir(exist_ok=True)
        with notes.open("a", encoding="ascii") as file:
            file.write(f"{commit}\n")

    async def has_only_merges(self, old: str, new: str) -> bool:
        """Whether a branch went on from one commit to another by noted merges alone."""
        # A branch that was moved back, or rewritten, did not go on from the old commit.
        if (await self.attempt("merge-base", "--is-ancestor", old, new))[0]:
            return False
        folder = await self("rev-parse", "--path-format=absolute", "--git-common-dir")
        try:
            noted = set(Path(folder, _MERGES).read_text(encoding="ascii").split())
        except OSError:
            return False
        commits = (await self("rev-list", "--first-parent", f"{old}..{new}")).split()
        return bool(commits) and noted.issuperset(commits)

    async def merged(self, epic: str, target: str | None = None, since: str = "") -> dict[str, str]:
        """Return story -> merge commit for an epic, on a branch (None: the checked-out one)."""
        # Only the first parent: a merge commit that somebody merged along was not made here.
        form = f"--format=%H %(trailers:key={STORY_TRAILER},valueonly,separator=%x2C)"
        commits = f"refs/heads/{target}" if target else "HEAD"
        if since:
            commits = f"{since}..{commits}"
        code, output, _ = await self.attempt("log", "--first-parent", form, commits)
        stories: dict[str, str] = {}
        # A branch without a commit has no log, and no merges.
        for row in output.splitlines() if code == 0 else ():
            commit, _, key = row.partition(" ")
            if key.startswith(f"{epic}/"):
                stories[key.strip().removeprefix(f"{epic}/")] = commit
        return stories

    async def changes(self, base: str, head: str) -> tuple[Change, ...]:
        """Return the changed files between two commits; a renamed file is one deleted and one
        created.
        """
        pieces = (await self(*_PLAIN_DIFF, "--raw", "-z", "--abbrev=40", base, head)).split("\0")
        changes = []
        # Fields about a file and its path take turns; the last piece is empty.
        for meta, path in zip(pieces[0::2], pieces[1::2], strict=False):
            _, mode, _, _, letter = meta.split()
            changes.append(Change(path, _ACTIONS[letter], mode))
        return tuple(changes)

    async def diff(self, base: str, head: str) -> str:
        """Return the diff between two commits as text."""
        text = await self(*_PLAIN_DIFF, base, head)
        # Bytes that are no UTF-8 came in as surrogates, which no file and no prompt can hold.
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    async def text(self, commit: str, path: str) -> str | None:
        """Return a file's text at a commit, or None."""
        code, output, _ = await self.attempt("show", f"{commit}:{path}")
        return output if code == 0 else None

    async def paths(self, commit: str) -> tuple[str, ...]:
        """Return the paths of all files of a commit."""
        rows = (await self("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)).split("\0")
        return tuple(filter(None, rows))

    async def holding(self, commit: str, text: str, *, whole_word: bool = False) -> tuple[str, ...]:
        """Return the paths of the files of a commit that hold a text, in small or capital
        letters.
        """
        options = ["-i", "-I", "-l", "-z", "--fixed-strings", "--full-name"]
        if whole_word:
            options.append("--word-regexp")
        _, output, _ = await self.attempt("grep", *options, "-e", text, commit)
        rows = filter(None, output.split("\0"))
        return tuple(row.removeprefix(f"{commit}:") for row in rows)

    async def take_from(self, commit: str, paths: Sequence[str]) -> None:
        """Put files as a commit has them into the worktree; files that it lacks are removed."""
        for path in paths:
            if (await self.attempt("checkout", "--quiet", commit, "--", path))[0]:
                (self.folder / path).unlink(missing_ok=True)

    async def clear(self) -> None:
        """Remove everything that is not committed, ignored files too: tests must not depend on
        it.
        """
        await self("checkout", "--quiet", "--force", ".")
        await self("clean", "-ffdqx")

    async def park(self, name: str) -> str:
        """Commit all local files to a new branch, and return its name; index and files stay
        unchanged.
        """
        tree = await self.tree_of_files()
        return await self.keep(await self.commit_tree(tree, "Kept by Transom\n", "HEAD"), name)

    async def keep(self, commit: str, name: str) -> str:
        """Keep a commit on a new branch; returns the branch's name."""
        branch = await self.free(f"transom/parked/{name}", 1)
        await self("update-ref", f"refs/heads/{branch}", commit)
        return branch

    # A ref outside of refs/heads: the unfinished work is no branch that people see.
    async def keep_partial(self, name: str, start: str) -> None:
        """Keep all local files under a name, for a call that goes on with them, and return the
        worktree to the commit that the call began with.
        """
        tree = await self.tree_of_files()
        commit = await self.commit_tree(tree, "Partial work\n", "HEAD")
        await self("update-ref", f"refs/transom/partial/{name}", commit)
        await self.take(start)

    async def take_partial(self, name: str) -> bool:
        """Bring back the files that were kept under a name; returns whether there were any."""
        ref = f"refs/transom/partial/{name}"
        if (await self.attempt("rev-parse", "--verify", "--quiet", ref))[0]:
            return False
        await self("checkout", "--quiet", ref, "--", ".")
        await self("update-ref", "-d", ref)
        return True

    async def tree_of_files(self) -> str:
        """Return the tree of all local files that git does not ignore; the index stays as it is."""
        with tempfile.TemporaryDirectory() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            await self("read-tree", "HEAD", env=env)
            await self("add", "--all", env=env)
            return await self("write-tree", env=env)

    async def tree_without(self, tree: str, paths: Sequence[str], base: str) -> str:
        """Return a tree in which some paths are as in a base: older contents, or no file."""
        entries = await self("ls-tree", "-r", "-z", "--full-tree", base)
        older = dict(entry.split("\t", 1)[::-1] for entry in entries.split("\0") if entry)
        rows = []
        for path in paths:
            mode, _, object_id = older.get(path, f"0 - {'0' * 40}").split(" ")
            rows.append(f"{mode} {object_id}\t{path}\0")
        with tempfile.TemporaryDirectory() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            await self("read-tree", tree, env=env)
            # The index of this command alone: that of the person stays unchanged.
            await self("update-index", "-z", "--index-info", stdin="".join(rows), env=env)
            return await self("write-tree", env=env)

    async def binary_files(self, base: str, head: str) -> frozenset[str]:
        """Return the changed files between two trees that are not text, as git judges it."""
        rows = (await self(*_PLAIN_DIFF, "--numstat", "-z", base, head)).split("\0")
        return frozenset(row[4:] for row in rows if row.startswith("-\t-\t"))

    async def leftovers(self) -> tuple[str, ...]:
        """Return the paths that differ from the commit, ignored ones too; the path of a folder in
        which no file is committed ends with `/` and stands for all files in it.
        """
        options = ("--porcelain", "-z", "--untracked-files=normal", "--ignored", "--no-renames")
        rows = (await self("status", *options, "--ignore-submodules=dirty")).split("\0")
        return tuple(row[3:] for row in rows if row)

    async def take(self, commit: str) -> None:
        """Move the branch and the files to a commit; files that it lacks are removed, except
        ignored ones.
        """
        await self("reset", "--quiet", "--hard", commit)
        await self("clean", "-ffdq")

    async def state(self) -> dict[str, str]:
        """Digest what a worktree's agent must not change: refs, this checkout's tracked files,
        git's settings, hooks.

        What an editor or a person does meanwhile is left out: fetched refs, the stash, new notes.
        """
        rows = (await self("for-each-ref", "--format=%(refname) %(objectname)")).splitlines()
        digests = dict(row.split(" ") for row in rows if not row.startswith(_UNWATCHED))
        common = Path(await self("rev-parse", "--path-format=absolute", "--git-common-dir"))
        # Whoever writes hooks or settings runs commands later, with the rights of a person.
        settings = [common / "config", *(common / "hooks").glob("*"), *(common / "info").glob("*")]
        # Only files that differ are read: a large checkout would take minutes.
        tracked = (await self("diff", "--name-only", "-z", "HEAD")).split("\0")[:_MOST_WATCHED]
        for file in [*(self.folder / path for path in tracked if path), *settings]:
            path = str(file)
            if file.is_relative_to(self.folder):
                path = file.relative_to(self.folder).as_posix()
            digests[path] = "none"
            if file.is_file() and not file.is_symlink():
                digests[path] = digest(file.read_bytes())
        return digests

    async def _identity(self) -> dict[str, str]:
        """Return an identity for commits if the person has not set one."""
        has_identity = (await self.attempt("var", "GIT_AUTHOR_IDENT"))[0] == 0
        return {} if has_identity else {**_WHO, **_COMMITTER}


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
