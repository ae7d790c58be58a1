"""The window of a model call: visibility, order, budget, and the folding of a conversation that
outgrows it.
"""

from transom.context.budget import DEFAULT_SHARES, SHARES, Compaction, WindowBudget
from transom.context.history import Event, History
from transom.context.marks import Mark
from transom.context.tokens import TokenCorrection
from transom.context.window import Assembled, check_message, go_on

__all__ = [
    "DEFAULT_SHARES",
    "SHARES",
    "Assembled",
    "Compaction",
    "Event",
    "History",
    "Mark",
    "TokenCorrection",
    "WindowBudget",
    "check_message",
    "go_on",
]
