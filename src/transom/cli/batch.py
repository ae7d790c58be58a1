"""`transom check batch`: many items, several at once, in as many processes as there are cores.

The command itself asks nobody: it hands the items to processes of this program, here (see
`transom.cli.hand`) or on other machines (`--distributed`), prints a line as each is done, and
reacts. A provider that failed is asked
again after `execution.retry_after`; what else has no answer becomes an escalation record with its
cause; findings of an ItemSpec wait as a question in the item's run.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.canonical import Json, digest
from transom.checklist.judging import CONFIG, Verdict, headline, reason_of, summary, together
from transom.cli.answers import verdict_for
from transom.cli.checking import VAR
from transom.cli.command import command
from transom.cli.options import JUDGING, WHERE, Options, check_app, compared_by, writer_of
from transom.cli.output import counted, table, toned
from transom.cli.registry import place
from transom.cli.session import Session
from transom.config import FILE_NAMES
from transom.errors import InputError, TransomError
from transom.runs import Run, write_file
from transom.runs.recognising import glob_root, lies_in_workspace
from transom.runs.silence import SilenceWatch, Waiting
from transom.store import open_jobs
from transom.workers import (
    ENQUEUED,
    HELD,
    ITEM,
    Hand,
    HandEnded,
    Submission,
    follow,
    forget_answers,
    new_group,
    submission_open_in,
    submit,
)

ESCALATIONS = "escalations.jsonl"

_ENDED = {0: "PASS", 1: "FAIL", 2: "ERROR", 3: "NEEDS_REVIEW"}
_ENDED_UNCHECKED = "done"  # no item stands against it, and some were not checked
_WAITS = 3


@command(
    check_app,
    "batch",
    example=f"transom check batch examples/checks -j 8 {VAR} -o out",
    asks=True,
    shares="items",
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
        if session.distributed:
            await forget_answers(store, run.id)
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
        self.waiting = SilenceWatch(self.session.progress).begin(self._silence)
        if self.session.distributed:
            await self._ask_workers()
        else:
            await self._ask_here()
        if self.escalated:
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.escalated)
            path = write_file(
                self.run.folder / ESCALATIONS, text.encode("utf-8", "backslashreplace")
            )
            self.session.progress(f"{counted(len(self.escalated), 'escalation')} in {path}")
        return [self.done[one] for one in self.targets]

    async def _ask_here(self) -> None:
        """Have processes of this machine answer the targets."""
        # one purse is held by one process
        capped = self.session.settings.execution.max_cost is not None
        count = 1 if capped else min(os.cpu_count() or 1, self.options.jobs, len(self.targets))
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    jobs = self.options.jobs // count + (number < self.options.jobs % count)
                    group.create_task(self._process(self.targets[number::count], jobs))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None  # a full disk fails all of them alike

    def _silence(self, seconds: int) -> str:
        rest = counted(len(self.targets) - len(self.done), "item")
        return f"no item was done for {seconds} s; still at work on {rest}"

    async def _process(self, targets: list[Path], jobs: int) -> None:
        """Have a process of its own answer some of the targets."""
        hand = await Hand.start({**self._place(), "base_url": self.session.base_url})
        places = asyncio.Semaphore(jobs)
        try:
            async with asyncio.TaskGroup() as group:
                for target in targets:
                    group.create_task(self._answer(hand, places, target))
        finally:
            await hand.end()

    def _place(self) -> dict[str, Any]:
        """Return what a hand has to know of this command; see `transom.cli.hand`."""
        session = self.session
        entry = session.local_entry
        return {"kind": ITEM, "entry": entry, "workspace": str(session.workspace.root)}

    async def _answer(self, hand: Hand, places: asyncio.Semaphore, target: Path) -> None:
        """Take a target's answer, after a provider that failed was asked again."""
        try:
            async with places:
                row = await hand.do({"target": place(target)})
            if seconds := row.get("again"):
                held = {"target": place(target), "until": time.time() + seconds}
                await self._hold(held | {"cause": row["cause"]})
                await asyncio.sleep(seconds)
                async with places:
                    row = await hand.do({"target": place(target)})
        except HandEnded as ended:
            self._take(target, self._failed(target, str(ended)))
        else:
            self._take(target, Verdict.model_validate(row["verdict"]))

    async def _hold(self, held: dict[str, Any]) -> None:
        """Record and show that a target is asked again later."""
        until = datetime.fromtimestamp(held["until"], UTC).astimezone()
        self.session.progress(
            f"{held['target']}: a provider failed; it is asked again at {until:%H:%M:%S}"
        )
        await self.run.append(HELD, held)

    def _failed(self, target: Path, reason: str) -> Verdict:
        error = TransomError(reason, hint="give the command again")
        return verdict_for(target, error, self.options.day)

    async def _ask_workers(self) -> None:
        """Have workers on any machine answer the targets."""
        session, store = self.session, self.run.store
        if session.settings.execution.max_cost is not None:
            raise InputError(
                "workers do not share a cost limit",
                where="--max-cost",
                hint="give it without --distributed, or --distributed without it",
            )
        targets = [place(target) for target in self.targets]
        wanted = {"targets": targets, **self._place()}
        known = submission_open_in(self.run.records())
        if known and known["of"] == digest(wanted):
            group = str(known["group"])
        else:
            group = new_group(self.run.id)
            enqueued = {"group": group, "of": digest(wanted), "jobs": len(targets)}
            await self.run.append(ENQUEUED, enqueued)
        submission = Submission(group, "check", targets, self._place(), session.priority)
        async with open_jobs(session.workspace.store_location) as jobs:
            await submit(jobs, store, submission)
            session.progress(f"{counted(len(targets), 'item')} given to the workers")
            async for record in follow(jobs, store, submission, session.progress):
                data: Any = record.data
                target = self.targets[data["number"]]
                if record.kind == HELD:
                    await self._hold({**data, "target": place(target)})
                elif "failed" in data:
                    self._take(target, self._failed(target, data["failed"]))
                else:
                    self._take(target, Verdict.model_validate(data["verdict"]))

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
