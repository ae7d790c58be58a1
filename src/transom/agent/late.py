"""Tools that are registered while a conversation is under way.

The program that goes on with it may not register them again. The journal says which there were and where, so that the
model and a person are told what is the matter, and not that there is no such tool.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from transom.canonical import digest
from transom.llm import ToolSpec
from transom.runs import Stage
from transom.runs.tool_call import in_tool_call
from transom.tools import Toolbox, ToolDefinition
from transom.tools.toolbox import MISSING

if TYPE_CHECKING:
    from transom.agent.turns import Conversation

_log = logging.getLogger(__name__)


def registered_before(stage: Stage, conversation: str) -> dict[str, str]:
    """Tools that were registered while a conversation was under way, by name, with their digests."""
    return stage.host.state.registered.get((stage.name, stage.epoch, conversation), {})


def tell_registered(stage: Stage, conversation: str, tools: list[ToolSpec]) -> None:
    """Journal tools that the next request is the first to have; those that the journal has are not new."""
    before = registered_before(stage, conversation)
    while tools:
        tool = tools.pop(0)
        sha = digest(tool.canonical)
        if before.get(tool.name) != sha:
            talk: dict[str, Any] = {"stage": stage.name, "epoch": stage.epoch, "conversation": conversation}
            stage.host.append_soon("registered", {**talk, "name": tool.name, "digest": sha})


def register(toolbox: Toolbox, tool: ToolDefinition, talk: Conversation | None) -> bool:
    """Register a tool; whether it is a new one. A handler whose call is tried again registers the same again.

    Raises:
        ToolError: see `Toolbox.register`.
    """
    given: object = tool
    if talk and in_tool_call(talk.stage.host) and isinstance(given, ToolDefinition) and given.spec in toolbox.specs:
        toolbox.offer(tool)
        return False
    toolbox.register(tool)
    return True


def warn_of_missing(toolbox: Toolbox) -> None:
    """Tell a person of tools that a kept conversation had, and has not now."""
    for name in toolbox.missing:
        _log.warning("tool %s %s", name, MISSING)
