"""The tools with which a model hands work on: `delegate`, and declared sub-agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from transom.agent.large_results import READING, stored_outcomes
from transom.agent.session import CALLER, AgentSession
from transom.agent.sub_agents import answer_and_close, look_into, shorten_result, sub_session
from transom.canonical import Json
from transom.llm import Role
from transom.tools import (
    Arguments,
    Function,
    Toolbox,
    ToolDefinition,
    ToolReturn,
    as_tools,
)

# -- sub-conversations of a call -------------------------------------------------------------------


def _text_argument(name: str, description: str) -> dict[str, Json]:
    """Return the schema of arguments that are a single text."""
    text: Json = {"type": "string", "minLength": 1, "description": description}
    return {
        "type": "object",
        "properties": {name: text},
        "required": [name],
        "additionalProperties": False,
    }


async def _delegate(arguments: Arguments) -> ToolReturn:
    caller = CALLER.get()
    return await look_into(caller.session, caller.sub_name, str(arguments["purpose"]))


class _Delegate(ToolDefinition):
    """The tool that opens a sub-conversation with the tools of the conversation that calls it."""

    def has_effects(self, tools_of_caller: Iterable[ToolDefinition]) -> bool:
        # A sub-conversation is not given the tools that open further conversations.
        handed_on = [tool for tool in tools_of_caller if not tool.of_run]
        return any(tool.has_effects(handed_on) for tool in handed_on)


_DELEGATE = _Delegate(
    "delegate",
    "Have something looked into in a conversation of its own, and get a short answer. Use it for"
    " what is long.",
    _text_argument(
        "purpose",
        "What you need to know, and the names of kept results that say it, in a sentence or two.",
    ),
    _delegate,
    effect="pure",
    of_run=True,
)


class SubAgent(ToolDefinition):
    """A role that the model of another agent may hand a task to, as it calls a tool.

    The task is done in a conversation of its own, within the budget of the agent that has it; its
    answer comes back as the tool's result.

    Args:
        role: the role that does the task.
        name: the name of the tool.
        description: tells a model when to hand a task on.
        tools: the tools that the role may call. Without effects among them, several sub-agents of
            one reply run side by side.
    """

    role: Role
    tools: Sequence[ToolDefinition[Any]]

    def __init__(
        self,
        role: Role,
        name: str,
        description: str,
        tools: Sequence[ToolDefinition[Any] | Function] = (),
    ) -> None:
        definitions = as_tools(tools)
        object.__setattr__(self, "role", role)  # the base class is frozen
        object.__setattr__(self, "tools", definitions)

        async def do_task(arguments: Arguments) -> ToolReturn:
            parent, sub_name = CALLER.get()
            task = str(arguments["task"])
            toolbox = Toolbox(definitions, redact=parent.window.toolbox.redact)
            sub = sub_session(parent, sub_name, role, toolbox)
            return await answer_and_close(sub, task, task)

        parameters = _text_argument("task", "What is to be done, in full.")
        super().__init__(name, description, parameters, do_task, effect="idempotent", of_run=True)

    def with_deps(self, deps: object) -> SubAgent:
        """Return the sub-agent; its tools get the dependencies of the agent that has it."""
        tools = [tool.with_deps(deps) for tool in self.tools]
        return SubAgent(self.role, self.name, self.description, tools)

    def has_effects(self, tools_of_caller: Iterable[ToolDefinition]) -> bool:  # noqa: ARG002
        """Return whether one of its own tools has effects; its conversation is its own.

        What it says is journaled in a log that no other call writes, and what it costs is reserved
        in the purse that all share. So only its tools can meet those of another sub-agent.
        """
        return any(tool.has_effects(self.tools) for tool in self.tools)


def equip(session: AgentSession) -> AgentSession:
    """Give a conversation the runtime's own tools."""
    session.shorten = shorten_result
    if session.window.role.strategy == "sub_conversation":
        session.window.toolbox.offer(_DELEGATE)
    if any(stored_outcomes(session)):
        session.window.toolbox.offer(READING)
    return session
