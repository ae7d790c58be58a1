"""Each adapter under each behaviour."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from tests.llm.conformance.behaviours import BEHAVIOURS, NOT_APPLICABLE, TEXT, Behaviour
from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.harness import faults, run_cell
from tests.llm.conformance.server import Answer, LocalServer, Seen, Wire
from tests.llm.conformance.structured import ADAPTERS, ASKINGS, Asking, ask
from tests.llm.conformance.structured import faults as structured_faults

CELLS = [
    (dialect, one)
    for dialect in DIALECTS
    for one in BEHAVIOURS
    if (one.name, dialect.name) not in NOT_APPLICABLE
]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        # an SDK's first request imports for a second, which short deadlines would count
        for dialect in DIALECTS:
            asyncio.run(run_cell(running, dialect, BEHAVIOURS[0]))
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "behaviour"), CELLS, ids=[f"{one.name}-{row.name}" for one, row in CELLS]
)
async def test_a_cell(dialect: Dialect, behaviour: Behaviour, server: LocalServer) -> None:
    assert faults(await run_cell(server, dialect, behaviour), dialect, behaviour) == []


@pytest.mark.parametrize("asking", ASKINGS, ids=lambda one: one.name)
@pytest.mark.parametrize("dialect", ADAPTERS, ids=lambda one: one.title)
async def test_an_answer_that_is_to_follow_a_schema(
    dialect: Dialect, asking: Asking, server: LocalServer
) -> None:
    assert structured_faults(await ask(server, dialect, asking), dialect, asking) == []


def _left_open(frames: slice, *, drips: bool = False) -> Callable[[Dialect], Answer]:
    """These frames of a stream, behind which the server holds the connection and, at times,
    keeps it awake.
    """

    def made(dialect: Dialect) -> Answer:
        def answer(wire: Wire, _: Seen) -> None:
            wire.begin(dialect.stream_type)
            for piece in dialect.pieces((TEXT,))[frames]:
                wire.chunk(piece)
            for _nth in range(600):
                wire.wait(0.1)
                if drips:
                    wire.chunk(b"\n" if "ndjson" in dialect.stream_type else b": awake\n\n")

        return answer

    return made


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "kept awake"])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_stream_left_open_behind_its_end_is_closed_here(
    dialect: Dialect, drips: bool, server: LocalServer
) -> None:
    asked = Behaviour(
        "left open", _left_open(slice(None), drips=drips), (TEXT,), stream=True, seconds=60
    )
    began = time.monotonic()
    cell = await run_cell(server, dialect, asked)
    assert faults(cell, dialect, asked) == []
    assert time.monotonic() - began < 20  # of the minute that it may take


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_stream_torn_behind_its_end_is_a_reply(
    dialect: Dialect, server: LocalServer
) -> None:
    def torn(wire: Wire, _: Seen) -> None:
        wire.begin(dialect.stream_type)
        for piece in dialect.pieces((TEXT,)):
            wire.chunk(piece)
        wire.send(b"ff\r\nhalf a chunk")

    asked = Behaviour("torn behind its end", lambda _: torn, (TEXT,), stream=True)
    assert faults(await run_cell(server, dialect, asked), dialect, asked) == []


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.last], ids=lambda one: one.name)
async def test_a_stream_that_tells_all_but_its_end_is_a_reply_when_the_time_is_over(
    dialect: Dialect, server: LocalServer
) -> None:
    # a busy machine may take longer to send it; one is waited for in full
    for seconds in (0.5, 2.0, 20.0):
        untold = _left_open(slice(None, -dialect.last))
        cell = await run_cell(
            server, dialect, Behaviour("no end", untold, (TEXT,), stream=True, seconds=seconds)
        )
        if cell.reply:
            break
    assert cell.reply is not None, cell.error
    assert (cell.reply.parts, cell.reply.stop, cell.reply.usage) == ((TEXT,), "end", dialect.usage)


def test_what_does_not_apply_is_named_with_a_reason() -> None:
    names, adapters = {one.name for one in BEHAVIOURS}, {one.name for one in DIALECTS}
    assert all(
        row in names and adapter in adapters and why
        for (row, adapter), why in NOT_APPLICABLE.items()
    )
