"""Tools: what may be done on a model's behalf, within limits."""

from transom.tools.toolbox import MAX_TURNS, Outcome, Ran, Tool, Toolbox

__all__ = ["MAX_TURNS", "Outcome", "Ran", "Tool", "Toolbox"]
