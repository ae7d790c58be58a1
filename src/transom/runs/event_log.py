"""A run's stream in the store: appending to it keeps its folded state, its checkpoints and people's files in step."""

from __future__ import annotations

import gc
from asyncio import Event, Future
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transom.canonical import Json
from transom.errors import InputError, StoreError
from transom.runs.checkpoints import CheckpointFiles, Retention, checkpoints, following
from transom.runs.journal import apply, fold
from transom.store import Store

_STOPS = ("failed", "paused")
_FREE = frozenset({"opened", "nodes", "closed", "user_message", "conversation_opened", "marked", "reset"})
"""What nobody paid for or decided: it outlives a kill at once, and a power cut together with the next of the others."""
SUCCESSES = frozenset({"done", "READY", "PASS", "FAIL"})
"""How a run is closed that came to its end; a check whose answer is no did."""


@dataclass(slots=True)
class _Soon:
    """A record that nobody waits for yet."""

    kind: str
    data: dict[str, Any]
    written: Future[int]


@contextmanager
def _uncollected() -> Iterator[None]:
    """A log that is read makes no cycles; the collector would take more time than all the rest."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Turn:
    """A record that somebody waits for.

    Attributes:
        over: is set once it is in the state, or never will be; made by who waits for that.
    """

    over: Event | None = None


class EventLog:
    """The journal of one run, and what follows from it.

    The state takes records in the journal's order, whichever task hears first that its own is written: what is told in
    the order of the state is told so in every later life. A record that nobody waits for is in the state at once.

    Args:
        store: where the stream lies.
        stream: its name.
        folder: the run's, for people's files.

    Attributes:
        tell: is told where one of these cannot be written, and whatever else people are to know.
        state: the stream, folded.
    """

    def __init__(self, store: Store, stream: str, folder: Path) -> None:
        self._store = store
        self._stream = stream
        self.tell: Callable[[str], None] = _silent
        with _uncollected():
            records = store.read(stream)
            self.state = fold(records)
            self._checkpoints = checkpoints(records)
        self._files = CheckpointFiles(folder)
        self._soon: list[_Soon] = []
        self._turns: list[_Turn] = []  # in the order in which they were handed over, which is the journal's
        self._stops = [record.seq for record in records if record.kind in _STOPS]
        self._read_to = 0  # the last position that was in the state when it was last read anew

    async def append(self, kind: str, data: dict[str, Any], *, sync: bool | None = None) -> None:
        """Append to the journal and take it into the state. Who is cancelled meanwhile is so when that is done.

        Raises:
            StoreError: it could not be written, or what was appended before it without waiting could not.
        """
        turn = _Turn()
        self._turns += [turn]
        try:
            self._hand_over_again()
            position = await self._store.append(
                self._stream, kind, data, sync=kind not in _FREE if sync is None else sync
            )
            await self._written()
            while self._turns[0] is not turn:  # is in the journal before this one
                await _over(self._turns[0])
            if fresh := position > self._read_to:
                apply(self.state, kind, data)
        except BaseException:  # a cancelled task's record may be written all the same
            self._take_in()
            raise
        finally:
            del self._turns[0 if self._turns[0] is turn else self._turns.index(turn)]
            if turn.over:
                turn.over.set()
        if kind in _STOPS:
            self._stops += [position] * fresh
            number = self._stops.index(position) + 1
            self._leave(lambda: self._files.put_stop(number, data))
        elif kind == "closed" and self._files.retention.on_success and data["status"] in SUCCESSES:
            self._files.clear()
        elif kind == "done" and fresh:
            (record, *_) = self._store.read(self._stream, after=position - 1)
            self._checkpoints.append(following(self._checkpoints, record))

    def _take_in(self) -> None:
        """The journal as it is after something went wrong on the way to it, and what is still to be written.

        Records of other tasks are in it that these have not been told of yet: nothing of it is taken in again then.
        """
        self._soon = [one for one in self._soon if not one.written.done() or one.written.exception()]
        with suppress(StoreError):
            records = self._store.read(self._stream)
            vars(self.state).update(vars(fold(records)))  # the same object: others hold it
            self._checkpoints = checkpoints(records)
            self._stops = [record.seq for record in records if record.kind in _STOPS]
            self._read_to = records[-1].seq if records else 0
            for one in self._soon:
                apply(self.state, one.kind, one.data)

    def _hand_over_again(self) -> None:
        """Nothing gets into the journal before what came before it does."""
        for one in self._soon:
            if one.written.done() and one.written.exception():
                one.written = self._store.append_soon(self._stream, one.kind, one.data)

    async def settle(self) -> None:
        """Wait until all that was appended is in the journal; what the store refused before is tried once more."""
        self._hand_over_again()
        await self._written()

    async def _written(self) -> None:
        while self._soon:
            first = self._soon[0]
            await first.written
            if self._soon and self._soon[0] is first:  # others that wait for it meanwhile may have taken it out
                del self._soon[0]

    def append_soon(self, kind: str, data: dict[str, Any]) -> None:
        """Append without waiting. What is appended next is in the journal only where this is.

        A write that fails is an error then. It is for what may be done again where the journal lost it together with
        all that came after, and for kinds that say no more when they are taken in twice.
        """
        self._soon.append(_Soon(kind, data, self._store.append_soon(self._stream, kind, data)))
        apply(self.state, kind, data)

    def shelve(self, stage: str, path: Path, by: str) -> None:
        """Leave people's files of a stage's newest checkpoint; it left `path` and was answered by `by`."""
        newest = next(one for one in reversed(self._checkpoints) if one.stage == stage)
        self._leave(lambda: self._files.put(newest, path, by))

    def leave_iteration(self, number: int, told: Json) -> None:
        """Leave, for people, what was wrong with attempt `number` of what is written again until it is right."""
        self._leave(lambda: self._files.put_iteration(number, told))

    def keep(self, retention: Retention) -> None:
        """Say which older attempts' files stay, from now on and of those that are there."""
        self._files.retention = retention
        self._files.tidy(datetime.now(UTC))

    def _leave(self, put: Callable[[], None]) -> None:
        """Files that are there for people alone: one that cannot be written stops nothing."""
        try:
            put()
        except InputError as error:
            self.tell(str(error))


async def _over(turn: _Turn) -> None:
    turn.over = turn.over or Event()
    await turn.over.wait()


def _silent(line: str) -> None:
    """Nobody watches."""
    del line
