"""Tools: what may be done on a model's behalf, within limits."""

from transom.tools.definition import Arguments, Outcome, Ran, ToolDefinition, ToolLimits
from transom.tools.toolbox import MAX_TURNS, Toolbox

__all__ = ["MAX_TURNS", "Arguments", "Outcome", "Ran", "ToolDefinition", "ToolLimits", "Toolbox"]
