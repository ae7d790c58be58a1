"""Recognition of a service by its base URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_OWN = {"api.anthropic.com": "anthropic", "api.openai.com": "openai", "openrouter.ai": "openrouter"}
"""Hosts of vendors. A region has one of its own below: `eu.api.openai.com`."""
_AZURE = ("openai.azure.com", "openai.azure.us")
_AZURE_WITH_MORE = ("services.ai.azure.com", "cognitiveservices.azure.com")
"""Hosts where Azure has other services too."""
_OLLAMA_PORT = 11434
_NO_MODEL = re.compile("model|deployment", re.I)
_NEWER_NAME = re.compile(r"\buse \W?max_completion_tokens\b", re.I)
"""OpenAI's newer models' complaint about the older parameter name, which compatible servers are
sent.
"""
_BELOW = {
    "anthropic": "it is asked below the base URL at /v1/messages: let that end before it",
    "openai": (
        "it is asked below the base URL at /chat/completions: let that end before it, of most"
        " servers in /v1"
    ),
    "ollama": "it is asked below the base URL at /api/chat: let that end before it",
}


def service_of(base_url: str, api_version: str | None = None) -> str:
    """The service that an address belongs to: `anthropic`, `openai`, `azure` or `openrouter`.

    It is "" for one of which nothing is known, as of a gateway. Azure alone has an `api_version`.
    """
    parts = urlsplit(base_url)
    host = (parts.hostname or "").removesuffix(".")
    if api_version is not None or _is_below(host, _AZURE):
        return "azure"
    if parts.path.startswith("/openai/v1") and _is_below(host, _AZURE_WITH_MORE):
        return "azure"
    return next((service for own, service in _OWN.items() if _is_below(host, (own,))), "")


def ollama_url(address: str) -> str:
    """An address as `OLLAMA_HOST` has it: host, port or both may be left out, and where no scheme
    is named the port is
    Ollama's own, not the usual one of the web."""
    if "://" in address:
        return address
    authority, slash, path = address.partition("/")
    user, at, place = authority.rpartition("@")
    host, _, port = place.partition(":")
    if place.startswith("["):  # of the sixth version, which has colons of its own
        host, _, port = place.partition("]")
        host, port = f"{host}]", port.removeprefix(":")
    return f"http://{user}{at}{host or '127.0.0.1'}:{port or _OLLAMA_PORT}{slash}{path}"


def _is_below(host: str, domains: tuple[str, ...]) -> bool:
    return host in domains or host.endswith(tuple(f".{one}" for one in domains))


def hint_of(kind: str, refused: str) -> str | None:
    """The hint for a request that was refused (status first) as the base URL or service may be
    wrong; else None.
    """
    if kind == "openai" and _NEWER_NAME.search(refused):
        return "where OpenAI's own models are behind this address, set llm.openai.service: openai"
    gone = refused.startswith(("status 404", "status 405")) and not _NO_MODEL.search(refused)
    return _BELOW[kind] if gone else None  # else what there is not is the model, or its deployment
