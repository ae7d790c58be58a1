"""Each adapter under each behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.llm.conformance.behaviours import BEHAVIOURS, NOT_APPLICABLE, TEXT, Behaviour
from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.harness import faults, run_cell
from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.llm.conformance.structured import ADAPTERS, ASKINGS, Asking, ask
from tests.llm.conformance.structured import faults as structured_faults

CELLS = [(dialect, one) for dialect in DIALECTS for one in BEHAVIOURS if (one.name, dialect.name) not in NOT_APPLICABLE]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        for dialect in DIALECTS:  # an SDK's first request imports for a second, which short deadlines would count
            asyncio.run(run_cell(running, dialect, BEHAVIOURS[0]))
        yield running


@pytest.mark.parametrize(("dialect", "behaviour"), CELLS, ids=[f"{one.name}-{row.name}" for one, row in CELLS])
async def test_a_cell(dialect: Dialect, behaviour: Behaviour, server: LocalServer) -> None:
    assert faults(await run_cell(server, dialect, behaviour), dialect, behaviour) == []


@pytest.mark.parametrize("asking", ASKINGS, ids=lambda one: one.name)
@pytest.mark.parametrize("dialect", ADAPTERS, ids=lambda one: one.title)
async def test_an_answer_that_is_to_follow_a_schema(dialect: Dialect, asking: Asking, server: LocalServer) -> None:
    assert structured_faults(await ask(server, dialect, asking), dialect, asking) == []


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_stream_that_was_sent_whole_and_is_never_closed_is_a_reply(
    dialect: Dialect, server: LocalServer
) -> None:
    def never_closed(wire: Wire, _: Seen) -> None:
        wire.begin(dialect.stream_type)
        for piece in dialect.pieces((TEXT,)):
            wire.chunk(piece)
        wire.wait(60)

    for seconds in (0.15, 2.0, 20.0):  # a busy machine may take longer to send it; one is waited for in full
        asked = Behaviour("never closed", lambda _: never_closed, (TEXT,), stream=True, seconds=seconds)
        cell = await run_cell(server, dialect, asked)
        if cell.reply:
            break
    assert cell.reply is not None, cell.error
    assert (cell.reply.parts, cell.reply.stop, cell.reply.usage) == ((TEXT,), "end", dialect.usage)


def test_what_does_not_apply_is_named_with_a_reason() -> None:
    names, adapters = {one.name for one in BEHAVIOURS}, {one.name for one in DIALECTS}
    assert all(row in names and adapter in adapters and why for (row, adapter), why in NOT_APPLICABLE.items())
