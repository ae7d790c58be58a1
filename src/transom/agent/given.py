"""What an agent is given, held against what it can use before anything is journaled or paid for.

A slip is told in one line that says what to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transom.agent.caps import Caps
from transom.agent.home import Home, Place, stage_of
from transom.agent.setup import Setup
from transom.canonical import whole_text
from transom.errors import InputError, ToolError
from transom.llm import Block, Chain, Provider, Role
from transom.llm.structured import schema_check
from transom.runs import Named, Stage
from transom.runs.names import MAIN
from transom.runs.tool_call import refuse_in_tool_call
from transom.tools import ToolDefinition


def given_name(at: Place) -> str:
    """The name of the conversation that an agent opens.

    Raises:
        RunError: it is taken, would be another one when the code runs again, or a tool handler opens it.
    """
    stage = stage_of(at)
    if stage is None:
        return MAIN
    refuse_in_tool_call(stage.host, stage.place)
    return stage.names.claim(at.name) if isinstance(at, Named) else stage.names.unnamed()


def check_turns_alone(caps: Caps, shared: Caps) -> None:
    """A sub-conversation's turns are its own; what bounds money and time is the agent's, for all of it.

    Raises:
        InputError: something else is another one.
    """
    if replace(caps, turns=shared.turns) != shared:
        hint = "say replace(sub.caps, turns=...), or set agent.caps"
        raise InputError("a sub-conversation shares the caps of its agent, but for turns", where="caps", hint=hint)


def check_given(role: object, tools: object, at: object) -> None:
    """Look at what no type checker has looked at. Each tool by itself is the toolbox's to refuse.

    Raises:
        InputError: no role, one whose answers are to follow a schema that is none, no tools, or no place to live.
    """
    if not isinstance(role, Role):
        hint = 'say Role("clerk", (Block("role", "You know the stock."),), frozenset({"role"}))'
        raise InputError(f"who is talked with is a Role, and this is {_kind(role)}", where="Agent", hint=hint)
    if role.schema is not None:
        schema_check(role.schema)
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


def given_message(content: object, where: str, blocks: Sequence[object] = ()) -> str:
    """What is said, as a journal and a server can keep it.

    Raises:
        InputError: it is no text, or a blank one, which servers take no conversation with; or it comes with other
            things than blocks.
    """
    for one in blocks:
        if not isinstance(one, Block):
            hint = 'say send("...", Block("name", "..."))'
            raise InputError(f"a message comes with Blocks, and this is {_kind(one)}", where=where, hint=hint)
    if not isinstance(content, str):
        what = f"a message is text, and this is {type(content).__name__}"
        raise InputError(what, where=where, hint="data goes into a Block")
    if not content.strip():
        raise InputError("the message is blank", where=where, hint="say what is to be done, also of blocks")
    return whole_text(content)


def given_purpose(purpose: object, background: object, where: str) -> tuple[str, str]:
    """What a sub-conversation is to find out, and what it knows.

    Raises:
        InputError: one is no text, or the purpose is blank.
    """
    if not isinstance(purpose, str) or not purpose.strip() or not isinstance(background, str):
        what = f"a purpose and a context_summary are texts, and these are {purpose!r:.80} and {background!r:.80}"
        raise InputError(what, where=where, hint='say create_sub_conversation("What of it?")')
    return whole_text(purpose), whole_text(background)


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
