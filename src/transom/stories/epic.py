"""A whole epic: which stories are next, which may go on when another one stops, and what is said at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from transom.canonical import Json, pretty_json
from transom.errors import InputError, Paused
from transom.runs.artifact import write_file
from transom.stories.backlog import Backlog, find_backlog
from transom.stories.git import STORY_TRAILER, Git
from transom.stories.handoff import STAGES, StoryHandoff
from transom.stories.pipeline import StoryFlow
from transom.stories.results import EpicResult, StoryResult
from transom.stories.roles import blocks_for, window_sizes
from transom.stories.shared import Epic, StorySettings
from transom.stories.story import Story
from transom.stories.testrun import check_command
from transom.stories.validators import AgentValidator

OUTCOME_FILE = "outcome.json"


def chosen(backlog: Backlog, story: str | None) -> tuple[Story, ...]:
    """The stories to take: all, or the one that is named.

    Raises:
        InputError: there is no such story.
    """
    found = tuple(one for one in backlog.stories if story is None or story in one.names)
    if not found:
        known = ", ".join(one.id for one in backlog.stories)
        raise InputError(f"there is no story {story!r}", where=backlog.source, hint=f"there are {known}")
    return found


async def open_project(path: Path) -> Path:
    """The folder of a project that is a git repository with a commit.

    Raises:
        InputError: it is none.
    """
    if not path.is_dir():
        raise InputError("is no folder", where=str(path), hint="name the project's folder")
    project = path.resolve()
    code, out, _ = await Git(project).attempt("rev-parse", "--show-toplevel")
    if code or Path(out.strip()).resolve() != project:
        raise InputError(
            "is not the top of a git repository", where=str(path), hint="run git init and commit, or name it"
        )
    if await Git(project).commit_of("HEAD") is None:
        raise InputError("has no commit yet", where=str(path), hint="commit what is there")
    return project


async def run_epic(epic: Epic, story: str | None = None) -> EpicResult:
    """Work on an epic's stories until each is done or stops; run again it goes on where it was.

    Args:
        epic: run, project, backlog and settings.
        story: the only one to work on.

    Raises:
        InputError, SandboxError: nothing can be done at all.
    """
    wanted = chosen(epic.backlog, story)
    check_command(epic.settings.tests)
    if mine := (await Git(epic.project)("diff", "--name-only", "HEAD")).splitlines():
        told = "your changes are not committed, so stories do not have them and cannot be merged over them"
        epic.run.progress(f"{', '.join(mine[:5])}: {told}")
    before = _outcome(epic.run.folder / OUTCOME_FILE)
    merged = await merged_stories(epic.project, epic.backlog.epic, epic.settings.target)
    results: dict[str, StoryResult] = {}
    for one in epic.backlog.stories:
        known = _outcome(_kept(epic, one)).get(one.id)
        if known and known.status == "done":
            results[one.id] = known
        elif one.status == "done" or (one.id in merged and not (epic.run.folder / one.slug / "baseline").exists()):
            results[one.id] = StoryResult(id=one.id, title=one.title, status="done", reason="it was done before")
    await _work_through(epic, wanted, before, results)
    ordered = [results[one.id] for one in wanted]
    drift = [str(one) for one in epic.backlog.drift]
    result = EpicResult(epic=epic.backlog.epic, stories=ordered, drift=drift, run_id=epic.run.id)
    everything = result.model_copy(update={"stories": [*results.values()]})
    write_file(epic.run.folder / OUTCOME_FILE, pretty_json(everything).encode("utf-8", "replace"))
    return result


async def _work_through(
    epic: Epic, wanted: Sequence[Story], before: dict[str, StoryResult], results: dict[str, StoryResult]
) -> None:
    """Start each story when what it waits for is done, and no other one works on its files."""
    waiting = [one for one in wanted if one.id not in results]
    working: dict[asyncio.Task[StoryResult], Story] = {}
    ids = {one.id for one in epic.backlog.stories}
    held = bool(waiting) and any([await _holds(epic, one) for one in wanted if _kept(epic, one).exists()])
    try:
        while waiting or working:
            for one in [*waiting]:
                missing = [other for other in one.depends_on if other in ids and not _done(results, other)]
                stopped = next((two for two in missing if two in results or not _coming(two, waiting, working)), None)
                if stopped:
                    waiting.remove(one)
                    state = results[stopped].status if stopped in results else "not done"
                    why = f"it waits for {stopped}, which is {state}"
                    results[one.id] = StoryResult(id=one.id, title=one.title, status="skipped", reason=why)
                elif not missing and not held and _free(epic, one, working.values()):
                    waiting.remove(one)
                    working[asyncio.create_task(_flow(epic, one, before).work())] = one
            if not working:
                if held:
                    for one in waiting:
                        why = "a person looks at the story before it"
                        results[one.id] = StoryResult(id=one.id, title=one.title, status="paused", reason=why)
                    return
                continue
            done, _ = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                one = working.pop(task)
                results[one.id] = task.result()
                if results[one.id].status == "done":
                    kept = EpicResult(epic=epic.backlog.epic, stories=[results[one.id]])
                    write_file(_kept(epic, one), pretty_json(kept).encode("utf-8", "replace"))
                epic.run.progress(_line(results[one.id]))
                held = held or (bool(waiting) and _done(results, one.id) and await _holds(epic, one))
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


def _kept(epic: Epic, story: Story) -> Path:
    """Where the result of a finished story stands."""
    return epic.run.folder / story.slug / "result.json"


def _flow(epic: Epic, story: Story, before: dict[str, StoryResult]) -> StoryFlow:
    """A story that ended without being done begins anew; one that waits goes on."""
    known = before.get(story.id)
    ended = known is not None and known.status in ("failed", "blocked")
    again = (known.rounds + 1 if ended else known.rounds) if known else 0
    return StoryFlow(epic, story, again, blocked_before=bool(known and known.was_blocked))


async def _holds(epic: Epic, story: Story) -> bool:
    """Whether a person has still to look at a finished story before anything else begins."""
    if not story.done_checkpoint:
        return False
    try:
        await epic.run.ask(f"{story.slug}/after", f"{story.label} is done; may the next one begin?", options=["go on"])
    except Paused:
        return True
    return False


def _done(results: dict[str, StoryResult], story: str) -> bool:
    return story in results and results[story].status == "done"


def _coming(story: str, waiting: Iterable[Story], working: dict[asyncio.Task[StoryResult], Story]) -> bool:
    return any(one.id == story for one in (*waiting, *working.values()))


def _free(epic: Epic, story: Story, working: Iterable[Story]) -> bool:
    """Whether a story may begin beside those that are worked on: none touches its files, as far as they are named."""
    others = list(working)
    if len(others) >= epic.settings.parallel:
        return False
    return not others or (
        bool(story.touches) and all(one.touches and not story.touches & one.touches for one in others)
    )


async def merged_stories(path: Path, epic: str, target: str = "") -> set[str]:
    """Ids of the epic's stories that the history of a branch says are merged; of the one checked out where ""."""
    project = Git(path)
    form = f"--format=%(trailers:key={STORY_TRAILER},valueonly,separator=%x2C)"
    code, out, _ = await project.attempt("log", "--first-parent", form, f"refs/heads/{target}" if target else "HEAD")
    rows = [] if code else out.splitlines()
    return {row.strip().removeprefix(f"{epic}/") for row in rows if row.startswith(f"{epic}/")}


def _outcome(path: Path) -> dict[str, StoryResult]:
    """How the stories stood when the command last came to its end."""
    if not path.is_file():
        return {}
    try:
        found = EpicResult.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError("cannot be read", where=str(path), hint="delete it; stories that ended begin anew") from error
    return {one.id: one for one in found.stories}


def _line(result: StoryResult) -> str:
    return f"{result.id}: {result.status}" + (f": {result.reason}" if result.reason else "")


def plan(project: Path, epic: str, story: str | None, settings: StorySettings) -> EpicResult:
    """A dry run: which stories would be taken, in order, and what each seat would be shown. Nobody is called."""
    backlog = find_backlog(project, epic)
    rows: list[StoryResult] = []
    for one in in_order(chosen(backlog, story)):
        handoff = StoryHandoff(one.id, limits=replace(settings.limits))
        windows = {seat: window_sizes(seat, blocks_for(seat, one, handoff)) for seat in STAGES}
        waits = [other for other in one.depends_on if any(other == two.id for two in backlog.stories)]
        status, reason = ("done", "it is done") if one.status == "done" else ("planned", understood(one))
        reason += f"; after {', '.join(waits)}" if waits and status == "planned" else ""
        told: dict[str, Json] = {"id": one.id, "title": one.title, "status": status, "reason": reason}
        rows.append(StoryResult.model_validate({**told, "windows": windows}))
    return EpicResult(epic=epic, dry_run=True, stories=rows, drift=[str(one) for one in backlog.drift])


def understood(story: Story) -> str:
    """What was read of a story, and what SM has still to write."""
    read = f"{story.source}:{story.line}: {len(story.criteria)} acceptance criteria, {len(story.tasks)} tasks"
    valid, lacks = AgentValidator.validate_sm_output(story, StoryHandoff(story.id))
    return read if valid else f"{read}; SM has to mend: {lacks.removeprefix(f'{story.source}: ')}"


def in_order(stories: Sequence[Story]) -> list[Story]:
    """As they will be taken, one after the other: each behind those that it waits for."""
    left, found = list(stories), list[Story]()
    while left:
        ids = {one.id for one in left}
        following = next(one for one in left if not ids & set(one.depends_on))
        found.append(following)
        left.remove(following)
    return found
