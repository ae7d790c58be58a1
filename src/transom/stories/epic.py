"""Runs an epic: chooses the next stories, goes on beside stopped ones, and collects the results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.canonical import pretty_json
from transom.errors import InputError, Paused
from transom.runs import model_file
from transom.runs.artifact import write_file
from transom.stories.backlog import find_backlog
from transom.stories.backlog_search import Backlog
from transom.stories.git import Git
from transom.stories.handoff import STAGES, AgentValidator, StoryHandoff
from transom.stories.pipeline import StoryFlow
from transom.stories.results import MERGED_DIFF, EpicResult, State, StoryResult
from transom.stories.seats import blocks_for, make_role
from transom.stories.shared import Epic, Stopped, StorySettings
from transom.stories.story import CLOSED, Story
from transom.stories.testrun import check_command

_RESULT = model_file("result.json", StoryResult)


def chosen(backlog: Backlog, story_id: str | None) -> tuple[Story, ...]:
    """Return the stories to work on: all, or the named one. InputError: it is unknown."""
    if story_id is None and backlog.stories:
        return backlog.stories
    stories = []
    names = []
    for story in backlog.stories:
        names.append(story.id)
        if story_id in story.names:
            stories.append(story)
    if not stories:
        problem = f"unknown story {story_id!r}"
        hint = f"known: {', '.join(names)}"
        raise InputError(problem, place=backlog.source, hint=hint)
    return tuple(stories)


def kept_results(folder: Path) -> list[StoryResult]:
    """Return the results of stories in the folder of an epic's run, by the stories' folders."""
    paths = sorted(folder.glob(f"*/{_RESULT.name}"))
    return [*map(_RESULT.read, paths)]


def kept_diffs(folder: Path) -> dict[str, str]:
    """Return what the merged stories changed, as diffs by the stories' ids, from the folder of an
    epic's run.
    """
    diffs: dict[str, str] = {}
    for result in folder.glob(f"*/{_RESULT.name}"):
        path = result.with_name(MERGED_DIFF)
        if path.is_file():
            diffs[_RESULT.read(result).id] = path.read_text(encoding="utf-8")
    return diffs


async def open_project(path: Path) -> Path:
    """Return the resolved folder of a git repository with a commit. InputError: it is not one."""
    if not path.is_dir():
        raise InputError("is not a folder", place=str(path), hint="name the project's folder")
    project = path.resolve()
    code, top, _ = await Git(project).attempt("rev-parse", "--show-toplevel")
    if code:
        hint = "run git init, and commit what is there"
        raise InputError("is not a git repository", place=str(path), hint=hint)
    # Below the top, the paths of git and those of the project would differ.
    if Path(top.rstrip("\n")) != project:
        hint = f"name {top.strip()}"
        raise InputError("is not the top of its git repository", place=str(path), hint=hint)
    if await Git(project).commit_of("HEAD") is None:
        raise InputError("has no commit yet", place=str(path), hint="commit what is there")
    return project


async def run_epic(epic: Epic, story_id: str | None = None) -> EpicResult:
    """Work on an epic's stories, or on one, until each is done or stopped; a later call resumes.

    Raises:
        InputError, SandboxError: the epic as a whole cannot be worked on.
    """
    selected = chosen(epic.backlog, story_id)
    check_command(epic.settings.tests)
    if uncommitted := (await epic.places.project("diff", "--name-only", "HEAD")).splitlines():
        warning = (
            "these changes are not committed: stories do not see them, and merges that touch these"
            " files stop"
        )
        epic.run.progress(f"{', '.join(uncommitted[:5])}: {warning}")
    merged = await epic.places.project.merged(epic.backlog.epic, epic.settings.stories.target)
    before: dict[str, StoryResult] = {}
    results: dict[str, StoryResult] = {}
    for story in epic.backlog.stories:
        result = _before(epic, story)
        if result is not None:
            before[story.id] = result
        if result is not None and result.status == "done":
            results[story.id] = result
            continue
        # A story with a baseline was begun in this run: its merge may be one that was interrupted.
        is_begun = (epic.run.folder / story.slug / "baseline").exists()
        is_merged = story.id in merged and not is_begun
        if (story.status in CLOSED or is_merged) and not story.unclear:
            reason = "it was done before"
            if story.status == "closed":
                reason = f"its status is {story.status_text!r}"
            results[story.id] = _result(story, "done", reason)
        elif story.unreadable:
            results[story.id] = _result(story, "paused", story.unreadable)
    await _settle_unclear(epic, selected, results)
    ended = await _work_through(epic, selected, before, results)
    for story in ended:
        _keep(epic, story, results[story.id])
    return EpicResult(
        epic=epic.backlog.epic,
        stories=[results[story.id] for story in selected],
        drift=list(map(str, epic.backlog.drift)),
        skipped=[*epic.backlog.skipped],
        run_id=epic.run.id,
    )


def _result(story: Story, status: State, reason: str) -> StoryResult:
    return StoryResult(id=story.id, title=story.title, status=status, reason=reason)


async def _settle_unclear(
    epic: Epic, selected: Sequence[Story], results: dict[str, StoryResult]
) -> None:
    """Ask once which of the stories with an unclear status are to be built."""
    unclear = [story for story in selected if story.unclear and story.id not in results]
    if not unclear:
        return
    listed = "; ".join(f"{story.id}: {story.unclear}" for story in unclear)
    prompt = f"It is not clear whether these stories are to be built: {listed}"
    try:
        answer = (await epic.ask("statuses", prompt, ["build them", "leave them"])).text
    except Stopped:
        # Without a person, work that may be there already is not done again.
        answer = "leave them"
    except Paused as pause:
        for story in unclear:
            results[story.id] = _result(story, "paused", str(pause))
        return
    if answer == "leave them":
        for story in unclear:
            results[story.id] = _result(story, "skipped", story.unclear)


async def _work_through(
    epic: Epic,
    selected: Sequence[Story],
    before: Mapping[str, StoryResult],
    results: dict[str, StoryResult],
) -> list[Story]:
    """Start each story when its dependencies are done and no running story shares its files;
    returns those run.
    """
    waiting = [story for story in selected if story.id not in results]
    ended: list[Story] = []
    working: dict[asyncio.Task[StoryResult], Story] = {}
    ids = {story.id for story in epic.backlog.stories}
    done_ids = {*results}
    earlier = [story for story in selected if story.id in before and story.id in results]
    is_held = bool(waiting) and await _any_holds(epic, earlier)

    def leave(story: Story, status: State, reason: str) -> None:
        waiting.remove(story)
        results[story.id] = _result(story, status, reason)

    try:
        while waiting or working:
            coming = {story.id for story in (*waiting, *working.values())}
            for story in [*waiting]:
                # An id of another epic is none of this run's stories, and holds nothing up.
                missing = [other for other in story.depends_on if other in ids - done_ids]
                stopped = next((other for other in missing if other not in coming), None)
                if stopped is not None:
                    state = results[stopped].status if stopped in results else "not done"
                    leave(story, "skipped", f"it depends on {stopped}, which is {state}")
                elif epic.limit:
                    leave(story, "paused", f"no agent was called: {epic.limit}")
                elif is_held and not working:
                    leave(story, "paused", "a person must review the story before it")
                elif not missing and not is_held and _free(epic, story, [*working.values()]):
                    waiting.remove(story)
                    flow = StoryFlow(epic, story, before.get(story.id))
                    working[asyncio.create_task(flow.work())] = story
            # Stories that were left may make others that depend on them be left, too.
            if not working:
                continue
            finished, _ = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                story = working.pop(task)
                ended.append(story)
                result = results[story.id] = task.result()
                words = (story.id, result.status, result.reason)
                epic.run.progress(": ".join(filter(None, words)))
                if result.status == "done":
                    done_ids.add(story.id)
                    _keep(epic, story, result)
                    is_held = is_held or (bool(waiting) and await _holds(epic, story))
    finally:
        # An error of one story ends the command; its agents must not go on behind it.
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return ended


def _keep(epic: Epic, story: Story, result: StoryResult) -> None:
    """Write a story's result: at once if it is done, else at the end of the command."""
    write_file(
        epic.run.folder / story.slug / _RESULT.name, pretty_json(result).encode("utf-8", "replace")
    )


def _before(epic: Epic, story: Story) -> StoryResult | None:
    """Return a story's earlier result; None if there is none, or if that run was interrupted."""
    path = epic.run.folder / story.slug / _RESULT.name
    if not path.is_file():
        return None
    return _RESULT.read(path)


async def _any_holds(epic: Epic, stories: Sequence[Story]) -> bool:
    """Whether one of some finished stories holds up the next; each is asked about, so that a person
    answers all of them at once.
    """
    is_held = False
    for story in stories:
        is_held |= await _holds(epic, story)
    return is_held


async def _holds(epic: Epic, story: Story) -> bool:
    """Whether a person has yet to review a finished story before the next one starts."""
    if not story.done_checkpoint:
        return False
    try:
        prompt = f"{story.label} is done; may the next one begin?"
        await epic.ask(f"{story.slug}/after", prompt, ["go on"])
    except (Paused, Stopped):
        return True
    return False


def _free(epic: Epic, story: Story, running: Sequence[Story]) -> bool:
    """Whether a story may run beside the running ones: none shares a file, as far as files are
    named.
    """
    if not running:
        return True
    if len(running) >= epic.settings.stories.parallel or not story.touches:
        return False
    # A story that names no file may change any.
    return all(other.touches and not story.touches & other.touches for other in running)


async def plan(
    project: Path,
    epic: str,
    story_id: str | None,
    settings: StorySettings,
    backlog: Backlog | None = None,
) -> EpicResult:
    """Plan a dry run: the stories in order, and the size of each seat's blocks. No worker is
    called.

    Args:
        backlog: the epic's stories; None: they are looked for in the project.
    """
    backlog = backlog or find_backlog(project, epic)
    merged = await Git(project).merged(backlog.epic, settings.stories.target)
    ids = {story.id for story in backlog.stories}
    rows: list[StoryResult] = []
    for story in chosen(backlog, story_id):
        if story.id in merged or (story.status in CLOSED and not story.unclear):
            rows.append(_result(story, "done", "it is done"))
            continue
        if story.unreadable:
            rows.append(_result(story, "paused", story.unreadable))
            continue
        if story.unclear:
            reason = f"it is not clear whether it is to be built: {story.unclear}"
            rows.append(_result(story, "paused", reason))
            continue
        reason = _understood(story)
        awaited = [other for other in story.depends_on if other in ids]
        if awaited:
            reason += f"; after {', '.join(awaited)}"
        result = _result(story, "planned", reason)
        result.windows = _windows(story, StoryHandoff(story.id, limits=settings.handoff))
        rows.append(result)
    return EpicResult(
        epic=epic,
        dry_run=True,
        stories=rows,
        drift=list(map(str, backlog.drift)),
        skipped=[*backlog.skipped],
    )


def _windows(story: Story, handoff: StoryHandoff) -> dict[str, dict[str, int]]:
    """Return seat -> block -> its size in characters."""
    windows: dict[str, dict[str, int]] = {}
    for seat in STAGES:
        blocks = [*make_role(seat).prompt, *blocks_for(seat, story, handoff)]
        windows[seat] = {block.name: len(block.text) for block in blocks}
    return windows


def _understood(story: Story) -> str:
    """Describe a parsed story, and what SM still has to write."""
    read = (
        f"{story.source}:{story.line}: {len(story.criteria)} acceptance criteria,"
        f" {len(story.tasks)} tasks"
    )
    valid, lacks = AgentValidator.validate_sm_output(story, StoryHandoff(story.id))
    if valid:
        return read
    return f"{read}; SM has to correct: {lacks.removeprefix(f'{story.source}: ')}"
