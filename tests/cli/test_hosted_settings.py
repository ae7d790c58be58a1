"""Settings of providers with servers: each has its effect, on each of the providers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.cli.chains import build_chain
from transom.config import load_settings
from transom.errors import InputError, NetworkFailed, ProviderError, RequestRefused
from transom.llm import Block, Reply, Request, Text, Tier, ToolSpec, Window
from transom.llm.naming import Surroundings
from transom.llm.retrying import RetryingProvider

ASK = Request("p.seat", Window((Block("role", "You.", Tier.STABLE), Block("ask", "what"))))
BY_KIND = {dialect.name: dialect for dialect in DIALECTS}


class Bench:
    """A folder with settings, and a server that answers in a vendor's words."""

    def __init__(
        self, folder: Path, server: LocalServer, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self.server, self.dialect, self.monkeypatch = (
            folder,
            server,
            dialect,
            monkeypatch,
        )
        server.answer = self._answer

    def _answer(self, wire: Wire, seen: Seen) -> None:
        wire.answer(200, json.dumps(self.dialect.whole([Text("pong")])).encode())

    def provider(
        self, *, address: bool = True, execution: dict[str, object] | None = None, **own: object
    ) -> Any:
        """The provider that a command with these settings of its kind asks."""
        url = {"base_url": self.server.url} if address else {}
        tree = {"llm": {self.dialect.name: {**url, **own}}, "execution": execution or {}}
        (self.folder / "transom.yaml").write_text(json.dumps(tree), "utf-8")
        settings = load_settings(self.folder, environ={})
        (provider,) = build_chain(
            f"{self.dialect.name}:m", Surroundings(self.folder, settings)
        ).providers
        assert isinstance(provider, RetryingProvider)
        return provider

    def ask(
        self,
        provider: RetryingProvider,
        times: int = 1,
        within: float = 5.0,
        request: Request | None = None,
    ) -> list[Reply]:
        async def walk() -> list[Reply]:
            try:
                return [
                    await asyncio.wait_for(provider.complete(request or ASK), within)
                    for _ in range(times)
                ]
            finally:
                await provider.aclose()

        return asyncio.run(walk())


def base_url(bench: Bench) -> None:
    bench.ask(bench.provider())
    assert len(bench.server.seen) == 1


def key_variable(bench: Bench) -> None:
    bench.monkeypatch.setenv("MINE", "planted-key")
    bench.ask(bench.provider(key_variable="MINE"))
    assert "planted-key" in str(bench.server.seen[0].headers)


def local(bench: Bench) -> None:
    assert [bench.provider(local=told).local for told in (False, True)] == [False, True]


def context_tokens(bench: Bench) -> None:
    assert bench.provider(context_tokens=12_345).caps.context_tokens == 12_345


def images(bench: Bench) -> None:
    assert [bench.provider(images=flag).caps.images for flag in (False, True)] == [False, True]


def files(bench: Bench) -> None:
    assert [bench.provider(files=flag).caps.files for flag in (False, True)] == [False, True]


def parallel_tools(bench: Bench) -> None:
    ping = ToolSpec("ping", "Answers.", {"type": "object"})
    bodies = []
    for told in (True, False):
        bench.ask(bench.provider(parallel_tools=told), request=replace(ASK, tools=(ping,)))
        bodies.append(bench.server.seen[-1].body)
    switch = {"openai": "parallel_tool_calls", "anthropic": "tool_choice"}.get(
        bench.dialect.name, ""
    )
    assert switch not in bodies[0] and "at most one tool" not in str(bodies[0])
    if bench.dialect.name == "ollama":
        assert "Call at most one tool in a reply" in bodies[1]["messages"][0]["content"]
    else:
        assert bodies[1][switch] in (False, {"type": "auto", "disable_parallel_tool_use": True})


def timeout_seconds(bench: Bench) -> None:
    bench.ask(bench.provider())  # imports the SDK
    bench.server.answer = lambda wire, seen: wire.wait(1)
    with pytest.raises(NetworkFailed, match=r"within 0\.1 s"):
        bench.ask(bench.provider(timeout_seconds=0.1, retry={"max_attempts": 1}))


def requests_per_minute(bench: Bench) -> None:
    bench.ask(bench.provider())  # imports the SDK
    bench.server.seen.clear()
    with pytest.raises(TimeoutError):
        bench.ask(bench.provider(requests_per_minute=2), times=3, within=0.5)
    assert len(bench.server.seen) == 2


def tokens_per_minute(bench: Bench) -> None:
    with pytest.raises(RequestRefused, match="the 1000 a minute"):
        bench.ask(bench.provider(tokens_per_minute=1000))
    assert bench.server.seen == []


def max_attempts(bench: Bench) -> None:
    bench.server.answer = lambda wire, seen: wire.answer(500, b"{}")
    with pytest.raises(ProviderError):
        bench.ask(bench.provider(retry={"max_attempts": 3, "initial_delay": 0}))
    assert len(bench.server.seen) == 3


def retry(name: str, value: float, attribute: str) -> Callable[[Bench], None]:
    def check(bench: Bench) -> None:
        assert getattr(bench.provider(retry={name: value}).policy, attribute) == value

    return check


def api_version(bench: Bench) -> None:
    bench.monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    bench.ask(bench.provider(api_version="v1"))
    assert bench.server.seen[0].path == "/openai/deployments/m/chat/completions?api-version=v1"


def service(bench: Bench) -> None:
    """Of OpenAI's models behind a gateway holds what holds of them elsewhere."""
    for told, name in (
        (None, "max_tokens"),
        ("openai", "max_completion_tokens"),
        ("azure", "max_completion_tokens"),
    ):
        provider = bench.provider(service=told)
        bench.ask(provider)
        assert name in bench.server.seen[-1].body
        assert provider.caps.structured_with_tools is (told is not None)
    assert bench.provider(service="openrouter").caps.tells_cost


def enable_streaming(bench: Bench) -> None:
    for told in (True, False):
        bench.ask(bench.provider(execution={"enable_streaming": told}))
    assert [seen.body["stream"] for seen in bench.server.seen] == [True, False]


EACH: dict[str, Callable[[Bench], None]] = {
    "base_url": base_url,
    "key_variable": key_variable,
    "local": local,
    "context_tokens": context_tokens,
    "images": images,
    "files": files,
    "parallel_tools": parallel_tools,
    "timeout_seconds": timeout_seconds,
    "requests_per_minute": requests_per_minute,
    "tokens_per_minute": tokens_per_minute,
    "retry.max_attempts": max_attempts,
    "retry.initial_delay": retry("initial_delay", 3, "initial_delay"),
    "retry.max_delay": retry("max_delay", 7, "max_delay"),
    "retry.backoff_factor": retry("backoff_factor", 4, "backoff_factor"),
    "retry.jitter": retry("jitter", 0.25, "jitter"),
    "retry.max_retry_after": retry("max_retry_after", 9, "max_retry_after"),
}
OBEYED: dict[str, Callable[[Bench], None]] = {
    **{f"llm.{kind}.{name}": check for kind in BY_KIND for name, check in EACH.items()},
    "llm.openai.api_version": api_version,
    "llm.openai.service": service,
    "execution.enable_streaming": enable_streaming,
}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("key", OBEYED)
def test_a_setting_has_its_effect(
    key: str, tmp_path: Path, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "seen", [])
    kind = key.split(".")[1]
    OBEYED[key](Bench(tmp_path, server, BY_KIND.get(kind, BY_KIND["ollama"]), monkeypatch))


def test_one_address_cannot_be_that_of_two_servers(tmp_path: Path) -> None:
    around = Surroundings(tmp_path, load_settings(tmp_path, environ={}), "http://a")
    assert build_chain("openai:m,rules", around).name == "openai:m,rules"
    with pytest.raises(
        InputError, match="--base-url: it cannot be the address of ollama and openai"
    ):
        build_chain("openai:m,ollama:m", around)
