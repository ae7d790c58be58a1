"""Finishes an epic's work: a branch, a pull request, a notice, a report in JUnit's form."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from transom.config.runtime_sections import NotifySettings
from transom.config.story_sections import StoriesSettings
from transom.errors import InputError
from transom.formats.junit_report import ReportedCase, Result, junit_report
from transom.runs.notices import send_notice
from transom.sandbox import run_openly
from transom.stories.git import Git
from transom.stories.results import EpicResult, State, StoryResult

_SECONDS = 120.0
_RESULTS: dict[State, Result] = {
    "done": "passed",
    "failed": "failed",
    # To a build server a story that waits for its author has failed.
    "blocked": "failed",
    "paused": "error",
    "skipped": "skipped",
    "planned": "skipped",
}


async def use_branch(project: Git, epic: str, settings: StoriesSettings) -> StoriesSettings:
    """Return the settings with the branch that finished stories are merged into.

    Unless they are merged into the checked-out branch, the epic has a branch of its own. It is made
    when it is first needed, from the target branch.

    Raises:
        InputError: there is no branch to start from.
    """
    if settings.finish == "merge":
        return settings
    base = settings.target or await project.branch()
    start = await project.commit_of(f"refs/heads/{base}") if base else None
    if start is None:
        hint = "check out a branch with a commit, or set stories.target"
        raise InputError("there is no branch to start from", place=str(project.folder), hint=hint)
    branch = branch_of(epic)
    if await project.commit_of(f"refs/heads/{branch}") is None:
        await project("branch", "--no-track", branch, start)
    return settings.model_copy(update={"target": branch})


async def existing_branch(project: Git, epic: str, settings: StoriesSettings) -> StoriesSettings:
    """Return the settings with the epic's own branch, if it has one; nothing is made."""
    branch = branch_of(epic)
    if settings.finish == "merge" or not await project.commit_of(f"refs/heads/{branch}"):
        return settings
    return settings.model_copy(update={"target": branch})


def branch_of(epic: str) -> str:
    """Return the name of an epic's own branch."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in epic)
    return f"stories/{name.strip('-.') or 'epic'}"


async def open_request(project: Git, base: str, result: EpicResult) -> str:
    """Push the epic's branch, and open a pull request for it unless one is open.

    Returns:
        The address of the request, as the forge's own program prints it.

    Raises:
        InputError: there is no remote repository, or a program failed; the message has its words.
    """
    branch = branch_of(result.epic)
    # The branch first: a forge opens no request for one that it does not have.
    remote = await _remote(project)
    await project("push", "--quiet", remote, f"refs/heads/{branch}:refs/heads/{branch}")
    forge = await forge_of(project)
    # A request that is open already is updated by the push alone.
    view = {
        "gh": ("gh", "pr", "view", branch, "--json", "url", "--jq", ".url"),
        "glab": ("glab", "mr", "view", branch),
    }
    code, output = await run_forge(view[forge], project.folder)
    if code == 0 and output:
        return _address(output)
    title, text = f"Epic {result.epic}", request_text(result)
    if forge == "gh":
        words = ["pr", "create", "--head", branch, "--base", base, "--title", title]
        words += ["--body", text]
    else:
        words = ["mr", "create", "--source-branch", branch, "--target-branch", base]
        words += ["--title", title, "--description", text, "--yes"]
    code, output = await run_forge([forge, *words], project.folder)
    if code:
        hint = f"run {forge} auth status, then the same command again"
        raise InputError(f"{forge} failed: {output[-300:]}", place=branch, hint=hint)
    return _address(output)


def request_text(result: EpicResult) -> str:
    """Return the text of a pull request: each finished story, and what covers its criteria."""
    lines = []
    for story in result.stories:
        # Stories that are not done are not in the branch.
        if story.status == "done":
            lines += [f"## {story.id}: {story.title}", ""]
            lines += [f"- {line}" for row in story.coverage for line in row.lines]
            lines.append("")
    return "\n".join(lines)


async def _remote(project: Git) -> str:
    remotes = (await project("remote")).split()
    if not remotes:
        hint = "add one with git remote add origin ADDRESS"
        raise InputError("there is no remote repository", place=str(project.folder), hint=hint)
    # A clone of a fork has several; `origin` is the one that people push to.
    return "origin" if "origin" in remotes else remotes[0]


async def forge_of(project: Git) -> str:
    """Return the program of the forge that hosts the project: `gh` or `glab`.

    Raises:
        InputError: there is no remote repository, or the program is not installed.
    """
    return _forge(await project("remote", "get-url", await _remote(project)))


def _forge(address: str) -> str:
    """Return the program for the host of a repository."""
    program = "glab" if "gitlab" in address.lower() else "gh"
    if shutil.which(program):
        return program
    # A forge with a host name of its own: the program that is there is the one that is meant.
    other = "gh" if program == "glab" else "glab"
    if shutil.which(other):
        return other
    hint = "install it, or set stories.finish to branch"
    raise InputError(f"the program {program} is not installed", place=address, hint=hint)


def _address(output: str) -> str:
    # The programs print more than the address; it comes last.
    words = [word for word in output.split() if word.startswith(("http://", "https://"))]
    return words[-1] if words else output.strip()[-200:]


async def run_forge(argv: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a program of a forge; returns its exit code and its output."""
    process = await run_openly(argv, folder, {}, seconds=_SECONDS, setting="stories.finish")
    return process.code, (process.stdout or process.stderr).strip()


async def notify(settings: NotifySettings, result: EpicResult, folder: Path) -> str:
    """Tell a program or an address how an epic ended; returns why that failed, or ""."""
    counts: dict[str, int] = {}
    for story in result.stories:
        counts[story.status] = counts.get(story.status, 0) + 1
    rows = [
        {"id": story.id, "title": story.title, "status": story.status, "reason": story.reason}
        for story in result.stories
    ]
    notice = {"epic": result.epic, "run_id": result.run_id, "counts": counts, "stories": rows}
    return await send_notice(settings, notice, folder, "stories.notify")


def epic_junit(result: EpicResult) -> bytes:
    """Return JUnit XML: a case for each story of the epic."""
    cases = [_case(result.epic, story) for story in result.stories]
    return junit_report(f"epic {result.epic}", cases)


def _case(epic: str, story: StoryResult) -> ReportedCase:
    lines = [line for row in story.coverage for line in row.lines]
    name = f"{story.id} {story.title}".strip()
    reason = "" if story.status == "done" else story.reason or story.status
    details = "\n".join(lines)
    return ReportedCase(name, epic, _RESULTS[story.status], reason, details, story.seconds)
