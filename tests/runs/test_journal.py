"""What folding a journal yields where a conversation was told otherwise, and what is said of a write that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.store.refusing import refusing
from transom.errors import StoreError
from transom.runs.journal import RunState, apply
from transom.runs.ledger import Ledger
from transom.store import SqliteStore

TALK: dict[str, Any] = {"stage": "s", "epoch": "e", "conversation": "main"}


def told(state: RunState, number: int, text: str) -> None:
    apply(state, "told", {**TALK, "number": number, "told": text})


def replied(state: RunState, ordinal: int, after: int, text: str) -> None:
    key = {"ordinal": ordinal, "told": after, "request": text, "chain": "c"}
    apply(state, "reply", {**TALK, **key, "reply": {"text": text}})


def holds(state: RunState) -> tuple[list[str], dict[int, str]]:
    key = ("s", "e", "main")
    return state.told[key], {ordinal: one["reply"]["text"] for ordinal, one in state.said[key].items()}


def talk() -> RunState:
    state = RunState()
    for number, text in enumerate("abc"):
        told(state, number, text)
        replied(state, number, number + 1, f"to {text}")
    return state


def test_other_words_void_what_was_told_and_said_after_them() -> None:
    state = talk()
    assert holds(state) == (["a", "b", "c"], {0: "to a", 1: "to b", 2: "to c"})
    told(state, 1, "B")
    assert holds(state) == (["a", "B"], {0: "to a"})


def test_another_reply_voids_what_was_told_and_said_after_it() -> None:
    state = talk()
    replied(state, 1, 2, "to b, otherwise")
    assert holds(state) == (["a", "b"], {0: "to a", 1: "to b, otherwise"})


async def test_a_write_that_nobody_waited_for_fails_with_the_next_one(tmp_path: Path) -> None:
    def full(number: int) -> None:
        if number == 2:
            raise StoreError("the disk is full")

    async with SqliteStore.open(tmp_path / "state.db", after_append=full) as store:
        ledger = Ledger(store, "run/x", tmp_path)
        await ledger.append("opened", {})
        ledger.append_soon("told", {**TALK, "number": 0, "told": "a"})
        with pytest.raises(StoreError, match="the disk is full"):
            await ledger.append("told", {**TALK, "number": 1, "told": "b"})


async def test_a_cancelled_task_leaves_the_state_as_the_journal_is(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "state.db") as store:
        ledger = Ledger(store, "run/x", tmp_path)
        await ledger.append("opened", {})
        writing = asyncio.create_task(ledger.append("told", {**TALK, "number": 0, "told": "a"}))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert ledger.state.told["s", "e", "main"] == ["a"]
        assert [record.kind for record in store.read("run/x")] == ["opened", "told"]


async def tell_more(ledger: Ledger) -> None:
    await ledger.append("told", {**TALK, "number": 1, "told": "small"})


@pytest.mark.parametrize(("wait", "texts"), [(tell_more, ["large", "small"]), (Ledger.settle, ["large"])])
async def test_what_could_not_be_written_is_written_before_what_comes_next(
    wait: Callable[[Ledger], Awaitable[None]], texts: list[str], tmp_path: Path
) -> None:
    async with SqliteStore.open(tmp_path / "state.db") as store:
        ledger = Ledger(store, "run/x", tmp_path)
        with refusing(tmp_path / "state.db", "NEW.data LIKE '%large%'"):
            ledger.append_soon("told", {**TALK, "number": 0, "told": "large"})
            for _ in range(2):
                with pytest.raises(StoreError):
                    await wait(ledger)
            assert store.read("run/x") == [], "no reply without the results that it was given"
            assert ledger.state.told["s", "e", "main"] == ["large"]
        await wait(ledger)
        kept: list[Any] = [record.data for record in store.read("run/x")]
        assert [one["told"] for one in kept] == texts == ledger.state.told["s", "e", "main"]
