"""The files of submodules in worktrees, which git leaves empty there.

They are copied from the person's own checkout, so that no address is called and no repository is
made. Git does not look into a submodule's folder that holds no repository: nothing in it is
committed, and an agent's change of it is undone before each test run.
"""

from __future__ import annotations

import asyncio
import shutil
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from transom.errors import InputError
from transom.stories.git import Git

_LINK_MODE = "160000"


async def fill_submodules(worktree: Git, project: Path) -> None:
    """Write the files of each submodule at the commit that the worktree's commit names.

    A submodule that is not checked out in the project's folder, or lacks the commit, stays empty.
    """
    if not (worktree.folder / ".gitmodules").is_file():
        return
    await _fill(worktree, "HEAD", project, worktree.folder)


async def _fill(repository: Git, commit: str, checkout: Path, folder: Path) -> None:
    """Write the submodules of a commit into a folder, from a checkout of the same repository."""
    listed = await repository("ls-tree", "-r", "-z", "--full-tree", commit)
    for row in filter(None, listed.split("\0")):
        mode, _, commit_and_path = row.split(" ", 2)
        inner, _, path = commit_and_path.partition("\t")
        # Without a repository of its own, git would answer for the one around it.
        if mode == _LINK_MODE and (checkout / path / ".git").exists():
            await _copy(Git(checkout / path), inner, folder / path)


async def _copy(source: Git, commit: str, folder: Path) -> None:
    """Write the files of a submodule's commit, and those of its own submodules."""
    with TemporaryDirectory() as scratch:
        archive = Path(scratch, "files.tar")
        try:
            await source("archive", "--format=tar", f"--output={archive}", commit)
        except InputError:
            return
        await asyncio.to_thread(_unpack, archive, folder)
    await _fill(source, commit, source.folder, folder)


def _unpack(archive: Path, folder: Path) -> None:
    if folder.is_symlink():  # an agent may have put a link in its place
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
