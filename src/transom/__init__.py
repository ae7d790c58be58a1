"""Transom: a context-engineering runtime for LLM agents."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.agent import Agent as Agent
    from transom.agent import Budget as Budget
    from transom.agent import Home as Home
    from transom.agent import Response as Response
    from transom.agent import Setup as Setup
    from transom.agent import SubAgent as SubAgent
    from transom.agent import SyncAgent as SyncAgent
    from transom.agent.models import Event as Event
    from transom.agent.models import MessageEnded as MessageEnded
    from transom.agent.models import ReplyDelta as ReplyDelta
    from transom.agent.models import ReplyReceived as ReplyReceived
    from transom.agent.models import ToolCallFinished as ToolCallFinished
    from transom.agent.models import ToolCallStarted as ToolCallStarted
    from transom.agent.views import Conversation as Conversation
    from transom.agent.views import ConversationContext as ConversationContext
    from transom.agent.views import Message as Message
    from transom.agent.views import SubConversation as SubConversation
    from transom.agent.views import ToolCall as ToolCall
    from transom.agent.views import ToolResult as ToolResult
    from transom.context import Mark as Mark
    from transom.errors import Paused as Paused
    from transom.errors import ToolRetry as ToolRetry
    from transom.errors import TransomError as TransomError
    from transom.llm import Block as Block
    from transom.llm import CallSettings as CallSettings
    from transom.llm import Chain as Chain
    from transom.llm import Provider as Provider
    from transom.llm import Role as Role
    from transom.llm import Tier as Tier
    from transom.llm import Usage as Usage
    from transom.llm import Window as Window
    from transom.llm.prices import Prices as Prices
    from transom.llm.repeating import retry as retry
    from transom.memory import MemoryEntry as MemoryEntry
    from transom.runs import Run as Run
    from transom.runs import Stage as Stage
    from transom.runs import Workspace as Workspace
    from transom.telemetry import traced as traced
    from transom.tools import ToolContext as ToolContext
    from transom.tools import ToolDefinition as ToolDefinition
    from transom.tools import ToolLimits as ToolLimits
    from transom.tools import ToolReturn as ToolReturn
    from transom.tools import tool as tool
    from transom.tools.mcp import McpServer as McpServer
    from transom.tools.mcp import ToolTerms as ToolTerms

__version__ = "0.1.0"

# What a library logs is its program's to show: without a handler Python prints warnings and errors
# on stderr.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# The modules are not imported here: a program, and `transom --help`, only pay for what they use.
_WHERE = {
    "transom.agent": ("Agent", "Budget", "Home", "Response", "Setup", "SubAgent", "SyncAgent"),
    "transom.agent.models": (
        *("Event", "MessageEnded", "ReplyDelta", "ReplyReceived"),
        *("ToolCallFinished", "ToolCallStarted"),
    ),
    "transom.agent.views": (
        *("Conversation", "ConversationContext", "Message", "SubConversation"),
        *("ToolCall", "ToolResult"),
    ),
    "transom.memory": ("MemoryEntry",),
    "transom.llm.prices": ("Prices",),
    "transom.context": ("Mark",),
    "transom.errors": ("Paused", "ToolRetry", "TransomError"),
    "transom.llm": (
        "Block",
        "CallSettings",
        "Chain",
        "Provider",
        "Role",
        "Tier",
        "Usage",
        "Window",
    ),
    "transom.llm.repeating": ("retry",),
    "transom.runs": ("Run", "Stage", "Workspace"),
    "transom.telemetry": ("traced",),
    "transom.tools": ("ToolContext", "ToolReturn", "ToolDefinition", "ToolLimits", "tool"),
    "transom.tools.mcp": ("McpServer", "ToolTerms"),
}
# The other way round: each public name, and the module that has it.
_HOME: dict[str, str] = {}
for _module, _names in _WHERE.items():
    for _name in _names:
        _HOME[_name] = _module

__all__ = ["__version__", *_HOME]  # noqa: PLE0604  names of the table above


def __getattr__(name: str) -> Any:
    """What the library offers, imported when it is first asked for: `transom --help` pays for
    none of it.
    """
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'transom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
