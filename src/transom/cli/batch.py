"""`transom check batch`: many items, several at once, in as many processes as there are cores.

The command itself asks nobody: it hands the items to processes of this program (`python -m
transom.cli.batch`), prints a line as each is done, and reacts. A provider that failed is asked
again after `execution.retry_after`; what else has no answer becomes an escalation record with its
cause; findings of an ItemSpec wait as a question in the item's run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.canonical import Json
from transom.checklist.judging import CONFIG, Verdict, headline, reason_of, summary, together
from transom.cli.answers import verdict_for
from transom.cli.app import load
from transom.cli.checking import VAR, answer_of, run_one
from transom.cli.command import command, given_in
from transom.cli.options import JUDGING, WHERE, Options, check_app, compared_by, writer_of
from transom.cli.output import counted, table, toned
from transom.cli.registry import place
from transom.cli.session import Options as Common
from transom.cli.session import Session
from transom.config import FILE_NAMES
from transom.errors import InputError, ProviderError, TransomError
from transom.runs import Run, write_file
from transom.runs.recognising import glob_root, lies_in_workspace
from transom.runs.silence import SilenceWatch, Waiting
from transom.sandbox.process import kill_group, start_group

ESCALATIONS = "escalations.jsonl"
HELD = "held"
"""A record in the journal of a batch: an item that is asked again at a time."""

_ENDED = {0: "PASS", 1: "FAIL", 2: "ERROR", 3: "NEEDS_REVIEW"}
_ENDED_UNCHECKED = "done"  # no item stands against it, and some were not checked
_WAITS = 3
_LONGEST = 1 << 30  # of one answer, in bytes


@command(
    check_app, "batch", example=f"transom check batch examples/checks -j 8 {VAR} -o out", asks=True
)
async def batch(
    session: Session,
    targets: Annotated[
        list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml", help="Items or checkers to run.")
    ],
    options: Annotated[
        Options, ("jobs", *WHERE, *JUDGING, "approved_only", "reports", "baseline", "unsafe")
    ],
) -> int:
    """Check many items, several at once.

    Run the command again after a kill, and it continues. With -o, it also writes ID_verdict.json,
    ID_ItemSpec.md and ID_checker/ for each item.
    """
    paths = found(targets)
    write, compared = writer_of(session, options, paths), compared_by(options)
    session.settle(as_of=options.day)
    named: list[Json] = [place(Path(text)) for text in targets]
    async with (
        session.open_store() as store,
        session.open_run("check-batch", {"targets": named}, name="batch", store=store) as run,
    ):
        verdicts = [compared(one) for one in await _Batch(session, run, paths, options).work()]
        document = together(verdicts)
        ended = _ENDED[document.exit_code]
        if ended == "PASS" and "NOT_CHECKED" in document.summary:
            ended = _ENDED_UNCHECKED
        await run.finish(ended)
    session.report(document, *table(map(_row, verdicts)), "", summary(document, toned))
    write(document)
    if waits := sum(one.exit_code == _WAITS for one in verdicts):
        session.progress(
            f"{counted(waits, 'item')} waiting: transom waiting; then: transom resume {run.id}"
        )
    return document.exit_code


def found(texts: Sequence[str]) -> list[Path]:
    """The items, or checkers, that files, folders and globs name; each once, those of one text
    by their names.
    """
    paths: dict[str, Path] = {}
    for text in texts:
        if os.path.isdir(text):  # noqa: PTH112  unlike Path.is_dir it never raises
            names = _of_folder(Path(text))
        elif any(sign in text for sign in "*?") and not os.path.exists(text):  # noqa: PTH110  as above
            pattern = os.path.expanduser(text)  # noqa: PTH111  unlike Path.expanduser it never raises
            start = glob_root(Path(pattern))
            matches = glob(pattern, recursive=True)  # noqa: PTH207  of a text
            names = sorted(one for one in matches if not lies_in_workspace(Path(one), start))
        else:
            names = [text]
        if not names:
            raise InputError(
                "there is no item", where=text, hint="name item files, or a folder that has some"
            )
        for name in names:
            if Path(name).name not in FILE_NAMES:  # the settings are no item
                paths.setdefault(os.path.realpath(name), Path(name))
    return list(paths.values())


def _of_folder(folder: Path) -> list[str]:
    """A checker; else the items in a folder; else the checkers in it."""
    if (folder / CONFIG).is_file():
        return [str(folder)]
    items = [one for one in folder.iterdir() if one.suffix in (".yaml", ".yml")]
    return sorted(map(str, items or [one.parent for one in folder.glob(f"*/{CONFIG}")]))


@dataclass
class _Batch:
    """One command at work: what is done, and what has no answer."""

    session: Session
    run: Run
    targets: list[Path]
    options: Options
    done: dict[Path, Verdict] = field(default_factory=dict)
    escalated: list[dict[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    waiting: Waiting = field(init=False)

    async def work(self) -> list[Verdict]:
        """A verdict for every target, in their order. More at once than processes only overlap
        their waiting.
        """
        # one purse is held by one process
        capped = self.session.settings.execution.max_cost is not None
        count = 1 if capped else min(os.cpu_count() or 1, self.options.jobs, len(self.targets))
        self.waiting = SilenceWatch(self.session.progress).begin(self._silence)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    jobs = self.options.jobs // count + (number < self.options.jobs % count)
                    group.create_task(self._process(self.targets[number::count], jobs))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None  # a full disk fails all of them alike
        if self.escalated:
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.escalated)
            path = write_file(
                self.run.folder / ESCALATIONS, text.encode("utf-8", "backslashreplace")
            )
            self.session.progress(f"{counted(len(self.escalated), 'escalation')} in {path}")
        return [self.done[one] for one in self.targets]

    def _silence(self, seconds: int) -> str:
        rest = counted(len(self.targets) - len(self.done), "item")
        return f"no item was done for {seconds} s; still at work on {rest}"

    async def _process(self, targets: list[Path], jobs: int) -> None:
        """One process and its answers; what it left open when it ended by itself is an error."""
        here = self.session
        asked: dict[str, Any] = {
            "entry": here.entry,
            "workspace": str(here.workspace_root),
            "base_url": here.base_url,
        }
        asked |= {"jobs": jobs, "targets": [place(one) for one in targets]}
        pipe = asyncio.subprocess.PIPE
        process = await start_group(
            sys.executable, "-m", "transom.cli.batch", stdin=pipe, stdout=pipe, limit=_LONGEST
        )
        assert process.stdin and process.stdout
        left = dict(enumerate(targets))
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            while left:
                row = json.loads(await process.stdout.readuntil())
                if "verdict" in row:
                    self._take(left.pop(row["n"]), Verdict.model_validate(row["verdict"]))
                    continue
                held, at = (
                    place(left[row["n"]]),
                    datetime.fromtimestamp(row["until"], UTC).astimezone(),
                )
                self.session.progress(
                    f"{held}: a provider failed; it is asked again at {at:%H:%M:%S}"
                )
                await self.run.append(
                    HELD, {"target": held, "until": row["until"], "cause": row["cause"]}
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await process.wait()
            for target in left.values():
                error = TransomError(
                    f"its process ended with code {code}", hint="give the command again"
                )
                self._take(target, verdict_for(target, error, self.options.day))
        finally:
            kill_group(process)
            await process.wait()

    def _take(self, target: Path, verdict: Verdict) -> None:
        """Keep an answer, and print its line."""
        self.done[target] = verdict
        self.waiting.restart()
        if verdict.status == "ERROR":
            row: dict[str, Any] = {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "item_id": verdict.item_id,
            }
            row |= {"target": place(target), "cause": reason_of(verdict), "run_id": verdict.run_id}
            self.escalated.append(row)
        number, many = len(self.done), len(self.targets)
        spent = time.monotonic() - self.began
        eta = (
            f", {_minutes(spent / number * (many - number))} left"
            if number < many
            else f", {_minutes(spent)} in all"
        )
        said = "  ".join(_row(verdict)).rstrip()
        self.session.progress(f"[{number:>{len(str(many))}}/{many}] {said}{eta}")


def _row(verdict: Verdict) -> tuple[str, str, str]:
    """An item's status, its id, and what that rests on."""
    status, tail = headline(verdict)
    if verdict.status == "ERROR" or not tail:
        tail = reason_of(verdict)
    return status, verdict.item_id, tail


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


async def _serve(session: Session, asked: dict[str, Any]) -> int:
    """The work of one process: the targets that stdin named. It ends at once when stdin does."""
    asyncio.get_running_loop().add_reader(0, os._exit, 1)
    options, places = (
        given_in(asked["entry"], "check batch")["options"],
        asyncio.Semaphore(asked["jobs"]),
    )
    async with session.open_store() as store, asyncio.TaskGroup() as group:

        async def answer(number: int, target: Path, wait: float) -> None:
            """Write one target's answer to stdout; its run is resumed by itself."""
            try:
                async with places:
                    if target.is_dir():
                        own = session.begun_as("check run", targets=[str(target)])
                        outcome: Any = await run_one(own, store, target, options, set())
                    else:
                        own = session.begun_as("check all", items=[str(target)])
                        outcome = await answer_of(own, store, replace(options, item=target))
            except TransomError as error:
                outcome = error
            verdict = verdict_for(target, outcome, options.day)
            if wait and isinstance(outcome, ProviderError) and outcome.retryable:
                failed = {"n": number, "until": time.time() + wait, "cause": reason_of(verdict)}
                print(json.dumps(failed), flush=True)
                await asyncio.sleep(wait)
                await answer(number, target, 0)
            else:
                document = verdict.model_dump(mode="json", by_alias=True)
                print(json.dumps({"n": number, "verdict": document}), flush=True)

        for number, text in enumerate(asked["targets"]):
            group.create_task(answer(number, Path(text), session.settings.execution.retry_after))
    return 0


if __name__ == "__main__":
    load("check")  # so that the command is known
    told = json.loads(sys.stdin.buffer.readline())
    common = Common(quiet=True, workspace=Path(told["workspace"]), base_url=told["base_url"])
    mine = Session.start(common).again(told["entry"])
    mine.execute(lambda: _serve(mine, told))
