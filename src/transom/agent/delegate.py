"""What an agent hands on: by `delegate`, to a declared `SubAgent`, or a result that is too large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from transom.agent.session import Session, purpose_blocks
from transom.agent.sources import sources_of
from transom.agent.sub_conversation import (
    MOST_TOKENS,
    Found,
    close_link,
    closed_summary,
    found_by,
    sub_role,
    sub_session,
    without_own,
)
from transom.agent.tool_execution import CALL_ID
from transom.canonical import Json, digest
from transom.context import History
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import Summary, summarised, summary_room
from transom.errors import InvalidArgumentsError, ToolExecutionError, ToolRefused
from transom.llm import Block, Role, ToolCall, ToolResult, ToolSpec, UserMessage
from transom.llm.turns import strictest
from transom.tools import Arguments, Function, Toolbox, ToolDefinition, ToolOutcome, ToolReturn, as_tools
from transom.tools.definition import outcome_from_json

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
        found = await found_by(sub, purpose, None, blocks, [whole.content])
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
                found = await found_by(sub, task, task, ())
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
        whole, room, ratio = "\n\n".join(source.content for source in named.values()), MOST_TOKENS, session.seat.ratio
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
            found = await found_by(sub, purpose, None, blocks, [one.content for one in named.values()])
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


def _sub_failed(found: Found) -> ToolExecutionError:
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
                    yield _name(outcome["kept"]), outcome_from_json(outcome)


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
