"""One call: assemble the window, ask, read the answer strictly, and ask once more where it
cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from transom.agent.messages import request_asked, say
from transom.agent.meter import Meter
from transom.agent.models import Budget
from transom.agent.session import Session
from transom.agent.sub_agents import equip
from transom.canonical import whole_text
from transom.errors import CapReached, OutOfTurns, ProviderError, ReplyError, ToolError
from transom.llm import AssistantMessage, Block, Reply, Request, Role
from transom.llm.egress import unquote
from transom.runs import Stage
from transom.runs.observe import tell_unread
from transom.telemetry import child_span, keys
from transom.tools import Toolbox

T = TypeVar("T")

RETRY = "retry"
_MEND = (
    "A program found this in your last answer. Mend it, leave the rest as it is, and give the whole"
    " answer again."
)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The outcome of a call.

    Attributes:
        value: the reply, read.
        reply: the reply as it came.
        request: the request that it answers, the last one where there were several.
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
    """Ask a role once, and a second time where the reply cannot be read or a gate holds something
    against it.

    A role with tools may call them in turns before it answers; the second time it is asked it sees
    what came of them. When the stage runs again the answers are those of the journal, but for those
    that nobody could read.

    Args:
        stage: in whose journal replies and results of tools are kept.
        role: who is asked.
        blocks: what it is given beside its own prompt; the second request adds a block `retry` that
            says what was wrong with the first reply, where the role sees that.
        read: reply text -> value; ReplyError where it cannot be read.
        review: value -> what is wrong with it. A second answer counts where less is wrong with it.
        tools: those that the role declares.
        budget: what it may use, all replies counted; it takes the place of the toolbox's cap on
            turns. Dollars are counted by its `prices`, else by the published list.

    Raises:
        ReplyError: the second reply cannot be read either.
        OutOfTurns, CapReached: the budget is used up; with a larger one the same call goes on.
        ToolError: the role declares other tools than it is given.
        InputError: the budget is in dollars, and a model that may answer has no price.
        VisibilityError, WindowOverflow, EgressError, ProviderError: see `Agent.send`.
    """
    box = tools or Toolbox()
    if role.tools != box.specs:
        declared, given = (
            ", ".join(spec.name for spec in specs) for specs in (role.tools, box.specs)
        )
        what = f"it declares the tools [{declared}] and is given [{given}]"
        raise ToolError(what, where=role.name, hint="give the role the specs of its toolbox")
    meter = Meter()
    meter.hold(budget or Budget(turns=box.max_turns), stage.host.chain.everyone)
    session = Session(stage, "", role, box, meter, raises=True)
    session.use(stage.claim_call(session.fingerprint(None, blocks)))
    equip(session)

    retries = RETRY in role.sees
    try:
        try:
            first = await _ask(session, blocks, read, last=not retries)
        except ReplyError as error:
            if not retries:
                raise
            unread = Block(
                RETRY, f"Your last reply could not be read: {error}\nGive the whole answer again."
            )
            first = await _ask(session, [*blocks, unread], read, last=True)
    except ReplyError:
        # nobody could read it: the next attempt asks anew
        await session.append("reset", {"to": 0, "turns": 0})
        raise
    wrong = _reviewed(role, review, first.value) if review and retries else []
    if review is None or not wrong:
        return first
    listed = "\n".join(f"- {one}" for one in wrong)
    mend = Block(RETRY, f"{_MEND}\n{listed}\n\nYour last answer was:\n\n{first.reply.text}")
    try:
        second = await _ask(session, [*blocks, mend], read, last=True)
    except (ReplyError, ProviderError, OutOfTurns, CapReached):
        return first  # an answer with findings is better than none: a person can mend it
    return second if len(_reviewed(role, review, second.value)) < len(wrong) else first


async def _ask(
    session: Session, blocks: Sequence[Block], read: Callable[[str], T], *, last: bool
) -> Answer[T]:
    """Ask once. Where nobody asks again, an answer that cannot be read is told to whoever looks
    at the run.
    """
    await say(session, None, blocks)
    messages = session.state.messages[: session.next]
    reply, request = messages[-1].answer, request_asked(session, messages[-1])
    assert reply and request, "it was asked and answered"
    try:
        if reply.stop == "length":
            raise ReplyError("the reply was cut off at its token limit")
        if reply.text != whole_text(reply.text):
            raise ReplyError("the reply holds half a character, which no file can keep")
        return Answer(read(reply.text), reply, request)
    except ReplyError as error:
        if last:
            chain, turns = (
                session.stage.host.chain,
                (*request.window.turns, AssistantMessage(reply.parts)),
            )
            unquote(
                error, replace(request, window=replace(request.window, turns=turns)), chain.policy
            )
            tell_unread(request, error, chain, sum(len(one.replies) for one in messages))
        raise


def _reviewed(role: Role, review: Callable[[T], Sequence[str]], value: T) -> list[str]:
    with child_span(
        f"check {role.name}", **{keys.OPERATION: keys.CHECK, keys.GATE: role.name}
    ) as span:
        wrong = list(review(value))
        span.set(keys.FINDINGS, len(wrong))
        return wrong
