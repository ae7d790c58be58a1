"""The journal of one run where many write to it at once."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.runs.helpers import journal_of
from transom.errors import StoreError
from transom.runs.conversation import key_of
from transom.runs.event_log import RunHost
from transom.runs.journal import fold
from transom.store import Record, SqliteStore

Work: TypeAlias = list[Coroutine[Any, Any, None]]
WHERE = {"stage": "s", "epoch": "", "conversation": "main"}


async def test_what_nobody_waits_for_is_waited_for_by_all_who_append_at_once(
    tmp_path: Path,
) -> None:
    """Each appends once without waiting and then waits for a record of its own; all of them for
    the first ones.
    """

    async def work(number: int) -> None:
        for turn in range(3):
            ledger.append_soon("user_message", {**WHERE, "text": f"{number} {turn}"})
            await ledger.append(
                "tool_started", {**WHERE, "ordinal": number, "call": turn, "mark": "m"}
            )

    async with SqliteStore.open(tmp_path / "s.db") as store:
        ledger = journal_of(store, tmp_path)
        await asyncio.gather(*(work(number) for number in range(8)))
        records = store.read("run/x")
    assert ledger.state == fold(records)
    turns: list[Any] = ledger.state.conversation(key_of(WHERE)).turns
    assert sorted(turn.text for turn in turns) == [
        f"{n} {turn}" for n in range(8) for turn in range(3)
    ]
    assert len(set(ledger.state.once["s", "", "m"])) == 8 * 3


DONE = {
    "output": "",
    "answered": [],
    "usage": {"input_tokens": 1, "output_tokens": 1, "cached_tokens": 0},
}
BESIDE: dict[str, dict[str, Any]] = {
    "tool_started": {**WHERE, "ordinal": 0, "call": 1, "mark": "m"},
    "user_message": {**WHERE, "text": "m"},
    "paused": {"stage": "s", "reason": "why"},
    "failed": {"stage": "t", "attempt": 1, "error": "because"},
    "writing": {"stage": "s", "output": "", "file": "s.md"},
    "done": {"stage": "s", "attempt": 1, "fingerprint": "f", "deletions": 0, **DONE},
}


async def in_one_commit(
    folder: Path, work: Callable[[RunHost], list[Coroutine[Any, Any, None]]]
) -> tuple[list[Record], RunHost]:
    """Appends that are committed together by the store's thread, so that all are in the journal
    before one is told.

    The first of them is cancelled.
    """
    go = threading.Event()

    def linger(number: int) -> None:
        if number == 2:
            assert go.wait(60)

    async with SqliteStore.open(folder / "s.db", after_append=linger) as store:
        ledger = journal_of(store, folder)
        await ledger.append("opened", {})  # by this task: that of another one is the thread's
        first = asyncio.create_task(ledger.append("opened", {}))
        await asyncio.sleep(0)
        tasks = [asyncio.create_task(one) for one in work(ledger)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        go.set()
        await first
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(done[0], asyncio.CancelledError) and done[1:] == [None] * len(done[1:])
        return store.read("run/x"), ledger


async def test_what_is_in_the_journal_counts_once_where_a_task_beside_is_cancelled(
    tmp_path: Path,
) -> None:
    def work(ledger: RunHost) -> Work:
        return [ledger.append("user_message", {**WHERE, "text": "cancelled"})] + [
            ledger.append(kind, data) for kind, data in BESIDE.items()
        ]

    (tmp_path / "s.md").write_text("text")
    records, ledger = await in_one_commit(tmp_path, work)
    assert [record.kind for record in records] == ["opened", "opened", "user_message", *BESIDE]
    assert ledger.state == fold(records)
    turns: list[Any] = ledger.state.conversation(key_of(WHERE)).turns
    assert len(ledger.state.once["s", "", "m"]) == 1
    assert [turn.text for turn in turns] == ["cancelled", "m"]
    assert json.loads((tmp_path / "checkpoint_latest.json").read_text())["checkpoint_id"].endswith(
        "_1"
    )


async def test_what_nobody_waits_for_yet_stays_in_the_state_after_trouble(tmp_path: Path) -> None:
    """It is not in the journal at that moment, and is all the same what the code goes on with."""
    async with SqliteStore.open(tmp_path / "s.db") as store:
        ledger = journal_of(store, tmp_path)
        ledger.append_soon("user_message", {**WHERE, "text": "seen", "fingerprint": "f"})
        with pytest.raises(StoreError):
            await ledger.append("reset", {**WHERE, "no JSON": object()})
        assert [one.text for one in ledger.state.conversation(key_of(WHERE)).messages] == ["seen"]
        assert store.read("run/x") == []
        await ledger.append("conversation_opened", {**WHERE, "parent": "main", "purpose": "look"})
        assert ledger.state == fold(store.read("run/x"))
        assert [one.text for one in ledger.state.conversation(key_of(WHERE)).messages] == ["seen"]
