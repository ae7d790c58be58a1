"""Models behind a server: Anthropic's, OpenAI's and whoever speaks like it, Ollama's, through the vendors' own SDKs."""

from transom.llm.hosted.connecting import HOSTED, connect
from transom.llm.hosted.provider import HostedProvider, Vendor
from transom.llm.hosted.server import Server

__all__ = ["HOSTED", "HostedProvider", "Server", "Vendor", "connect"]
