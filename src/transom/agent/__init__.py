"""Asking a role."""

from transom.agent.agent import Agent
from transom.agent.call import RETRY, Answer, call
from transom.agent.caps import Caps
from transom.agent.door import SyncAgent
from transom.agent.home import Home
from transom.agent.setup import Setup
from transom.agent.turns import Conversation
from transom.agent.views import Response

__all__ = ["RETRY", "Agent", "Answer", "Caps", "Conversation", "Home", "Response", "Setup", "SyncAgent", "call"]
