"""What a run waits for: an answer goes to one thing, and nothing local gets into an error."""

from __future__ import annotations

from typing import Any

import pytest

from transom.errors import InputError
from transom.llm import Reply, ToolCallPart
from transom.runs.journal import RunState, apply
from transom.runs.questions import APPROVAL, BEGUN, Choice, chosen, how_to_answer, in_full, of_call

KEY: dict[str, Any] = {"stage": "s", "epoch": "", "conversation": "main", "ordinal": 0, "call": 0}
CALL = ToolCallPart("1", "wire", {"at": "HUSH"})
FILE: Choice = {"stage": "s", "fingerprint": "f" * 64, "edited": "e", "file": "s/s.md"}


def state(*choices: Choice) -> RunState:
    """A conversation whose last reply makes the call, and what waits in it."""
    found = RunState()
    reply = Reply((CALL,), stop="tool_calls").to_json()
    apply(found, "user_message", {**KEY, "text": "pay", "fingerprint": "f"})
    apply(found, "model_reply", {**KEY, "reply": reply})
    for choice in choices:
        apply(found, "paused", {"stage": choice["stage"], "reason": "why", "choice": choice})
    return found


def test_what_is_local_is_in_no_error() -> None:
    local = [of_call(APPROVAL, KEY, CALL, digit * 64, "local") for digit in "12"]
    with pytest.raises(
        InputError,
        match=r"--question 11111111: wire\(\.\.\.\); --question 22222222: wire\(\.\.\.\)",
    ) as error:
        chosen("run", state(*local).waiting, None)
    assert "HUSH" not in str(error.value) and "HUSH" in in_full(local[0])
    assert "HUSH" not in how_to_answer("run", local[0])


def test_a_file_and_calls_of_one_stage_wait_beside_each_other() -> None:
    calls = [
        of_call(kind, KEY, CALL, digit * 64) for kind, digit in ((APPROVAL, "1"), (BEGUN, "2"))
    ]
    found = state(FILE, *calls)
    with pytest.raises(InputError, match=r"3 answers are waited for: .*--question s: s"):
        chosen("run", found.waiting, "s")
    assert [chosen("run", found.waiting, digit * 8) for digit in "12"] == calls
    with pytest.raises(InputError, match="question ffffffff of run run waits for no answer"):
        chosen("run", found.waiting, "f" * 8)
    apply(
        found, "decided", {"stage": "s", "fingerprint": "1" * 64, "edited": "", "answer": "approve"}
    )
    assert [*found.waiting.values()] == [FILE, calls[1]]
    apply(found, "tool_result", {**KEY, "outcome": {"result": {}}})
    assert [*found.waiting.values()] == [FILE], "whatever it was answered with"
