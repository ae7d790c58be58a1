"""A run's journal: appending to it keeps the folded state and people's files in step."""

from __future__ import annotations

import gc
from asyncio import Future
from collections.abc import Callable
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
from transom.runs.questions import Choice, PersonAnswer, answered, chosen, how_to_answer
from transom.runs.silence import SilenceWatch
from transom.store import Record, Store
from transom.telemetry import Telemetry

STAGE_SECONDS = 300.0
_FREE = frozenset({"opened", "closed", "user_message", "conversation_opened", "reset"})
"""What nobody paid for or decided: it outlives a kill at once, and a power cut together with the
next of the others.
"""


def tell_nobody(line: str) -> None:
    """Drop a line of progress: the program does not show it."""
    del line


@dataclass(slots=True)
class _Soon:
    """A record that nobody waits for yet."""

    kind: str
    data: dict[str, Any]
    written: Future[int]


class Host:
    """A run as its stages know it: its journal, and who answers in it.

    The state takes records in the journal's order, in which the store tells of them, too. A record
    that nobody waits for is in the state at once.

    Attributes:
        state: the journal, folded.
        progress: is told, for people, how far the run is, and which of their files could not be
            written.
        files: those for people alone.
        log_calls: whether calls that were answered are logged.
        on_delta: hears replies as they come.
        purse: limits what its calls may use; None for no limit.
        silence: tells a person of a model that is silent.
        next_command: the command with which a person goes on with the run; "" in a program, which
            is started again.
    """

    def __init__(
        self, run_id: str, folder: Path, store: Store, chain: Chain, telemetry: Telemetry
    ) -> None:
        self.id, self.folder, self.store, self.chain, self.telemetry = (
            run_id,
            folder,
            store,
            chain,
            telemetry,
        )
        self._stream = f"run/{run_id}"
        self.stage_seconds, self.log_calls = STAGE_SECONDS, True
        self.on_delta: OnDelta | None = None
        self.budget = WindowBudget(open=True)
        self.purse: Purse | None = None
        self.next_command = ""
        self.progress: Callable[[str], None] = tell_nobody
        self.silence = SilenceWatch(lambda line: self.progress(line))
        self.files = CheckpointFiles(folder, lambda line: self.progress(line))
        collecting = gc.isenabled()
        # a log that is read makes no cycles; looking for them would take more time than all the
        # rest
        gc.disable()
        try:
            records = self.records()
            self.state = fold(records)
        finally:
            if collecting:
                gc.enable()
        self.files.read(records)
        self._soon: list[_Soon] = []
        self._read_to = 0  # the last position that was in the state when it was last read anew

    async def append(self, kind: str, data: dict[str, Any], *, sync: bool | None = None) -> None:
        """Append to the journal and take it into the state. Who is cancelled meanwhile is so
        when that is done.
        """
        try:
            self._hand_over_again()
            synced = kind not in _FREE if sync is None else sync
            position = await self.store.append(self._stream, kind, data, sync=synced)
            await self._written()
        except BaseException:  # a cancelled task's record may be written all the same
            self._read_again()
            raise
        if position > self._read_to:
            apply(self.state, kind, data)
        if kind in LEAVES_FILES:
            (record, *_) = self.store.read(self._stream, after=position - 1)
            self.files.take(record, self.state)

    def spend_from(self, purse: Purse) -> None:
        """Have all calls from now on reserve in a purse, which counts those of the journal."""
        for root, spent in self.state.spent.items():
            purse.take_in((self.id, *root), spent.replies)
        self.purse = purse

    def append_soon(self, kind: str, data: dict[str, Any]) -> None:
        """Append without waiting. What is appended next is in the journal only where this is.

        A write that fails is an error then. It is for what may be done again where the journal lost
        it together with all that came after, and for kinds that say no more when they are taken in
        twice.
        """
        self._soon.append(_Soon(kind, data, self.store.append_soon(self._stream, kind, data)))
        apply(self.state, kind, data)

    async def settle(self) -> None:
        """Wait until all that was appended is in the journal; what the store refused before is
        tried once more.
        """
        self._hand_over_again()
        await self._written()

    def records(self) -> list[Record]:
        """The journal, oldest first."""
        return self.store.read(self._stream)

    def _read_again(self) -> None:
        """The journal as it is after something went wrong on the way to it, and what is still to be
        written.

        Records of other tasks are in it that these have not been told of yet: nothing of it is
        taken in again then.
        """
        self._soon = [
            one for one in self._soon if not one.written.done() or one.written.exception()
        ]
        with suppress(StoreError):
            records = self.records()
            vars(self.state).update(vars(fold(records)))  # the same object: others hold it
            self.files.read(records)
            self._read_to = records[-1].seq if records else 0
            for one in self._soon:
                apply(self.state, one.kind, one.data)

    def _hand_over_again(self) -> None:
        """Nothing gets into the journal before what came before it does."""
        for one in self._soon:
            if one.written.done() and one.written.exception():
                one.written = self.store.append_soon(self._stream, one.kind, one.data)

    async def _written(self) -> None:
        while self._soon:
            first = self._soon[0]
            await first.written
            # others that wait for it meanwhile may have taken it out
            if self._soon and self._soon[0] is first:
                del self._soon[0]

    async def pause(
        self, stage: str, reason: str, choice: Choice | None = None, *, hint: str = ""
    ) -> Paused:
        """Record that a stage, or the program where it is "", cannot go on; what is to be
        raised.
        """
        await self.append(
            "paused", {"stage": stage, "reason": reason, **({"choice": choice} if choice else {})}
        )
        if choice:
            hint = how_to_answer(self.id, choice)
        return Paused(reason, run_id=self.id, hint=hint or self.how_to_go_on(), question=choice)

    def how_to_go_on(self, options: str = "") -> str:
        """Return the clause that names the command with which the run goes on.

        Args:
            options: further options of the command, e.g. ` --max-cost 5`.
        """
        command = self.next_command or f"transom resume {self.id}"
        return f"go on with: {command}{options}"

    async def decide(
        self, answer: str, question: str | None = None, reason: str = "", *, by: str = ""
    ) -> Choice:
        """Record a person's answer to what waits for one, to a file as it lies there now; returns
        what was answered.

        Args:
            answer: `keep` or `redo`; `approve` or `refuse` where a tool call waits; an option or
                free text.
            question: which, where several wait: a question's or stage's name, or the beginning of a
                fingerprint.
            reason: kept with the answer; the model reads it where a call is refused.
            by: who answers.

        Raises:
            InputError: nothing waits, several do and none is named, or the answer does not fit.
        """
        choice = chosen(self.id, self.state.waiting, question)
        await self.append("decided", answered(choice, self.folder, answer, reason, by=by))
        return choice

    def answer(self, stage: str, fingerprint: str) -> PersonAnswer | None:
        """What a person said to a call or question; None where nobody has answered yet."""
        decided = self.state.decisions.get((stage, fingerprint, ""))
        return (
            PersonAnswer(decided["answer"], decided["by"], decided["reason"]) if decided else None
        )
