"""From a name and settings to a provider: addresses, keys, and what is said where something is
missing.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import subprocess
import sys
import traceback
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect, OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.config import HostedSettings, OpenAISettings
from transom.errors import (
    AuthenticationFailed,
    EgressError,
    InputError,
    RequestRefused,
    SettingsError,
)
from transom.llm import Block, CallSettings, Chain, Request, Role, Text, Tier, Window
from transom.llm.hosted import connect
from transom.llm.hosted.connecting import server_of
from transom.llm.hosted.models import known_model
from transom.llm.limits import MemoryLimitStore

ASK = Request("p.seat", Window((Block("role", "You.", Tier.STABLE), Block("ask", "what"))))
NONE: dict[str, str] = {}
HOSTED: dict[str, type[HostedSettings]] = {
    "openai": OpenAISettings,
    "anthropic": HostedSettings,
    "ollama": HostedSettings,
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY")


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


def says(dialect: Dialect, text: str = "pong") -> object:
    def answer(wire: Wire, _: Seen) -> None:
        wire.answer(200, json.dumps(dialect.whole([Text(text)])).encode())

    return answer


ROUTER, AZURE, LLAMA = (
    "https://openrouter.ai/api/v1",
    "https://name.openai.azure.com",
    "http://llama:8080/v1",
)
MINE = OpenAISettings(base_url="http://a", key_variable="MINE")
PLACES: list[tuple[str, HostedSettings, dict[str, str], tuple[str, str, str, bool]]] = [
    (
        "openai",
        OpenAISettings(),
        {},
        ("https://api.openai.com/v1", "openai", "OPENAI_API_KEY", True),
    ),
    (
        "openai",
        OpenAISettings(base_url=f"{ROUTER}/"),
        {},
        (ROUTER, "openrouter", "OPENROUTER_API_KEY", True),
    ),
    (
        "openai",
        OpenAISettings(base_url=AZURE, api_version="v"),
        {},
        (AZURE, "azure", "AZURE_OPENAI_API_KEY", True),
    ),
    ("openai", OpenAISettings(), {"OPENAI_BASE_URL": LLAMA}, (LLAMA, "", "OPENAI_API_KEY", False)),
    ("openai", MINE, {"OPENAI_BASE_URL": LLAMA}, ("http://a", "", "MINE", True)),
    (
        "anthropic",
        HostedSettings(),
        {},
        ("https://api.anthropic.com", "anthropic", "ANTHROPIC_API_KEY", True),
    ),
    (
        "ollama",
        HostedSettings(),
        {"OLLAMA_HOST": "box:1"},
        ("http://box:1", "ollama", "OLLAMA_API_KEY", False),
    ),
]


@pytest.mark.parametrize(("kind", "settings", "environ", "place"), PLACES)
def test_where_a_provider_is_reached(
    kind: str, settings: HostedSettings, environ: dict[str, str], place: tuple[str, str, str, bool]
) -> None:
    found = server_of(kind, settings, environ=environ)
    assert (found.base_url, found.service, found.key_variable, found.needs_key) == place


MISTAKES = {
    (
        "openai",
        "",
    ): "openai: this provider needs the name of a model; write openai:NAME, e.g. openai:gpt-4.1",
    ("openai:x", ""): "openai:x: there is no key: OPENAI_API_KEY is not set; set it and try again",
    (
        "anthropic:x",
        "",
    ): "anthropic:x: there is no key: ANTHROPIC_API_KEY is not set; set it and try again",
    (
        "openai:x",
        "llm.corp/v1",
    ): (
        "openai: 'llm.corp/v1' is no address of a server: it does not begin with http:// or"
        " https://; write http"
    ),
}


@pytest.mark.parametrize(("asked", "line"), MISTAKES.items())
def test_a_mistake_is_one_line_that_says_what_to_do(asked: tuple[str, str], line: str) -> None:
    with pytest.raises(InputError) as caught:
        connect(asked[0], OpenAISettings(), base_url=asked[1] or None, environ=NONE)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


ODD = [
    "htp://user:planted@127.0.0.1:1/v1",
    "user:planted@127.0.0.1:port/v1",
    "http://user:planted@127.0.0.1:port/v1",
    "http://user:planted/v1",
    "http://user:pla?nted@127.0.0.1:planted/v1",
    "http://127.0.0.1:99999/v1",
    "http://127.0.0.1:0/v1",
    "http://h:port/v1",
    "http://[::1/v1",
    "http://user:planted@[::1/v1",
    "http://[planted]/v1",
    "http://127.0.0.1:1 /v1",
    "http://a.example..test/v1",
    "http://user:planted@/v1",
    "http://exa\nmple/v1",
]


@pytest.mark.parametrize("url", ODD)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
def test_an_address_that_is_none_is_refused_without_its_password(kind: str, url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        connect(f"{kind}:m", OpenAISettings(base_url=url), environ=dict.fromkeys(KEYS, "k" * 9))
    said = str(caught.value)
    assert re.match(
        rf"{kind}: '.*' is no address of a server: .*; write http://HOST:PORT or https://HOST$",
        said,
    )
    assert "nted" not in said.replace("[planted]", "")  # which is no password, but a host


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "transom.llm.hosted.connecting.find_spec",
        lambda name: None if name == "ollama" else find(name),
    )
    with pytest.raises(
        InputError,
        match=(
            r"^ollama:x: the package ollama is not installed; \S+ -m pip install --no-deps"
            r" -r \S+/requirements/ollama\.txt$"
        ),
    ):
        connect("ollama:x", HostedSettings(), environ=NONE)


async def test_azure_is_spoken_to_by_deployment_version_and_its_own_header(
    server: LocalServer,
) -> None:
    server.answer = says(OpenAI())  # type: ignore[assignment]  # a plain function
    settings = OpenAISettings(base_url=server.url, api_version="2026-10-01")
    provider = connect(
        "openai:mine", settings, stream=False, environ={"AZURE_OPENAI_API_KEY": "azure-key"}
    )
    assert (await provider.complete(ASK)).text == "pong"
    await provider.aclose()
    (seen,) = server.seen
    assert seen.path == "/openai/deployments/mine/chat/completions?api-version=2026-10-01"
    assert seen.headers["api-key"] == "azure-key"
    assert "authorization" not in seen.headers
    assert "max_completion_tokens" in seen.body


async def test_a_compatible_server_needs_no_key(server: LocalServer) -> None:
    server.answer = says(OpenAI())  # type: ignore[assignment]  # a plain function
    provider = connect("openai:any", OpenAISettings(), base_url=f"{server.url}/v1", environ=NONE)
    assert (await provider.complete(ASK)).by == "openai:any"
    await provider.aclose()
    assert server.seen[0].path == "/v1/chat/completions"
    assert server.seen[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("read", ["{}\n", "{}\r\n", " {}\t", "\n{}", "{}\xa0"])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_white_space_around_a_key_is_none_of_it(
    dialect: Dialect, read: str, server: LocalServer
) -> None:
    server.answer = says(dialect)  # type: ignore[assignment]  # a plain function
    environ = dict.fromkeys(KEYS, read.format("planted-key"))
    provider = connect(
        f"{dialect.name}:m",
        HOSTED[dialect.name](base_url=server.url),
        stream=False,
        environ=environ,
    )
    assert (await provider.complete(ASK)).text == "pong"
    await provider.aclose()
    assert "planted-key" in {
        value.removeprefix("Bearer ") for value in server.seen[0].headers.values()
    }


@pytest.mark.parametrize(
    "held", ["“planted-key”", "planted\nkey", "planted\x00key", "plantédkey", "\ufeffplanted-key"]
)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
def test_a_key_that_no_header_takes_is_refused_and_not_told(kind: str, held: str) -> None:
    says = rf"^{kind}: the key in {kind.upper()}_API_KEY cannot be sent: .*; copy it anew"
    with pytest.raises(SettingsError, match=says) as caught:
        connect(f"{kind}:m", HOSTED[kind](base_url="http://a"), environ=dict.fromkeys(KEYS, held))
    assert "plant" not in "".join(traceback.format_exception(caught.value)).partition("Error: ")[2]
    with pytest.raises(InputError, match="there is no key") as missing:
        connect("openai:m", OpenAISettings(), environ={"OPENAI_API_KEY": " \n"})
    assert isinstance(caught.value, type(missing.value)), (
        "whoever bears with a key that is missing bears with this"
    )


async def test_a_key_of_white_space_is_none_also_for_the_sdk(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = says(DIALECTS[2])  # type: ignore[assignment]  # a plain function
    for held in ("\n", "planted-key"):
        monkeypatch.setenv("OLLAMA_API_KEY", held)
        provider = connect(
            "ollama:m",
            HostedSettings(base_url=server.url),
            stream=False,
            environ={"OLLAMA_API_KEY": "\n"},
        )
        assert (await provider.complete(ASK)).text == "pong"
        await provider.aclose()
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer none"}


def forms(key: str) -> list[str]:
    """As SDKs, servers and URLs write a key."""
    plain = f"Bearer {key}"
    return [
        repr(plain),
        repr(plain.encode()),
        json.dumps(plain),
        b64encode(plain.encode()).decode(),
        quote(key, safe=""),
    ]


@pytest.mark.parametrize("form", range(5))
async def test_a_key_is_taken_out_of_an_error_however_it_is_written(
    form: int, server: LocalServer
) -> None:
    key = "pla\"nted'k\\ey/+x"
    told = forms(key)[form]
    body = json.dumps(OpenAI().error("bad", f"so it was {told} and no other")).encode()
    server.answer = lambda wire, _: wire.answer(400, body)
    provider = connect(
        "openai:m", OpenAISettings(base_url=server.url), environ={"OPENAI_API_KEY": key}
    )
    with pytest.raises(RequestRefused) as caught:
        await provider.complete(ASK)
    await provider.aclose()
    assert "[redacted]" in str(caught.value) and "and no other" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert told not in shown and repr(told)[1:-1] not in shown and "nted" not in shown


# also where the message is cut in the middle of it
@pytest.mark.parametrize("tries", [0, 93, 94, 95, 96])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_the_key_stands_in_no_error_and_no_log(
    dialect: Dialect, tries: int, server: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    def echoes(wire: Wire, seen: Seen) -> None:
        shown = seen.headers.get("x-api-key") or seen.headers["authorization"]
        said = f"{'no, ' * tries} {shown} {shown}"
        wire.answer(401, json.dumps(dialect.error("authentication_error", said)).encode())

    server.answer = echoes
    caplog.set_level(logging.DEBUG, "transom")
    provider = dialect.provider(server.url, seconds=5, stream=False)
    with pytest.raises(AuthenticationFailed) as caught:
        await provider.complete(ASK)
    await provider.aclose()
    assert "planted-key" in str(server.seen[0].headers)
    assert "[redacted]" in str(caught.value) or tries
    assert "plan" not in str(caught.value) + repr(provider) + repr(vars(provider)) + caplog.text
    assert "planted-key" not in "".join(traceback.format_exception(caught.value)), (
        "nor where its causes are printed"
    )


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_server_on_this_machine_is_not_local_unless_somebody_says_so(
    dialect: Dialect, server: LocalServer
) -> None:
    server.answer = says(dialect)  # type: ignore[assignment]  # a plain function
    kept = Request("p.seat", Window((Block("log", "secret", egress="local"),)))
    for settings in (
        OpenAISettings(base_url=server.url),
        OpenAISettings(base_url=server.url, local=True),
    ):
        provider = connect(f"{dialect.name}:m", settings, stream=False, environ=NONE)
        if settings.local:
            assert (await Chain((provider,)).answer(kept)).text == "pong"
        else:
            with pytest.raises(EgressError, match="block log is marked local"):
                await Chain((provider,)).answer(kept)
            assert server.seen == []
        await provider.aclose()


async def test_a_temperature_that_is_not_taken_is_mentioned_once(
    server: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = says(DIALECTS[0])  # type: ignore[assignment]  # a plain function
    provider = connect(
        "anthropic:m", HostedSettings(base_url=server.url), stream=False, environ=NONE
    )
    for _ in range(2):
        await provider.complete(Request("p.seat", ASK.window, settings=CallSettings(100, 0.5)))
    await provider.aclose()
    assert caplog.text.count("takes no temperature; the one of role p.seat is left out") == 1


def test_a_window_may_be_known_better() -> None:
    assert known_model("anthropic", "claude-x").context_tokens == 200_000
    assert (
        known_model("anthropic", "claude-x", context_tokens=1_000_000).context_tokens == 1_000_000
    )
    assert known_model("openai", "o3-mini").sampling is False
    assert known_model("", "llama").caching == "none"


def test_a_server_that_moved_is_the_same_provider() -> None:
    role = Role("p.seat", (), frozenset())
    one, other = (
        connect("openai:m", OpenAISettings(), base_url=f"http://{host}", environ=NONE)
        for host in "ab"
    )
    assert one.fingerprint(role) == other.fingerprint(role)
    assert one.name == other.name == "openai:m"


def test_naming_a_provider_imports_no_sdk() -> None:
    code = (
        "import sys; from transom.config import load_settings; from transom.llm.hosted import"
        " connect;connect('openai:m', load_settings().llm.openai,"
        " base_url='http://a');connect('anthropic:m', load_settings().llm.anthropic,"
        " base_url='http://a');connect('ollama:m', load_settings().llm.ollama,"
        " base_url='http://a');print(sorted({'openai', 'anthropic', 'ollama', 'httpx', 'httpx2'} &"
        " set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_one_key_has_one_limit_however_its_variable_came_to_be_looked_at() -> None:
    store, environ = MemoryLimitStore(), {"OPENAI_API_KEY": "k" * 9, "CORP_KEY": "c" * 9}
    for variable in (None, "OPENAI_API_KEY", "CORP_KEY"):
        settings = OpenAISettings(key_variable=variable, requests_per_minute=5)
        provider = connect("openai:gpt-5", settings, environ=environ, store=store)
        await provider._bucket.take(1)
    assert len(store._values) == 2
