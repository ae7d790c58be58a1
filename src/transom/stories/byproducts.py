"""By-products of a project's tests, such as compiled files and caches: what the tests make again by
themselves is no work of Dev's, and is never committed.

No list of names or endings decides. Lines that an agent adds to a .gitignore, and does not list,
are left out as well. A new file that is not text, and that Dev does not list as its
work, is one. Any other file is one if a test run of the orchestrator makes it too, and Dev does not
list it or it is not text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from transom.stories.git import Git

LeftBy = Callable[[str], Awaitable[Sequence[str]]]
"""Runs the tests on a commit; returns the paths that the run leaves, see `Git.leftovers`."""


@dataclass(frozen=True)
class DevAttempt:
    """What Dev left in its worktree.

    Attributes:
        start: the commit that Dev began with.
        listed: paths that Dev's reply lists as its work.
        earlier_leftovers: paths that an earlier test run left.
    """

    start: str
    listed: Collection[str]
    earlier_leftovers: Sequence[str] = ()


async def work_without_byproducts(
    worktree: Git, attempt: DevAttempt, left_by: LeftBy
) -> tuple[str, tuple[str, ...]]:
    """Return the tree of a worktree's files without the tests' by-products, and these.

    The tests run only if a file is in doubt that no earlier run made.
    """
    tree = await worktree.tree_of_files()
    changes = await worktree.changes(attempt.start, tree)
    binary = await worktree.binary_files(attempt.start, tree)
    byproducts, doubtful = list[str](), list[str]()
    for change in changes:
        path, is_listed, is_binary = (
            change.path,
            change.path in attempt.listed,
            change.path in binary,
        )
        if change.action == "deleted" or (is_listed and not is_binary):
            continue
        if path.rpartition("/")[2] == ".gitignore" and await _only_adds(
            worktree, attempt, tree, path
        ):
            # Agents add their own files there, unasked.
            byproducts.append(path)
            continue
        if is_left(path, attempt.earlier_leftovers):
            byproducts.append(path)
        elif change.action == "created":
            is_compiled = is_binary and not is_listed
            (byproducts if is_compiled else doubtful).append(path)
    if doubtful:
        # Without the files in doubt: those that the run makes again are its own.
        tree_without_doubts = await worktree.tree_without(
            tree, [*byproducts, *doubtful], attempt.start
        )
        leftovers = await left_by(
            await worktree.commit_tree(tree_without_doubts, "Probe of the tests\n", attempt.start)
        )
        byproducts += [path for path in doubtful if is_left(path, leftovers)]
    if byproducts:
        tree = await worktree.tree_without(tree, byproducts, attempt.start)
    return tree, tuple(sorted(byproducts))


async def _only_adds(worktree: Git, attempt: DevAttempt, tree: str, path: str) -> bool:
    """Whether a file keeps all its lines, in their order, and has more of them."""
    old = (await worktree.text(attempt.start, path) or "").splitlines()
    new = iter((await worktree.text(tree, path) or "").splitlines())
    return all(line in new for line in old)


def is_left(path: str, leftovers: Iterable[str]) -> bool:
    """Whether a path is one that a test run left, or lies in a folder that the run made."""
    return any(
        path == other or (other.endswith("/") and path.startswith(other)) for other in leftovers
    )
