"""One call: assemble the window, ask, read the answer strictly, and ask once more if it cannot be
read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from transom.agent.delegation import equip
from transom.agent.messages import last_request, send_message
from transom.agent.meter import Meter
from transom.agent.models import Budget
from transom.agent.session import AgentSession, ConversationLog, RoleWindow
from transom.canonical import whole_text
from transom.errors import CapReached, OutOfTurns, ProviderError, ReplyError, ToolError
from transom.llm import AssistantMessage, Block, Reply, Request, Role
from transom.llm.egress import unquote
from transom.runs import Stage
from transom.runs.observe import log_unreadable
from transom.telemetry import child_span, keys
from transom.tools import Toolbox

T = TypeVar("T")

RETRY = "retry"
_QUOTED = 80  # characters of a reply that an error quotes
_RECOGNISED = 20  # characters by which a quotation is recognised in an error
_MEND = (
    "A program found this in your last answer. Mend it, leave the rest as it is, and give the whole"
    " answer again."
)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The outcome of a call.

    Attributes:
        value: the value that was read from the reply.
        reply: the reply as it came.
        request: the request that it answers, the last one if there were several.
    """

    value: T
    reply: Reply
    request: Request


async def call(
    stage: Stage,
    role: Role,
    blocks: Sequence[Block],
    read: Callable[[str], T],
    *,
    review: Callable[[T], Sequence[str]] | None = None,
    tools: Toolbox | None = None,
    budget: Budget | None = None,
) -> Answer[T]:
    """Ask a role once, and a second time if the reply cannot be read or a review finds something.

    A role with tools may call them in turns before it answers; the second time it is asked it sees
    their results. When the stage runs again, answers come from the journal, except for those that
    could not be read.

    Args:
        stage: the stage in whose journal replies and results of tools are kept.
        role: the role that is asked.
        blocks: blocks that it is given beside its own prompt. The second request adds a block
            `retry` that says what was wrong with the first reply, if the role sees that block.
        read: returns the value of a reply's text; raises ReplyError if it cannot be read.
        review: returns what is wrong with a value. A second answer counts if less is wrong with it.
        tools: the tools that the role declares.
        budget: what the call may use, all replies counted. It takes the place of the toolbox's cap
            on turns. Dollars are counted by its `prices`, else by the published list.

    Raises:
        ReplyError: the second reply cannot be read either.
        OutOfTurns, CapReached: the budget is used up; with a larger one the same call goes on.
        ToolError: the role declares other tools than it is given.
        InputError: the budget is in dollars, and a model that may answer has no price.
        VisibilityError, WindowOverflow, EgressError, ProviderError: see `Agent.send`.
    """
    session = _open_session(stage, role, blocks, tools or Toolbox(), budget)
    may_retry = RETRY in role.sees
    try:
        try:
            first = await _ask(session, blocks, read, is_last=not may_retry)
        except ReplyError as error:
            if not may_retry:
                raise
            complaint = f"Your last reply could not be read: {error}\nGive the whole answer again."
            retry_blocks = [*blocks, Block(RETRY, complaint)]
            first = await _ask(session, retry_blocks, read, is_last=True)
    except ReplyError:
        # An unreadable reply is of no use later: the next attempt of the stage asks anew.
        await session.log.append("reset", {"to": 0, "turns": 0})
        raise
    if review is None or not may_retry:
        return first
    findings = _review(role, review, first.value)
    if not findings:
        return first
    listed = "\n".join(f"- {finding}" for finding in findings)
    complaint = f"{_MEND}\n{listed}\n\nYour last answer was:\n\n{first.reply.text}"
    try:
        second = await _ask(session, [*blocks, Block(RETRY, complaint)], read, is_last=True)
    except (ReplyError, ProviderError, OutOfTurns, CapReached):
        return first  # an answer with findings is better than none: a person can mend it
    if len(_review(role, review, second.value)) < len(findings):
        return second
    return first


def _open_session(
    stage: Stage, role: Role, blocks: Sequence[Block], toolbox: Toolbox, budget: Budget | None
) -> AgentSession:
    """Return the conversation of a call; one that began with the same blocks is gone on with."""
    if role.tools != toolbox.specs:
        declared = ", ".join(spec.name for spec in role.tools)
        available = ", ".join(spec.name for spec in toolbox.specs)
        raise ToolError(
            f"it declares the tools [{declared}] and is given [{available}]",
            place=role.name,
            hint="give the role the specs of its toolbox",
        )
    # Each call has a budget of its own; the purse of the run counts all of them.
    meter = Meter()
    meter.hold(budget or Budget(turns=toolbox.max_turns), stage.host.chain.everyone)
    window = RoleWindow(stage, role, toolbox)
    # An earlier attempt of the stage that asked the same is gone on with.
    name = stage.claim_call(window.fingerprint(stage, None, blocks))
    session = AgentSession(ConversationLog(stage, name), window, meter, raises_caps=True)
    return equip(session)


async def _ask(
    session: AgentSession, blocks: Sequence[Block], read: Callable[[str], T], *, is_last: bool
) -> Answer[T]:
    """Ask once.

    If an answer cannot be read and it is the last one, the log and the error say so: no further
    request follows that would.
    """
    await send_message(session, None, blocks)
    messages = session.log.state.messages[: session.next_message]
    reply, request = messages[-1].answer, last_request(session, messages[-1])
    assert reply and request, "it was asked and answered"
    try:
        # A half answer may be readable by chance.
        if reply.stop == "length":
            raise ReplyError("the reply was cut off at its token limit")
        if reply.text != whole_text(reply.text):
            raise ReplyError("the reply holds half a character, which no file can keep")
        return Answer(read(reply.text), reply, request)
    except ReplyError as error:
        if is_last:
            chain = session.log.host.chain
            _name_reply(error, request.role, reply.text)
            # The error may quote the reply, so the reply counts for what is local, too.
            turns = (*request.window.turns, AssistantMessage(reply.parts))
            quoted = replace(request, window=replace(request.window, turns=turns))
            unquote(error, quoted, chain.policy)
            replies = sum(len(message.replies) for message in messages)
            log_unreadable(request, error, chain, replies)
        raise


def _name_reply(error: ReplyError, role: str, text: str) -> None:
    """Add to an error whose reply it is and how the reply begins, unless it says so already."""
    error.place = error.place or role
    beginning = " ".join(text.split())[:_QUOTED]
    if beginning and beginning[:_RECOGNISED] not in error.problem:
        # If a part of the reply is local, the error is shown without the quotation.
        error.bare = error.bare or error.problem
        error.problem = f"{error.problem}; the reply begins {beginning!r}"
        error.args = (error.problem,)


def _review(role: Role, review: Callable[[T], Sequence[str]], value: T) -> list[str]:
    """Return the findings of a review, which is a span of its own."""
    attributes = {keys.OPERATION: keys.CHECK, keys.GATE: role.name}
    with child_span(f"check {role.name}", **attributes) as span:
        findings = list(review(value))
        span.set(keys.FINDINGS, len(findings))
        return findings
