"""Tools: what may be done on a model's behalf, within limits."""

from transom.tools.definition import Arguments, ToolDefinition, ToolLimits, ToolOutcome, ToolReturn
from transom.tools.toolbox import MAX_TURNS, Toolbox

__all__ = ["MAX_TURNS", "Arguments", "ToolDefinition", "ToolLimits", "ToolOutcome", "ToolReturn", "Toolbox"]
