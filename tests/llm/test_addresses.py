"""What an address tells of a server: whose it is, and what is said where it is another one's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.config import HostedSettings, OpenAISettings
from transom.errors import RequestRefused
from transom.llm import Block, CallSettings, Request, Text, Tier, Window
from transom.llm.hosted import connect
from transom.llm.hosted.addresses import hint_of
from transom.llm.hosted.connecting import server_of

ASK = Request("p.seat", Window((Block("role", "You.", Tier.STABLE), Block("ask", "what"))))
S = "https://"
AZURE_V1 = "https://name.openai.azure.com/openai/v1"
EUROPE, ROUTER_EUROPE = f"{S}eu.api.openai.com/v1", f"{S}eu.openrouter.ai/api/v1"
FOUNDRY, OTHERS_THERE = (
    f"{S}name.services.ai.azure.com/openai/v1",
    f"{S}name.services.ai.azure.com/models",
)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.mark.parametrize(
    ("url", "service", "variable", "needs"),
    [
        (EUROPE, "openai", "OPENAI_API_KEY", True),
        ("https://API.OpenAI.com:443/v1", "openai", "OPENAI_API_KEY", True),
        (AZURE_V1, "azure", "AZURE_OPENAI_API_KEY", True),
        (FOUNDRY, "azure", "AZURE_OPENAI_API_KEY", True),
        (f"{FOUNDRY}/", "azure", "AZURE_OPENAI_API_KEY", True),
        (OTHERS_THERE, "", "OPENAI_API_KEY", False),
        (ROUTER_EUROPE, "openrouter", "OPENROUTER_API_KEY", True),
        ("https://api.openai.com.example.test/v1", "", "OPENAI_API_KEY", False),
        (f"{S}notopenrouter.ai/v1", "", "OPENAI_API_KEY", False),
    ],
)
def test_a_host_tells_whose_server_it_is(
    url: str, service: str, variable: str, needs: bool
) -> None:
    found = server_of("openai", OpenAISettings(base_url=url), environ={})
    assert (found.base_url, found.service, found.key_variable, found.needs_key) == (
        url.rstrip("/"),
        service,
        variable,
        needs,
    )


NEWER = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
    " 'max_completion_tokens' instead."
)


@pytest.mark.parametrize(
    "url", [EUROPE, "https://api.openai.com:443/v1", "https://API.openai.com/v1", AZURE_V1]
)
def test_a_region_and_azure_take_what_openai_takes(url: str) -> None:
    keys = {"OPENAI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k"}
    provider = connect("openai:gpt-5", OpenAISettings(base_url=url), environ=keys)
    caps = provider.caps
    assert (caps.context_tokens, caps.sampling, caps.structured_with_tools) == (
        400_000,
        False,
        True,
    )
    body = provider._provider._vendor.body(ASK, "gpt-5", caps)  # type: ignore[attr-defined]  # nobody is asked here
    assert "max_completion_tokens" in body
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("url", "model", "more", "name"),
    [
        (AZURE_V1, "Mistral-Large-3", {"service": "other"}, "max_tokens"),
        (FOUNDRY, "DeepSeek-V3.1", {"service": "other"}, "max_tokens"),
        (FOUNDRY, "GPT-4o-mini", {}, "max_completion_tokens"),
        (AZURE_V1, "mine", {}, "max_completion_tokens"),
        (
            "https://name.openai.azure.com",
            "mine",
            {"api_version": "2024-10-21"},
            "max_completion_tokens",
        ),
        (EUROPE, "gpt-4.1", {"service": "other"}, "max_tokens"),
    ],
)
def test_azure_has_models_of_other_vendors(
    url: str, model: str, more: dict[str, str], name: str
) -> None:
    settings = OpenAISettings.model_validate({"base_url": url, **more})
    provider = connect(
        f"openai:{model}", settings, environ={"OPENAI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k"}
    )
    body = provider._provider._vendor.body(ASK, model, provider.caps)  # type: ignore[attr-defined]  # nobody is asked
    assert {"max_tokens", "max_completion_tokens"} & body.keys() == {name}
    assert (provider.caps.context_tokens == 8_192) is (name == "max_tokens")


def test_a_deployment_that_there_is_not_is_no_wrong_address() -> None:
    refused = "status 404: DeploymentNotFound: The API deployment for this resource does not exist."
    assert hint_of("openai", refused) is None


@pytest.mark.parametrize("model", ["gpt-5", "openai/gpt-5"])
async def test_a_gateway_to_openai_is_told_by_a_setting(model: str, server: LocalServer) -> None:
    def answer(wire: Wire, seen: Seen) -> None:
        if "max_tokens" in seen.body or "temperature" in seen.body:
            wire.answer(400, json.dumps(OpenAI().error("invalid_request_error", NEWER)).encode())
        else:
            wire.answer(200, json.dumps(OpenAI().whole([Text("pong")])).encode())

    server.answer = answer
    plain = connect(
        f"openai:{model}", OpenAISettings(base_url=server.url), stream=False, environ={}
    )
    with pytest.raises(RequestRefused) as caught:
        await plain.complete(ASK)
    assert (caught.value.hint or "").endswith("set llm.openai.service: openai")
    await plain.aclose()
    settings = OpenAISettings(base_url=server.url, service="openai")
    told = connect(f"openai:{model}", settings, stream=False, environ={})
    warm = replace(ASK, settings=CallSettings(temperature=0.5))
    assert (await told.complete(warm)).text == "pong"
    assert told.caps.context_tokens == 400_000
    await told.aclose()


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http" + "://0.0.0.0:11434"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("box:", "http://box:11434"),
        ("box/behind", "http://box:11434/behind"),
        ("me:pw@box", "http://me:pw@box:11434"),
        ("me:pw@[::1]:8080", "http://me:pw@[::1]:8080"),
        ("http://box", "http://box"),
        ("https://box/", "https://box"),
    ],
)
def test_ollama_is_found_where_its_own_variable_says(told: str, url: str) -> None:
    assert server_of("ollama", HostedSettings(), environ={"OLLAMA_HOST": told}).base_url == url


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("openai", "in /v1"), ("anthropic", "at /v1/messages: let"), ("ollama", "at /api/chat: let")],
)
async def test_a_base_url_of_which_there_is_nothing_says_where_it_is_asked(
    kind: str, hint: str, server: LocalServer
) -> None:
    for status, said, wanted in (
        (404, "Not Found", hint),
        (405, "no", hint),
        (404, "model x not found", ""),
    ):
        server.answer = lambda wire, _, status=status, said=said: wire.answer(
            status, json.dumps({"detail": said}).encode()
        )
        settings = (OpenAISettings if kind == "openai" else HostedSettings)(base_url=server.url)
        provider = connect(f"{kind}:m", settings, environ={"ANTHROPIC_API_KEY": "k"})
        with pytest.raises(RequestRefused) as caught:
            await provider.complete(ASK)
        await provider.aclose()
        told = caught.value.hint or ""
        assert wanted in told and bool(told) is bool(wanted)
