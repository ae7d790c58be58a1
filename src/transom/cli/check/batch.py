"""`transom check batch`: many items, several at once, in as many processes as there are cores.

The command itself asks no model. It gives the items to processes of this program, here (see
`transom.cli.hand`) or on other machines (`--distributed`), and prints a line as each is done. A
provider that failed is asked again after `execution.retry_after`; any other item without an answer
becomes an escalation record with its cause. Findings of an ItemSpec wait as a question in the
item's run.
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
from transom.checklist.batch_trend import CHECKED, checked_items
from transom.checklist.judging import (
    CONFIG,
    BlockItem,
    Verdict,
    block_items,
    headline,
    open_checks,
    reason_of,
    roll_up,
    summary,
    together,
    trend_of,
)
from transom.cli.check.answers import verdict_for
from transom.cli.check.options import (
    JUDGING,
    WHERE,
    CheckArguments,
    baseline_of,
    check_app,
    comparison_of,
    reports_of,
)
from transom.cli.check.registry import place
from transom.cli.check.steps import VAR
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, table, toned
from transom.config import FILE_NAMES
from transom.errors import InputError, TransomError
from transom.llm.shared_purse import forget_purse
from transom.runs import Run, write_file
from transom.runs.recognising import glob_root, lies_in_workspace
from transom.runs.silence import SilenceWatch, Waiting
from transom.store import LeasingStore, open_jobs
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

_RUN_STATUSES = {0: "PASS", 1: "FAIL", 2: "ERROR", 3: "NEEDS_REVIEW"}
_PARTLY_CHECKED = "done"  # no item stands against the batch, and some were not checked
_WAITING_CODE = 3


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
        CheckArguments,
        (
            *("jobs", *WHERE, *JUDGING, "parallel_rounds", "tests", "approved_only"),
            *("reports", "baseline", "unsafe"),
        ),
    ],
) -> int:
    """Check many items, several at once.

    After a kill, run the command again to resume it. With -o, it also writes ID_verdict.json,
    ID_ItemSpec.md and ID_checker/ for each item.
    """
    paths = paths_named(targets)
    # A wrong option is an error before any item is checked.
    baseline = baseline_of(options)
    reports = reports_of(session, options, paths, baseline)
    compared = comparison_of(options, baseline)
    session.record_arguments(as_of=options.day)
    inputs: dict[str, Json] = {"targets": [place(Path(text)) for text in targets]}
    async with (
        session.open_store() as store,
        session.open_run("check-batch", inputs, name="batch", store=store) as run,
    ):
        verdicts = [*map(compared, await _Batch(session, run, paths, options).work())]
        document = together(verdicts)
        status = _RUN_STATUSES[document.exit_code]
        if status == "PASS" and "NOT_CHECKED" in document.summary:
            status = _PARTLY_CHECKED
        await run.append(CHECKED, checked_items(map(place, paths), verdicts))
        await run.finish(status)
        if session.distributed:
            await forget_answers(store, run.id)
        # What waits may go on, and then spends from the same purse.
        if document.exit_code != _WAITING_CODE:
            await forget_purse(store, run.id)
    lines = [*_lines_of(verdicts, block_items(paths)), "", summary(document, toned)]
    if baseline is not None:
        lines.append(trend_of(verdicts, baseline.statuses))
    session.show(document, *lines, reports=reports)
    if waiting := sum(verdict.exit_code == _WAITING_CODE for verdict in verdicts):
        session.progress(
            f"{counted(waiting, 'item')} waiting: transom waiting; then: transom resume {run.id}"
        )
    return document.exit_code


def _lines_of(verdicts: Sequence[Verdict], places: Sequence[BlockItem]) -> list[str]:
    """Return a row for each verdict; or for several blocks a table of them, and what does not pass.

    The table has a row a block and a column an item, the worst of both first.
    """
    rollup = roll_up(verdicts, places)
    if rollup is None:
        return table(map(_row, verdicts))
    lines = table(rollup.cells, head=rollup.heads)
    rows = list[tuple[str, str, str]]()
    for verdict, name in open_checks(verdicts, places):
        status, _, reason = _row(verdict)
        rows.append((status, name, reason))
    if rows:
        lines.append("")
        lines += table(rows)
    return lines


def paths_named(texts: Sequence[str]) -> list[Path]:
    """Return the items or checkers that files, folders and globs name.

    Each is listed once, in the order of the texts; those of one text by their names.
    """
    paths: dict[str, Path] = {}
    for text in texts:
        names = _names_of(text)
        if not names:
            raise InputError(
                "there is no item", place=text, hint="name item files, or a folder that has some"
            )
        for name in names:
            # The settings lie among the items, and are no item.
            if Path(name).name not in FILE_NAMES:
                paths.setdefault(os.path.realpath(name), Path(name))
    return list(paths.values())


def _names_of(text: str) -> list[str]:
    """Return the items or checkers that one file, folder or glob names."""
    if os.path.isdir(text):  # noqa: PTH112  unlike Path.is_dir it never raises
        return _names_in(Path(text))
    is_glob = any(sign in text for sign in "*?")
    # A file may be called like a glob.
    if not is_glob or os.path.exists(text):  # noqa: PTH110  unlike Path.exists it never raises
        return [text]
    pattern = os.path.expanduser(text)  # noqa: PTH111  unlike Path.expanduser it never raises
    start = glob_root(Path(pattern))
    matches = glob(pattern, recursive=True)  # noqa: PTH207  of a text
    # A workspace keeps copies of items, which are not meant.
    return sorted(match for match in matches if not lies_in_workspace(Path(match), start))


def _names_in(folder: Path) -> list[str]:
    """Return a checker's folder itself; else the items in a folder; else the checkers in it."""
    if (folder / CONFIG).is_file():
        return [str(folder)]
    items = [path for path in folder.iterdir() if path.suffix in (".yaml", ".yml")]
    checkers = [path.parent for path in folder.glob(f"*/{CONFIG}")]
    return sorted(map(str, items or checkers))


@dataclass
class _Batch:
    """One command at work: its verdicts so far, and the items that have no answer."""

    session: Session
    run: Run
    targets: list[Path]
    options: CheckArguments
    verdicts: dict[Path, Verdict] = field(default_factory=dict)
    escalations: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    waiting: Waiting = field(init=False)

    async def work(self) -> list[Verdict]:
        """Return a verdict for every target, in their order."""
        self.waiting = SilenceWatch(self.session.progress).begin(self._silence)
        if self.session.distributed:
            await self._ask_workers()
        else:
            await self._ask_here()
        if self.escalations:
            rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in self.escalations]
            text = "".join(rows).encode("utf-8", "backslashreplace")
            path = write_file(self.run.folder / ESCALATIONS, text)
            self.session.progress(f"{counted(len(rows), 'escalation')} in {path}")
        return [self.verdicts[target] for target in self.targets]

    async def _ask_here(self) -> None:
        """Have processes of this machine answer the targets.

        Each may work on several at once, which only overlaps their waiting.
        """
        count = min(os.cpu_count() or 1, self.options.jobs, len(self.targets))
        # Processes share a purse in PostgreSQL alone. Elsewhere a capped cost allows only one.
        count = 1 if self._is_capped and not self._purse_name else count
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    jobs = self.options.jobs // count + (number < self.options.jobs % count)
                    group.create_task(self._process(self.targets[number::count], jobs))
        except ExceptionGroup as failures:
            # A full disk fails all of them alike.
            raise failures.exceptions[0] from None

    def _silence(self, seconds: int) -> str:
        open_items = counted(len(self.targets) - len(self.verdicts), "item")
        # Items that are given to the workers may wait for one of them.
        state = "not answered yet:" if self.session.distributed else "still at work on"
        return f"no item was done for {seconds} s; {state} {open_items}"

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

    @property
    def _is_capped(self) -> bool:
        return self.session.settings.execution.max_cost is not None

    @property
    def _purse_name(self) -> str:
        """The name of the purse that the processes of this batch share; "" if there is none."""
        return self.run.id if self._is_capped and isinstance(self.run.store, LeasingStore) else ""

    def _place(self) -> dict[str, Any]:
        """Return what a hand has to know of this command; see `transom.cli.hand`."""
        session = self.session
        entry = session.local_entry
        place: dict[str, Any] = {"kind": ITEM, "entry": entry}
        place["workspace"] = str(session.workspace.root)
        if session.keeps_artifacts:
            place["fetches"] = True
        if self._purse_name:
            place["purse"] = self._purse_name
        return place

    async def _answer(self, hand: Hand, places: asyncio.Semaphore, target: Path) -> None:
        """Record a target's answer. If a provider failed, it is asked once more, later."""
        try:
            async with places:
                row = await hand.do({"target": place(target)})
            if seconds := row.get("again"):
                delay = {"target": place(target), "until": time.time() + seconds}
                await self._delay(delay | {"cause": row["cause"]})
                # Other targets may use the place meanwhile.
                await asyncio.sleep(seconds)
                async with places:
                    row = await hand.do({"target": place(target)})
        except HandEnded as end:
            self._record(target, self._failed(target, str(end)))
        else:
            self._record(target, Verdict.model_validate(row["verdict"]))

    async def _delay(self, delay: dict[str, Any]) -> None:
        """Record and show that a target is asked again later."""
        until = datetime.fromtimestamp(delay["until"], UTC).astimezone()
        self.session.progress(
            f"{delay['target']}: a provider failed; it is asked again at {until:%H:%M:%S}"
        )
        await self.run.append(HELD, delay)

    def _failed(self, target: Path, reason: str) -> Verdict:
        error = TransomError(reason, hint="give the command again")
        return verdict_for(target, error, self.options.day)

    async def _ask_workers(self) -> None:
        """Have workers on any machine answer the targets."""
        session, store = self.session, self.run.store
        targets = [place(target) for target in self.targets]
        sha = digest({"targets": targets, **self._place()})
        earlier = submission_open_in(self.run.records())
        # If the command was killed, the workers may still be at work on the same submission.
        if earlier and earlier["of"] == sha:
            group = str(earlier["group"])
        else:
            group = new_group(self.run.id)
            await self.run.append(ENQUEUED, {"group": group, "of": sha, "jobs": len(targets)})
        submission = Submission(group, "check", targets, self._place(), session.priority)
        async with open_jobs(session.workspace.store_location) as jobs:
            await submit(jobs, store, submission)
            session.progress(f"{counted(len(targets), 'item')} given to the workers")
            async for record in follow(jobs, store, submission, session.progress):
                data: Any = record.data
                target = self.targets[data["number"]]
                if record.kind == HELD:
                    await self._delay({**data, "target": place(target)})
                elif "failed" in data:
                    self._record(target, self._failed(target, data["failed"]))
                else:
                    self._record(target, Verdict.model_validate(data["verdict"]))

    def _record(self, target: Path, verdict: Verdict) -> None:
        """Keep an answer, and print its line."""
        self.verdicts[target] = verdict
        self.waiting.restart()
        if verdict.status == "ERROR":
            row: dict[str, Any] = {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "item_id": verdict.item_id,
            }
            row |= {"target": place(target), "cause": reason_of(verdict), "run_id": verdict.run_id}
            self.escalations.append(row)
        number, total = len(self.verdicts), len(self.targets)
        seconds = time.monotonic() - self.started
        if number < total:
            # Estimated from the mean of those that are done.
            duration = f"{_minutes(seconds / number * (total - number))} left"
        else:
            duration = f"{_minutes(seconds)} in all"
        line = "  ".join(_row(verdict)).rstrip()
        self.session.progress(f"[{number:>{len(str(total))}}/{total}] {line}, {duration}")


def _row(verdict: Verdict) -> tuple[str, str, str]:
    """Return an item's status, its id, and what the status rests on."""
    status, tail = headline(verdict)
    if verdict.status == "ERROR" or not tail:
        tail = reason_of(verdict)
    return status, verdict.item_id, tail


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
