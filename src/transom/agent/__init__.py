"""Asking a role."""

from transom.agent.call import RETRY, Answer, call

__all__ = ["RETRY", "Answer", "call"]
