"""Which proxy is used, and for whom: what a proxy could read never passes one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.config import OpenAISettings
from transom.errors import NetworkFailed, ProviderError, SettingsError
from transom.llm import Block, Chain, Request, Text, Window
from transom.llm.hosted import connect
from transom.llm.proxies import proxy_of

KEY = "planted-proxy-key"
LOCAL = Request("p.seat", Window((Block("log", "text-of-the-netlist", egress="local"),)))
ASK = Request("p.seat", Window((Block("ask", "text-of-the-netlist"),)))
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
Environ = dict[str, str]


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """One that lets nobody through, in every variable."""
    with LocalServer(lambda wire, _: wire.answer(502, b"{}")) as running:
        for name in VARIABLES:
            monkeypatch.setenv(name, running.url)
            monkeypatch.setenv(name.lower(), running.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield running


def environ() -> Environ:
    return {**os.environ, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OLLAMA_API_KEY": KEY}


def says(dialect: Dialect) -> Callable[[Wire, Seen], None]:
    return lambda wire, _: wire.answer(200, json.dumps(dialect.whole([Text("pong")])).encode())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_what_is_local_passes_no_proxy(
    dialect: Dialect, server: LocalServer, proxy: LocalServer
) -> None:
    server.answer = says(dialect)
    for host in ("127.0.0.1", "localhost"):
        url = server.url.replace("127.0.0.1", host)
        settings = OpenAISettings(base_url=url, local=True)
        provider = connect(f"{dialect.name}:m", settings, stream=False, environ=environ())
        assert (await Chain((provider,)).answer(LOCAL)).text == "pong"
        await provider.aclose()
    assert proxy.seen == []
    assert len(server.seen) == 2


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_https_to_another_machine_is_a_tunnel_of_which_the_proxy_sees_the_host(
    dialect: Dialect, proxy: LocalServer
) -> None:
    settings = OpenAISettings(
        base_url="https://models.made-up.invalid/v1",
        retry={"max_attempts": 1},  # type: ignore[arg-type]  # as a file has it
    )
    provider = connect(f"{dialect.name}:m", settings, environ=environ())
    with pytest.raises(NetworkFailed):
        await provider.complete(ASK)
    await provider.aclose()
    (seen,) = proxy.seen
    assert (seen.method, seen.path, seen.body) == ("CONNECT", "models.made-up.invalid:443", None)
    assert KEY not in str(seen.headers)
    assert "authorization" not in seen.headers


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_no_redirect_is_followed_and_no_password_file_read(
    dialect: Dialect, server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("netrc", ".netrc"):
        (tmp_path / name).write_text(
            "machine 127.0.0.1\nlogin somebody\npassword planted-in-a-file\n"
        )
        (tmp_path / name).chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with LocalServer(says(dialect)) as stranger:
        for status in (301, 302, 303, 307, 308):
            server.answer = lambda wire, _, status=status: wire.answer(
                status, b"", {"location": stranger.url}
            )
            provider = connect(f"{dialect.name}:m", OpenAISettings(base_url=server.url), environ={})
            with pytest.raises(ProviderError, match="which is not followed"):
                await provider.complete(ASK)
            await provider.aclose()
        assert stranger.seen == []
    assert len(server.seen) == 5
    assert "Basic" not in str(server.seen)


HTTPS, ALL = "http://proxy:3128", "http://all:3128"
BOTH = {"HTTP_PROXY": "http://reads:1", "HTTPS_PROXY": HTTPS, "ALL_PROXY": ALL}
OFFICE = "10.0.0.5"
API = "https://api.openai.com/v1"
RULE: list[tuple[str, Environ, str | None]] = [
    (API, BOTH, HTTPS),
    (API, {"ALL_PROXY": ALL}, ALL),
    (API, {"HTTP_PROXY": "http://reads:1"}, None),
    (API, {}, None),
    (API, {"HTTPS_PROXY": ""}, None),
    (API, {"https_proxy": HTTPS, "HTTPS_PROXY": ALL}, HTTPS),
    (API, {"https_proxy": "", "HTTPS_PROXY": ALL}, None),
    (API, {"HTTPS_PROXY": "proxy:3128"}, HTTPS),
    (API, {"HTTPS_PROXY": f"{HTTPS}\n"}, HTTPS),
    ("http://api.openai.com/v1", BOTH, None),
    (f"http://{OFFICE}:8080", BOTH, None),
    (f"https://{OFFICE}:8080", BOTH, HTTPS),
    *(
        (f"https://{host}/v1", BOTH, None)
        for host in ("127.0.0.1", "localhost:8443", "LOCALHOST", "a.localhost")
    ),
    *(
        (f"https://{host}/v1", BOTH, HTTPS)
        for host in ("127.example.com", "notlocalhost", "[2001:db8::1]")
    ),
    *(
        (API, {**BOTH, "NO_PROXY": no}, None)
        for no in ("*", "openai.com", ".openai.com", "x, API.OPENAI.COM")
    ),
    *((API, {**BOTH, "NO_PROXY": no}, None) for no in ("*.openai.com", "api.openai.com:443")),
    *(
        (API, {**BOTH, "no_proxy": no}, HTTPS)
        for no in ("enai.com", "api.openai.com:8443", "10.0.0.0/8", "x.openai.com")
    ),
    (f"https://{OFFICE}:8080", {**BOTH, "NO_PROXY": "10.0.0.5"}, None),
    (f"https://{OFFICE}:8080", {**BOTH, "NO_PROXY": "0.0.0.5, 10.0.0.50"}, HTTPS),
]


@pytest.mark.parametrize(("url", "variables", "proxy"), RULE)
def test_the_rule(url: str, variables: Environ, proxy: str | None) -> None:
    assert proxy_of(url, environ=variables) == proxy
    assert proxy_of(url, local=True, environ=variables) is None


@pytest.mark.parametrize(
    "value", ["ftp://u:planted@proxy:1", "http://u:planted@proxy:planted", "u:planted@[::1", "//"]
)
def test_a_proxy_that_is_none_is_said_without_its_password(value: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^HTTPS_PROXY: .* is no address of a proxy: .*; write http://HOST"
    ) as caught:
        connect("openai:m", OpenAISettings(), environ={"HTTPS_PROXY": value, "OPENAI_API_KEY": KEY})
    assert "planted" not in str(caught.value)


def test_the_password_of_a_proxy_stands_in_no_repr() -> None:
    provider = connect(
        "openai:m",
        OpenAISettings(),
        environ={"HTTPS_PROXY": "http://u:planted@p:1", "OPENAI_API_KEY": KEY},
    )
    inner = provider._provider
    assert "planted" not in repr(vars(provider)) + repr(vars(inner))
