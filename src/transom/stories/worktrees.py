"""The worktrees of a run's stories: made, set back and let go of; what stood in the way is kept on a branch."""

from __future__ import annotations

import asyncio
from pathlib import Path

from transom.stories.git import Git


class Worktrees:
    """The worktrees of one run, below one folder; agents work in them and nowhere else."""

    def __init__(self, root: Path, project: Path) -> None:
        self.root, self.project = root, project
        self.parked: list[str] = []
        self.lock = asyncio.Lock()  # git's list of worktrees cannot be read while one is made

    def git(self, branch: str) -> Git:
        return Git(self.root / branch.removeprefix("transom/").replace("/", "-"))

    async def ensure(self, branch: str, commit: str) -> Git:
        """The worktree of a branch, made at a commit where branch or worktree are missing."""
        here, project = self.git(branch), Git(self.project)
        async with self.lock:
            if not await self.is_linked(here):
                if here.folder.exists():  # an agent made something else of it
                    await asyncio.to_thread(here.folder.rename, _free(here.folder))
                known = await project.commit_of(f"refs/heads/{branch}")
                here.folder.parent.mkdir(parents=True, exist_ok=True)
                start = (str(here.folder), branch) if known else ("-b", branch, str(here.folder), commit)
                await project("worktree", "add", "--quiet", "--force", *start)  # git may still list a lost folder
        return here

    async def is_linked(self, here: Git) -> bool:
        """Whether a folder is still a worktree of the project, and not a repository that was put in its place."""
        if not (here.folder / ".git").is_file():
            return False
        common = await Git(self.project)("rev-parse", "--path-format=absolute", "--git-common-dir")
        code, out, _ = await here.attempt("rev-parse", "--absolute-git-dir")
        return code == 0 and Path(out.strip()).parent == Path(common, "worktrees")

    async def restore(self, branch: str, commit: str) -> str:
        """Bring a worktree to a commit. What stood there is kept on a branch, which is returned; "" where it was so."""
        here = await self.ensure(branch, commit)
        at = await here.look()
        if at == (branch, commit, ()):
            return ""
        kept = ""
        if at.paths or not await here.is_own(commit):
            kept = await here.park(
                branch.removeprefix("transom/"), "Kept by Transom before the worktree was set back\n"
            )
            self.parked.append(kept)
        await here("checkout", "--quiet", "--force", "-B", branch, commit)
        await here("clean", "-fdq")
        return kept

    async def remove(self, branch: str, unless_beyond: str = "") -> None:
        """Let go of a worktree whose work is merged, and of its branch; or of one in which nothing was done.

        Args:
            branch: whose.
            unless_beyond: keep it where anything stands above this commit.
        """
        here, project = self.git(branch), Git(self.project)
        if unless_beyond and (not here.folder.exists() or await here.look() != (branch, unless_beyond, ())):
            return
        async with self.lock:
            if here.folder.exists():
                await project("worktree", "remove", "--force", str(here.folder))
        await project.attempt("branch", "--quiet", "-d", branch)


def _free(folder: Path) -> Path:
    number = 1
    while (free := folder.with_name(f"{folder.name}.replaced-{number}")).exists():
        number += 1
    return free
