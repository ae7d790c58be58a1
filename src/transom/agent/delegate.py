"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees only a summary.

The model opens one with the tool `delegate` or a declared `SubAgent`, the runtime for a result that is too large, a
program with `Agent.open_sub`. Each has a log of its own and a link to its parent. One that a tool call opened is named
by that call, `PARENT/REPLY.CALL`; one of a program by its name, or by what it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import cast

from transom.agent.budget import Budget
from transom.agent.events import Completed, Opened
from transom.agent.loop import again, say
from transom.agent.session import Session, purpose_blocks
from transom.agent.setup import SUB, seated
from transom.agent.sources import sources_of
from transom.agent.tool_execution import CALL_ID
from transom.canonical import Json, digest
from transom.config.model import ModelSeat
from transom.context import History
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import PURPOSE, SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import (
    Summary,
    extract,
    hold,
    said_in,
    seen_in,
    summarised,
    summary_room,
)
from transom.errors import (
    InvalidArgumentsError,
    OutOfTurns,
    ProviderError,
    ReplyError,
    RunError,
    ToolExecutionError,
    ToolRefused,
    WindowOverflow,
)
from transom.llm import Block, Role, Tier, ToolCall, ToolResult, ToolSpec, Turn, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress, strictest
from transom.runs.observe import of_agent
from transom.runs.tool_call import egress_in_calls
from transom.telemetry import Span, keys
from transom.tools import Arguments, Function, Toolbox, ToolDefinition, ToolOutcome, ToolReturn, as_tools
from transom.tools.definition import ran_from_json
from transom.tools.toolbox import OWN

_log = logging.getLogger(__name__)
_PROMPT = Path(__file__).parent / "prompts" / "sub_conversation.md"
_MOST = 2_000  # tokens of an answer where there are no sources to measure it by
_SUM_UP = "Now sum up what you found"
_NOTHING: Mapping[str, ToolResult] = MappingProxyType({})
FAILURES = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
"""What a sub-conversation may fail with; lines chosen by rule stand in the place of its answer then."""

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
                " was called once; `look #2` for the second call of look, `look #-1` for its last; `event 12`, as"
                " notes name it.",
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

    @cached_property
    def definitions(self) -> list[ToolDefinition]:
        """Its tools; functions are made ready once."""
        return as_tools(self.tools)


@cache
def _prompt() -> Block:
    return Block("sub_role", _PROMPT.read_text(encoding="utf-8").strip(), Tier.STABLE)


def sub_role(role: Role, seat: ModelSeat, blocks: Sequence[str] = (), tokens: int = _MOST) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say at once."""
    asked = seated(role.settings, seat)
    settings = replace(asked, max_tokens=min(asked.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, "background", *blocks})
    return Role(role.name + SUB, (_prompt(),), sees, settings=settings)


def sub_session(parent: Session, id: str, role: Role, box: Toolbox, always: tuple[Block, ...] = ()) -> Session:  # noqa: A002
    """A sub-conversation as it is in the journal; a new one where there is none."""
    meter, large, seat = parent.meter, parent.large, parent.seat
    return Session(parent.stage, id, role, box, meter, large, seat, parent.hear, always, parent=parent)


def without_own(box: Toolbox) -> list[ToolDefinition]:
    """The tools that a sub-conversation may call, too; those that look into the conversation itself stay there."""
    return [tool for tool in box.tools if tool.name not in OWN and not tool.of_run]


async def open_link(sub: Session, purpose: str, egress: Egress = "any") -> None:
    """Journal that a sub-conversation begins, unless it did."""
    parent = sub.parent
    assert parent is not None, "it was opened by another conversation"
    if sub.state.sub is None:
        event: dict[str, Json] = {"parent": parent.id, "purpose": purpose}
        await sub.append("conversation_opened", event if egress == "any" else {**event, "egress": "local"})
        _log.info("sub-conversation %s: opened by %s", sub.id, parent.id)
        parent.hear(Opened(sub.id, parent.id, purpose))


async def close_link(sub: Session, summary: Summary, egress: Egress) -> None:
    """Journal what came of a sub-conversation, and how local it is."""
    how = "summary" if summary.by == "model" else summary.by
    told: dict[str, Json] = {"summary": summary.text, "how": how, "struck": [*summary.struck]}
    await sub.append("conversation_closed", told if egress == "any" else {**told, "egress": "local"})
    _log.info("sub-conversation %s: completed, %s of %d characters", sub.id, how, len(summary.text))
    sub.hear(Completed(sub.id, summary.text, how))


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


# -- opened by a program ----------------------------------------------------------------------------------------------


def program_sub_id(parent: Session, purpose: str, background: str, name: str) -> str:
    """The id of a sub-conversation of a program: by its name, or by what it is asked."""
    return f"{parent.id}/{name or 'sub-' + digest([purpose, background])[:8]}"


def sub_span(sub: Session, does: str) -> Span:
    """What a program does with a sub-conversation (`open`, `complete`), in which its requests have their place."""
    attributes = {**of_agent(sub.role.name, sub.stage.place, sub.id), keys.OPERATION: keys.SUB_CONVERSATION}
    return sub.stage.host.telemetry.span(f"{does} sub_conversation {sub.role.name}", **attributes)


async def open_program_sub(parent: Session, purpose: str, background: str, name: str) -> Session:
    """Open a sub-conversation of a program, or find it again."""
    egress = strictest(parent.state.egress, egress_in_calls())
    always = purpose_blocks(purpose, background, egress != "any")
    box = parent.toolbox.within(without_own(parent.toolbox))
    role = sub_role(parent.role, parent.seat)
    sub = sub_session(parent, program_sub_id(parent, purpose, background, name), role, box, always)
    with sub_span(sub, "open"):
        await open_link(sub, purpose, egress)
    parent.check_listener()
    return sub


async def close_program_sub(parent: Session, sub: Session) -> Summary:
    """Have a sub-conversation sum up, and tell its parent; what an earlier run of the process did counts."""
    with sub_span(sub, "complete"):
        summary = closed_summary(sub)
        if summary is None:
            summary = await _sum_up(sub)
            await close_link(sub, summary, seen_egress(sub, sub.given))
        await _tell_finding(parent, sub, summary)
    sub.check_listener()
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
    state = sub.state
    begun = [number for number, one in enumerate(state.messages) if (one.text or "").startswith(_SUM_UP)]
    turns = state.turns[: state.messages[begun[0]].first_turn] if begun else state.turns
    seen, said = seen_in(sub.given, turns), said_in(turns)
    tokens, ratio = sub.correction, sub.seat.ratio
    room = summary_room(tokens.count(f"{seen}\n{said}"), sub.window.result_tokens, ratio)
    with suppress(*FAILURES):
        if begun:
            response = await again(sub, begun[0])
        else:
            sub.next = len(state.messages)
            response = await say(sub, f"{_SUM_UP}, in at most {room} tokens.")
        if response.ended == "answered" and response.text.strip():
            seen = seen_in(sub.given, [turn for turn in sub.state.turns if not _is_sum_up(turn)])
            return await in_thread_if_large(len(seen), lambda: summarised(response.text, seen, room, tokens))
    return await in_thread_if_large(
        len(seen) + len(said), lambda: extract(f"{seen}\n{hold(said, seen)[0]}", room, tokens)
    )


def _is_sum_up(turn: Turn) -> bool:
    return isinstance(turn, UserMessage) and turn.text.startswith(_SUM_UP)


# -- opened by a call -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """What a sub-conversation answered.

    Attributes:
        text: its answer; "" where it failed.
        why: it failed.
        egress: the strictest of all that it saw and was given.
        seen: what it was given and what came back to it, without its sources; its text is held to both.
    """

    text: str
    why: str
    egress: Egress
    seen: str


async def _found(
    sub: Session, purpose: str, text: str | None, blocks: Sequence[Block], beside: Collection[str] = ()
) -> _Found:
    """Have a sub-conversation that a call opened answer; one that was left in the middle is gone on with.

    Raises:
        CapReached, EgressError, Paused, StoreError: and all else that is not its own.
    """
    parent = sub.parent
    assert parent is not None, "a call opened it"
    sub.raises = True
    attributes = of_agent(sub.role.name, sub.stage.place, sub.id)
    with sub.stage.host.telemetry.span(f"sub_conversation {sub.role.name}", **attributes) as span:
        await open_link(sub, purpose)
        try:
            response = await (again(sub, 0) if sub.state.messages else say(sub, text, blocks))
        except FAILURES as error:
            span.fail(type(error).__name__, "lines of its sources stand in for its answer")
            return _Found("", error.what, seen_egress(sub, blocks), "")
        finally:
            span.set(keys.MESSAGES, len(sub.state.turns))
    good = response.ended == "answered" and response.text.strip()
    why = "" if good else f"it ended with {response.ended} and no answer"
    given = [block for block in blocks if block.text not in beside]
    seen = seen_in(given, sub.state.turns)
    return _Found(response.text if good else "", why, seen_egress(sub, blocks), seen)


class Delegation:
    """What an agent hands on, and what it keeps that is too large for its window."""

    # -- large results

    async def keep(self, session: Session, outcome: ToolOutcome, most: int) -> ToolOutcome:
        """A result of more than so many tokens goes to the store and to a file; an outline stands in its place."""
        tokens = session.correction
        if tokens.fits(outcome.result.content, most):
            return outcome
        size = tokens.count(outcome.result.content)
        whole = _whole(session, outcome) if outcome.kept else outcome.result
        data = whole.content.encode("utf-8", "surrogatepass")
        big = Oversized(whole, _name(digest(data)), tokens.count(whole.content), most, "refer")
        told = await in_thread_if_large(len(whole.content), lambda: big.reference(tokens))
        if tokens.count(told.content) >= size:
            return outcome
        sha = await session.stage.host.store.put_blob(data)
        session.stage.note(f"results/{big.source}.txt", whole.content)
        return replace(outcome, result=told, kept=sha)

    async def digest(self, session: Session, number: int, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """What the model is told of a kept result: its outline, or a summary by a sub-conversation."""
        name, whole = _name(outcome.kept), _whole(session, outcome)
        self.offer_reading(session)
        inner = session.parent is not None and "/" in session.id
        strategy = "truncate" if inner else session.role.strategy
        big = oversized(whole, name, strategy, session.window, session.correction)
        if big is None or big.remedy == "refer":
            return outcome
        state = session.state
        beside = len(state.pending.calls) if state.pending else 1
        big = replace(big, limit=big.limit // beside)  # what all summaries of one reply may take together
        purpose = f"What this result of {call.name}({str(call.arguments)[:300]}) says that answers what was asked."
        window, tokens, ratio = session.window, session.correction, session.seat.ratio
        _, source = await in_thread_if_large(len(whole.content), lambda: big.opening(purpose, window, tokens))
        blocks = (*purpose_blocks(purpose, _asked(session), state.egress != "any"), source)
        room = summary_room(big.tokens, big.limit, ratio)
        sub = self._sub_of_call(session, f"{session.id}/{state.replies - 1}.{number}", blocks, room, {name: whole})
        closed = closed_summary(sub)
        if closed:
            egress = strictest(whole.egress, sub.state.egress)
            return replace(outcome, result=replace(big.in_brief(closed.text), egress=egress))
        found = await _found(sub, purpose, None, blocks, [whole.content])
        sized = len(whole.content) + len(found.seen)
        result, summary = await in_thread_if_large(
            sized, lambda: big.returned(found.text, tokens, ratio=ratio, also=found.seen)
        )
        await close_link(sub, summary, found.egress)
        return replace(outcome, result=replace(result, egress=strictest(result.egress, found.egress)))

    def offer_reading(self, session: Session) -> None:
        """From the next call on, parts of what is kept or folded can be read."""

        async def read(arguments: Arguments) -> ToolReturn:
            return _read(session, arguments)

        reading = (READ_SLICE.name, READ_SLICE.description, READ_SLICE.parameters, read)
        session.toolbox.offer(ToolDefinition(*reading, effect="pure", fresh=True))

    # -- tools of the runtime

    def equip(self, session: Session, subs: Sequence[SubAgent] = ()) -> Session:
        """Give a conversation the runtime's own tools."""
        if session.role.strategy == "sub_conversation" and session.parent is None:

            async def delegated(arguments: Arguments) -> ToolReturn:
                return await self._delegated(session, arguments)

            told = (DELEGATE.name, DELEGATE.description, DELEGATE.parameters, delegated)
            session.toolbox.offer(ToolDefinition(*told, effect="pure", trust="untrusted", of_run=True))
        for sub in subs:
            tool = self._sub_agent_tool(session, sub)
            if tool.spec in session.toolbox.specs:  # of an agent that was closed, and is used again
                session.toolbox.offer(tool)
            else:
                session.toolbox.register(tool)
        if any(_outcomes_kept(session)):
            self.offer_reading(session)
        return session

    def _sub_agent_tool(self, session: Session, declared: SubAgent) -> ToolDefinition:
        _ = declared.definitions  # a mistake in them is told now

        async def handed_on(arguments: Arguments) -> ToolReturn:
            task = str(arguments["task"])
            box = Toolbox(declared.definitions, max_turns=session.toolbox.max_turns, redact=session.toolbox.redact)
            role = replace(declared.role, tools=box.specs)
            sub = sub_session(session, CALL_ID.get(), role, box)
            closed = closed_summary(sub)
            if closed is None:
                found = await _found(sub, task, task, ())
                if not found.text:
                    raise _sub_failed(found)
                closed = Summary(found.text, "model")
                await close_link(sub, closed, found.egress)
            return ToolReturn(closed.text, egress=sub.state.egress)

        return ToolDefinition(
            declared.name, declared.description, _TASK, handed_on, effect="idempotent", trust="untrusted", of_run=True
        )

    async def _delegated(self, session: Session, arguments: Arguments) -> ToolReturn:
        purpose, names = str(arguments["purpose"]), [str(one) for one in cast("list[Json]", arguments["sources"])]
        named = sources_of(session.state, kept_results(session), names)
        whole, room, ratio = "\n\n".join(source.content for source in named.values()), _MOST, session.seat.ratio
        if named:
            room = summary_room(session.correction.count(whole), session.window.result_tokens, ratio)
        shown = await in_thread_if_large(len(whole), lambda: _shown(session, purpose, named))
        blocks = (*purpose_blocks(purpose, _asked(session), session.state.egress != "any"), *shown)
        outlined = {
            name: one for (name, one), block in zip(named.items(), shown, strict=True) if block.text != one.content
        }
        sub = self._sub_of_call(session, CALL_ID.get(), blocks, room, outlined)
        closed = closed_summary(sub)
        if closed is None:
            found = await _found(sub, purpose, None, blocks, [one.content for one in named.values()])
            if not found.text and not named:
                raise _sub_failed(found)
            source, also, tokens = (
                (whole, found.seen, session.correction) if named else (found.seen, "", session.correction)
            )
            sized = len(source) + len(also)
            closed = await in_thread_if_large(sized, lambda: summarised(found.text, source, room, tokens, also=also))
            await close_link(sub, closed, found.egress)
        return ToolReturn(closed.text, egress=sub.state.egress)

    def _sub_of_call(
        self,
        session: Session,
        id: str,  # noqa: A002  the conversation's
        blocks: Sequence[Block],
        room: int,
        outlined: Mapping[str, ToolResult],
    ) -> Session:
        box = session.toolbox.within(without_own(session.toolbox))
        role = replace(sub_role(session.role, session.seat, [block.name for block in blocks], room), tools=box.specs)
        sub = sub_session(session, id, role, box)
        sub.given = tuple(blocks)
        sub.readable = {**outlined}
        if outlined or READ_SLICE in session.toolbox.specs:
            self.offer_reading(sub)
        return sub


DELEGATION = Delegation()


def _sub_failed(found: _Found) -> ToolExecutionError:
    error = ToolExecutionError(f"the sub-conversation failed: {found.why}", hint="look into it yourself")
    error.egress = found.egress
    return error


def _whole(session: Session, outcome: ToolOutcome) -> ToolResult:
    """A kept result as it came."""
    text = session.stage.host.store.get_blob(outcome.kept).decode("utf-8", "surrogatepass")
    return replace(outcome.result, content=text)


def _outcomes_kept(session: Session) -> Iterator[tuple[str, ToolOutcome]]:
    for message in session.state.messages:
        for came in message.results.values():
            for outcome in came.values():
                if outcome.get("kept"):
                    yield _name(outcome["kept"]), ran_from_json(outcome)


def kept_results(session: Session) -> dict[str, ToolResult]:
    """What is kept of the results of a conversation and of those around it, whole, by name."""
    found = kept_results(session.parent) if session.parent else {}
    return {**found, **session.readable, **{name: _whole(session, one) for name, one in _outcomes_kept(session)}}


def _read(session: Session, arguments: Arguments) -> ToolReturn:
    name = str(arguments["source"])
    state = session.state
    whole = History.of(state.turns)  # word for word, whatever was folded since; numbers never change
    event, kept = whole.find(name), kept_results(session)
    if event is None and name not in kept:
        there = ", ".join([*kept, f"event 1 to event {whole.count}"])
        raise InvalidArgumentsError(f"nothing is kept as {name!r}", hint=f"there is {there}")
    text = event.text if event else kept[name].content
    egress = strictest(*[turn.egress for turn in event.turns]) if event else kept[name].egress
    try:
        told = read_slice(text, arguments, session.window.result_tokens, session.correction)
    except ToolRefused as error:
        error.egress = egress  # it names what there is
        raise
    return ToolReturn(told, egress=egress)


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


def _name(sha: str) -> str:
    return f"result-{sha[:10]}"


def check_turns_alone(budget: Budget, shared: Budget) -> None:
    """A sub-conversation's turns are its own; what bounds money and time is the agent's, for all of it.

    Raises:
        InputError: something else is another one.
    """
    if replace(budget, turns=shared.turns) != shared:
        hint = "say replace(sub.budget, turns=...), or set agent.budget"
        raise RunError("a sub-conversation shares the budget of its agent, but for turns", where="budget", hint=hint)
