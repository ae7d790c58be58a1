"""What an agent is made of, as data and as a flowchart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transom.agent.delegation import SubAgent
from transom.llm import Role
from transom.tools import ToolDefinition

_SIGNS = frozenset('"#&<>`')


@dataclass(frozen=True)
class ToolOutline:
    """A tool as a person wants to see it.

    Attributes:
        name: the name by which a model calls it.
        description: the first line of its description.
        parameters: the names of its arguments.
        terms: what it may do: its effect, `approval` if a person has to approve each call, `ours`
            if its results are trusted, `local` if they never leave this machine.
    """

    name: str
    description: str
    parameters: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class AgentOutline:
    """An agent or a sub-agent as a person wants to see it.

    Attributes:
        role: the name of its role.
        provider: the names of the models that may answer; "" for those of its parent.
        sees: the names of the blocks that may stand in its window.
        output: the name of its output's schema; "" for free text.
        tools: the tools that it may call.
        sub_agents: by the names of the tools that call them.
    """

    role: str
    provider: str
    sees: tuple[str, ...]
    output: str
    tools: tuple[ToolOutline, ...]
    sub_agents: dict[str, AgentOutline]


def outline_of(role: Role, tools: Iterable[ToolDefinition], provider: str = "") -> AgentOutline:
    """Return the outline of a role with its tools."""
    plain_tools: list[ToolOutline] = []
    sub_agents: dict[str, AgentOutline] = {}
    for tool in tools:
        if isinstance(tool, SubAgent):
            sub_agents[tool.name] = outline_of(tool.role, tool.tools)
        else:
            plain_tools.append(_tool_outline(tool))
    output = ""
    if role.schema is not None:
        output = str(role.schema.get("title", "JSON"))
    return AgentOutline(
        role.name, provider, tuple(sorted(role.sees)), output, tuple(plain_tools), sub_agents
    )


def _tool_outline(tool: ToolDefinition) -> ToolOutline:
    terms: list[str] = [tool.effect]
    if tool.needs_approval:
        terms.append("approval")
    if tool.trust == "ours":
        terms.append("ours")
    if tool.egress != "any":
        terms.append(tool.egress)
    properties = tool.parameters.get("properties")
    names = tuple(properties) if isinstance(properties, dict) else ()
    return ToolOutline(tool.name, tool.description.partition("\n")[0], names, tuple(terms))


def mermaid_of(outline: AgentOutline) -> str:
    """Return an outline as the text of a Mermaid flowchart."""
    lines = ["flowchart LR"]
    _add_node(lines, outline, "agent", outline.provider)
    return "\n".join(lines) + "\n"


def _add_node(lines: list[str], outline: AgentOutline, node: str, note: str) -> None:
    """Add the node of an agent, and below it those of its tools and sub-agents."""
    lines.append(f"    {node}([{_label(outline.role, note)}])")
    for number, tool in enumerate(outline.tools):
        tool_node = f"{node}_tool{number}"
        call = f"{tool.name}({', '.join(tool.parameters)})"
        lines.append(f"    {node} --> {tool_node}[{_label(call, ', '.join(tool.terms))}]")
    for number, (name, sub_agent) in enumerate(outline.sub_agents.items()):
        sub_node = f"{node}_sub{number}"
        _add_node(lines, sub_agent, sub_node, "sub-agent")
        lines.append(f"    {node} -->|{_quoted(name)}| {sub_node}")


def _label(name: str, note: str) -> str:
    """Return a label of two lines, or of one if there is no note."""
    lines = [_escaped(text) for text in (name, note) if text]
    return f'"{"<br/>".join(lines)}"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return a text with Mermaid's codes for the characters that mean something in a label."""
    return "".join(f"#{ord(sign)};" if sign in _SIGNS else sign for sign in text)
