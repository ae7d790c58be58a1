"""Graphiti as a memory, against a local stand-in of its MCP server."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from transom import Agent, Block, Role
from transom.errors import InputError, MemoryUnavailable
from transom.memory import GraphitiMemory, Memory, Recall
from transom.testing import ScriptedProvider

from .conformance import MemoryConformance

pytest.importorskip("mcp")

from .graphiti_server import DELAY, build


class TestGraphiti(MemoryConformance):
    def open(self, location: Path) -> Memory:
        # Whoever opens it later finds what the server has taken out of its queue by then.
        time.sleep(2 * DELAY)
        return GraphitiMemory(build(location / "episodes.json"), keeps_local=True)


def test_a_local_text_is_not_sent_to_the_model_of_the_server(tmp_path: Path) -> None:
    class Remote(MemoryConformance):
        def open(self, location: Path) -> Memory:
            return GraphitiMemory(build(location / "episodes.json"))

    with pytest.raises(pytest.skip.Exception, match="no local, and says so"):
        Remote().need(tmp_path, "local")
    assert "b" not in (tmp_path / "episodes.json").read_text().split('"content": ')[1][:4]


async def test_facts_lead_to_the_entries_that_they_came_of(tmp_path: Path) -> None:
    server = build(tmp_path / "episodes.json")
    async with GraphitiMemory(server) as memory:
        text = "The gateway fails under load. Its owner is Ann. It waits for the ledger."
        gateway = await memory.store(text, {"n": 1})
        await memory.store("The login page is blue.")
        await asyncio.sleep(2 * DELAY)
        (found,) = await memory.retrieve("owner of the gateway", 1)
        assert (found.entry.id, found.entry.content) == (gateway, text)
        assert dict(found.entry.metadata) == {"n": 1}
        assert len(await memory.retrieve("the gateway fails, the ledger, the owner", 5)) == 2
    # Another group sees nothing of it.
    async with GraphitiMemory(server, group="other") as memory:
        assert await memory.retrieve("gateway") == []


async def test_a_text_is_seen_before_the_server_lists_it(tmp_path: Path) -> None:
    server = build(tmp_path / "episodes.json")
    async with GraphitiMemory(server) as memory, GraphitiMemory(server) as other:
        key = await memory.store("shelf 7 holds the bolts")
        assert await memory.get(key) is not None
        assert await memory.store("shelf 7 holds the bolts") == key
        await asyncio.sleep(2 * DELAY)
        assert await other.get(key) is not None
        assert len(await other.retrieve("", 10)) == 1


def test_filters_that_it_lacks_are_refused_at_once(tmp_path: Path) -> None:
    memory = GraphitiMemory(build(tmp_path / "episodes.json"))
    with pytest.raises(InputError, match="cannot search with filters"):
        Recall(memory, filters={"feature": "F1"})


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the stand-in over HTTP; yields its URL and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.memory.graphiti_server"]
    with subprocess.Popen(
        [*command, str(folder / "episodes.json"), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        try:
            yield f"http://127.0.0.1:{port}/mcp", process
        finally:
            process.kill()


CLERK = Role(
    "clerk",
    (Block("role", "You know the stock."),),
    frozenset({"role", "memory"}),
    strategy="memory",
)


@pytest.mark.parametrize("answered", [0, 1, 2])
async def test_a_server_that_dies_stops_no_run_and_is_reported(
    tmp_path: Path, answered: int, caplog: pytest.LogCaptureFixture
) -> None:
    replies = ["Shelf 7 holds the bolts.", "On shelf 7.", "Still on shelf 7."]
    provider = ScriptedProvider({"clerk": replies})
    with served(tmp_path) as (url, process):
        recall = Recall(GraphitiMemory(url, keeps_local=True, seconds=5))
        async with Agent(CLERK, provider=provider, sources=[recall]) as agent:
            for number in range(3):
                if number == answered:
                    process.kill()
                    process.wait()
                reply = await agent.send(f"Where are the bolts? ({number})")
                assert reply.text == replies[number]
        assert recall.status == "broken"
        assert isinstance(recall.error, MemoryUnavailable)
    assert "the run goes on without it" in caplog.text
