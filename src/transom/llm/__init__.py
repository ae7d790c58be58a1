"""Model calls: their shapes, their rendering, and the providers that answer them."""

from typing import TYPE_CHECKING

from transom.errors.earlier_names import earlier_names
from transom.llm.capabilities import Capabilities
from transom.llm.deltas import Again, Delta, OnDelta
from transom.llm.egress import EgressPolicy
from transom.llm.media import Media
from transom.llm.provider import Chain, Provider, guard_egress
from transom.llm.render import Rendered, render
from transom.llm.replay import ReplayProvider
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.rules import Rule, RulesProvider
from transom.llm.scripted import ScriptedProvider
from transom.llm.shapes import (
    Block,
    CallSettings,
    Dropped,
    Request,
    Role,
    Share,
    Strategy,
    Tier,
    ToolSpec,
    Window,
)
from transom.llm.tokens import estimate_tokens
from transom.llm.turns import (
    AssistantMessage,
    Opaque,
    Part,
    Text,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    UserMessage,
)

__all__ = [
    "Again",
    "AnsweredFrom",
    "AssistantMessage",
    "Block",
    "CallSettings",
    "Capabilities",
    "Chain",
    "Delta",
    "Dropped",
    "EgressPolicy",
    "Media",
    "OnDelta",
    "Opaque",
    "Part",
    "Provider",
    "Rendered",
    "ReplayProvider",
    "Reply",
    "Request",
    "Role",
    "Rule",
    "RulesProvider",
    "ScriptedProvider",
    "Share",
    "Strategy",
    "Text",
    "Tier",
    "ToolCallPart",
    "ToolResultPart",
    "ToolResults",
    "ToolSpec",
    "Turn",
    "Usage",
    "UserMessage",
    "Window",
    "estimate_tokens",
    "guard_egress",
    "render",
]

if not TYPE_CHECKING:  # a type checker knows the present names alone
    __getattr__ = earlier_names(
        __name__, {"ToolCall": "ToolCallPart", "ToolResult": "ToolResultPart"}
    )
