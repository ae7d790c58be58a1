"""Merges a story's work into the target branch: tested together with the target's newer commits,
never forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.stories.backlog_search import Backlog
from transom.stories.criteria import Covering
from transom.stories.git import OWN_TRAILER, STORY_TRAILER, Git
from transom.stories.shared import Baseline, Epic, MergeResult
from transom.stories.status import set_sprint_status, set_story_status, tick_tasks
from transom.stories.stories_yaml import close_entry
from transom.stories.story import Story
from transom.stories.submodules import fill_submodules
from transom.stories.testrun import TestRun, compare, run_tests

_MOST_RACES = 5
"""Merges that are tried while others commit to the target at the same time."""


async def merge(
    epic: Epic,
    story: Story,
    base: Baseline,
    head: str,
    before: TestRun,
    coverage: Sequence[Covering] = (),
) -> MergeResult:
    """Merge a story's work, which was judged at `head`; `before`: the test run at the baseline.

    The commit's message lists what covers each criterion.

    The target is fast-forwarded; a person's local changes to the same files stop the merge and stay
    unharmed.
    """
    project, places = epic.places.project, epic.places
    worktree = places.git(base.branch)
    # QA or a person may have left files in the worktree since it was judged.
    await places.restore(base.branch, head)
    for _ in range(_MOST_RACES):
        merged = await project.merged(epic.backlog.epic, base.target, base.base)
        if story.id in merged:
            return MergeResult(commit=merged[story.id])
        target = await project("rev-parse", f"refs/heads/{base.target}")
        problem = ""
        if target != base.base:
            problem = await _join(epic, story, worktree, base.target, target, before)
        if problem:
            await worktree.take(head)
            return MergeResult(problem=problem)
        commit = await _merge_commit(epic, story, worktree, target, coverage)
        async with places.lock:
            # Noted before the target moves: another epic looks at any time.
            await project.note_merge(commit)
            problem = await project.forward(base.target, target, commit)
        if not problem:
            return MergeResult(commit=commit)
        # Another epic, or a person, committed meanwhile: the work is tested with that, too.
        if await project("rev-parse", f"refs/heads/{base.target}") == target:
            break
        # Nothing of others is above the judged work, so nothing is parked.
        await worktree.take(head)
    return MergeResult(problem=problem)


async def _merge_commit(
    epic: Epic, story: Story, worktree: Git, target: str, coverage: Sequence[Covering]
) -> str:
    """Make the merge commit of a finished story, on no branch; returns its id."""
    write_done(worktree.folder, epic.backlog, story)
    await worktree.commit_all(f"{story.label.capitalize()}: done\n\n{OWN_TRAILER}: yes\n")
    coverage_lines = "".join(f"{line}\n" for row in coverage for line in row.lines)
    message = f"Merge {story.label}: {story.title}\n\n"
    message += f"{coverage_lines}\n" if coverage_lines else ""
    message += f"{STORY_TRAILER}: {epic.backlog.epic}/{story.id}\n"
    return await worktree.commit_tree("HEAD^{tree}", message, target, "HEAD")


async def _join(
    epic: Epic, story: Story, worktree: Git, name: str, target: str, before: TestRun
) -> str:
    """Merge the target's newer commits into the story's work, and test the result; returns the
    problem, or "".
    """
    if conflict := await worktree.merge(
        target, f"Merge {name} into {story.label}\n\n{OWN_TRAILER}: yes\n"
    ):
        return f"it conflicts with {name}: {conflict}"
    # Two changes that merge without a conflict may still break each other.
    comparison = compare(before, await tested(epic, worktree))
    return f"together with {name}: {comparison.problems[0]}" if comparison.problems else ""


async def tested_with(
    epic: Epic,
    base: Baseline,
    commit: str,
    harness: Sequence[str],
    files: Mapping[str, str | None],
    order: str = "",
) -> TestRun:
    """Run the tests on a commit with other files, in a worktree that is removed afterwards.

    Args:
        order: see `run_tests`.
        harness: files that are taken from the baseline.
        files: path -> text; None removes the file.
    """
    async with epic.places.probe(base.branch, commit) as worktree:
        await fill_submodules(worktree, epic.project)
        await worktree.take_from(base.base, harness)
        for path, text in files.items():
            file = worktree.folder / path
            if text is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return await run_tests(epic.settings.tests, worktree.folder, epic.project, order=order)


async def tested(epic: Epic, worktree: Git) -> TestRun:
    """Run the tests on a worktree's commit; files that the tests leave are removed."""
    await worktree.clear()
    await fill_submodules(worktree, epic.project)
    result = await run_tests(epic.settings.tests, worktree.folder, epic.project)
    leftovers = await worktree.leftovers()
    await worktree.clear()
    return result.model_copy(update={"left": leftovers})


def write_done(folder: Path, backlog: Backlog, story: Story) -> None:
    """Write the status "done" to the story's file, the sprint status and the task list, as the
    format has them.
    """
    own, sheet = folder / story.source, folder / backlog.sprint.source if backlog.sprint else None
    if story.owns_file and story.status_text and own.is_file():
        set_story_status(own, "done")
    # A person may have removed the row meanwhile; then there is none to write.
    if sheet and backlog.sprint and story.key in backlog.sprint.stories and sheet.is_file():
        set_sprint_status(sheet, story.key, "done")
    if backlog.shape == "stories.yaml" and not story.owns_file and own.is_file():
        close_entry(own, story.id)
    if backlog.shape in ("spec-kit", "task-list") and own.is_file():
        tick_tasks(own, story)
