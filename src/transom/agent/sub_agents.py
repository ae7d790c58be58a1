"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees
only a summary.

Each has a log of its own and a link to its parent. A tool call opens one, named
`PARENT/REPLY.CALL`: of `delegate`, of a declared `SubAgent`, or one whose result is too large. A
program opens one by a name, or by what it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from transom.agent.messages import say
from transom.agent.results import READING, name_of, outcomes_kept, whole_of
from transom.agent.session import CALLER, Session
from transom.agent.setup import SUB, seated
from transom.canonical import Json, digest
from transom.config.model import ModelSeat
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import PURPOSE, SOURCE, oversized
from transom.context.slices import READ_SLICE
from transom.context.summary import Summary, hold, said_in, seen_in, summarised, summary_room
from transom.errors import (
    OutOfTurns,
    ProviderError,
    ReplyError,
    ToolExecutionError,
    TransomError,
    WindowOverflow,
)
from transom.llm import Block, Role, Strategy, Tier, ToolCall, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress, strictest
from transom.runs.observe import of_agent
from transom.runs.tool_calls import egress_in_calls
from transom.telemetry import Span, keys
from transom.tools import (
    Arguments,
    Function,
    Toolbox,
    ToolDefinition,
    ToolOutcome,
    ToolReturn,
    as_tools,
)

_log = logging.getLogger(__name__)

_PROMPT = Path(__file__).parent / "prompts" / "sub_conversation.md"
_ROLE = Block("sub_role", _PROMPT.read_text(encoding="utf-8").strip(), Tier.STABLE)
_MOST_TOKENS = 2_000  # tokens of an answer where there is no source to measure it by
_TASK, _SUM_UP = "task", "Now sum up what you found"
"""Ids of the message of a sub-conversation that a call opened, and of the last one of a
program's.
"""
_FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""The failures of a sub-conversation; lines chosen by rule stand in the place of its answer
then.
"""


# -- of a call -------------------------------------------------------------------------------------


def _asking_for(name: str, description: str) -> dict[str, Json]:
    """The schema of arguments of which there is one, a text."""
    text: Json = {"type": "string", "minLength": 1, "description": description}
    return {
        "type": "object",
        "properties": {name: text},
        "required": [name],
        "additionalProperties": False,
    }


async def _delegated(arguments: Arguments) -> ToolReturn:
    parent, name = CALLER.get()
    return await _looked_into(parent, name, str(arguments["purpose"]))


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
    _asking_for(
        "purpose",
        "What you need to know, and the names of kept results that say it, in a sentence or two.",
    ),
    _delegated,
    effect="pure",
    of_run=True,
)


class SubAgent(ToolDefinition):
    """A role that the model of another agent may hand a task to, as it calls a tool.

    The task is done in a conversation of its own, within the budget of the agent that has it; what
    comes back is its answer.

    Args:
        role: who does it.
        name: of the tool.
        description: by which a model decides when to hand a task on.
        tools: what it may call. Without effects among them, several sub-agents of one reply run
            side by side.
    """

    _tools: Sequence[ToolDefinition]

    def __init__(
        self,
        role: Role,
        name: str,
        description: str,
        tools: Sequence[ToolDefinition | Function] = (),
    ) -> None:
        given = as_tools(tools)
        object.__setattr__(self, "_tools", given)  # the base class is frozen

        async def handed_on(arguments: Arguments) -> ToolReturn:
            parent, opens = CALLER.get()
            box, task = Toolbox(given, redact=parent.toolbox.redact), str(arguments["task"])
            return await _answered_by(_sub_session(parent, opens, role, box), task, task)

        asks = _asking_for("task", "What is to be done, in full.")
        super().__init__(name, description, asks, handed_on, effect="idempotent", of_run=True)

    def has_effects(self, tools_of_caller: Iterable[ToolDefinition]) -> bool:  # noqa: ARG002
        """Return whether one of its own tools has effects; its conversation is its own.

        What it says is journaled in a log that no other call writes, and what it costs is reserved
        in the purse that all share. So only its tools can meet those of another sub-agent.
        """
        return any(tool.has_effects(self._tools) for tool in self._tools)


def equip(session: Session) -> Session:
    """Give a conversation the runtime's own tools."""
    session.in_brief = _in_brief
    if session.role.strategy == "sub_conversation":
        session.toolbox.offer(_DELEGATE)
    if any(outcomes_kept(session)):
        session.toolbox.offer(READING)
    return session


async def _in_brief(
    session: Session, number: int, call: ToolCall, outcome: ToolOutcome
) -> ToolOutcome:
    """A kept result as the model is told it: its outline, or a summary by a sub-conversation."""
    whole, tokens = whole_of(session, outcome), session.correction
    session.toolbox.offer(READING)
    # a sub-conversation opens none
    strategy: Strategy = "truncate" if session.parent else session.role.strategy
    big = oversized(whole, name_of(outcome.kept), strategy, session.window, tokens)
    if big is None or big.remedy == "refer":
        return outcome
    purpose = (
        f"What this result of {call.name}({str(call.arguments)[:300]}) says that answers what was"
        " asked."
    )
    _, shown = await in_thread_if_large(
        len(whole.content), lambda: big.opening(purpose, session.window, tokens)
    )
    beside = len(session.state.pending.calls) if session.state.pending else 1
    # what all summaries of one reply may take together
    brief = replace(big, limit=big.limit // beside)
    room = brief.room(tokens, session.seat.ratio)
    told = await _looked_into(
        session, session.place(number).opens, purpose, room, whole.content, [shown]
    )
    return replace(
        outcome,
        result=replace(
            brief.in_brief(str(told.content)), egress=strictest(whole.egress, told.egress)
        ),
    )


async def _looked_into(
    parent: Session,
    name: str,
    purpose: str,
    room: int = _MOST_TOKENS,
    source: str = "",
    shown: Sequence[Block] = (),
) -> ToolReturn:
    """A summary, of so many tokens, of what a sub-conversation finds in a source and by its
    parent's tools.
    """
    asked = [turn.text for turn in parent.state.turns if isinstance(turn, UserMessage)]
    background = f"The parent agent was asked: {asked[-1]}" if asked else ""
    blocks = (*_purpose_blocks(purpose, background, parent.state.egress), *shown)
    sub = _sub_session(parent, name, sub_role(parent.role, parent.seat, room))
    return await _answered_by(sub, purpose, None, blocks, source, room)


async def _answered_by(
    sub: Session,
    purpose: str,
    text: str | None,
    blocks: Sequence[Block] = (),
    source: str = "",
    room: int = 0,
) -> ToolReturn:
    """Have a sub-conversation that a call opened answer, and close it; one that was left in the
    middle is gone on with.

    Args:
        source: of its answer; lines of it stand there where that fails, without one the call fails.
        room: tokens of its answer, which is held to all that it saw; 0: the answer as it is.
    """
    if (summary := _closed_summary(sub)) is None:
        sub.raises = True
        with _span(sub, "sub_conversation", keys.INVOKE_AGENT) as span:
            await _open(sub, purpose)
            said, failure = await _answer(sub, text, blocks, _TASK)
            if failure:
                span.fail(type(failure).__name__, "lines of its source stand in for its answer")
            span.set(keys.MESSAGES, len(sub.state.turns))
        if failure and not source:
            error = ToolExecutionError(
                f"the sub-conversation failed: {failure.what}", hint="look into it yourself"
            )
            error.egress = _seen_egress(sub, blocks)
            raise error
        summary, tokens = Summary(said, "model"), sub.correction
        if room:
            seen = seen_in([block for block in blocks if block.text != source], sub.state.turns)
            given, also = (source, seen) if source else (seen, "")
            summary = await in_thread_if_large(
                len(seen) + len(source), lambda: summarised(said, given, room, tokens, also=also)
            )
        await _close(sub, summary, blocks)
    return ToolReturn(summary.text, egress=sub.state.egress)


async def _answer(
    sub: Session,
    text: str | None,
    blocks: Sequence[Block],
    id: str,  # noqa: A002  the message's
) -> tuple[str, TransomError | None]:
    """The answer of a sub-conversation, "" where it fails; and why it failed."""
    try:
        response = await say(sub, text, blocks, id=id)
    except _FAILURES as error:
        return "", error
    if response.ended == "answered" and response.text.strip():
        return response.text, None
    return "", ReplyError(f"it ended with {response.ended} and no answer")


# -- of a program ----------------------------------------------------------------------------------


async def open_program_sub(parent: Session, purpose: str, background: str, name: str) -> Session:
    """Open a sub-conversation of a program, or find it again by its name, or by what it is
    asked.
    """
    egress = strictest(parent.state.egress, egress_in_calls())
    known = f"{parent.id}/{name or 'sub-' + digest([purpose, background])[:8]}"
    always = _purpose_blocks(purpose, background, egress)
    sub = _sub_session(parent, known, sub_role(parent.role, parent.seat), always=always)
    with _span(sub, "open sub_conversation", keys.SUB_CONVERSATION):
        await _open(sub, purpose, egress)
    return sub


async def close_program_sub(parent: Session, sub: Session) -> Summary:
    """Have a sub-conversation sum up, and tell its parent; what an earlier run of the process
    did counts.
    """
    with _span(sub, "complete sub_conversation", keys.SUB_CONVERSATION):
        if (summary := _closed_summary(sub)) is None:
            summary = await _sum_up(sub)
            await _close(sub, summary, sub.given)
        await _tell_finding(parent, sub, summary)
    return summary


async def _tell_finding(parent: Session, sub: Session, summary: Summary) -> None:
    link = sub.state.sub
    assert link is not None, "it was opened"
    egress = _seen_egress(sub, sub.given)
    block = Block("finding", f"{link.purpose}\n\n{summary.text}", trust="untrusted", egress=egress)
    told: dict[str, Json] = {"text": render_block(block), "sub": sub.id}
    if parent.stage.host.chain.policy.is_local(block):
        told["egress"] = "local"
    at = parent.state.found.get(sub.id)
    if at is not None:
        before = parent.state.turns[at]
        if isinstance(before, UserMessage) and (before.text == told["text"] or parent.stage.kept):
            return
        # something else was found there now
        await parent.append("reset", {"to": parent.next, "turns": at})
    await parent.append("user_message", told)


async def _sum_up(sub: Session) -> Summary:
    """The summary of a program's sub-conversation, held to what it saw; where it fails, lines
    chosen by rule.
    """
    messages, tokens = sub.state.messages, sub.correction
    at = next(
        (one.first_turn for one in messages if one.data.get("id") == _SUM_UP), len(sub.state.turns)
    )
    turns = sub.state.turns[:at]
    seen, said = seen_in(sub.given, turns), said_in(turns)
    room = summary_room(tokens.count(f"{seen}\n{said}"), sub.window.result_tokens, sub.seat.ratio)
    answer, _ = await _answer(sub, f"{_SUM_UP}, in at most {room} tokens.", (), _SUM_UP)
    seen = seen_in(sub.given, [*turns, *sub.state.turns[at + 1 :]])  # also what was called for it

    def summed() -> Summary:
        return summarised(
            answer, seen if answer else f"{seen}\n{hold(said, seen)[0]}", room, tokens
        )

    return await in_thread_if_large(len(seen) + len(said), summed)


# -- of both ---------------------------------------------------------------------------------------


def sub_role(role: Role, seat: ModelSeat, tokens: int = _MOST_TOKENS) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say at once."""
    asked = seated(role.settings, seat)
    settings = replace(asked, max_tokens=min(asked.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, "background", SOURCE})
    return Role(role.name + SUB, (_ROLE,), sees, settings=settings)


def _sub_session(
    parent: Session,
    name: str,
    role: Role,
    tools: Toolbox | None = None,
    always: tuple[Block, ...] = (),
) -> Session:
    """A sub-conversation as it is in the journal; a new one where there is none.

    Without tools of its own it may call its parent's, but for those that open further
    conversations.
    """
    if tools is None:
        tools = parent.toolbox.within(one for one in parent.toolbox.tools if not one.of_run)
        if READ_SLICE in parent.toolbox.specs:
            tools.offer(READING)
    sub = Session(
        parent.stage,
        name,
        role,
        tools,
        parent.meter,
        parent.seat,
        parent.tell,
        always,
        parent=parent,
    )
    sub.in_brief = parent.in_brief
    return sub


def _purpose_blocks(purpose: str, background: str, egress: Egress) -> tuple[Block, ...]:
    """The purpose of a sub-conversation, and what it knows; as local as who asks."""
    known = (
        [Block("background", background, Tier.SESSION, "untrusted", egress)] if background else []
    )
    return (Block(PURPOSE, purpose, Tier.SESSION, egress=egress), *known)


def _span(sub: Session, name: str, operation: str) -> Span:
    attributes = {**of_agent(sub.role.name, sub.stage.place, sub.id), keys.OPERATION: operation}
    return sub.stage.host.telemetry.span(f"{name} {sub.role.name}", **attributes)


async def _open(sub: Session, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins, unless it did."""
    assert sub.parent is not None, "it was opened by another conversation"
    if sub.state.sub is None:
        event: dict[str, Json] = {"parent": sub.parent.id, "purpose": purpose}
        await sub.append(
            "conversation_opened", event if egress == "any" else {**event, "egress": "local"}
        )
        _log.info("sub-conversation %s: opened by %s", sub.id, sub.parent.id)


async def _close(sub: Session, summary: Summary, given: Sequence[Block]) -> None:
    """Journal what came of a sub-conversation, and how local it is."""
    told: dict[str, Json] = {
        "summary": summary.text,
        "how": summary.by,
        "struck": [*summary.struck],
    }
    local: dict[str, Json] = {} if _seen_egress(sub, given) == "any" else {"egress": "local"}
    await sub.append("conversation_closed", told | local)
    _log.info(
        "sub-conversation %s: completed, %s of %d characters", sub.id, summary.by, len(summary.text)
    )


def _closed_summary(sub: Session) -> Summary | None:
    """The summary in the journal; None where it came to no end."""
    closed = sub.state.sub.closed if sub.state.sub else None
    return Summary(closed["summary"], closed["how"], tuple(closed["struck"])) if closed else None


def _seen_egress(sub: Session, given: Sequence[Block]) -> Egress:
    """The egress of all that a sub-conversation saw and was given, whether or not anybody
    answered from it.
    """
    policy = sub.stage.host.chain.policy
    return "local" if any(policy.is_local(block) for block in given) else sub.state.egress
