"""The example's epic, killed after journal appends and given again: what is left in git, and who
was asked.

    kill_driver.py BASE STORY [NUMBER...]

Run as a program; STORY is an id, or `all`. Every attempt is a forked process, killed for real.
Prints one JSON line for each failpoint, all of them where no number is named; number 0 is the run
that nobody killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.forked import attempt, records
from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import World
from transom.stories.shared import StorySettings

AGENT = """cat > /dev/null
NAME={replies}/$TRANSOM_STORY/$TRANSOM_ROLE-$TRANSOM_ATTEMPT
echo "$TRANSOM_STORY $TRANSOM_ROLE $TRANSOM_ATTEMPT" >> {log}
test ! -f $NAME.patch || git apply $NAME.patch || exit 4
cat $NAME.txt
"""


def go(work: Path, story: str, failpoint: int | None) -> int:
    """The command in a process of its own; its wait status."""
    seen = 0

    def after_append(_: int) -> None:
        nonlocal seen
        seen += 1
        if seen == failpoint:
            os.kill(os.getpid(), signal.SIGKILL)

    kinds: Any = dict.fromkeys(("sm", "po", "dev", "qa"), "command")
    settings = StorySettings(kinds, OPENLY)
    command = ("/bin/sh", str(work / "agent.sh"))
    world = World(
        work / "project", work / "w", settings=settings, command=command, after_append=after_append
    )
    return attempt(lambda: asyncio.run(world.go(None if story == "all" else story)))


def begin(base: Path, number: int) -> Path:
    work = base / str(number)
    make_project(work)
    write(work, "agent.sh", AGENT.format(replies=EXAMPLE / "replies", log=work / "asked.txt"))
    return work


def say(work: Path, number: int, status: int, journaled: int) -> None:
    project = work / "project"
    row = {
        "failpoint": number,
        "status": status,
        "journaled": journaled,
        "asked": (work / "asked.txt").read_text().splitlines()
        if (work / "asked.txt").exists()
        else [],
        "tree": git(project, "rev-parse", "main^{tree}"),
        "log": git(project, "log", "--topo-order", "--format=%s").splitlines(),
        "dirty": git(project, "status", "--porcelain"),
    }
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def main() -> None:
    base, story, *numbers = sys.argv[1:]
    whole = begin(Path(base), 0)
    status = go(whole, story, None)
    say(whole, 0, status, 0)
    appends = len(asyncio.run(records(whole)))
    for number in map(int, numbers or range(1, appends + 1)):
        work = begin(Path(base), number)
        killed = go(work, story, number)
        assert os.WIFSIGNALED(killed) and os.WTERMSIG(killed) == signal.SIGKILL, (number, killed)
        journaled = sum(record.kind == "model_reply" for record in asyncio.run(records(work)))
        (work / "asked.txt").unlink(missing_ok=True)
        say(work, number, go(work, story, None), journaled)


if __name__ == "__main__":
    main()
