"""Tools: functions that a model may call, within limits."""

from transom.tools.context import ToolContext
from transom.tools.definition import Arguments, ToolDefinition, ToolLimits, ToolOutcome, ToolReturn
from transom.tools.functions import Function, as_tools, tool
from transom.tools.toolbox import MAX_TURNS, Toolbox

__all__ = [
    "MAX_TURNS",
    "Arguments",
    "Function",
    "ToolContext",
    "ToolDefinition",
    "ToolLimits",
    "ToolOutcome",
    "ToolReturn",
    "Toolbox",
    "as_tools",
    "tool",
]
