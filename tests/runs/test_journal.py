"""What folding a journal yields where a conversation was told otherwise than before."""

from __future__ import annotations

from typing import Any

from transom.runs.journal import RunState, apply

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
