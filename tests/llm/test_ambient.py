"""What stands in the environment for an SDK goes to no server that somebody configured."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.server import LocalServer
from transom.config import HostedSettings, OpenAISettings
from transom.llm import Block, Request, Text, Window
from transom.llm.hosted import connect
from transom.llm.hosted.openai import OFFICIAL
from transom.llm.hosted.server import NO_KEY

ASK = Request("p.seat", Window((Block("ask", "what"),)))
KEY = "the-key-that-is-configured"
CUSTOM = (
    "X-Corp: planted\nAuthorization: Bearer planted\nX-Api-Key: planted\napi-key:"
    " planted\naccept-encoding: gzip"
)
AMBIENT = {
    **dict.fromkeys(("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"), CUSTOM),
    **dict.fromkeys(
        ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET"),
        "planted",
    ),
    **dict.fromkeys(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "OLLAMA_API_KEY"), "planted"
    ),
    **dict.fromkeys(
        ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN"), "planted"
    ),
    **dict.fromkeys(
        ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"), "planted"
    ),
    **dict.fromkeys(
        ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"), "http://127.0.0.1:9/planted"
    ),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    with LocalServer() as running:
        yield running


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("version", [None, "2026-10-01"])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_server_is_sent_what_is_configured_for_it(
    dialect: Dialect, version: str | None, key: str | None, server: LocalServer
) -> None:
    if version and (dialect.name != "openai" or not key):
        return  # Azure is spoken to by OpenAI's SDK, and with a key
    server.answer = lambda wire, _: wire.answer(
        200, json.dumps(dialect.whole([Text("pong")])).encode()
    )
    settings: HostedSettings = OpenAISettings(
        base_url=server.url, api_version=version, key_variable=key and "MINE"
    )
    provider = connect(
        f"{dialect.name}:m", settings, stream=False, environ={"MINE": KEY} if key else {}
    )
    assert (await provider.complete(ASK)).text == "pong"
    await provider.aclose()
    (seen,) = server.seen
    assert "planted" not in str(seen)
    assert "openai-organization" not in seen.headers
    assert seen.headers["accept-encoding"] == "identity"
    shown = [
        value
        for name, value in seen.headers.items()
        if name in ("authorization", "x-api-key", "api-key")
    ]
    assert {value.removeprefix("Bearer ") for value in shown} <= {key or NO_KEY}
    assert shown or not key


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        (OFFICIAL, "planted"),
        (OFFICIAL.replace("api.", "eu.api."), "planted"),
        ("https://openrouter.ai/api/v1", None),
    ],
)
async def test_an_organization_and_a_project_are_for_the_vendor_itself(
    url: str, sent: str | None, server: LocalServer
) -> None:
    provider = connect(
        "openai:m", OpenAISettings(base_url=url, key_variable="MINE"), environ={"MINE": KEY}
    )
    client = provider._provider._vendor._client.get()  # type: ignore[attr-defined]  # nobody is asked here
    assert (client.organization, client.project) == (sent, sent)
    await provider.aclose()
