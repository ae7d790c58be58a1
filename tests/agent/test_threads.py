"""Agents in several threads, each with an event loop of its own, that share a provider."""

from __future__ import annotations

import json
import threading

from tests.agent.helpers import SEAT
from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent, SyncAgent
from transom.config import OpenAISettings
from transom.llm import Text
from transom.llm.hosted import connect


def test_a_server_that_asks_one_to_wait_is_waited_for_by_all() -> None:
    refused = threading.Lock()

    def answer(wire: Wire, _: Seen) -> None:
        if refused.acquire(blocking=False):
            wire.answer(429, json.dumps(OpenAI().error("rate", "slowly")).encode(), {"retry-after": "0.5"})
        else:
            wire.answer(200, json.dumps(OpenAI().whole([Text("fine")])).encode())

    said: list[str] = []

    def talk() -> None:
        with SyncAgent(Agent(SEAT, provider=shared)) as agent:
            said.extend(agent.send(f"{number}").text for number in range(3))

    with LocalServer(answer) as server:
        shared = connect("openai:m-1", OpenAISettings(base_url=f"{server.url}/v1"), stream=False, environ={})
        threads = [threading.Thread(target=talk, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(50)
    assert said == ["fine"] * 9
    assert len(server.seen) >= 10
