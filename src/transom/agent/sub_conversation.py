"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees only a summary.

Each has a log of its own and a link to its parent. One that a tool call opened is named by that call,
`PARENT/REPLY.CALL`; one of a program by its name, or by what it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from transom.agent.messages import again, say
from transom.agent.session import Session
from transom.agent.setup import SUB, seated
from transom.canonical import Json, digest
from transom.config.model import ModelSeat
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import PURPOSE
from transom.context.summary import Summary, extract, hold, said_in, seen_in, summarised, summary_room
from transom.errors import OutOfTurns, ProviderError, ReplyError, ToolExecutionError, WindowOverflow
from transom.llm import Block, Role, Tier, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress, strictest
from transom.runs.observe import of_agent
from transom.runs.tool_calls import egress_in_calls
from transom.telemetry import Span, keys
from transom.tools import Toolbox
from transom.tools.toolbox import OWN

_log = logging.getLogger(__name__)

_PROMPT = (Path(__file__).parent / "prompts" / "sub_conversation.md").read_text(encoding="utf-8")
_ROLE = Block("sub_role", _PROMPT.strip(), Tier.STABLE)
MOST_TOKENS = 2_000  # tokens of an answer where there are no sources to measure it by
_SUM_UP = "Now sum up what you found"
_FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""What a sub-conversation may fail with; lines chosen by rule stand in the place of its answer then."""


def sub_role(role: Role, seat: ModelSeat, blocks: Sequence[str] = (), tokens: int = MOST_TOKENS) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say at once."""
    asked = seated(role.settings, seat)
    settings = replace(asked, max_tokens=min(asked.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, "background", *blocks})
    return Role(role.name + SUB, (_ROLE,), sees, settings=settings)


def sub_session(
    parent: Session,
    id: str,  # noqa: A002  the name of the field
    role: Role,
    tools: Toolbox | None = None,
    always: tuple[Block, ...] = (),
) -> Session:
    """A sub-conversation as it is in the journal; a new one where there is none.

    Args:
        parent: who opens it.
        id: its name.
        role: who is asked; its tools are those of the box.
        tools: what it may call; what the parent may where None, but for what looks into the conversation itself.
        always: blocks that every message in it is answered from.
    """
    own = [tool for tool in parent.toolbox.tools if tool.name not in OWN and not tool.of_run]
    box = parent.toolbox.within(own) if tools is None else tools
    sub = Session(parent.stage, id, role, box, parent.meter, parent.seat, parent.pass_on, always, parent=parent)
    sub.in_brief = parent.in_brief
    return sub


def purpose_blocks(purpose: str, background: str, local: bool) -> tuple[Block, ...]:
    """What a sub-conversation is to find out, and what it knows; as local as who asks."""
    egress: Egress = "local" if local else "any"
    known = [Block("background", background, Tier.SESSION, "untrusted", egress)] if background else []
    return (Block("purpose", purpose, Tier.SESSION, egress=egress), *known)


async def open_link(sub: Session, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins, unless it did."""
    parent = sub.parent
    assert parent is not None, "it was opened by another conversation"
    if sub.state.sub is None:
        event: dict[str, Json] = {"parent": parent.id, "purpose": purpose}
        await sub.append("conversation_opened", event if egress == "any" else {**event, "egress": "local"})
        _log.info("sub-conversation %s: opened by %s", sub.id, parent.id)


async def close_link(sub: Session, summary: Summary, egress: Egress) -> None:
    """Journal what came of a sub-conversation, and how local it is."""
    how = "summary" if summary.by == "model" else summary.by
    told: dict[str, Json] = {"summary": summary.text, "how": how, "struck": [*summary.struck]}
    await sub.append("conversation_closed", told if egress == "any" else {**told, "egress": "local"})
    _log.info("sub-conversation %s: completed, %s of %d characters", sub.id, how, len(summary.text))


def seen_egress(sub: Session, given: Sequence[Block]) -> Egress:
    """As local as all that a sub-conversation saw and was given, whether or not anybody answered from it."""
    policy = sub.stage.host.chain.policy
    return "local" if any(policy.is_local(block) for block in given) else sub.state.egress


def closed_summary(sub: Session) -> Summary | None:
    """What came of a sub-conversation, as the journal has it; None where it came to no end."""
    closed = sub.state.sub.closed if sub.state.sub else None
    if closed is None:
        return None
    return Summary(closed["summary"], "model" if closed["how"] == "summary" else "extract", tuple(closed["struck"]))


def sub_span(sub: Session, does: str) -> Span:
    """What a program does with a sub-conversation (`open`, `complete`), in which its requests have their place."""
    attributes = {**of_agent(sub.role.name, sub.stage.place, sub.id), keys.OPERATION: keys.SUB_CONVERSATION}
    return sub.stage.host.telemetry.span(f"{does} sub_conversation {sub.role.name}", **attributes)


async def open_program_sub(parent: Session, purpose: str, background: str, name: str) -> Session:
    """Open a sub-conversation of a program, or find it again by its name, or by what it is asked."""
    egress = strictest(parent.state.egress, egress_in_calls())
    known = f"{parent.id}/{name or 'sub-' + digest([purpose, background])[:8]}"
    always = purpose_blocks(purpose, background, egress != "any")
    sub = sub_session(parent, known, sub_role(parent.role, parent.seat), always=always)
    with sub_span(sub, "open"):
        await open_link(sub, purpose, egress)
    return sub


async def close_program_sub(parent: Session, sub: Session) -> Summary:
    """Have a sub-conversation sum up, and tell its parent; what an earlier run of the process did counts."""
    with sub_span(sub, "complete"):
        summary = closed_summary(sub)
        if summary is None:
            summary = await _sum_up(sub)
            await close_link(sub, summary, seen_egress(sub, sub.given))
        await _tell_finding(parent, sub, summary)
    return summary


async def _tell_finding(parent: Session, sub: Session, summary: Summary) -> None:
    link = sub.state.sub
    assert link is not None, "it was opened"
    egress = strictest(seen_egress(sub, sub.given), sub.state.egress)
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


async def answered_by(
    sub: Session,
    purpose: str,
    text: str | None,
    sum_up: Callable[[str, str], Summary | None],
    blocks: Sequence[Block] = (),
    beside: Collection[str] = (),
) -> Summary:
    """Have a sub-conversation that a call opened answer, and close it; one that was left in the middle is gone on with.

    Args:
        sub: where.
        purpose: what it is to find out.
        text: what it is asked; None for blocks alone.
        sum_up: its answer ("" where it failed), and what it was given and what came back to it -> what its parent is
            told; None where nothing can stand in for an answer.
        blocks: what it is given.
        beside: texts of those that are sources: `sum_up` knows them.

    Raises:
        ToolExecutionError: it failed, and nothing stands in for its answer.
        CapReached, EgressError, Paused, StoreError: and all else that is not its own.
    """
    if closed := closed_summary(sub):
        return closed
    said, why = await _answer(sub, purpose, text, blocks)
    seen = seen_in([block for block in blocks if block.text not in beside], sub.state.turns)
    summary = await in_thread_if_large(len(seen) + sum(map(len, beside)), lambda: sum_up(said, seen))
    egress = seen_egress(sub, blocks)
    if summary is None:
        error = ToolExecutionError(f"the sub-conversation failed: {why}", hint="look into it yourself")
        error.egress = egress
        raise error
    await close_link(sub, summary, egress)
    return summary


async def _answer(sub: Session, purpose: str, text: str | None, blocks: Sequence[Block]) -> tuple[str, str]:
    """What a sub-conversation answers, "" where it fails; and why it failed."""
    sub.raises = True
    attributes = of_agent(sub.role.name, sub.stage.place, sub.id)
    with sub.stage.host.telemetry.span(f"sub_conversation {sub.role.name}", **attributes) as span:
        await open_link(sub, purpose)
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
