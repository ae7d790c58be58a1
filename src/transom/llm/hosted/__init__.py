"""Models behind a server: Anthropic, OpenAI and compatible ones, Ollama; through the vendors'
own SDKs.
"""

from transom.llm.hosted.connecting import HOSTED, SERVICES, connect
from transom.llm.hosted.provider import HostedProvider
from transom.llm.hosted.server import Server
from transom.llm.hosted.vendor import Vendor

__all__ = ["HOSTED", "SERVICES", "HostedProvider", "Server", "Vendor", "connect"]
