"""One provider and several event loops: side by side, in turns, and one after another."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.harness import ASKED
from transom.llm import Text
from transom.llm.hosted.server import Clients


class Keeping(ThreadingHTTPServer):
    """A server that keeps its connections, as real ones do, until the other side lets go of them."""

    daemon_threads = True
    body = b""
    left: threading.Semaphore


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Keeping

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def finish(self) -> None:
        super().finish()
        self.server.left.release()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name that is overridden
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Keeping]:
    with Keeping(("127.0.0.1", 0), _Handler) as running:
        running.left = threading.Semaphore(0)
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What is closed because the garbage was collected is closed too late."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_connections_are_closed_with_the_loop_that_they_were_made_in(dialect: Dialect, server: Keeping) -> None:
    server.body = json.dumps(dialect.whole([Text("hi")])).encode()
    provider = dialect.provider(f"http://127.0.0.1:{server.server_port}", seconds=60, stream=False)
    for _ in range(3):
        assert asyncio.run(provider.complete(ASKED)).text == "hi"
        assert server.left.acquire(timeout=30), "the server still has the connection"


class Client:
    def __init__(self) -> None:
        self.open = True

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.open = False


def test_loops_in_turns_keep_their_clients() -> None:
    made: list[Client] = []

    def make() -> Client:
        made.append(Client())
        return made[-1]

    clients = Clients(make, Client.close)

    async def get() -> Client:
        return clients.get()

    with asyncio.Runner() as one, asyncio.Runner() as other:
        first, second = one.run(get()), other.run(get())
        assert [one.run(get()), other.run(get())] == [first, second] == made
        other.run(clients.aclose())
        assert (first.open, second.open) == (True, False), "another loop's is in use there"
        assert other.run(get()) is made[2]
    assert len(made) == 3
    assert not any(client.open for client in made)


@pytest.mark.slow
def test_a_loop_that_was_closed_in_a_hurry_leaves_nothing_behind() -> None:
    clients = Clients(Client, Client.close)

    async def get() -> Client:
        return clients.get()

    loop = asyncio.new_event_loop()
    lost, there = loop.run_until_complete(get()), weakref.ref(loop)
    loop.close()
    assert asyncio.run(get()) is not lost
    del loop
    gc.collect()
    assert there() is None
