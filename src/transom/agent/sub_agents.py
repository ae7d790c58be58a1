"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees
only a summary.

Each has a log of its own and a link to its parent. A tool call opens one, named
`PARENT/REPLY.CALL`: a call of `delegate`, of a declared `SubAgent`, or a call whose result is too
large. A program opens one by a name, or by its purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transom.agent.large_results import READING, name_of, stored_result
from transom.agent.messages import act_on_answers, send_message
from transom.agent.replaying import tell_again
from transom.agent.session import AgentSession, ConversationLog, RoleWindow
from transom.agent.setup import SUB, seated
from transom.agent.sub_journal import closed_summary, egress_of, journal_closing, journal_opening
from transom.canonical import Json, digest
from transom.config.runtime_sections import ModelSeat
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import PURPOSE, SOURCE, oversized
from transom.context.slices import READ_SLICE
from transom.context.summary import (
    SourceSummary,
    said_in,
    seen_in,
    summarised,
    summary_room,
    without_unsupported,
)
from transom.errors import (
    OutOfTurns,
    ProviderError,
    ReplyError,
    ToolExecutionError,
    TransomError,
    WindowOverflow,
)
from transom.llm import Block, Role, Strategy, Tier, ToolCallPart, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress, strictest
from transom.runs.observe import of_agent
from transom.runs.tool_calls import egress_in_calls
from transom.telemetry import Span, keys
from transom.tools import (
    Toolbox,
    ToolOutcome,
    ToolReturn,
)

_PROMPT = Path(__file__).parent / "prompts" / "sub_conversation.md"
_ROLE = Block("sub_role", _PROMPT.read_text(encoding="utf-8").strip(), Tier.STABLE)
_MOST_TOKENS = 2_000  # tokens of an answer if there is no source to measure it by
_LONGEST_ARGUMENTS = 300  # characters of a call's arguments in the purpose of its summary
_TASK, _SUM_UP = "task", "Now sum up what you found"
"""Ids of the message of a sub-conversation that a call opened, and of the last message of a
program's sub-conversation.
"""
_FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""The failures of a sub-conversation after which lines chosen by rule stand in for its answer."""


async def shorten_result(
    session: AgentSession, number: int, call: ToolCallPart, outcome: ToolOutcome
) -> ToolOutcome:
    """Return a stored result as its outline, or as a summary by a sub-conversation."""
    log, budget, correction = session.log, session.window.budget, session.index.correction()
    result = stored_result(log.host.store, outcome)
    session.window.toolbox.offer(READING)
    # A sub-conversation opens no further ones.
    strategy: Strategy = "truncate" if session.parent else session.window.role.strategy
    large = oversized(result, name_of(outcome.kept), strategy, budget, correction)
    if large is None or large.remedy == "refer":
        return outcome
    arguments = str(call.arguments)[:_LONGEST_ARGUMENTS]
    purpose = f"What this result of {call.name}({arguments}) says that answers what was asked."
    _, opening = await in_thread_if_large(
        len(result.content), lambda: large.opening(purpose, budget, correction)
    )
    # The summaries of one reply share the room that one of them would have.
    calls = len(log.state.pending.calls) if log.state.pending else 1
    brief = replace(large, limit=large.limit // calls)
    tokens = brief.room(correction, session.sub_settings.ratio)
    sub_name = log.place(number).opens
    summary = await look_into(session, sub_name, purpose, tokens, result.content, [opening])
    egress = strictest(result.egress, summary.egress)
    return replace(outcome, result=replace(brief.in_brief(str(summary.content)), egress=egress))


async def look_into(
    parent: AgentSession,
    name: str,
    purpose: str,
    tokens: int = _MOST_TOKENS,
    source: str = "",
    opening: Sequence[Block] = (),
) -> ToolReturn:
    """Have a sub-conversation look into a source with its parent's tools.

    Args:
        parent: the conversation that asks.
        name: the name of the sub-conversation.
        purpose: what it is to find out.
        tokens: the most tokens of its summary.
        source: the text that it looks into, if there is one.
        opening: the blocks that show it the source.
    """
    state = parent.log.state
    background = ""
    for turn in state.turns:
        if isinstance(turn, UserMessage):
            background = f"The parent agent was asked: {turn.text}"
    blocks = (*_purpose_blocks(purpose, background, state.egress), *opening)
    sub = sub_session(parent, name, sub_role(parent.window.role, parent.sub_settings, tokens))
    return await answer_and_close(sub, purpose, None, blocks, source, tokens)


async def answer_and_close(
    sub: AgentSession,
    purpose: str,
    text: str | None,
    blocks: Sequence[Block] = (),
    source: str = "",
    tokens: int = 0,
) -> ToolReturn:
    """Have a sub-conversation that a call opened answer, and close it.

    A sub-conversation that was interrupted is gone on with.

    Args:
        sub: the sub-conversation.
        purpose: what it is opened for.
        text: the message that it answers, or None if its blocks say it.
        blocks: what it is given.
        source: the text that it looks into. Lines of it stand in for an answer that fails; without
            a source the call fails.
        tokens: the most tokens of its answer, which is checked against all that it saw; 0 takes the
            answer as it is.
    """
    summary = closed_summary(sub.log)
    if summary is None:
        # A cap is an error here: the parent's response ends with it, not the sub-conversation's.
        sub.raises_caps = True
        state = sub.log.state
        with _span(sub, "sub_conversation", keys.INVOKE_AGENT) as span:
            await journal_opening(sub, purpose)
            answer, failure = await _ask(sub, text, blocks, _TASK)
            if failure:
                span.fail(type(failure).__name__, "lines of its source stand in for its answer")
            span.set(keys.MESSAGES, len(state.turns))
        # The model that called it can still do the work itself.
        if failure and not source:
            error = ToolExecutionError(
                f"the sub-conversation failed: {failure.problem}", hint="look into it yourself"
            )
            error.egress = egress_of(sub.log, blocks)
            raise error
        summary = SourceSummary(answer, "model")
        if tokens:
            correction = sub.index.correction()
            seen_text = seen_in([block for block in blocks if block.text != source], state.turns)
            # The source comes first: lines that stand in for an answer are taken from it.
            sources = (source, seen_text) if source else (seen_text, "")
            summary = await in_thread_if_large(
                len(seen_text) + len(source),
                lambda: summarised(answer, sources[0], tokens, correction, also=sources[1]),
            )
        await journal_closing(sub.log, summary, blocks)
    else:
        # The program was killed after its end and before the call had its result.
        tell_again(sub, 0)
    return ToolReturn(summary.text, egress=sub.log.state.egress)


async def _ask(
    sub: AgentSession,
    text: str | None,
    blocks: Sequence[Block],
    id: str,  # noqa: A002  the message's
) -> tuple[str, TransomError | None]:
    """Return the answer of a sub-conversation, or "" and the error if it fails."""
    try:
        response = await send_message(sub, text, blocks, id=id)
    except _FAILURES as error:
        return "", error
    if response.ended == "answered" and response.text.strip():
        return response.text, None
    return "", ReplyError(f"it ended with {response.ended} and no answer")


# -- sub-conversations of a program ----------------------------------------------------------------


async def open_program_sub(
    parent: AgentSession, purpose: str, background: str, name: str
) -> AgentSession:
    """Open a sub-conversation of a program, or find it again by its name, or by its purpose and
    background.
    """
    # What a tool handler was given counts, too: it may pass it on in the purpose.
    egress = strictest(parent.log.state.egress, egress_in_calls())
    last_name = name or f"sub-{digest([purpose, background])[:8]}"
    always = _purpose_blocks(purpose, background, egress)
    role = sub_role(parent.window.role, parent.sub_settings)
    sub = sub_session(parent, f"{parent.log.id}/{last_name}", role, always=always)
    with _span(sub, "open sub_conversation", keys.SUB_CONVERSATION):
        await journal_opening(sub, purpose, egress)
    return sub


async def close_program_sub(parent: AgentSession, sub: AgentSession) -> SourceSummary:
    """Have a sub-conversation sum up, and tell its parent; what an earlier process did counts."""
    with _span(sub, "complete sub_conversation", keys.SUB_CONVERSATION):
        summary = closed_summary(sub.log)
        if summary is None:
            summary = await _sum_up(sub)
            await journal_closing(sub.log, summary, sub.all_blocks())
        await _tell_finding(parent, sub, summary)
    return summary


async def _tell_finding(parent: AgentSession, sub: AgentSession, summary: SourceSummary) -> None:
    """Append the summary of a sub-conversation to its parent, unless it stands there already."""
    link, state, stage = sub.log.state.sub, parent.log.state, parent.log.stage
    assert link is not None, "it was opened"
    egress = egress_of(sub.log, sub.all_blocks())
    text = f"{link.purpose}\n\n{summary.text}"
    block = Block("finding", text, trust="untrusted", egress=egress)
    event: dict[str, Json] = {"text": render_block(block), "sub": sub.log.id}
    if stage.host.chain.policy.is_local(block):
        event["egress"] = "local"
    earlier_turn = state.finding_turns.get(sub.log.id)
    if earlier_turn is not None:
        turn = state.turns[earlier_turn]
        if isinstance(turn, UserMessage) and (stage.is_kept or turn.text == event["text"]):
            return
        # A stage that runs again found something else: its parent goes on from here anew.
        await parent.log.append("reset", {"to": parent.next_message, "turns": earlier_turn})
    await act_on_answers(parent)
    await parent.log.append("user_message", event)


async def _sum_up(sub: AgentSession) -> SourceSummary:
    """Return the summary of a program's sub-conversation, checked against all that it saw.

    If it cannot sum up, lines chosen by rule stand in its place.
    """
    state, correction = sub.log.state, sub.index.correction()
    # The request for a summary may be in the journal already, and is no part of what it saw.
    end = len(state.turns)
    for message in state.messages:
        if message.data.get("id") == _SUM_UP:
            end = message.first_turn
            break
    turns = state.turns[:end]
    blocks = sub.all_blocks()
    seen_text, reply_text = seen_in(blocks, turns), said_in(turns)
    tokens = summary_room(
        correction.count(f"{seen_text}\n{reply_text}"),
        sub.window.budget.result_tokens,
        sub.sub_settings.ratio,
    )
    request = f"{_SUM_UP}, in at most {tokens} tokens."
    answer, _ = await _ask(sub, request, (), _SUM_UP)
    # The tools that it called for the summary count, too.
    seen_text = seen_in(sub.all_blocks(), [*turns, *state.turns[end + 1 :]])

    def summary() -> SourceSummary:
        source = seen_text
        if not answer:
            source = f"{seen_text}\n{without_unsupported(reply_text, seen_text)[0]}"
        return summarised(answer, source, tokens, correction)

    # Facts of a long text are compared in a thread, so that the event loop goes on.
    return await in_thread_if_large(len(seen_text) + len(reply_text), summary)


# -- both kinds ------------------------------------------------------------------------------------


def sub_role(role: Role, seat: ModelSeat, tokens: int = _MOST_TOKENS) -> Role:
    """Return the role of a sub-conversation: its own prompt, and a limit on each reply."""
    settings = seated(role.settings, seat)
    # Twice its summary is room enough for thinking; more would only be cut.
    settings = replace(settings, max_tokens=min(settings.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, "background", SOURCE})
    return Role(role.name + SUB, (_ROLE,), sees, settings=settings)


def sub_session(
    parent: AgentSession,
    name: str,
    role: Role,
    toolbox: Toolbox | None = None,
    always: tuple[Block, ...] = (),
) -> AgentSession:
    """Return a sub-conversation as it is in the journal, or a new one.

    Without tools of its own it may call its parent's, except for those that open further
    conversations.
    """
    # A sub-conversation that could open further ones would never have to work itself.
    if toolbox is None:
        parents = parent.window.toolbox
        toolbox = parents.within(tool for tool in parents.tools if not tool.of_run)
        if READ_SLICE in parents.specs:
            toolbox.offer(READING)
    listener = None
    if parent.listener:
        listener = parent.listener.of(name)
    return AgentSession(
        ConversationLog(parent.log.stage, name),
        RoleWindow(parent.log.stage, role, toolbox, always),
        parent.meter,
        parent.sub_settings,
        listener,
        parent=parent,
        shorten=parent.shorten,
    )


def _purpose_blocks(purpose: str, background: str, egress: Egress) -> tuple[Block, ...]:
    """Return the purpose of a sub-conversation and its background, as local as its parent is."""
    blocks = [Block(PURPOSE, purpose, Tier.SESSION, egress=egress)]
    if background:
        blocks.append(Block("background", background, Tier.SESSION, "untrusted", egress))
    return tuple(blocks)


def _span(sub: AgentSession, name: str, operation: str) -> Span:
    role, log = sub.window.role.name, sub.log
    attributes = {**of_agent(role, log.stage.place, log.id), keys.OPERATION: operation}
    return log.host.telemetry.span(f"{name} {role}", **attributes)
