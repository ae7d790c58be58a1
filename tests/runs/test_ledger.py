"""The journal of one run where many write to it at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from transom.runs.journal import fold, talk_key
from transom.runs.ledger import Ledger
from transom.store import SqliteStore

WHERE = {"stage": "s", "epoch": "", "conversation": "main"}


async def test_what_nobody_waits_for_is_waited_for_by_all_who_append_at_once(tmp_path: Path) -> None:
    """Each appends once without waiting and then waits for a record of its own; all of them for the first ones."""

    async def work(number: int) -> None:
        for turn in range(3):
            ledger.append_soon("marked", {**WHERE, "event": number, "mark": turn})
            await ledger.append("intent", {**WHERE, "ordinal": number, "request": "r", "call": str(turn)})

    async with SqliteStore.open(tmp_path / "s.db") as store:
        ledger = Ledger(store, "r", tmp_path)
        await asyncio.gather(*(work(number) for number in range(8)))
        records = store.read("r")
    assert ledger.state == fold(records)
    assert sorted(ledger.state.marks[talk_key(WHERE)].items()) == [(number, [0, 1, 2]) for number in range(8)]
    assert set(ledger.state.intents.values()) == {1} and ledger.state.intents.total() == 8 * 3
