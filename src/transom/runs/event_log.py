"""A run's journal: appending to it keeps the folded state and people's files in step."""

from __future__ import annotations

import time
from asyncio import Future
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.context import WindowBudget
from transom.errors import Paused, StoreError
from transom.llm import Chain
from transom.llm.deltas import OnDelta
from transom.llm.purse import Purse
from transom.runs.checkpoints import LEAVES_FILES, CheckpointFiles
from transom.runs.journal import apply, fold
from transom.runs.questions import (
    TO_GO_ON,
    Choice,
    PersonAnswer,
    answered,
    chosen,
    how_to_answer,
    options_of,
)
from transom.runs.silence import SilenceWatch
from transom.runs.summarising import (
    ENDING_KINDS,
    SILENT_KINDS,
    STREAM,
    TURNING_KINDS,
    RunRow,
    Summariser,
)
from transom.store import LeasingStore, Record, Store, Summarise, keep_unchanged, now
from transom.telemetry import Redactor, Telemetry

STAGE_SECONDS = 300.0
_UNSYNCED = frozenset({"opened", "closed", "user_message", "conversation_opened", "reset"})
"""Kinds that cost nothing and decide nothing. They survive a kill at once, and a power cut together
with the next record of another kind.
"""
_FOLLOWED = frozenset({"opened", "started", "done"})
"""Kinds that are committed together with the next record where a commit goes over a network. If a
process dies before that, its next walk does the same again from the replies of the journal.
"""
_SUMMARY_SECONDS = 1.0
"""How long the summary of a run that runs may miss records: each summary that is written costs as
much as a record. Whoever lists the run counts the missing ones.
"""


def tell_nobody(line: str) -> None:
    """Drop a line of progress: the program does not show it."""
    del line


@dataclass(slots=True)
class _PendingRecord:
    """A record that nobody waits for yet, and the future of its position."""

    kind: str
    data: dict[str, Any]
    recorded_at: str
    position: Future[int]


class RunHost:
    """A run as its stages know it: its journal, its state and its providers.

    The state is the journal, folded, and the pending records of `append_soon`. A record of `append`
    is applied once, after its commit; nothing is ever taken out of the state again, so objects of
    the state stay the same for the life of the run.

    Attributes:
        state: the folded journal.
        label: returns what a stage does, for a line of progress, or "" for no line; None: its name.
        files: the files that are for people alone.
        log_calls: whether answered calls are logged.
        on_delta: receives the pieces of replies as they come.
        purse: limits what the run's calls may use; None for no limit.
        followed: the kinds of records that may be committed together with the next one.
        silence: tells a person that a model is silent.
        next_command: the command with which a person goes on with the run; "" in a program, which
            is started again.
        how_to_decide: how a person answers a question, if no command can; "" for the command.
    """

    def __init__(
        self, row: RunRow, folder: Path, store: Store, chain: Chain, telemetry: Telemetry
    ) -> None:
        self.id = row.id
        self.folder = folder
        self.store = store
        self.chain = chain
        self.telemetry = telemetry
        self._stream = f"{STREAM}{row.id}"
        self._summariser = Summariser(row)
        self._summary_due = 0.0  # the time from which the summary is written with any record
        self._is_at_work = False
        self.stage_seconds = STAGE_SECONDS
        self.log_calls = True
        self.on_delta: OnDelta | None = None
        self.budget = WindowBudget(open=True)
        self.purse: Purse | None = None
        self.next_command = ""
        self.how_to_decide = ""
        self._progress: Callable[[str], None] = tell_nobody
        self.label: Callable[[str], str] | None = None
        self.silence = SilenceWatch(tell_nobody)
        self.files = CheckpointFiles(folder, tell_nobody)
        records = self.records()
        self.state = fold(records)
        self.files.read(records)
        self._pending: list[_PendingRecord] = []
        self.followed = _FOLLOWED if isinstance(store, LeasingStore) else frozenset()
        self._appends = 0  # appends under way
        # Records up to this position are in the state; of later ones, those of `_applied`.
        self._applied_to = records[-1].seq if records else 0
        self._applied: set[int] = set()

    @property
    def progress(self) -> Callable[[str], None]:
        """The function that shows a person how far the run is, which of their files could not be
        written, and that a model is silent.
        """
        return self._progress

    @progress.setter
    def progress(self, tell: Callable[[str], None]) -> None:
        # They are given the function, not the run: a run that refers to itself would stay in memory
        # until the garbage collector looks for circles.
        self._progress = self.silence.tell = self.files.tell = tell

    # -- appending ---------------------------------------------------------------------------------

    async def append(
        self,
        kind: str,
        data: dict[str, Any],
        *,
        sync: bool | None = None,
        blobs: Sequence[bytes] = (),
    ) -> None:
        """Append a record, and apply it once it is committed.

        A cancellation that arrives during the write is raised once the write is over. The state
        then has the record if and only if the journal has it.

        Args:
            kind: the kind of the record.
            data: its content.
            sync: whether it must survive a power cut; None lets its kind decide.
            blobs: the blobs that it names, which are stored together with it.
        """
        if kind in self.followed:
            self.append_soon(kind, data)
            return
        if sync is None:
            sync = kind not in _UNSYNCED
        # A later record must not be in the journal without an earlier one.
        if self._pending:
            self._resubmit_refused()
        self._appends += 1
        summarise, recorded_at = self._summarise_with(kind), now()
        try:
            position = await self.store.append(
                self._stream,
                kind,
                data,
                sync=sync,
                summarise=summarise,
                recorded_at=recorded_at,
                blobs=blobs,
            )
            self._apply(position, kind, data, recorded_at)
            if self._pending:
                await self._wait_for_pending()
        except BaseException:
            # The store does not tell a cancelled task whether its record was committed.
            self._apply_committed()
            raise
        finally:
            self._appends -= 1
            if self._applied and not self._appends:
                self._applied_to = max(self._applied_to, *self._applied)
                self._applied.clear()

    def append_soon(self, kind: str, data: dict[str, Any]) -> None:
        """Append a record without waiting; the state has it at once.

        No later record is in the journal without this one. If its write fails, the next append
        raises the error, and the one after that tries the write again. So it is for records that
        may be lost together with all later ones, and of kinds that may be applied twice.
        """
        recorded_at = now()
        position = self._hand_over(kind, data, recorded_at)
        self._pending.append(_PendingRecord(kind, data, recorded_at, position))
        apply(self.state, kind, data)

    async def settle(self) -> None:
        """Wait until all pending records are in the journal; a refused one is tried once more."""
        if self._pending:
            self._resubmit_refused()
            await self._wait_for_pending()

    def _apply(self, position: int, kind: str, data: dict[str, Any], recorded_at: str) -> None:
        """Apply a committed record, unless it was applied already."""
        if position in self._applied:
            return
        if self._appends == 1:
            self._applied_to = position  # nobody else has a record that is not applied yet
        else:
            self._applied.add(position)
        apply(self.state, kind, data)
        self._leave_files(position, kind, data, recorded_at)

    def _leave_files(
        self, position: int, kind: str, data: dict[str, Any], recorded_at: str
    ) -> None:
        if kind in LEAVES_FILES:
            self.files.take(Record(position, self._stream, kind, data, recorded_at), self.state)

    def _apply_committed(self) -> None:
        """Apply all committed records that are not in the state.

        Records of other tasks are among them, whose appends return only later.
        """
        # These are in the state since they were appended.
        pending = set()
        for record in self._pending:
            if record.position.done() and record.position.exception() is None:
                pending.add(record.position.result())
        with suppress(StoreError):
            for committed in self.store.read(self._stream, after=self._applied_to):
                if committed.seq not in pending:
                    data: Any = committed.data
                    self._apply(committed.seq, committed.kind, data, committed.at)

    def _resubmit_refused(self) -> None:
        """Hand pending records that the store refused to it again, before any later record."""
        for record in self._pending:
            if record.position.done() and record.position.exception():
                record.position = self._hand_over(record.kind, record.data, record.recorded_at)

    def _hand_over(self, kind: str, data: dict[str, Any], recorded_at: str) -> Future[int]:
        summarise = self._summarise_with(kind)
        return self.store.append_soon(
            self._stream, kind, data, summarise=summarise, recorded_at=recorded_at
        )

    def _summarise_with(self, kind: str) -> Summarise:
        """Return what an append of this kind does with the summary of the run."""
        if kind in SILENT_KINDS:
            return keep_unchanged
        now = time.monotonic()
        if kind not in TURNING_KINDS and self._is_at_work and now < self._summary_due:
            return keep_unchanged
        # Now, not after its commit: a record that is submitted from now on comes after this one.
        # Of a run that does not run any more, no list looks for missing records.
        if kind == "opened":
            self._is_at_work = True
        elif kind in ENDING_KINDS:
            self._is_at_work = False
        self._summary_due = now + _SUMMARY_SECONDS
        return self._summariser

    async def _wait_for_pending(self) -> None:
        while self._pending:
            first = self._pending[0]
            position = await first.position
            # Another task that waits for it may have removed it meanwhile.
            if self._pending and self._pending[0] is first:
                del self._pending[0]
                self._leave_files(position, first.kind, first.data, first.recorded_at)
                if position > self._applied_to:
                    self._applied.add(position)

    # -- reading -----------------------------------------------------------------------------------

    def records(self) -> list[Record]:
        """Return the journal, oldest first."""
        return self.store.read(self._stream)

    def spend_from(self, purse: Purse) -> None:
        """Have all calls from now on reserve in a purse, which counts those of the journal."""
        for root, spent in self.state.spent.items():
            purse.take_in((self.id, *root), spent.replies)
        self.purse = purse

    # -- a person ----------------------------------------------------------------------------------

    async def pause(
        self, stage: str, reason: str, choice: Choice | None = None, *, hint: str = ""
    ) -> Paused:
        """Record that a stage cannot go on, and return the error to raise.

        Args:
            stage: the stage; "" for the program.
            reason: why it cannot go on.
            choice: what a person has to decide.
            hint: how to go on, if there is no choice; "" for the command that goes on.
        """
        record: dict[str, Any] = {"stage": stage, "reason": reason}
        if choice:
            record["choice"] = choice
            hint = self.how_to_decide or how_to_answer(self.id, choice)
        await self.append("paused", record)
        return Paused(reason, run_id=self.id, hint=hint or self.how_to_go_on(), question=choice)

    def how_to_go_on(self, options: str = "") -> str:
        """Return the clause that names the command with which the run goes on.

        Args:
            options: further options of the command, e.g. ` --max-cost 5`.
        """
        command = self.next_command or f"transom resume {self.id}"
        return f"{TO_GO_ON}{command}{options}"

    async def decide(
        self, answer: str, question: str | None = None, reason: str = "", *, by: str = ""
    ) -> Choice:
        """Record a person's answer and return the question that it answers.

        An answer about a file counts for the file as it is now.

        Secrets in it are kept as [redacted].

        Args:
            answer: `keep` or `redo`; `approve` or `refuse` if a tool call waits; an option or free
                text.
            question: the question, if several wait: the name of a question or stage, or the
                beginning of a fingerprint.
            reason: kept with the answer; the model reads it if a call is refused.
            by: the name of the person.

        Raises:
            InputError: nothing waits, several questions wait and none is named, or the answer does
                not fit.
        """
        choice = chosen(self.id, self.state.waiting, question)
        record = answered(choice, self.folder, answer, reason, by=by)
        redact = Redactor(secrets=self.chain.secrets)
        # An option has no words of the person, and is compared with the answer later.
        own_words = ("reason",) if options_of(choice) else ("answer", "reason")
        for name in own_words:
            record[name] = redact(record[name])
        await self.append("decided", record)
        return choice

    def answer(self, stage: str, fingerprint: str) -> PersonAnswer | None:
        """Return a person's answer about a call or to a question; None if there is none yet."""
        decided = self.state.decisions.get((stage, fingerprint, ""))
        if decided is None:
            return None
        return PersonAnswer(decided["answer"], decided["by"], decided["reason"])
