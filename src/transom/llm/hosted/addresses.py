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
"""The complaint of OpenAI's newer models about the older name of a parameter.

Compatible servers know the older name alone, so an unknown service is sent that.
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
    """Return the service of an address: `anthropic`, `openai`, `azure` or `openrouter`.

    Args:
        base_url: the address.
        api_version: from the settings; Azure alone has one.

    Returns:
        the service, or "" if nothing is known of the address, as of a gateway's.
    """
    parts = urlsplit(base_url)
    host = (parts.hostname or "").removesuffix(".")
    if api_version is not None or _is_below(host, _AZURE):
        return "azure"
    if parts.path.startswith("/openai/v1") and _is_below(host, _AZURE_WITH_MORE):
        return "azure"
    for vendor_host, service in _OWN.items():
        if _is_below(host, (vendor_host,)):
            return service
    return ""


def ollama_url(address: str) -> str:
    """Return the URL of an address as `OLLAMA_HOST` has it.

    Host, port or both may be missing. Without a scheme, the default port is Ollama's own, and not
    the usual one of the web.
    """
    if "://" in address:
        return address
    authority, slash, path = address.partition("/")
    user, at_sign, host_and_port = authority.rpartition("@")
    host, _, port = host_and_port.partition(":")
    # An IPv6 address stands in brackets, and has colons of its own.
    if host_and_port.startswith("["):
        host, _, port = host_and_port.partition("]")
        host, port = f"{host}]", port.removeprefix(":")
    return f"http://{user}{at_sign}{host or '127.0.0.1'}:{port or _OLLAMA_PORT}{slash}{path}"


def _is_below(host: str, domains: tuple[str, ...]) -> bool:
    return host in domains or host.endswith(tuple([f".{domain}" for domain in domains]))


def hint_of(kind: str, message: str) -> str | None:
    """Return the hint for a refused request if its base URL or service may be wrong.

    Args:
        kind: the kind of provider.
        message: of the error; it begins with the status.
    """
    if kind == "openai" and _NEWER_NAME.search(message):
        return "if OpenAI's own models are behind this address, set llm.openai.service: openai"
    # A message that speaks of a model or a deployment means that those are missing.
    if message.startswith(("status 404", "status 405")) and not _NO_MODEL.search(message):
        return _BELOW[kind]
    return None
