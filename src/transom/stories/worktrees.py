"""The worktrees of one run: made, restored, probed and removed, without loss of work."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

from transom.stories.git import OWN_TRAILER, Git

_MOST_RACES = 5
"""Names that are tried for a branch while others make branches at the same time."""


class Worktrees:
    """The worktrees of one run, below one folder; `parked`: branches that keep parked work."""

    def __init__(self, root: Path, project: Path) -> None:
        self.root, self.project = root, Git(project)
        self.parked: list[str] = []
        self.lock = asyncio.Lock()  # git's list of worktrees cannot be read while one is made

    def git(self, branch: str) -> Git:
        return Git(self.root / branch.removeprefix("transom/").replace("/", "-"))

    async def ensure(self, branch: str, commit: str) -> Git:
        """Return the worktree of a branch; branch and worktree are made at `commit` if missing."""
        worktree = self.git(branch)
        async with self.lock:
            if not await self.is_linked(worktree):
                if worktree.folder.exists():  # an agent replaced the worktree
                    worktree.folder.rename(f"{worktree.folder}.replaced-{token_hex(4)}")
                existing = await self.project.commit_of(f"refs/heads/{branch}")
                worktree.folder.parent.mkdir(parents=True, exist_ok=True)
                start = (
                    (str(worktree.folder), branch)
                    if existing
                    else ("-b", branch, str(worktree.folder), commit)
                )
                # git may still list a lost folder
                await self.project("worktree", "add", "--quiet", "--force", *start)
        return worktree

    async def create(self, branch: str, commit: str) -> str:
        """Make a new branch with its worktree; returns its name, which has a number if another
        epic has a branch of this name.
        """
        worktree = self.git(branch)
        # A process may have been killed after it had made the worktree.
        is_own = worktree.folder.is_dir() and await self.is_linked(worktree)
        if is_own and await worktree.look() == (branch, commit, ()):
            return branch
        for _ in range(_MOST_RACES):
            name = await self.project.free(branch)
            async with self.lock:
                folder = self.git(name).folder
                folder.parent.mkdir(parents=True, exist_ok=True)
                words = ("--quiet", "--force", "-b", name, str(folder), commit)
                code, _, _ = await self.project.attempt("worktree", "add", *words)
            # It failed for another reason than a name that was taken meanwhile: whoever uses the
            # worktree first says why.
            if code == 0 or not await self.project.commit_of(f"refs/heads/{name}"):
                break
        return name

    async def is_linked(self, worktree: Git) -> bool:
        """Whether a folder is still a worktree of the project, not another repository in its
        place.
        """
        if not (worktree.folder / ".git").is_file():
            return False
        common = await self.project("rev-parse", "--path-format=absolute", "--git-common-dir")
        code, output, _ = await worktree.attempt("rev-parse", "--absolute-git-dir")
        return code == 0 and Path(output.strip()).parent == Path(common, "worktrees")

    async def restore(self, branch: str, commit: str) -> str:
        """Reset a worktree to a commit; returns the branch with parked work, "" if nothing was
        parked.
        """
        worktree = await self.ensure(branch, commit)
        position, parked_branch = await worktree.look(), ""
        if position == (branch, commit, ()):
            return ""
        # Commits of the orchestrator can be made again; nobody needs them on a branch.
        own = f"--format=%(trailers:key={OWN_TRAILER},valueonly,separator=%x2C)"
        # a line per commit, empty for commits of others
        above = await worktree("log", own, f"{commit}..HEAD")
        if position[2] or not above or not all(row.strip() for row in above.split("\n")):
            parked_branch = await worktree.park(branch.removeprefix("transom/"))
            self.parked.append(parked_branch)
        # Ignored files stay: packages that were installed are not installed again.
        await worktree("checkout", "--quiet", "--force", "-B", branch, commit)
        await worktree("clean", "-fdq")
        return parked_branch

    @asynccontextmanager
    async def probe(self, branch: str, commit: str) -> AsyncIterator[Git]:
        """Make a worktree beside a branch's, without a branch, and remove it at the end."""
        # Beside the worktree, since paths may be part of what tests check.
        worktree = Git(Path(f"{self.git(branch).folder}-probe"))
        await self._drop(worktree)  # a killed process may have left it
        try:
            async with self.lock:
                worktree.folder.parent.mkdir(parents=True, exist_ok=True)
                options = ("--quiet", "--force", "--detach")
                await self.project("worktree", "add", *options, str(worktree.folder), commit)
            yield worktree
        finally:
            await self._drop(worktree)

    async def _drop(self, worktree: Git) -> None:
        async with self.lock:
            if worktree.folder.exists():
                await self.project.attempt("worktree", "remove", "--force", str(worktree.folder))
            shutil.rmtree(worktree.folder, ignore_errors=True)
            await self.project.attempt("worktree", "prune")

    async def remove(self, branch: str, unless_beyond: str = "") -> None:
        """Remove a worktree, and its branch if merged; keep both if there is work above
        `unless_beyond`.
        """
        worktree = self.git(branch)
        if unless_beyond and (
            not worktree.folder.exists() or await worktree.look() != (branch, unless_beyond, ())
        ):
            return
        async with self.lock:
            if worktree.folder.exists():
                await self.project("worktree", "remove", "--force", str(worktree.folder))
        # Git refuses to delete a branch that is not merged, which is wanted here.
        await self.project.attempt("branch", "--quiet", "-d", branch)
