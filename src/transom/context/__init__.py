"""Deciding what a model call sees: visibility, order, budget."""

from transom.context.budget import DEFAULT_SHARES, Budget
from transom.context.window import assemble

__all__ = ["DEFAULT_SHARES", "Budget", "assemble"]
