"""Construction of a hosted provider from a name such as `openai:NAME` and its settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from transom.errors import InputError, SettingsError, install_hint
from transom.llm.hosted.addresses import ollama_url, service_of
from transom.llm.hosted.anthropic import AnthropicVendor
from transom.llm.hosted.models import known_model
from transom.llm.hosted.ollama import OllamaVendor
from transom.llm.hosted.openai import OFFICIAL, OpenAIVendor
from transom.llm.hosted.provider import HostedProvider
from transom.llm.hosted.server import NO_KEY, Server
from transom.llm.limits import PROCESS, Bucket, RateLimits, RateLimitStore
from transom.llm.proxies import proxy_of
from transom.llm.retrying import RetryingProvider
from transom.telemetry.address import parse_address, safe_address

if TYPE_CHECKING:
    from transom.config import HostedSettings
    from transom.config.hosted import OpenAISettings


class _Kind(NamedTuple):
    """A vendor, its usual address, and the variable in which users keep their own address."""

    vendor: type[AnthropicVendor | OpenAIVendor | OllamaVendor]
    url: str
    url_variable: str
    example: str


_KINDS = {
    "anthropic": _Kind(
        AnthropicVendor, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "claude-sonnet-4-5"
    ),
    "openai": _Kind(OpenAIVendor, OFFICIAL, "OPENAI_BASE_URL", "gpt-4.1"),
    "ollama": _Kind(OllamaVendor, "http://127.0.0.1:11434", "OLLAMA_HOST", "llama3.1"),
}
HOSTED = tuple(_KINDS)
"""The kinds of providers that have a server; each is an extra of the same name."""

_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}


SERVICES = ("azure", "openrouter")
"""Services with the API of another kind of provider."""
API_OF_SERVICES = "openai"
"""The kind of provider whose API the services have."""

_OPENROUTER = "https://openrouter.ai/api/v1"
_AZURE_VARIABLE = "AZURE_OPENAI_ENDPOINT"
_AZURE_PATH = "/openai/v1"  # of the API that takes no version


def service_settings(
    service: str,
    settings: OpenAISettings,
    base_url: str | None = None,
    environ: Mapping[str, str] = os.environ,
    place: str = "--model",
) -> OpenAISettings:
    """Return the settings of the provider `openai` for a service: its address is filled in.

    Args:
        service: `azure` or `openrouter`.
        settings: of the provider `openai`.
        base_url: the address that a command or a program gives.
        environ: the environment variables; Azure's own programs keep the address in one.
        place: where the service was named, for an error.

    Raises:
        SettingsError: the address of the user's own resource at Azure is not known.
    """
    url = base_url or settings.base_url
    if service == "openrouter":
        return settings.model_copy(update={"base_url": url or _OPENROUTER, "service": service})
    url = url or environ.get(_AZURE_VARIABLE)
    if not url:
        hint = f"set llm.openai.base_url, or {_AZURE_VARIABLE}, to the address of your resource"
        raise SettingsError(f"{service} has no address", place=place, hint=hint)
    if settings.api_version is None and not urlsplit(url).path.strip("/"):
        url = url.rstrip("/") + _AZURE_PATH
    return settings.model_copy(update={"base_url": url, "service": service})


def server_of(
    kind: str,
    settings: HostedSettings,
    *,
    base_url: str | None = None,
    stream: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> Server:
    """Return the address and the access of a kind's server.

    The address is `base_url`, or that of the settings, or of the vendor's variable.

    Raises:
        SettingsError: the address is not that of a server, or the key cannot be sent.
    """
    vendor = _KINDS[kind]
    url = base_url or settings.base_url or environ.get(vendor.url_variable) or vendor.url
    if kind == "ollama":
        url = ollama_url(url)
    try:
        parse_address(url)
    except ValueError as error:
        problem = f"{safe_address(url)!r} is no address of a server: {error}"
        hint = "write http://HOST:PORT or https://HOST"
        raise SettingsError(problem, place=kind, hint=hint) from None
    version = getattr(settings, "api_version", None)
    # Many gateways and servers of one's own take no key, so only a known service needs one.
    service = kind if kind == "ollama" else service_of(url, version)
    variable = settings.key_variable or _KEYS[service or kind]
    return Server(
        url.rstrip("/"),
        _key(variable, environ, kind),
        version,
        settings.timeout_seconds,
        stream,
        key_variable=variable,
        unsent_key=_unsent_key(kind, service, settings, environ),
        needs_key=service not in ("", "ollama") or settings.key_variable is not None,
        service=getattr(settings, "service", None) or service,
        proxy=proxy_of(url, local=settings.local, environ=environ),
    )


def _unsent_key(
    kind: str, service: str, settings: HostedSettings, environ: Mapping[str, str]
) -> str:
    """Return the variable of a service's key that an unknown address is not sent, or ""."""
    if kind != API_OF_SERVICES or service or settings.key_variable:
        return ""
    named = getattr(settings, "service", None)
    for name in (named,) if named in SERVICES else SERVICES:
        if environ.get(_KEYS[name], "").strip():
            return _KEYS[name]
    return ""


def connect(
    name: str,
    settings: HostedSettings,
    *,
    base_url: str | None = None,
    stream: bool = True,
    store: RateLimitStore | None = None,
    environ: Mapping[str, str] = os.environ,
) -> RetryingProvider:
    """Return a provider by its name. Nothing is sent yet.

    Args:
        name: `anthropic:NAME`, `openai:NAME` or `ollama:NAME`.
        settings: of that kind of provider.
        base_url: overrides the one of the settings.
        stream: whether to take replies in pieces.
        store: keeps what rate limits have counted, for other processes; None for the memory of
            this process.
        environ: the environment variables, with its key.

    Raises:
        InputError: no model; an SDK that is not installed; a missing key, or one that cannot be
            sent; no address of the server or of the proxy. One line says what to do.
    """
    kind, _, model = name.partition(":")
    vendor = _KINDS[kind].vendor
    if not model:
        hint = f"write {kind}:NAME, e.g. {kind}:{_KINDS[kind].example}"
        raise InputError("this provider needs the name of a model", place=kind, hint=hint)
    if find_spec(kind) is None:
        problem = f"the package {kind} is not installed"
        raise InputError(problem, place=name, hint=install_hint(kind))
    server = server_of(kind, settings, base_url=base_url, stream=stream, environ=environ)
    if server.needs_key and server.api_key == NO_KEY:
        problem = f"there is no key: {server.key_variable} is not set"
        # A service is an `openai` here, and people name it by its own name.
        service_name = getattr(settings, "service", None)
        if service_name in SERVICES:
            name = f"{service_name}:{model}"
        raise InputError(problem, place=name, hint="set it and try again")
    service = server.service if kind == "openai" else kind
    caps = known_model(
        service,
        model,
        context_tokens=settings.context_tokens,
        parallel_tools=settings.parallel_tools,
        images=settings.images,
        files=settings.files,
    )
    provider = HostedProvider(vendor(server), model, server, caps, local=settings.local)
    limits = RateLimits(settings.requests_per_minute, settings.tokens_per_minute)
    # A server limits an account, whichever of its models answers. The part before @ is a password.
    host = urlsplit(server.base_url).netloc.rpartition("@")[2]
    bucket = Bucket(f"{kind} {host} {server.key_variable}", limits, store=store or PROCESS)
    return RetryingProvider(provider, settings.retry, bucket)


def _key(variable: str, environ: Mapping[str, str], kind: str) -> str:
    """Return the key in a variable, or `NO_KEY`; SettingsError for a key that no header takes."""
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        # The message must not quote a key, not even a broken one.
        problem = (
            f"the key in {variable} cannot be sent: it has a line end, a curly quote, or a similar"
            " character"
        )
        raise SettingsError(problem, place=kind, hint="copy it anew, as plain text in one line")
    return key or NO_KEY
