"""Conversations and tokenizers to try windows with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from transom.context import History, go_on
from transom.llm import (
    AssistantMessage,
    Block,
    Request,
    Role,
    Text,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    UserMessage,
)

Tokenizer = Callable[[str], int]

WORDS = (
    "the timing report of block core says that slack is met in every corner but one and nothing"
    " else was found"
)
PROSE = (WORDS + ". ") * 3
ROW = '{"id": 4711, "path": "u_core/u_alu/reg_12", "slack": -0.0134, "ok": false}, '
LOG = (
    "2026-11-22T09:31:07.123 WARN [STA-1042] /u_core/u_alu/reg_12/D: slack -0.013 (VIOLATED) 12 of"
    " 480\n"
)
CODE = "    if result.slack < 0:\n        found.append((path, result.slack))  # violated\n"
KINDS = (PROSE, ROW, LOG, CODE)

_PIECES = re.compile(r" ?[A-Za-z]+|[0-9]{1,3}|\s+|[^\sA-Za-z0-9]{1,2}")
_SMALL = re.compile(r" ?[A-Za-z]{1,5}|[0-9]|\s|[^\sA-Za-z0-9]")


def pieces(text: str) -> int:
    """Like a large vocabulary: whole words, three digits, runs of spaces."""
    return len(_PIECES.findall(text))


def small(text: str) -> int:
    """Like a small one: parts of words, each digit and mark by itself; about twice as many."""
    return len(_SMALL.findall(text))


def even(text: str) -> int:
    """One that cuts everything into bytes of equal number."""
    return len(text.encode("utf-8", "surrogatepass")) * 10 // 37


TOKENIZERS: Sequence[Tokenizer] = (pieces, small, even)


def call(
    number: int, result: str = "fine", *, tool: str = "look", is_error: bool = False
) -> tuple[Turn, Turn]:
    """A call and its result."""
    ident = f"c{number}"
    said = AssistantMessage((Text("I look."), ToolCallPart(ident, tool, {"number": number})))
    return said, ToolResults((ToolResultPart(ident, tool, result, is_error=is_error),))


def exchange(number: int, kind: str = PROSE, size: int = 300) -> list[Turn]:
    """A question, a call with its result, an answer: two events."""
    text = (f"{number}: " + kind * (size // len(kind) + 1))[:size]
    return [
        UserMessage(f"What of {number}?"),
        *call(number, text),
        AssistantMessage((Text(f"It is {number}."),)),
    ]


kinds = st.sampled_from(KINDS)
sizes = st.integers(20, 2_000)


@st.composite
def turns(draw: st.DrawFn, most: int = 120) -> list[Turn]:
    """Any conversation that can be: questions, answers, calls alone or several at once, failed
    ones.
    """
    made: list[Turn] = []
    for number in range(draw(st.integers(0, most))):
        what = draw(st.sampled_from(["ask", "say", "call", "call", "fail", "both"]))
        text = (draw(kinds) * 20)[: draw(sizes)]
        if what == "ask":
            made.append(UserMessage(text))
        elif what == "say":
            made.append(AssistantMessage((Text(text),)))
        elif what == "both":
            ids = (f"a{number}", f"b{number}")
            made.append(
                AssistantMessage(tuple(ToolCallPart(ident, "look", {"n": number}) for ident in ids))
            )
            made.append(
                ToolResults(
                    tuple(
                        ToolResultPart(ident, "look", text, is_error=ident == "b7") for ident in ids
                    )
                )
            )
        else:
            made += call(
                number, "no such file" if what == "fail" else text, is_error=what == "fail"
            )
    return made


def orphans(made: Sequence[Turn]) -> list[str]:
    """Calls without their results right behind them, results without their calls right before
    them.
    """
    wrong: list[str] = []
    for index, turn in enumerate(made):
        if isinstance(turn, AssistantMessage) and turn.calls:
            after = made[index + 1] if index + 1 < len(made) else None
            if not isinstance(after, ToolResults) or [one.id for one in after.results] != [
                c.id for c in turn.calls
            ]:
                wrong.append(f"turn {index}: calls without results")
        if isinstance(turn, ToolResults):
            before = made[index - 1] if index else None
            if not isinstance(before, AssistantMessage) or [c.id for c in before.calls] != [
                one.id for one in turn.results
            ]:
                wrong.append(f"turn {index}: results without calls")
    return wrong


def assembled(
    role: Role, blocks: Sequence[Block], turns: Sequence[Turn] = (), **more: Any
) -> Request:
    """The request of a conversation of these turns."""
    return go_on(role, blocks, History.of(turns), **more).request
