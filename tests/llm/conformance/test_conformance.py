"""Each adapter under each behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.llm.conformance.behaviours import BEHAVIOURS, NOT_APPLICABLE, Behaviour
from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.harness import faults, run_cell
from tests.llm.conformance.server import LocalServer

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


def test_what_does_not_apply_is_named_with_a_reason() -> None:
    names, adapters = {one.name for one in BEHAVIOURS}, {one.name for one in DIALECTS}
    assert all(row in names and adapter in adapters and why for (row, adapter), why in NOT_APPLICABLE.items())
