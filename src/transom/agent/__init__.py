"""Asking a role: an agent that one talks with, or a single call."""

from transom.agent.agent import Agent
from transom.agent.call import RETRY, Answer, call
from transom.agent.delegation import SubAgent
from transom.agent.models import Budget, Response
from transom.agent.setup import Home, Setup
from transom.agent.sync import SyncAgent

__all__ = [
    "RETRY",
    "Agent",
    "Answer",
    "Budget",
    "Home",
    "Response",
    "Setup",
    "SubAgent",
    "SyncAgent",
    "call",
]
