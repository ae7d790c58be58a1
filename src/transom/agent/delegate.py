"""What an agent hands on: by `delegate`, to a declared `SubAgent`, or a result that is too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from transom.agent.loop import CALL_ID
from transom.agent.results import kept_results, name_of, offer_reading, outcomes_kept, sources_of, whole_of
from transom.agent.session import Session
from transom.agent.sub_conversation import (
    MOST_TOKENS,
    answered_by,
    purpose_blocks,
    sub_role,
    sub_session,
)
from transom.canonical import Json
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE
from transom.context.summary import Summary, summarised, summary_room
from transom.llm import Block, Role, ToolCall, ToolResult, ToolSpec, UserMessage
from transom.llm.turns import Egress, strictest
from transom.tools import Arguments, Function, Toolbox, ToolDefinition, ToolOutcome, ToolReturn, as_tools

DELEGATE = ToolSpec(
    "delegate",
    "Have something looked into in a conversation of its own, and get a short answer. Use it for what is long.",
    {
        "type": "object",
        "properties": {
            "purpose": {
                "type": "string",
                "minLength": 1,
                "description": "What you need to know, in a sentence or two.",
            },
            "sources": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What is to be looked at; may be empty. The name of a kept result; of a tool, where it"
                " was called once; `look #2` for the second call of look; `event 12`, as notes name it.",
            },
        },
        "required": ["purpose", "sources"],
        "additionalProperties": False,
    },
)
_TASK: dict[str, Json] = {
    "type": "object",
    "properties": {"task": {"type": "string", "minLength": 1, "description": "What is to be done, in full."}},
    "required": ["task"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class SubAgent:
    """A role that the model of another agent may hand a task to, as it calls a tool.

    The task is done in a conversation of its own, within the budget of the agent that has it; what comes back is its
    answer.

    Attributes:
        role: who does it.
        name: of the tool.
        description: by which a model decides when to hand a task on.
        tools: what it may call.
    """

    role: Role
    name: str
    description: str
    tools: Sequence[ToolDefinition | Function] = ()


def equip(session: Session, subs: Sequence[SubAgent] = ()) -> Session:
    """Give a conversation the runtime's own tools."""
    session.in_brief = _in_brief
    if session.role.strategy == "sub_conversation":

        async def delegated(arguments: Arguments) -> ToolReturn:
            return await _delegated(session, arguments)

        told = (DELEGATE.name, DELEGATE.description, DELEGATE.parameters, delegated)
        session.toolbox.offer(ToolDefinition(*told, effect="pure", trust="untrusted", of_run=True))
    for sub in subs:
        tool = _sub_agent_tool(session, sub)
        if tool.spec in session.toolbox.specs:  # of an agent that was closed, and is used again
            session.toolbox.offer(tool)
        else:
            session.toolbox.register(tool)
    if any(outcomes_kept(session)):
        offer_reading(session)
    return session


async def _in_brief(session: Session, number: int, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
    """What the model is told of a kept result: its outline, or a summary by a sub-conversation."""
    name, whole, tokens = name_of(outcome.kept), whole_of(session, outcome), session.correction
    offer_reading(session)
    inner = session.parent is not None and "/" in session.id
    big = oversized(whole, name, "truncate" if inner else session.role.strategy, session.window, tokens)
    if big is None or big.remedy == "refer":
        return outcome
    beside = len(session.state.pending.calls) if session.state.pending else 1
    big = replace(big, limit=big.limit // beside)  # what all summaries of one reply may take together
    room = big.room(tokens, session.seat.ratio)
    purpose = f"What this result of {call.name}({str(call.arguments)[:300]}) says that answers what was asked."
    told, egress = await _looked_into(session, session.place(number).opens, purpose, {name: whole}, room)
    return replace(outcome, result=replace(big.in_brief(told), egress=strictest(whole.egress, egress)))


def _sub_agent_tool(session: Session, declared: SubAgent) -> ToolDefinition:
    tools = as_tools(declared.tools)  # a mistake in them is told now

    async def handed_on(arguments: Arguments) -> ToolReturn:
        task = str(arguments["task"])
        box = Toolbox(tools, redact=session.toolbox.redact)
        sub = sub_session(session, CALL_ID.get(), declared.role, box)
        summary = await answered_by(sub, task, task, lambda said, _: Summary(said, "model") if said else None)
        return ToolReturn(summary.text, egress=sub.state.egress)

    told = (declared.name, declared.description, _TASK, handed_on)
    return ToolDefinition(*told, effect="idempotent", trust="untrusted", of_run=True)


async def _delegated(session: Session, arguments: Arguments) -> ToolReturn:
    names = [str(one) for one in cast("list[Json]", arguments["sources"])]
    named, room = sources_of(session.state, kept_results(session), names), MOST_TOKENS
    if named:
        whole = session.correction.count(_joined(named))
        room = summary_room(whole, session.window.result_tokens, session.seat.ratio)
    told, egress = await _looked_into(session, CALL_ID.get(), str(arguments["purpose"]), named, room)
    return ToolReturn(told, egress=egress)


async def _looked_into(
    session: Session,
    id: str,  # noqa: A002  the conversation's
    purpose: str,
    sources: Mapping[str, ToolResult],
    room: int,
) -> tuple[str, Egress]:
    """What a sub-conversation finds in sources, or by its tools, within so many tokens; and how local that is.

    Raises:
        ToolExecutionError: it failed, and there are no sources of which lines could stand in for its answer.
    """
    whole, tokens = _joined(sources), session.correction
    shown = await in_thread_if_large(len(whole), lambda: _shown(session, purpose, sources))
    blocks = (*purpose_blocks(purpose, _asked(session), session.state.egress != "any"), *shown)
    sub = sub_session(session, id, sub_role(session.role, session.seat, [block.name for block in blocks], room))
    pairs = zip(sources.items(), shown, strict=True)
    sub.readable = {name: source for (name, source), block in pairs if block.text != source.content}
    if sub.readable or READ_SLICE in session.toolbox.specs:
        offer_reading(sub)

    def summed(said: str, seen: str) -> Summary | None:
        source, also = (whole, seen) if sources else (seen, "")
        return summarised(said, source, room, tokens, also=also) if said or sources else None

    summary = await answered_by(sub, purpose, None, summed, blocks, [one.content for one in sources.values()])
    return summary.text, sub.state.egress


def _joined(sources: Mapping[str, ToolResult]) -> str:
    return "\n\n".join(source.content for source in sources.values())


def _shown(session: Session, purpose: str, sources: Mapping[str, ToolResult]) -> list[Block]:
    """A block for each source, with an outline where it is long."""
    limit, shown = session.window.result_tokens, []
    for number, (name, source) in enumerate(sources.items(), 1):
        big = Oversized(source, name, session.correction.count(source.content), limit, "delegate")
        budget = replace(session.window, total=session.window.total // len(sources))
        _, block = big.opening(purpose, budget, session.correction)
        shown.append(replace(block, name=f"{SOURCE}_{number}"))
    return shown


def _asked(session: Session) -> str:
    """What the conversation was asked last."""
    asked = [turn.text for turn in session.state.turns if isinstance(turn, UserMessage)]
    return f"The parent agent was asked: {asked[-1]}" if asked else ""
