"""Models behind a server: Anthropic, OpenAI and compatible ones, Ollama; through the vendors'
own SDKs.
"""

from transom.llm.hosted.connecting import (
    API_OF_SERVICES,
    HOSTED,
    SERVICES,
    connect,
    service_settings,
)
from transom.llm.hosted.provider import HostedProvider
from transom.llm.hosted.server import Server
from transom.llm.hosted.vendor import Vendor

__all__ = [
    "API_OF_SERVICES",
    "HOSTED",
    "SERVICES",
    "HostedProvider",
    "Server",
    "Vendor",
    "connect",
    "service_settings",
]
