"""A build that gives up, a person who mends it, and the build that goes on: killed after each
journal append.

    flow_driver.py BASE

Run as a program. Every attempt is a forked process, killed for real. Prints one JSON line per
failpoint; number 0 is the story that nobody killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.checklist.building.atoms_for_tests import ATOM_A, REPORT
from tests.checklist.building.test_flow import NUMBER_VALUE, logic, parser
from tests.checklist.test_pipeline import ITEM, SPEC
from tests.forked import attempt, records
from transom.canonical import digest
from transom.checklist.building.flow import build_checker
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.settings import BuildSettings
from transom.checklist.vectors import STANDARD_SOURCE
from transom.llm import Chain, Request, ScriptedProvider
from transom.runs import Run, Workspace
from transom.sandbox import Sandbox
from transom.store import SqliteStore

MINE = f"{ATOM_A}\n\n# Mended by hand.\n{STANDARD_SOURCE}"


def answer(request: Request, log: Path) -> str:
    """A model that never gets atom A right; every request is written down before it is answered."""
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{request.digest}\n")
    return logic() if request.role == "checklist.logic" else parser(NUMBER_VALUE)


@dataclass
class Failpoint:
    """Kills this process after the append of that number, counted over the whole story."""

    at: int | None
    seen: int = 0

    def __call__(self, _: int) -> None:
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


async def build(work: Path, failpoint: Failpoint) -> str:
    data = work / "data"
    provider = ScriptedProvider(lambda request: answer(request, work / "asked.txt"))
    workspace = Workspace.at(work / "w")
    async with SqliteStore.open(workspace.database, after_append=failpoint) as store:
        chain = Chain((provider,))
        async with await Run.open(
            "b", {"i": 1}, name="b", workspace=workspace, store=store, chain=chain
        ) as run:
            inputs = BuildInputs(
                "BLOCK-1", "Confirm the power.", ITEM, SPEC, (data / "power.rpt",), (data,)
            )
            settings = BuildSettings(max_iterations=1)
            made = await build_checker(run, inputs, Sandbox(), settings, work / "checker")
            await run.finish(made.result.status)
            return made.result.status


async def story(work: Path, failpoint: Failpoint) -> None:
    """Build; where it gives up, the person mends the stub in its place; build again."""
    if await build(work, failpoint) == "human_required":
        (work / "checker" / "atoms.py").write_text(MINE, "utf-8")
        assert await build(work, failpoint) == "done"


def told(work: Path, failpoint: int | None) -> int:
    """The story in a process of its own; its wait status."""
    return attempt(lambda: asyncio.run(story(work, Failpoint(failpoint))))


def left(work: Path) -> dict[str, str]:
    """Digests of the checker folder; the report names folders, so it differs from place to
    place.
    """
    files = sorted(
        path
        for path in (work / "checker").iterdir()
        if path.suffix != ".json" or path.name == "build.json"
    )
    return {path.name: digest(path.read_bytes()) for path in files}


def asked(work: Path) -> list[str]:
    log = work / "asked.txt"
    lines = log.read_text(encoding="utf-8").split() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def begun(base: Path, number: int) -> Path:
    work = base / str(number)
    (work / "data").mkdir(parents=True)
    (work / "data" / "power.rpt").write_text(REPORT, "utf-8")
    return work


def main() -> None:
    """Enumerate the failpoints."""
    base = Path(sys.argv[1])
    whole = begun(base, 0)
    status = told(whole, None)
    say(0, status, [], asked(whole), left(whole))
    appends = len(asyncio.run(records(whole)))
    for number in range(1, appends + 1):
        work = begun(base, number)
        killed = told(work, number)
        assert os.WIFSIGNALED(killed) and os.WTERMSIG(killed) == signal.SIGKILL, (number, killed)
        journaled = [
            record.data["request"]
            for record in asyncio.run(records(work))
            if record.kind == "model_reply"
        ]
        asked(work)
        status = told(work, None)
        say(number, status, journaled, asked(work), left(work))


def say(
    number: int, status: int, journaled: list[str], requests: list[str], files: dict[str, str]
) -> None:
    row = {
        "failpoint": number,
        "status": status,
        "journaled": journaled,
        "asked": requests,
        "files": files,
    }
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
