"""What folding a journal yields, and what is said of a write that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runs.helpers import journal_of
from tests.store.refusing import refusing
from transom.errors import StoreError
from transom.llm import Reply, Text, ToolCallPart, ToolResultPart, Usage
from transom.runs.conversation import ConversationKey
from transom.runs.event_log import RunHost
from transom.runs.journal import RunState, apply
from transom.store import SqliteStore

KEY = ConversationKey("s", "e", "main")
TALK: dict[str, Any] = KEY._asdict()


def said(number: int, text: str) -> dict[str, Any]:
    return {**TALK, "text": text, "fingerprint": f"f{number}"}


def replied(state: RunState, ordinal: int, reply: Reply, **more: Any) -> None:
    apply(state, "model_reply", {**TALK, "ordinal": ordinal, "reply": reply.to_json(), **more})


def answer(text: str) -> Reply:
    return Reply((Text(text),), usage=Usage(2, 1), by="scripted")


def texts(state: RunState) -> list[str]:
    return [
        part.text  # type: ignore[union-attr]
        for turn in state.conversation(KEY).turns
        for part in getattr(turn, "parts", (turn,))
    ]


def talk() -> RunState:
    state = RunState()
    for number, text in enumerate("abc"):
        apply(state, "user_message", said(number, text))
        replied(state, number, answer(f"to {text}"))
    return state


def test_a_message_has_its_answer_and_what_was_used_by_then() -> None:
    state = talk()
    assert texts(state) == ["a", "to a", "b", "to b", "c", "to c"]
    messages = state.conversation(KEY).messages
    assert [one.answer.text for one in messages if one.answer] == ["to a", "to b", "to c"]
    assert [one.usage.input_tokens for one in messages] == [2, 4, 6]


def test_a_reply_of_this_process_is_taken_in_only_with_its_own_record() -> None:
    """The state is the same as the one that is folded from the journal."""
    call = Reply((Text("I look"), ToolCallPart("c1", "look", {"at": ["x"]})), "tool_calls")
    folded, live = RunState(), RunState()
    for state in (folded, live):
        apply(state, "user_message", said(0, "go"))
    replied(folded, 0, call)
    conversation = live.conversation(KEY)
    record: dict[str, Any] = {**TALK, "ordinal": 0, "reply": call.to_json()}
    # A record that another task had appended is applied before the one of this reply.
    conversation.arriving = record["reply"], answer("another reply")
    replied(live, 0, call)
    assert live == folded
    conversation.arriving = record["reply"], call
    record["ordinal"] = 1
    apply(live, "model_reply", record)
    replied(folded, 1, call)
    assert live == folded
    assert conversation.pending is call
    assert conversation.arriving is None


def test_a_reset_takes_back_what_was_said_from_there_on_and_what_it_cost_stays() -> None:
    state = talk()
    apply(state, "reset", {**TALK, "to": 1, "turns": 2})
    assert texts(state) == ["a", "to a"]
    apply(state, "user_message", said(1, "B"))
    replied(state, 3, answer("to B"))
    assert texts(state) == ["a", "to a", "B", "to B"]
    assert state.conversation(KEY).messages[1].usage.input_tokens == 8
    assert state.conversation(KEY).message_of(1) is None


def test_another_message_cuts_off_what_has_no_result() -> None:
    state = RunState()
    apply(state, "user_message", said(0, "go"))
    replied(
        state, 0, Reply((ToolCallPart("1", "t", {}), ToolCallPart("2", "t", {})), stop="tool_calls")
    )
    outcome = {"result": ToolResultPart("1", "t", "well").to_json()}
    apply(state, "tool_result", {**TALK, "ordinal": 0, "call": 0, "outcome": outcome})
    apply(state, "user_message", said(1, "more"))
    results = state.conversation(KEY).turns[2].results  # type: ignore[union-attr]
    assert [one.is_error for one in results] == [False, True] and "cut off" in results[1].content


def test_an_answer_that_breaks_its_schema_twice_is_taken_back() -> None:
    state = RunState()
    apply(state, "user_message", said(0, "go"))
    replied(state, 0, answer("no JSON"), status="repair")
    apply(state, "user_message", {**TALK, "text": "mend it"})
    assert texts(state) == ["go", "no JSON", "mend it"]
    replied(state, 1, answer("nor this"), status="failed")
    assert texts(state) == ["go"]
    replied(state, 2, answer("1"))
    assert texts(state) == ["go", "1"]


async def test_a_write_that_nobody_waited_for_fails_with_the_next_one(tmp_path: Path) -> None:
    def full(number: int) -> None:
        if number == 2:
            raise StoreError("the disk is full")

    async with SqliteStore.open(tmp_path / "state.db", after_append=full) as store:
        ledger = journal_of(store, tmp_path)
        await ledger.append("opened", {})
        ledger.append_soon("user_message", said(0, "a"))
        with pytest.raises(StoreError, match="the disk is full"):
            await ledger.append("user_message", said(1, "b"))


async def test_a_cancelled_task_leaves_the_state_as_the_journal_is(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "state.db") as store:
        ledger = journal_of(store, tmp_path)
        await ledger.append("opened", {})
        writing = asyncio.create_task(ledger.append("user_message", said(0, "a")))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert texts(ledger.state) == ["a"]
        assert [record.kind for record in store.read("run/x")] == ["opened", "user_message"]


async def say_more(ledger: RunHost) -> None:
    await ledger.append("user_message", said(1, "small"))


@pytest.mark.parametrize(
    ("wait", "kept"), [(say_more, ["large", "small"]), (RunHost.settle, ["large"])]
)
async def test_what_could_not_be_written_is_written_before_what_comes_next(
    wait: Callable[[RunHost], Awaitable[None]], kept: list[str], tmp_path: Path
) -> None:
    async with SqliteStore.open(tmp_path / "state.db") as store:
        ledger = journal_of(store, tmp_path)
        with refusing(tmp_path / "state.db", "NEW.data LIKE '%large%'"):
            ledger.append_soon("user_message", said(0, "large"))
            for _ in range(2):
                with pytest.raises(StoreError):
                    await wait(ledger)
            assert store.read("run/x") == [], "no reply without the results that it was given"
            assert texts(ledger.state) == ["large"]
        await wait(ledger)
        found: list[Any] = [record.data for record in store.read("run/x")]
        assert [one["text"] for one in found] == kept == texts(ledger.state)
