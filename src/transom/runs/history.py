"""The runs of a workspace: page by page from their summaries, or one with its journal."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from transom.errors import NotFoundError, RunError
from transom.runs.journal import RunState, fold
from transom.runs.run import RUNS
from transom.runs.summarising import STREAM, RunRow, RunSummary, Summariser, new_summary
from transom.runs.workspace import Workspace
from transom.store import OUTDATED, Record, Store, StreamSummary, SummaryFilter, summarise_records

RUNNING = "running"
_PAUSED, _INTERRUPTED = "paused", "interrupted"
_EVERY = SummaryFilter()
_WITHOUT_SUMMARY = SummaryFilter(kinds=(OUTDATED,))
_PART = 250


@dataclass(frozen=True)
class RunView:
    """A run with its journal, folded."""

    row: RunRow
    records: list[Record]
    state: RunState
    status: str

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The journaled calls, in order."""
        return self.data_of("model_reply")

    def data_of(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the data of the records of some kinds, in order; each is an object."""
        return [
            cast("dict[str, Any]", record.data) for record in self.records if record.kind in kinds
        ]


def all_runs(store: Store) -> list[RunRow]:
    """Return all runs, the newest first."""
    documents: Mapping[str, Any] = store.items(RUNS)
    rows = [RunRow(**document, key=key) for key, document in documents.items()]
    return sorted(rows, key=lambda row: row.id, reverse=True)


def view(
    workspace: Workspace, store: Store, row: RunRow, records: list[Record] | None = None
) -> RunView:
    """Return a run with its journal; `records` is the journal if it has been read already."""
    if records is None:
        records = store.read(f"{STREAM}{row.id}")
    state = fold(records)
    status = state.status
    if status == RUNNING and not workspace.is_held(store, row.id):
        status = _PAUSED if state.waiting else _INTERRUPTED
    return RunView(row, records, state, status)


@dataclass(frozen=True)
class StartedProcess:
    """A process that was started to go on with a run, and takes a moment to open it.

    Attributes:
        process: the process.
        last_at: the time of the run's last record before it.
    """

    process: subprocess.Popen[bytes]
    last_at: str

    def goes_on_with(self, run: RunView | RunSummary, last_at: str) -> bool:
        """Return whether a run that nobody holds reads as running all the same."""
        if self.process.poll() is not None:
            return False
        # The end of the run may be written a moment before the end of the process.
        return run.status in (RUNNING, _INTERRUPTED) or last_at == self.last_at


@dataclass(frozen=True)
class RunHistory:
    """The runs of a workspace.

    Attributes:
        workspace: the workspace.
        store: its database, open.
        started: the processes that this program started to go on with runs, by the runs' ids.
    """

    workspace: Workspace
    store: Store
    started: dict[str, StartedProcess] = field(default_factory=dict)

    @property
    def is_outdated(self) -> bool:
        """Whether a run has no summary: an earlier version of Transom wrote its newest record."""
        return bool(self.store.summaries(_WITHOUT_SUMMARY, limit=1))

    async def refresh(self) -> None:
        """Make the summaries that are missing; the store has to be open for writing."""
        # A run that goes on meanwhile is summed up again by its next reader, never halfway.
        outdated = {summary.stream for summary in self.store.summaries(_WITHOUT_SUMMARY)}
        for row in all_runs(self.store) if outdated else ():
            if (stream := f"{STREAM}{row.id}") in outdated:
                await self.store.summarise_again(stream, Summariser(row))

    def page(
        self,
        only: SummaryFilter = _EVERY,
        *,
        limit: int | None = None,
        offset: int = 0,
        by_start: bool = True,
    ) -> list[RunSummary]:
        """Return runs without reading their journals, the last started first, or the last changed
        if not `by_start`.

        A page may have fewer runs than `limit`: runs that have not been summed up are left out.
        """
        rows = self.store.summaries(only, limit=limit, offset=offset, by_stream=by_start)
        runs: list[RunSummary] = []
        for summary in rows:
            if summary.kind != OUTDATED:
                runs.append(self._as_it_stands(summary))
        return runs

    def count_since(self, since: datetime) -> int:
        """Return how many runs began at a time (UTC) or later."""
        counts = self.store.count_summaries(SummaryFilter(first=_first_stream(since)))
        return sum(group.count for group in counts if group.kind != OUTDATED)

    def with_calls(self, since: datetime) -> Iterator[StreamSummary]:
        """Yield the summaries of the runs that began at a time (UTC) or later and had an answer."""
        # The rows of runs that run may miss their answers, and few runs run at a time.
        period = SummaryFilter(first=_first_stream(since))
        running: set[str] = set()
        for stored in self.store.summaries(replace(period, statuses=(RUNNING,))):
            running.add(stored.stream)
            yield self._counted_to_the_end(stored)
        # The database skips the others, since reading a summary takes ten times as long. A part of
        # the list is gone before the next one is read: collecting garbage among ten thousand
        # summaries takes longer than reading them.
        part = replace(period, lacking='"usage":{}')
        while summaries := self.store.summaries(part, limit=_PART):
            for stored in summaries:
                if stored.kind != OUTDATED and stored.stream not in running:
                    yield stored
            part = replace(part, before=summaries[-1].stream)

    def all_summaries(self) -> list[RunSummary]:
        """Return all runs, also those without a summary, whose journals are read."""
        summaries = {summary.stream: summary for summary in self.store.summaries()}
        runs: list[RunSummary] = []
        # The documents, not the summaries: a process may be killed before the first record.
        for row in all_runs(self.store):
            summary = summaries.get(f"{STREAM}{row.id}")
            if summary is None or summary.kind == OUTDATED:
                summary = _folded(self.store, row)
            runs.append(self._as_it_stands(summary))
        return runs

    def summary(self, run_id: str) -> RunSummary:
        """Return the summary of a run.

        Raises:
            NotFoundError: there is no such run, or an earlier version wrote it and it has not been
                summed up, see `is_outdated`.
        """
        runs = self.page(SummaryFilter(streams=(f"{STREAM}{run_id}",)))
        if not runs:
            raise NotFoundError(f"no run {run_id!r}", hint="see: transom runs list")
        return runs[0]

    def row(self, summary: RunSummary) -> RunRow:
        """Return what identifies a run."""
        document: Any = self.store.get(RUNS, summary.key)
        return RunRow(**document, key=summary.key)

    def run(self, run_id: str) -> RunView:
        """Return a run with its journal; InputError if there is none."""
        return self.view(self.row(self.summary(run_id)))

    def view(self, row: RunRow, records: list[Record] | None = None) -> RunView:
        """Return a run with its journal; `records` is the journal if it has been read already."""
        run = view(self.workspace, self.store, row, records)
        started = self.started.get(row.id)
        if started and started.goes_on_with(run, run.records[-1].at):
            return replace(run, status=RUNNING)
        return run

    def interrupt(self, run_id: str) -> None:
        """Interrupt the process that works on a run, or that was started to go on with it.

        Raises:
            RunError: no process works on it.
        """
        try:
            self.workspace.interrupt(self.store, run_id)
        except RunError:
            started = self.started.get(run_id)
            if started is None or self.run(run_id).status != RUNNING:
                raise
            # It has not opened the run yet.
            started.process.terminate()

    def _counted_to_the_end(self, summary: StreamSummary) -> StreamSummary:
        """Return the summary of a run with the newest records of its journal, which it may miss
        while the run runs, or if its process was killed.
        """
        counted = summary.counted
        if summary.status != RUNNING or counted is None:
            return summary
        facts: Any = summary.data
        run_id = summary.stream.removeprefix(STREAM)
        summarise = Summariser(RunRow(run_id, summary.kind, facts["name"], {}, facts["key"]))
        records = self.store.read(summary.stream, after=counted)
        return summarise(summary, records) if records else summary

    def _as_it_stands(self, summary: StreamSummary) -> RunSummary:
        """Return a run whose process has gone as interrupted, or paused if it asks a person."""
        run = RunSummary.of(self._counted_to_the_end(summary))
        started = self.started.get(run.id)
        if started and started.goes_on_with(run, run.last_at):
            return replace(run, status=RUNNING)
        # The journal cannot tell: a process that is killed writes nothing.
        if run.status != RUNNING or self.workspace.is_held(self.store, run.id):
            return run
        return replace(run, status=_PAUSED if run.waits else _INTERRUPTED)


class FollowedRun:
    """A run that is looked at again and again; each look reads the new records of its journal.

    Args:
        history: the runs of the workspace.
        run_id: the run.
    """

    def __init__(self, history: RunHistory, run_id: str) -> None:
        self._history = history
        self._run_id = run_id
        self._records: list[Record] = []

    def view(self) -> RunView:
        """Return the run as it is now."""
        history, records = self._history, self._records
        row = history.row(history.summary(self._run_id))
        last = records[-1].seq if records else 0
        # A list of its own: the one that an earlier look returned does not change.
        self._records = [*records, *history.store.read(f"{STREAM}{row.id}", after=last)]
        return history.view(row, self._records)


def _first_stream(since: datetime) -> str:
    """Return the least name that a run may have that began at a time, which its id begins with."""
    return f"{STREAM}{since:%Y%m%d-%H%M%S}"


def _folded(store: Store, row: RunRow) -> StreamSummary:
    """Return the summary of a run from its journal, which is empty if its process was killed as it
    began.
    """
    stream = f"{STREAM}{row.id}"
    summary = summarise_records(store.read(stream), Summariser(row))
    return summary or new_summary(stream, row)
