"""Kill `check all` after each of its journal appends, go on, and say what came out. Run as a
program.

    kill_driver.py ITEM.yaml DATA WORK rules|counted

Prints one JSON line per failpoint: its number, the replies that were journaled before the kill, the
requests that were made after it, and digests of what the resumed run left. Number 0 is the run that
nobody killed. Every attempt is a forked process of its own, killed for real.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.checklist.shipped_model import MODEL, ShippedModel, without_claim
from tests.forked import attempt, records
from transom.canonical import digest
from transom.cli.check.options import CheckArguments
from transom.cli.check.steps import answer_of
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.llm import Chain, Reply, Request, ScriptedProvider
from transom.store import Store


class CountedSession(Session):
    """A session whose replies come from a script that writes down every request that it answers."""

    log: Path

    def chain(self, store: Store | None = None, spec: str | None = None, **_: Any) -> Chain:
        model = ShippedModel()

        async def answer(request: Request) -> Reply:
            # which answers no questions of the gates: they stay for a person
            reply = await model.complete(request)
            with self.log.open("a", encoding="utf-8") as out:
                out.write(f"{request.digest}\n")
            return reply

        return Chain((ScriptedProvider(answer),))


def session_in(work: Path, failpoint: int, *, counted: bool) -> Session:
    environ: Mapping[str, str] = {"TRANSOM_FAILPOINT": f"append:{failpoint}"} if failpoint else {}
    options = CommonOptions(format="json", workspace=work / "w", quiet=True, model=MODEL)
    plain = Session.start(options, cwd=work, environ=environ)
    if not counted:
        return plain
    made = CountedSession(
        plain.settings, plain.cwd, plain.format, plain.verbosity, None, plain.failpoint
    )
    CountedSession.log = work / "asked.txt"
    return made


def walk(item: Path, data: Path, work: Path, failpoint: int, *, counted: bool) -> int:
    """One process that walks; returns its wait status."""

    async def answer() -> None:
        session = session_in(work, failpoint, counted=counted)
        async with session.open_store() as store:
            variables = (f"CHECKLIST_ROOT={data}",)
            options = CheckArguments(
                item=item, variables=variables, results=work / "out", as_of="2026-11-21"
            )
            await answer_of(session, store, options)

    return attempt(lambda: asyncio.run(answer()))


def left(work: Path) -> dict[str, str]:
    """Digests of everything that a person gets, and of the artifacts in the run."""
    files = [path for path in (work / "out").rglob("*") if path.is_file()]
    runs = work / "w" / "runs"  # NAME/RUN/...
    timed = ("checkpoint_latest.json", "hourly", "stage_outputs", "error_logs")
    files += [
        path
        for path in runs.rglob("*")
        if path.is_file() and path.relative_to(runs).parts[2] not in timed
    ]
    return {_name(path, work): digest(path.read_bytes()) for path in sorted(files)}


def _name(path: Path, work: Path) -> str:
    """A path without the run's id, which differs from run to run."""
    parts = path.relative_to(work).parts
    return "/".join(parts if parts[0] == "out" else (*parts[:3], *parts[4:]))


def asked(work: Path) -> list[str]:
    log = work / "asked.txt"
    lines = log.read_text(encoding="utf-8").split() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def main() -> None:
    """Enumerate the failpoints."""
    item, data, base = (Path(argument) for argument in sys.argv[1:4])
    counted = sys.argv[4] == "counted"
    # Without its claim, so that the roles are asked; in a folder without what the walks leave.
    plain_item = base / "item" / item.name
    plain_item.parent.mkdir()
    plain_item.write_text(without_claim(item.read_text(encoding="utf-8")), encoding="utf-8")
    item = plain_item
    whole = base / "0"
    whole.mkdir(parents=True)
    status = walk(item, data, whole, 0, counted=counted)
    appends = len(asyncio.run(records(whole)))
    _say(0, status, [], asked(whole), left(whole))
    for number in range(1, appends + 1):
        work = base / str(number)
        work.mkdir()
        killed = walk(item, data, work, number, counted=counted)
        assert os.WIFSIGNALED(killed) and os.WTERMSIG(killed) == signal.SIGKILL, (number, killed)
        journaled = [
            r.data["request"] for r in asyncio.run(records(work)) if r.kind == "model_reply"
        ]
        asked(work)
        status = walk(item, data, work, 0, counted=counted)
        _say(number, status, journaled, asked(work), left(work))


def _say(
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
