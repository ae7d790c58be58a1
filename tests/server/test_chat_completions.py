"""An agent behind OpenAI's API of chat completions, asked by OpenAI's own SDK."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.cli.helpers import COMMAND, clean_environment
from transom import Agent, tool
from transom.errors import ProviderError
from transom.llm import Provider, Reply, Request, ScriptedProvider, Text, ToolResults, Usage
from transom.runs import Workspace
from transom.server import build_agent_app, listen, serve
from transom.testing import asks

TOKEN = "correct-horse-battery-staple"


@tool(effect="pure", trust="ours")
def count(item: str) -> str:
    """Count what is in stock of an item."""
    return f"{item}: 7 left"


@tool(effect="once", needs_approval=True)
def order(item: str) -> str:
    """Order more of an item."""
    return f"ordered {item}"


@contextmanager
def serving(provider: Provider, folder: Path) -> Iterator[openai.OpenAI]:
    """A client of a real server."""
    agent = Agent("You know the stock.", tools=[count, order], provider=provider)
    workspace = Workspace.at(folder / ".transom")
    store = workspace.open_store()
    listener, url = listen("127.0.0.1", 0)
    app = build_agent_app(agent, "clerk", workspace, store, TOKEN)
    # A daemon: it ends with the tests.
    threading.Thread(target=serve, args=(app, listener), daemon=True).start()
    with openai.OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0) as client:
        yield client


def said(*texts: str) -> list[Any]:
    """Messages in turn: of the user, of the assistant, ..."""
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]


def test_a_conversation_goes_on_with_the_tool_calls_that_it_had(tmp_path: Path) -> None:
    script = ScriptedProvider({"agent": [asks("count", item="bolts"), "There are 7.", "Still 7."]})
    with serving(script, tmp_path) as client:
        assert [model.id for model in client.models.list()] == ["clerk"]
        first = client.chat.completions.create(model="clerk", messages=said("How many bolts?"))
        (choice,) = first.choices
        assert (choice.message.content, choice.finish_reason) == ("There are 7.", "stop")
        assert first.usage is not None
        assert first.usage.completion_tokens > 0
        messages = said("How many bolts?", "There are 7.", "And now?")
        second = client.chat.completions.create(model="clerk", messages=messages)
        assert second.choices[0].message.content == "Still 7."
    # The client sent texts alone; the agent has the result of the tool all the same.
    turns = script.requests[-1].window.turns
    assert [turn for turn in turns if isinstance(turn, ToolResults)] != []
    # Its tokens are those of this message, and not of the conversation.
    assert second.usage is not None
    assert second.usage.prompt_tokens < first.usage.prompt_tokens


def test_an_earlier_conversation_is_told_and_a_branch_is_a_conversation_of_its_own(
    tmp_path: Path,
) -> None:
    script = ScriptedProvider({"agent": ["7.", "Red.", "Blue.", "Green."]})
    with serving(script, tmp_path) as client:

        def ask(*texts: str) -> str:
            answer = client.chat.completions.create(model="clerk", messages=said(*texts))
            return str(answer.choices[0].message.content)

        assert ask("How many?") == "7."
        assert ask("How many?", "7.", "Which colour?") == "Red."
        # The same history again, as a front end sends it that asks for another answer.
        assert ask("How many?", "7.", "Which colour?") == "Blue."
        assert ask("Never seen", "here", "Well?") == "Green."
    assert [len(request.window.turns) for request in script.requests] == [1, 3, 1, 1]
    (branch,) = script.requests[2].window.turns
    assert "user: How many?\n\nassistant: 7.\n\nThe message:\n\nWhich colour?" in branch.text  # type: ignore[union-attr]  # it is a user's


class Gated(Provider):
    """Sends the second half of an answer when the test has the first."""

    name = "gated"
    local = True

    def __init__(self) -> None:
        self.has_first = threading.Event()
        self.was_stopped = threading.Event()

    async def complete(self, request: Request, *, on_delta: Any = None) -> Reply:
        assert on_delta is not None
        on_delta(Text("Seven"))
        try:
            while not self.has_first.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.was_stopped.set()
            raise
        on_delta(Text(" bolts."))
        return Reply((Text("Seven bolts."),), usage=Usage(10, 3))


def test_the_first_piece_arrives_before_the_second_is_made(tmp_path: Path) -> None:
    provider = Gated()
    with serving(provider, tmp_path) as client:
        stream = client.chat.completions.create(
            model="clerk",
            messages=said("How many?"),
            stream=True,
            stream_options={"include_usage": True},
        )
        pieces, reasons, usages = [], [], []
        for chunk in stream:
            for choice in chunk.choices:
                pieces.append(choice.delta.content or "")
                reasons.append(choice.finish_reason)
            if pieces[-1] == "Seven":
                assert not provider.has_first.is_set()
                provider.has_first.set()
            if chunk.usage:
                usages.append((chunk.usage.prompt_tokens, chunk.usage.completion_tokens))
    assert pieces == ["", "Seven", " bolts.", ""]
    assert reasons == [None, None, None, "stop"]
    assert usages == [(10, 3)]


def test_a_client_that_leaves_stops_the_message(tmp_path: Path) -> None:
    provider = Gated()
    with serving(provider, tmp_path) as client:
        stream = client.chat.completions.create(
            model="clerk", messages=said("How many?"), stream=True
        )
        for chunk in stream:
            if chunk.choices[0].delta.content == "Seven":
                break
        stream.close()
        assert provider.was_stopped.wait(20)


def test_errors_are_those_that_the_sdk_knows(tmp_path: Path) -> None:
    script = ScriptedProvider(
        {
            "agent": [
                ProviderError("the model is down"),
                ProviderError("it is down"),
                asks("order", item="nuts"),
            ]
        }
    )
    with serving(script, tmp_path) as client:
        create: Any = client.chat.completions.create
        with pytest.raises(openai.InternalServerError, match="the model is down"):
            create(model="clerk", messages=said("How many?"))
        with pytest.raises(openai.APIError, match="it is down"):
            list(create(model="clerk", messages=said("How many?"), stream=True))
        with pytest.raises(openai.UnprocessableEntityError, match="a person has to decide first"):
            create(model="clerk", messages=said("Order nuts."))
        stranger = client.with_options(api_key="wrong")
        with pytest.raises(openai.AuthenticationError):
            stranger.chat.completions.create(model="clerk", messages=said("How many?"))
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{", "the body is no JSON"),
        (b"[]", "the body is no JSON object"),
        (b"[" * 5_000, "the body is no JSON"),
        (b"{}", "messages: there is no message"),
        (b'{"messages": [{"role": "tool", "content": "x"}]}', "its role is 'tool'"),
        (b'{"messages": [{"role": "assistant", "content": "x"}]}', "the last message is of assis"),
        (b'{"messages": [{"role": "user", "content": " "}]}', "the last message is of user, or b"),
        (b'{"messages": [{"role": "user"}]}', "it holds something else than text"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "it holds something else than text",
        ),
        (b'{"messages": [{"role": "user", "content": "x"}], "n": 2}', "n: an agent gives one"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tools": [1]}', "an agent has its own"),
        (
            b'{"messages": [{"role": "user", "content": "x"}],'
            b' "response_format": {"type": "json_object"}}',
            "response_format: an agent has its own form",
        ),
        (b'{"messages": ["x"]}', "its role is None"),
    ],
)
def test_a_request_that_means_something_else_is_refused(
    tmp_path: Path, body: bytes, problem: str
) -> None:
    script = ScriptedProvider({"agent": []})
    with serving(script, tmp_path) as client:
        answer = httpx.post(
            f"{client.base_url}chat/completions",
            content=body,
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
    assert answer.status_code == 400
    assert problem in answer.json()["error"]["message"]
    assert script.requests == []


MODULE = """
import os, signal
from pathlib import Path
from transom import Agent, tool
from transom.llm import ToolResults
from transom.testing import ScriptedProvider, asks

@tool(effect="once")
def order(item: str) -> str:
    "Order more of an item."
    with open("orders.txt", "a") as file:
        file.write(item + "\\n")
    return "ordered"

def script(request):
    with open("calls.txt", "a") as file:
        file.write(str(len(request.window.turns)) + "\\n")
    if not isinstance(request.window.turns[-1], ToolResults):
        return asks("order", item="nuts")
    if not Path("was-killed").exists():
        Path("was-killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "It is ordered."

clerk = Agent("You order.", tools=[order], provider=ScriptedProvider(script))
"""


SHELF = """
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from transom import Agent, McpServer
from transom.llm import ToolResults
from transom.testing import ScriptedProvider, asks

SERVER = '''
from mcp.server import MCPServer
server = MCPServer("shelf")
@server.tool()
def count(item: str) -> str:
    return f"{item}: 9 left"
server.run("stdio")
'''

def script(request):
    last = request.window.turns[-1]
    return last.results[0].content if isinstance(last, ToolResults) else asks("count", item="nuts")

@asynccontextmanager
async def clerk():
    try:
        async with McpServer([sys.executable, "-c", SERVER]) as server:
            yield Agent("You count.", tools=server.tools, provider=ScriptedProvider(script))
    finally:
        Path("closed.txt").touch()
"""


@contextmanager
def command(folder: Path, end: int = signal.SIGKILL) -> Iterator[openai.OpenAI]:
    """A client of `transom serve --agent`."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--agent", "shop:clerk", "--port", "0"],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url, key, model = [re.split(r" +", line.strip())[1] for line in lines]
        assert model == "clerk"
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as client:
            yield client
    finally:
        os.kill(process.pid, end)
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_an_agent_with_the_tools_of_a_server_is_served(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHELF, encoding="utf-8")
    with command(tmp_path, signal.SIGINT) as client:
        for _ in range(2):
            answer = client.chat.completions.create(model="clerk", messages=said("How many?"))
            assert "nuts: 9 left" in str(answer.choices[0].message.content)
        assert not (tmp_path / "closed.txt").exists()
    assert (tmp_path / "closed.txt").exists()


@pytest.mark.slow
def test_a_repeated_request_goes_on_after_a_kill_and_nothing_is_done_twice(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(MODULE, encoding="utf-8")
    request: Any = {
        "model": "clerk",
        "messages": said("Order nuts."),
        "extra_headers": {"Idempotency-Key": "monday-1"},
    }
    with command(tmp_path) as client, pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(**request)
    with command(tmp_path) as client:
        answer = client.chat.completions.create(**request)
        assert answer.choices[0].message.content == "It is ordered."
        again = client.chat.completions.create(**request)
        assert again.choices[0].message.content == "It is ordered."
        assert again.usage is not None
        assert again.usage.total_tokens == 0
    assert (tmp_path / "orders.txt").read_text() == "nuts\n"
    # The first reply once, the one that the kill cut off twice, and none for the repetition.
    assert (tmp_path / "calls.txt").read_text() == "1\n3\n3\n"
