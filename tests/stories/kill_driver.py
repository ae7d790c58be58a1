"""The example's epic, killed and given again: what is left in git, and who was asked.

    kill_driver.py BASE STORY append [NUMBER...]
    kill_driver.py BASE STORY every STEP OFFSET
    kill_driver.py BASE STORY tests
    kill_driver.py BASE STORY merge

Run as a program; STORY is an id, or `all`. Every attempt is a forked process, killed for real: after
journal appends (all of them where no number is named, or each STEPth), while the tests run, or before
each git command of the merge. Prints one JSON line for each failpoint; number 0 is the run that
nobody killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.forked import attempt, records
from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import World
from transom.stories import pipeline
from transom.stories.git import Git
from transom.stories.merge import merge as merge_story
from transom.stories.shared import StorySettings

AGENT = """cat > /dev/null
NAME={replies}/$TRANSOM_STORY/$TRANSOM_ROLE-$TRANSOM_ATTEMPT
echo "$TRANSOM_STORY $TRANSOM_ROLE $TRANSOM_ATTEMPT" >> {log}
test ! -f $NAME.patch || git apply $NAME.patch || exit 4
cat $NAME.txt
"""
# At the top of the project's runner: it counts its runs, and one of them kills the orchestrator.
RUNNER = """import os, pathlib, time
_work = pathlib.Path({work!r})
with (_work / "runs").open("a") as _file:
    _file.write("x")
if (_work / "runs").stat().st_size == int((_work / "kill-in-run").read_text()):
    os.kill(int((_work / "orchestrator").read_text()), 9)
    time.sleep(30)
"""


class Killer:
    """Kills this process when it has counted so far; None: never."""

    def __init__(self, failpoint: int | None) -> None:
        self.failpoint = failpoint
        self.seen = 0

    def count(self, _: int = 0) -> None:
        self.seen += 1
        if self.seen == self.failpoint:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_in_merge(killer: Killer) -> None:
    """Let the git commands of a merge count."""
    call, merge = Git.attempt, merge_story
    is_merging = False

    async def counted(self: Git, *args: str, **options: Any) -> tuple[int, str, str]:
        if is_merging:
            killer.count()
        return await call(self, *args, **options)

    async def watched(*args: Any) -> Any:
        nonlocal is_merging
        is_merging = True
        merged = await merge(*args)
        killer.count()
        is_merging = False
        return merged

    # In a forked process, which ends with this run.
    setattr(Git, "attempt", counted)  # noqa: B010
    setattr(pipeline, "merge", watched)  # noqa: B010


def go(work: Path, story: str, *, append: int | None = None, merge: int | None = None) -> int:
    """The command in a process of its own; its wait status."""
    kinds: Any = dict.fromkeys(("sm", "po", "dev", "qa"), "command")
    settings = StorySettings(kinds, OPENLY)
    command = ("/bin/sh", str(work / "agent.sh"))
    after_append = Killer(append).count
    world = World(
        work / "project", work / "w", settings=settings, command=command, after_append=after_append
    )

    def walk() -> None:
        (work / "orchestrator").write_text(str(os.getpid()))
        kill_in_merge(Killer(merge))
        asyncio.run(world.go(None if story == "all" else story))

    return attempt(walk)


def begin(base: Path, name: str, *, kill_in_run: int = 0) -> Path:
    work = base / name
    project = make_project(work)
    runner = project / "run_tests.py"
    runner.write_text(RUNNER.format(work=str(work)) + runner.read_text())
    git(project, "commit", "--quiet", "--all", "--message", "A runner that counts")
    (work / "kill-in-run").write_text(str(kill_in_run))
    write(work, "agent.sh", AGENT.format(replies=EXAMPLE / "replies", log=work / "asked.txt"))
    return work


def say(work: Path, number: int, status: int, journaled: int) -> None:
    project = work / "project"
    asked = work / "asked.txt"
    row = {
        "failpoint": number,
        "status": status,
        "journaled": journaled,
        "asked": asked.read_text().splitlines() if asked.exists() else [],
        "files": git(project, "ls-tree", "-r", "main", "--", "till", "tests", "docs"),
        "log": git(project, "log", "--topo-order", "--format=%s").splitlines(),
        "dirty": git(project, "status", "--porcelain"),
    }
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def finish(work: Path, story: str, number: int, killed: int) -> None:
    """Give the command again after a kill, and report."""
    assert os.WIFSIGNALED(killed) and os.WTERMSIG(killed) == signal.SIGKILL, (number, killed)
    journaled = sum(record.kind == "model_reply" for record in asyncio.run(records(work)))
    (work / "asked.txt").unlink(missing_ok=True)
    say(work, number, go(work, story), journaled)


def at_appends(base: Path, story: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        work = begin(base, str(number))
        finish(work, story, number, go(work, story, append=number))
        shutil.rmtree(work)


def in_tests(base: Path, story: str, runs: int) -> None:
    for number in range(1, runs + 1):
        work = begin(base, str(number), kill_in_run=number)
        finish(work, story, number, go(work, story))
        shutil.rmtree(work)


def in_merge(base: Path, story: str) -> None:
    """Kill before each git command, from the same state each time: worktrees know their paths."""
    work, copy = begin(base, "merge"), base / "copy"
    killed = go(work, story, merge=1)
    shutil.copytree(work, copy, symlinks=True)
    number = 1
    while killed:
        finish(work, story, number, killed)
        number += 1
        shutil.rmtree(work)
        shutil.copytree(copy, work, symlinks=True)
        killed = go(work, story, merge=number)


def main() -> None:
    base, story, way, *numbers = sys.argv[1:]
    whole = begin(Path(base), "0")
    status = go(whole, story)
    say(whole, 0, status, 0)
    appends = range(1, len(asyncio.run(records(whole))) + 1)
    ways: dict[str, Callable[[], None]] = {
        "append": lambda: at_appends(Path(base), story, [*map(int, numbers)] or appends),
        "every": lambda: at_appends(Path(base), story, appends[int(numbers[1]) :: int(numbers[0])]),
        "tests": lambda: in_tests(Path(base), story, (whole / "runs").stat().st_size),
        "merge": lambda: in_merge(Path(base), story),
    }
    ways[way]()


if __name__ == "__main__":
    main()
