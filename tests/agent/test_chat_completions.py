"""An agent behind OpenAI's API of chat completions, asked by OpenAI's own SDK."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import openai
import pytest

from tests.cli.helpers import COMMAND, clean_environment
from transom import Agent, tool
from transom.errors import ProviderError
from transom.llm import (
    Provider,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    ToolCallPart,
    ToolResults,
    Usage,
)
from transom.runs import Workspace
from transom.server import build_agent_app, listen, serve
from transom.store import SqliteStore
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
def serving(provider: Provider, folder: Path, *tools: Any) -> Iterator[openai.OpenAI]:
    """A client of a real server."""
    agent = Agent("You know the stock.", tools=[count, order, *tools], provider=provider)
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


class Shipping:
    """An agent that ships what its message ends with, and a model that fails when it is told to."""

    def __init__(self, *errors: Exception) -> None:
        self.shipped: list[str] = []
        self.errors = list(errors)
        self.may_ship = threading.Event()
        self.may_ship.set()

        @tool(effect="once")
        def ship(item: str) -> str:
            """Ship an item."""
            assert self.may_ship.wait(20)
            self.shipped.append(item)
            return f"shipped {item}"

        self.tool = ship
        self.provider = ScriptedProvider(self.reply)

    def reply(self, request: Request) -> Any:
        last = request.window.turns[-1]
        if not isinstance(last, ToolResults):
            return asks("ship", item=last.text.split()[-1])  # type: ignore[union-attr]  # a user's
        if self.errors:
            raise self.errors.pop(0)
        return f"It is {last.results[0].content}."


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def answer_of(client: openai.OpenAI, texts: list[Any], key: str = "") -> str:
    answer = client.chat.completions.create(
        model="clerk", messages=texts, extra_headers=keyed(key) if key else None
    )
    return str(answer.choices[0].message.content)


@pytest.mark.parametrize("is_continued", [False, True])
@pytest.mark.parametrize(
    ("error", "status"), [(ProviderError("overloaded"), 502), (ValueError("a fault"), 500)]
)
def test_the_sdk_does_not_repeat_a_message_that_failed_and_a_repetition_goes_on_with_it(
    tmp_path: Path, error: Exception, status: int, is_continued: bool
) -> None:
    shop = Shipping()
    with serving(shop.provider, tmp_path, shop.tool) as client:
        messages = said("Ship pens")
        if is_continued:
            messages = said("Ship ink", answer_of(client, said("Ship ink")), "Ship pens")
            shop.shipped.clear()
        shop.errors = [error]
        eager = client.with_options(max_retries=2)
        with pytest.raises(openai.InternalServerError) as failure:
            answer_of(eager, messages)
        assert failure.value.status_code == status
        assert shop.errors == []
        # The program asks again: only the answer is made.
        calls = len(shop.provider.requests)
        assert answer_of(eager, messages) == "It is shipped pens."
        assert len(shop.provider.requests) == calls + 1
        assert shop.shipped == ["pens"]
        # What was answered is over: the same message is a new one, in a conversation of its own.
        assert answer_of(eager, messages) == "It is shipped pens."
        assert shop.shipped == ["pens", "pens"]


@pytest.mark.parametrize(("days", "shipped"), [(6, ["pens"]), (8, ["pens", "pens"])])
def test_a_message_that_failed_long_ago_is_not_gone_on_with(
    tmp_path: Path, days: int, shipped: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shipping()
    with serving(shop.provider, tmp_path, shop.tool) as client:
        shop.errors = [ProviderError("overloaded")]
        with pytest.raises(openai.InternalServerError):
            answer_of(client, said("Ship pens"))
        later = time.time() + days * 24 * 3600
        monkeypatch.setattr("transom.agent.chat_completions.time", Mock(time=lambda: later))
        assert answer_of(client, said("Ship pens")) == "It is shipped pens."
    assert shop.shipped == shipped


def test_a_streamed_message_that_failed_goes_on_and_another_one_does_not_see_it(
    tmp_path: Path,
) -> None:
    shop = Shipping()
    with serving(shop.provider, tmp_path, shop.tool) as client:
        first = ("Ship ink", answer_of(client, said("Ship ink")))
        shop.errors = [ProviderError("overloaded")]
        with pytest.raises(openai.APIError, match="overloaded"):
            list(
                client.chat.completions.create(
                    model="clerk", messages=said(*first, "Ship pens"), stream=True
                )
            )
        assert answer_of(client, said(*first, "Ship chalk")) == "It is shipped chalk."
        assert "pens" not in repr(shop.provider.requests[-1].window.turns)
        assert answer_of(client, said(*first, "Ship pens")) == "It is shipped pens."
    assert shop.shipped == ["ink", "pens", "chalk"]


@pytest.mark.parametrize("is_continued", [False, True])
def test_two_equal_requests_at_once_with_one_key_are_one_message(
    tmp_path: Path, is_continued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shipping()
    slow_requests = [1.0]
    put_at_once = SqliteStore.put_if_absent

    async def put_slowly(self: SqliteStore, table: str, key: str, value: Any) -> Any:
        # The first request has found the conversation and does not have the key yet: the others
        # come in between.
        if slow_requests and key.startswith("request/"):
            await asyncio.sleep(slow_requests.pop())
        return await put_at_once(self, table, key, value)

    monkeypatch.setattr(SqliteStore, "put_if_absent", put_slowly)
    with serving(shop.provider, tmp_path, shop.tool) as client:
        messages = said("Ship pens")
        if is_continued:
            messages = said("Ship ink", answer_of(client, said("Ship ink")), "Ship pens")
            shop.shipped.clear()
        outcomes: list[str] = []

        def ask() -> None:
            try:
                outcomes.append(answer_of(client, messages, "k"))
            except openai.UnprocessableEntityError as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        shop.may_ship.clear()
        for thread in threads:
            thread.start()
        # The first one is at work until the others have been refused.
        end = time.monotonic() + 15
        while len(outcomes) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        shop.may_ship.set()
        for thread in threads:
            thread.join()
        assert shop.shipped == ["pens"]
        assert outcomes.count("It is shipped pens.") == 1
        assert sum("is still at work" in outcome for outcome in outcomes) == 2
        assert answer_of(client, messages, "k") == "It is shipped pens."
        # The request that lost has taken no other conversation out of the way.
        goes_on = [*messages, *said("", "It is shipped pens.")[1:], *said("Ship glue")]
        assert answer_of(client, goes_on) == "It is shipped glue."
    window = shop.provider.requests[-1].window
    assert sum(isinstance(turn, ToolResults) for turn in window.turns) == 2 + is_continued
    assert shop.shipped == ["pens", "glue"]


def test_a_key_with_other_messages_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    shop = Shipping()
    with serving(shop.provider, tmp_path, shop.tool) as client:
        assert answer_of(client, said("Ship pens"), "k") == "It is shipped pens."
        calls = len(shop.provider.requests)
        for messages in (said("Ship ink"), said("Hello", "there", "Ship pens")):
            with pytest.raises(openai.UnprocessableEntityError, match="sent with other messages"):
                answer_of(client, messages, "k")
        assert len(shop.provider.requests) == calls
        assert answer_of(client, said("Ship pens"), "k") == "It is shipped pens."
    assert shop.shipped == ["pens"]


def test_a_replay_does_not_bring_back_a_conversation_that_went_on(tmp_path: Path) -> None:
    script = ScriptedProvider({"agent": ["Hello.", "Noted.", "Nothing."]})
    with serving(script, tmp_path) as client:
        assert answer_of(client, said("Hi"), "k") == "Hello."
        assert answer_of(client, said("Hi", "Hello.", "The code is 42")) == "Noted."
        assert answer_of(client, said("Hi"), "k") == "Hello."
        assert answer_of(client, said("Hi", "Hello.", "What was said?")) == "Nothing."
    assert "42" not in repr(script.requests[-1].window.turns)


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_conversation_is_found_when_the_model_speaks_before_a_tool_call(
    tmp_path: Path, is_stream: bool
) -> None:
    call = ToolCallPart("1", "count", {"item": "bolts"})
    speech = Reply((Text("Let me look."), call), stop="tool_calls")
    script = ScriptedProvider({"agent": [speech, "There are 7.", "Still 7."]})
    with serving(script, tmp_path) as client:
        create: Any = client.chat.completions.create
        answer = create(model="clerk", messages=said("How many bolts?"), stream=is_stream)
        if is_stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
            assert text == "Let me look.\n\nThere are 7."
        else:
            text = answer.choices[0].message.content
        assert answer_of(client, said("How many bolts?", text, "And now?")) == "Still 7."
    turns = script.requests[-1].window.turns
    assert [turn for turn in turns if isinstance(turn, ToolResults)] != []


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


BEHIND = """
from contextlib import asynccontextmanager
from pathlib import Path
import anyio
from transom import Agent
from transom.testing import ScriptedProvider

@asynccontextmanager
async def clerk():
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 600)
        yield Agent("You count.", provider=ScriptedProvider(lambda request: "nuts: 9 left"))
        group.cancel_scope.cancel()
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
        # Below `nohup`, SIGHUP is ignored, and a process inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
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
@pytest.mark.parametrize(
    ("module", "end"),
    [
        (SHELF, signal.SIGINT),
        (SHELF, signal.SIGTERM),
        (SHELF, signal.SIGHUP),
        (BEHIND, signal.SIGINT),
        (BEHIND, signal.SIGTERM),
    ],
)
def test_an_agent_of_a_manager_is_served_and_closed(
    tmp_path: Path, module: str, end: signal.Signals
) -> None:
    (tmp_path / "shop.py").write_text(module, encoding="utf-8")
    with command(tmp_path, end) as client:
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
