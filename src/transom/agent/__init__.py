"""Asking a role."""

from transom.agent.call import RETRY, Answer, call
from transom.agent.turns import Conversation

__all__ = ["RETRY", "Answer", "Conversation", "call"]
