"""Model calls: their shapes, how they are rendered, and who answers them."""

from transom.llm.egress import EgressPolicy
from transom.llm.provider import Chain, Provider, guard_egress
from transom.llm.render import Rendered, render
from transom.llm.rules import Rule, RulesProvider
from transom.llm.scripted import ScriptedProvider
from transom.llm.shapes import (
    AnsweredFrom,
    Block,
    CallSettings,
    Dropped,
    Reply,
    Request,
    Role,
    Text,
    Tier,
    ToolCall,
    ToolSpec,
    Turn,
    Usage,
    Window,
)
from transom.llm.tokens import estimate_tokens

__all__ = [
    "AnsweredFrom",
    "Block",
    "CallSettings",
    "Chain",
    "Dropped",
    "EgressPolicy",
    "Provider",
    "Rendered",
    "Reply",
    "Request",
    "Role",
    "Rule",
    "RulesProvider",
    "ScriptedProvider",
    "Text",
    "Tier",
    "ToolCall",
    "ToolSpec",
    "Turn",
    "Usage",
    "Window",
    "estimate_tokens",
    "guard_egress",
    "render",
]
