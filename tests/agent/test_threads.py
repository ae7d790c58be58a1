"""Agents in several threads, each with an event loop of its own, that share a provider."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from tests.agent.helpers import SEAT
from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, SyncAgent
from transom.config import OpenAISettings
from transom.errors import RunError
from transom.llm import Request, ScriptedProvider, Text
from transom.llm.hosted import connect


def test_a_server_that_asks_one_to_wait_is_waited_for_by_all() -> None:
    refused = threading.Lock()

    def answer(wire: Wire, _: Seen) -> None:
        if refused.acquire(blocking=False):
            wire.answer(
                429, json.dumps(OpenAI().error("rate", "slowly")).encode(), {"retry-after": "0.5"}
            )
        else:
            wire.answer(200, json.dumps(OpenAI().whole([Text("fine")])).encode())

    said: list[str] = []

    def talk() -> None:
        with SyncAgent(Agent(SEAT, provider=shared)) as agent:
            said.extend(agent.send(f"{number}").text for number in range(3))

    with LocalServer(answer) as server:
        shared = connect(
            "openai:m-1", OpenAISettings(base_url=f"{server.url}/v1"), stream=False, environ={}
        )
        threads = [threading.Thread(target=talk, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(50)
    assert said == ["fine"] * 9
    assert len(server.seen) >= 10


def beside(
    door: SyncAgent, words: str, entered: threading.Event, go: threading.Event, said: list[str]
) -> None:
    """While a thread says something, whose `entered` is set in the middle of it, another one is
    refused.
    """
    thread = threading.Thread(target=lambda: said.append(door.send(words).text), daemon=True)
    thread.start()
    try:
        assert entered.wait(30)
        with pytest.raises(
            RunError,
            match=r"something is under way in it, in another thread.*one message at a time",
        ):
            door.send("beside")
    finally:
        go.set()
        thread.join(30)


def test_a_door_takes_one_thing_at_a_time_whoever_asks() -> None:
    entered, go = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        entered.set()
        go.wait(30)
        return f"{len(request.window.turns)}"

    said: list[str] = []
    with SyncAgent(Agent(SEAT, provider=ScriptedProvider(answer))) as door:
        beside(door, "one", entered, go, said)
        assert [*said, door.send("two").text] == ["1", "3"]


def test_two_that_find_a_door_free_do_not_both_go_in() -> None:
    entered, go = threading.Event(), threading.Event()

    def begin_late(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        if not entered.is_set() and not loop.is_running():
            entered.set()
            go.wait(30)
        return asyncio.Task(work, loop=loop, **more)

    def answer(request: Request) -> str:
        asyncio.get_running_loop().set_task_factory(begin_late)
        return f"{len(request.window.turns)}"

    said: list[str] = []
    with SyncAgent(Agent(SEAT, provider=ScriptedProvider(answer))) as door:
        assert door.send("zero").text == "1"
        beside(door, "one", entered, go, said)
        assert [*said, door.send("two").text] == ["3", "5"]
