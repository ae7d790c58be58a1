"""Recognition of a service by its base URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_OWN = {"api.anthropic.com": "anthropic", "api.openai.com": "openai", "openrouter.ai": "openrouter"}
"""Hosts of vendors. A region has one of its own below: `eu.api.openai.com`."""
_AZURE = ("openai.azure.com", "openai.azure.us")
_AZURE_WITH_MORE = ("services.ai.azure.com", "cognitiveservices.azure.com")
"""Hosts where Azure has other services too."""
_AZURE_PATH = "/openai/v1"
_TOO_MUCH = {
    "anthropic": ("/v1/messages", "/v1"),
    "openai": ("/chat/completions", "/completions", "/responses"),
    "ollama": ("/api/chat", "/api", "/v1"),
}
"""Ends of base URLs that are another vendor's, or of one request: the SDKs add theirs."""
_OPENAIS = re.compile(r"(?:openai/)?(?:gpt-|chatgpt-|o\d)", re.I)
_VERSION = re.compile(r"/v\d")
_OLLAMA_PORT = 11434
_NO_MODEL = re.compile("model|deployment", re.I)
_NEWER_NAME = re.compile(r"\buse \W?max_completion_tokens\b", re.I)
"""OpenAI's newer models' complaint about the older parameter name, which compatible servers are sent."""


def service_of(base_url: str, api_version: str | None = None) -> str:
    """The service that an address belongs to.

    Args:
        base_url: one that can be asked.
        api_version: Azure alone has one.

    Returns:
        `anthropic`, `openai`, `azure` or `openrouter`; "" for one of which nothing is known, as of a gateway.
    """
    parts = urlsplit(base_url)
    host = (parts.hostname or "").removesuffix(".")
    path = f"{parts.path.rstrip('/')}/"
    if api_version is not None or _is_below(host, _AZURE):
        return "azure"
    if path.startswith(f"{_AZURE_PATH}/") and _is_below(host, _AZURE_WITH_MORE):
        return "azure"
    return next((service for own, service in _OWN.items() if _is_below(host, (own,))), "")


def whose_model(model: str, service: str, api_version: str | None = None) -> str:
    """The vendor of the models at a service: Azure's `/openai/v1` has models of several vendors.

    Args:
        model: its name; a deployment may have any.
        service: see `service_of`.
        api_version: the older addresses of Azure have one, and nothing but OpenAI's models.

    Returns:
        `other`, where it is asked as servers are that nobody knows; else the service.
    """
    named = _OPENAIS.match(model) is not None
    return "other" if service == "azure" and api_version is None and not named else service


def ollama_url(address: str) -> str:
    """An address as `OLLAMA_HOST` has it: host, port or both may be left out, and where no scheme is named the port is
    Ollama's own, not the usual one of the web."""
    if "://" in address:
        return address
    authority, slash, path = address.partition("/")
    user, at, place = authority.rpartition("@")
    host, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    host, port = (host, port) if colon else (place, "")
    return f"http://{user}{at}{host or '127.0.0.1'}:{port or _OLLAMA_PORT}{slash}{path}"


def _is_below(host: str, domains: tuple[str, ...]) -> bool:
    return host in domains or host.endswith(tuple(f".{one}" for one in domains))


def hint_of(kind: str, base_url: str, refused: str) -> str | None:
    """The hint for a request that failed because the base URL or the service is wrong; None where neither is.

    Args:
        kind: of provider.
        base_url: where it was asked.
        refused: what came of that, its status first.
    """
    if kind == "openai" and _NEWER_NAME.search(refused):
        return "where OpenAI's own models are behind this address, set llm.openai.service: openai"
    if not refused.startswith(("status 404", "status 405")) or _NO_MODEL.search(refused):
        return None  # what there is not is the model, or its deployment
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    for end in _TOO_MUCH.get(kind, ()):
        if path.endswith(end):
            return f"leave {end} out of the base URL: it is added"
    if kind != "openai" or _VERSION.search(path):
        return None
    if _is_below((parts.hostname or "").removesuffix("."), _AZURE):
        return "set llm.openai.api_version, or let the base URL end in /openai/v1"
    return "most servers are asked below /v1: let the base URL end in it"
