"""Merges a story's work into the target branch: tested together with the target's newer commits,
never forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.stories.backlog import Backlog
from transom.stories.criteria import Covering
from transom.stories.git import OWN_TRAILER, STORY_TRAILER, Git
from transom.stories.shared import Baseline, Epic, Merged
from transom.stories.status import set_sprint_status, set_story_status, tick_tasks
from transom.stories.story import Story
from transom.stories.submodules import fill_submodules
from transom.stories.testrun import TestRun, compare, run_tests


async def merge(
    epic: Epic,
    story: Story,
    base: Baseline,
    head: str,
    before: TestRun,
    coverage: Sequence[Covering] = (),
) -> Merged:
    """Merge a story's work, which was judged at `head`; `before`: the test run at the baseline.

    The commit's message lists what covers each criterion.

    The target is fast-forwarded; a person's local changes to the same files stop the merge and stay
    unharmed.
    """
    project, places, name = epic.places.project, epic.places, epic.backlog.epic
    if merged_commit := (await project.merged(name, base.target, base.base)).get(story.id):
        return Merged(commit=merged_commit)
    await places.restore(base.branch, head)
    worktree = places.git(base.branch)
    target = await project("rev-parse", f"refs/heads/{base.target}")
    if target != base.base and (
        problem := await _join(epic, story, worktree, base.target, target, before)
    ):
        await places.restore(base.branch, head)
        return Merged(problem=problem)
    write_done(worktree.folder, epic.backlog, story)
    await worktree.commit_all(f"{story.label.capitalize()}: done\n\n{OWN_TRAILER}: yes\n")
    coverage_lines = "".join(f"{line}\n" for row in coverage for line in row.lines)
    message = f"Merge {story.label}: {story.title}\n\n" + (
        f"{coverage_lines}\n" if coverage_lines else ""
    )
    message += f"{STORY_TRAILER}: {name}/{story.id}\n"
    commit = await worktree.commit_tree("HEAD^{tree}", message, target, "HEAD")
    async with places.lock:
        problem = await project.forward(base.target, target, commit)
    return Merged(problem=problem) if problem else Merged(commit=commit)


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
    if sheet and backlog.sprint and story.key in backlog.sprint.stories and sheet.is_file():
        set_sprint_status(sheet, story.key, "done")
    if backlog.shape in ("spec-kit", "task-list") and own.is_file():
        tick_tasks(own, story)
