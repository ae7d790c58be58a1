"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees only a summary.

Each has a log of its own and a link to its parent. A tool call opens one, named `PARENT/REPLY.CALL`: of `delegate`, of
a declared `SubAgent`, or one whose result is too large. A program opens one by a name, or by what it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from transom.agent.loop import CALL_ID
from transom.agent.messages import again, say
from transom.agent.results import name_of, offer_reading, outcomes_kept, sources_of, whole_of
from transom.agent.session import Session
from transom.agent.setup import SUB, seated
from transom.canonical import Json, digest
from transom.config.model import ModelSeat
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import PURPOSE, SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE
from transom.context.summary import Summary, extract, hold, said_in, seen_in, summarised, summary_room
from transom.errors import OutOfTurns, ProviderError, ReplyError, ToolExecutionError, WindowOverflow
from transom.llm import Block, Role, Tier, ToolCall, ToolResult, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress, strictest
from transom.runs.observe import of_agent
from transom.runs.tool_calls import egress_in_calls
from transom.telemetry import Span, keys
from transom.tools import Arguments, Function, Toolbox, ToolDefinition, ToolOutcome, ToolReturn, as_tools
from transom.tools.toolbox import OWN

_log = logging.getLogger(__name__)

_PROMPT = (Path(__file__).parent / "prompts" / "sub_conversation.md").read_text(encoding="utf-8")
_ROLE = Block("sub_role", _PROMPT.strip(), Tier.STABLE)
_MOST_TOKENS = 2_000  # tokens of an answer where there are no sources to measure it by
_SUM_UP = "Now sum up what you found"
_FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""What a sub-conversation may fail with; lines chosen by rule stand in the place of its answer then."""

_DELEGATE = "Have something looked into in a conversation of its own, and get a short answer. Use it for what is long."
_SOURCES = "What is to be looked at; may be empty. The name of a kept result, or `event 12`, as notes name it."


def _of(**properties: Json) -> dict[str, Json]:
    """A schema of arguments that are all required."""
    more: dict[str, Json] = {"required": [*properties], "additionalProperties": False}
    return {"type": "object", "properties": properties, **more}


def _text(description: str) -> Json:
    return {"type": "string", "minLength": 1, "description": description}


_ERRAND = _of(
    purpose=_text("What you need to know, in a sentence or two."),
    sources={"type": "array", "items": {"type": "string"}, "description": _SOURCES},
)
_TASK = _of(task=_text("What is to be done, in full."))


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


# -- tools of the runtime ---------------------------------------------------------------------------------------------


def equip(session: Session, subs: Sequence[SubAgent] = ()) -> Session:
    """Give a conversation the runtime's own tools."""
    session.in_brief = _in_brief
    if session.role.strategy == "sub_conversation":

        async def delegated(arguments: Arguments) -> ToolReturn:
            names = map(str, cast("list[Json]", arguments["sources"]))
            sources, room = sources_of(session, names, evidence=True), _MOST_TOKENS
            if sources:
                size = session.correction.count(_joined(sources))
                room = summary_room(size, session.window.result_tokens, session.seat.ratio)
            told, egress = await _looked_into(session, CALL_ID.get(), str(arguments["purpose"]), sources, room)
            return ToolReturn(told, egress=egress)

        session.toolbox.offer(ToolDefinition("delegate", _DELEGATE, _ERRAND, delegated, effect="pure", of_run=True))
    for declared in subs:
        tool = _sub_agent_tool(session, declared)
        if tool.spec in session.toolbox.specs:  # of an agent that was closed, and is used again
            session.toolbox.offer(tool)
        else:
            session.toolbox.register(tool)
    if any(outcomes_kept(session)):
        offer_reading(session)
    return session


def _sub_agent_tool(session: Session, declared: SubAgent) -> ToolDefinition:
    tools = as_tools(declared.tools)  # a mistake in them is told now

    async def handed_on(arguments: Arguments) -> ToolReturn:
        task = str(arguments["task"])
        box = Toolbox(tools, redact=session.toolbox.redact)
        sub = _sub_session(session, CALL_ID.get(), declared.role, box)
        summary = await _answered_by(sub, task, task, lambda said, _: Summary(said, "model") if said else None)
        return ToolReturn(summary.text, egress=sub.state.egress)

    told = (declared.name, declared.description, _TASK, handed_on)
    return ToolDefinition(*told, effect="idempotent", of_run=True)


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


async def _looked_into(
    session: Session, name: str, purpose: str, sources: Mapping[str, ToolResult], room: int
) -> tuple[str, Egress]:
    """What a sub-conversation finds in sources, or by its tools, within so many tokens; and how local that is."""
    whole, tokens = _joined(sources), session.correction
    shown = await in_thread_if_large(len(whole), lambda: _shown(session, purpose, sources))
    asked = [turn.text for turn in session.state.turns if isinstance(turn, UserMessage)]
    background = f"The parent agent was asked: {asked[-1]}" if asked else ""
    blocks = (*_purpose_blocks(purpose, background, session.state.egress), *shown)
    sub = _sub_session(session, name, sub_role(session.role, session.seat, [block.name for block in blocks], room))
    pairs = zip(sources.items(), shown, strict=True)
    sub.readable = {known: source for (known, source), block in pairs if block.text != source.content}
    if sub.readable or READ_SLICE in session.toolbox.specs:
        offer_reading(sub)

    def summed(said: str, seen: str) -> Summary | None:
        source, also = (whole, seen) if sources else (seen, "")
        return summarised(said, source, room, tokens, also=also) if said or sources else None

    summary = await _answered_by(sub, purpose, None, summed, blocks, [one.content for one in sources.values()])
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


async def _answered_by(
    sub: Session,
    purpose: str,
    text: str | None,
    sum_up: Callable[[str, str], Summary | None],
    blocks: Sequence[Block] = (),
    beside: Collection[str] = (),
) -> Summary:
    """Have a sub-conversation that a call opened answer, and close it; one that was left in the middle is gone on with.

    Args:
        text: what it is asked; None for blocks alone.
        sum_up: its answer ("" where it failed), and what it was given and what came back to it -> what its parent is
            told; None where nothing can stand in for an answer.
        blocks: what it is given.
        beside: texts of those that are sources: `sum_up` knows them.

    Raises:
        ToolExecutionError: it failed, and nothing stands in for its answer.
    """
    if closed := _closed_summary(sub):
        return closed
    said, why = await _answer(sub, purpose, text, blocks)
    seen = seen_in([block for block in blocks if block.text not in beside], sub.state.turns)
    summary = await in_thread_if_large(len(seen) + sum(map(len, beside)), lambda: sum_up(said, seen))
    if summary is None:
        error = ToolExecutionError(f"the sub-conversation failed: {why}", hint="look into it yourself")
        error.egress = _seen_egress(sub, blocks)
        raise error
    return await _close(sub, summary, blocks)


async def _answer(sub: Session, purpose: str, text: str | None, blocks: Sequence[Block]) -> tuple[str, str]:
    """What a sub-conversation answers, "" where it fails; and why it failed."""
    sub.raises = True
    with _span(sub, "sub_conversation", keys.INVOKE_AGENT) as span:
        await _open(sub, purpose)
        try:
            response = await (again(sub, 0) if sub.state.messages else say(sub, text, blocks))
        except _FAILURES as error:
            span.fail(type(error).__name__, "lines of its sources stand in for its answer")
            return "", error.what
        finally:
            span.set(keys.MESSAGES, len(sub.state.turns))
    if response.ended == "answered" and response.text.strip():
        return response.text, ""
    return "", f"it ended with {response.ended} and no answer"


# -- of a program -----------------------------------------------------------------------------------------------------


async def open_program_sub(parent: Session, purpose: str, background: str, name: str) -> Session:
    """Open a sub-conversation of a program, or find it again by its name, or by what it is asked."""
    egress = strictest(parent.state.egress, egress_in_calls())
    known = f"{parent.id}/{name or 'sub-' + digest([purpose, background])[:8]}"
    always = _purpose_blocks(purpose, background, egress)
    sub = _sub_session(parent, known, sub_role(parent.role, parent.seat), always=always)
    with _span(sub, "open sub_conversation", keys.SUB_CONVERSATION):
        await _open(sub, purpose, egress)
    return sub


async def close_program_sub(parent: Session, sub: Session) -> Summary:
    """Have a sub-conversation sum up, and tell its parent; what an earlier run of the process did counts."""
    with _span(sub, "complete sub_conversation", keys.SUB_CONVERSATION):
        summary = _closed_summary(sub) or await _close(sub, await _sum_up(sub), sub.given)
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
        await parent.append("reset", {"to": parent.next, "turns": at})  # something else was found there now
    await parent.append("user_message", told)


async def _sum_up(sub: Session) -> Summary:
    """What a sub-conversation of a program found, in its own words and held to what was said in it.

    Where it cannot sum up, lines of it that are chosen by rule stand there.
    """
    messages = sub.state.messages
    at = next((one.first_turn for one in messages if one.data.get("id") == _SUM_UP), len(sub.state.turns))
    turns = sub.state.turns[:at]
    seen, said = seen_in(sub.given, turns), said_in(turns)
    tokens = sub.correction
    room = summary_room(tokens.count(f"{seen}\n{said}"), sub.window.result_tokens, sub.seat.ratio)
    with suppress(*_FAILURES):
        response = await say(sub, f"{_SUM_UP}, in at most {room} tokens.", id=_SUM_UP)
        if response.ended == "answered" and response.text.strip():
            seen = seen_in(sub.given, [*turns, *sub.state.turns[at + 1 :]])  # also what was called for it
            return await in_thread_if_large(len(seen), lambda: summarised(response.text, seen, room, tokens))
    return await in_thread_if_large(
        len(seen) + len(said), lambda: extract(f"{seen}\n{hold(said, seen)[0]}", room, tokens)
    )


# -- of both ----------------------------------------------------------------------------------------------------------


def sub_role(role: Role, seat: ModelSeat, blocks: Sequence[str] = (), tokens: int = _MOST_TOKENS) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say at once."""
    asked = seated(role.settings, seat)
    settings = replace(asked, max_tokens=min(asked.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, "background", *blocks})
    return Role(role.name + SUB, (_ROLE,), sees, settings=settings)


def _sub_session(
    parent: Session, name: str, role: Role, tools: Toolbox | None = None, always: tuple[Block, ...] = ()
) -> Session:
    """A sub-conversation as it is in the journal; a new one where there is none.

    Without tools of its own it may call its parent's, but for those that look into the conversation itself.
    """
    own = [tool for tool in parent.toolbox.tools if tool.name not in OWN and not tool.of_run]
    box = parent.toolbox.within(own) if tools is None else tools
    sub = Session(parent.stage, name, role, box, parent.meter, parent.seat, parent.pass_on, always, parent=parent)
    sub.in_brief = parent.in_brief
    return sub


def _purpose_blocks(purpose: str, background: str, egress: Egress) -> tuple[Block, ...]:
    """What a sub-conversation is to find out, and what it knows; as local as who asks."""
    known = [Block("background", background, Tier.SESSION, "untrusted", egress)] if background else []
    return (Block(PURPOSE, purpose, Tier.SESSION, egress=egress), *known)


def _span(sub: Session, name: str, operation: str) -> Span:
    attributes = {**of_agent(sub.role.name, sub.stage.place, sub.id), keys.OPERATION: operation}
    return sub.stage.host.telemetry.span(f"{name} {sub.role.name}", **attributes)


async def _open(sub: Session, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins, unless it did."""
    assert sub.parent is not None, "it was opened by another conversation"
    if sub.state.sub is None:
        event: dict[str, Json] = {"parent": sub.parent.id, "purpose": purpose}
        await sub.append("conversation_opened", event if egress == "any" else {**event, "egress": "local"})
        _log.info("sub-conversation %s: opened by %s", sub.id, sub.parent.id)


async def _close(sub: Session, summary: Summary, given: Sequence[Block]) -> Summary:
    """Journal what came of a sub-conversation, and how local it is."""
    told: dict[str, Json] = {"summary": summary.text, "how": summary.by, "struck": [*summary.struck]}
    local: dict[str, Json] = {} if _seen_egress(sub, given) == "any" else {"egress": "local"}
    await sub.append("conversation_closed", told | local)
    _log.info("sub-conversation %s: completed, %s of %d characters", sub.id, summary.by, len(summary.text))
    return summary


def _closed_summary(sub: Session) -> Summary | None:
    """What came of a sub-conversation, as the journal has it; None where it came to no end."""
    closed = sub.state.sub.closed if sub.state.sub else None
    return Summary(closed["summary"], closed["how"], tuple(closed["struck"])) if closed else None


def _seen_egress(sub: Session, given: Sequence[Block]) -> Egress:
    """As local as all that a sub-conversation saw and was given, whether or not anybody answered from it."""
    policy = sub.stage.host.chain.policy
    return "local" if any(policy.is_local(block) for block in given) else sub.state.egress
