"""What an agent is given, held against what it can use before anything is journaled or paid for.

A slip is told in one line that says what to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transom.agent.floor import Floor, is_part_of
from transom.agent.home import Home, Place, stage_of
from transom.agent.setup import Setup
from transom.canonical import whole_text
from transom.errors import InputError, RunError, ToolError
from transom.llm import Chain, Provider, Role
from transom.runs import Named, Stage
from transom.runs.names import MAIN
from transom.tools import ToolDefinition


def given_name(at: Place, floor: Floor) -> str:
    """The name of the conversation that an agent opens.

    Args:
        at: where it lives.
        floor: of the conversation.

    Raises:
        RunError: it is taken, or would be another one when the code runs again.
    """
    stage = stage_of(at)
    if stage is None:
        return MAIN
    if isinstance(at, Stage) and is_part_of(stage.names.talking):
        what = "an agent without a name is made by a tool's handler, which is not called again when the code runs again"
        hint = 'give it a name: Agent(role, at=stage.named("..."))'
        raise RunError(what, where=stage.place, hint=hint)
    name = stage.names.claim(at.name) if isinstance(at, Named) else stage.names.unnamed()
    stage.names.talking.add(floor)
    return name


def check_given(role: object, tools: object, at: object) -> None:
    """Look at what no type checker has looked at. Each tool by itself is the toolbox's to refuse.

    Raises:
        InputError: no role, no tools, or no place to live.
    """
    if not isinstance(role, Role):
        hint = 'say Role("clerk", (Block("role", "You know the stock."),), frozenset({"role"}))'
        raise InputError(f"who is talked with is a Role, and this is {_kind(role)}", where="Agent", hint=hint)
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InputError(f"tools are a list, and this is {_kind(tools)}", where="Agent", hint="say tools=[...]")
    if not isinstance(at, Stage | Named | Home | None):
        hint = 'say at=Home(".transom", "monday"), or leave it out'
        raise InputError(f"it lives in a Home or a stage, and this is {_kind(at)}", where="Agent", hint=hint)


def given_setup(provider: str | Provider | Chain | Setup | None, at: Place) -> Setup:
    """Who answers where an agent lives.

    Raises:
        InputError: a stage's run knows that itself.
    """
    if stage_of(at) is None:
        return Setup.of(provider)
    if provider is not None:
        raise InputError("an agent in a stage asks the run's own providers", hint="leave provider out")
    return Setup()


def given_role(role: Role, tools: Sequence[ToolDefinition]) -> Role:
    """The role; a tool that it names has a name and a schema there, and what carries it out has to be given as well.

    Raises:
        ToolError: that is missing.
    """
    given: Sequence[object] = tools
    specs = [tool.spec for tool in given if isinstance(tool, ToolDefinition)]  # the toolbox refuses others
    missing = [spec.name for spec in role.tools if spec not in specs]
    if missing:
        what = f"it names {', '.join(missing)} among its tools, and no such tool is given"
        raise ToolError(
            what, where=role.name, hint="give the agent tools=[ToolDefinition(...)]; the role need name none"
        )
    return role


def given_message(content: object, where: str) -> str:
    """What is said, as a journal and a server can keep it.

    Raises:
        InputError: it is no text, or a blank one, which servers take no conversation with.
    """
    if not isinstance(content, str):
        what = f"a message is text, and this is {type(content).__name__}"
        raise InputError(what, where=where, hint="data goes into a Block")
    if not content.strip():
        raise InputError("the message is blank", where=where, hint="say what is to be done, also of blocks")
    return whole_text(content)


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
