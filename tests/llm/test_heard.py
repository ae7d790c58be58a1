"""What a listener has heard is either of the reply that comes, or is said to be void before
another one begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from transom.errors import EgressError, NetworkFailed, ProviderError
from transom.llm import (
    Again,
    Block,
    Chain,
    OnDelta,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Window,
)
from transom.llm.deltas import Delta

SEAT = Role("p.seat", (Block("role", "You talk."),), frozenset({"role"}))
ASK = Request("p.seat", Window((Block("ask", "what"),)))
HALF = (Text("Half "), Text("of "))


class Breaks(ScriptedProvider):
    """Says so much and breaks off, the first `times` that it is asked; then it answers."""

    def __init__(
        self, *pieces: Delta, name: str = "a", times: int = 1, error: Exception | None = None
    ) -> None:
        super().__init__({"p.seat": ["again"]}, name=name)
        self._pieces, self._times = pieces, times
        self._error = error or NetworkFailed("cut, SECRET")

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        if self._times == 0:
            return await super().complete(request, on_delta=on_delta)
        self._times -= 1
        for piece in self._pieces:
            if on_delta:
                on_delta(piece)
        if isinstance(self._error, TimeoutError):
            await asyncio.sleep(60)
        raise self._error


def answers(name: str = "b", **more: Any) -> ScriptedProvider:
    return ScriptedProvider({"p.seat": ["whole"]}, name=name, **more)


NOW_B = Again("a failed with NetworkFailed")
WHOLE = Text("whole")


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (HALF, [*HALF, NOW_B, WHOLE]),
        ((), [WHOLE]),
        ((*HALF, Again("once more")), [*HALF, Again("once more"), WHOLE]),
        (
            (*HALF, Again("once more"), Text("Ha")),
            [*HALF, Again("once more"), Text("Ha"), NOW_B, WHOLE],
        ),
    ],
    ids=["pieces", "nothing", "void already", "pieces behind what is void"],
)
async def test_a_chain_that_falls_back_says_that_what_was_heard_is_void(
    pieces: Sequence[Delta], heard: list[Delta]
) -> None:
    told: list[Delta] = []
    chain = Chain((Breaks(*pieces), answers()))
    assert (await chain.answer(ASK, on_delta=told.append)).text == "whole"
    assert told == heard
    assert (await Chain((Breaks(*pieces), answers())).answer(ASK)).text == "whole", (
        "nobody has to listen"
    )


async def test_each_of_several_that_break_off_is_void() -> None:
    told: list[Delta] = []
    chain = Chain(
        (Breaks(Text("one")), Breaks(name="silent"), Breaks(Text("three"), name="c"), answers())
    )
    await chain.answer(ASK, on_delta=told.append)
    assert told == [Text("one"), NOW_B, Text("three"), Again("c failed with NetworkFailed"), WHOLE]


async def test_where_nobody_else_is_asked_nothing_begins_again() -> None:
    told: list[Delta] = []
    with pytest.raises(ProviderError):
        await Chain((Breaks(*HALF),)).answer(ASK, on_delta=told.append)
    kept = Request("p.seat", Window((Block("ask", "what", egress="local"),)))
    with pytest.raises(EgressError):
        await Chain((Breaks(*HALF), answers(local=False))).answer(kept, on_delta=told.append)
    assert told == [*HALF, *HALF]
