"""Results that are too large for a window: kept in the store, read in parts, and named by a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from transom.agent.session import Session
from transom.canonical import digest
from transom.context import History
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import Oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import seen_in
from transom.errors import InvalidArgumentsError, ToolRefused
from transom.llm import ToolResult
from transom.llm.turns import strictest
from transom.tools import Arguments, ToolDefinition, ToolOutcome, ToolReturn
from transom.tools.definition import outcome_from_json


async def keep(session: Session, outcome: ToolOutcome, most: int) -> ToolOutcome:
    """A result of more than so many tokens goes to the store and to a file; an outline stands in its place."""
    tokens = session.correction
    if tokens.fits(outcome.result.content, most):
        return outcome
    size = tokens.count(outcome.result.content)
    whole = whole_of(session, outcome) if outcome.kept else outcome.result
    data = whole.content.encode("utf-8", "surrogatepass")
    big = Oversized(whole, name_of(digest(data)), tokens.count(whole.content), most, "refer")
    told = await in_thread_if_large(len(whole.content), lambda: big.reference(tokens))
    if tokens.count(told.content) >= size:
        return outcome
    sha = await session.stage.host.store.put_blob(data)
    session.stage.note(f"results/{big.source}.txt", whole.content)
    return replace(outcome, result=told, kept=sha)


def name_of(sha: str) -> str:
    """What a kept result is called."""
    return f"result-{sha[:10]}"


def whole_of(session: Session, outcome: ToolOutcome) -> ToolResult:
    """A kept result as it came."""
    text = session.stage.host.store.get_blob(outcome.kept).decode("utf-8", "surrogatepass")
    return replace(outcome.result, content=text)


def outcomes_kept(session: Session) -> Iterator[tuple[str, ToolOutcome]]:
    """The outcomes whose results are kept, by name."""
    for message in session.state.messages:
        for came in message.results.values():
            for outcome in came.values():
                if outcome.get("kept"):
                    yield name_of(outcome["kept"]), outcome_from_json(outcome)


def kept_results(session: Session) -> dict[str, ToolResult]:
    """What is kept of the results of a conversation and of those around it, whole, by name."""
    found = kept_results(session.parent) if session.parent else {}
    return {**found, **session.readable, **{name: whole_of(session, one) for name, one in outcomes_kept(session)}}


def offer_reading(session: Session) -> None:
    """From the next call on, parts of what is kept or folded can be read."""

    async def read(arguments: Arguments) -> ToolReturn:
        return _read(session, arguments)

    reading = (READ_SLICE.name, READ_SLICE.description, READ_SLICE.parameters, read)
    session.toolbox.offer(ToolDefinition(*reading, effect="pure", fresh=True))


def _read(session: Session, arguments: Arguments) -> ToolReturn:
    (whole,) = sources_of(session, [str(arguments["source"])]).values()
    try:
        told = read_slice(whole.content, arguments, session.window.result_tokens, session.correction)
    except ToolRefused as error:
        error.egress = whole.egress  # it names what there is
        raise
    return ToolReturn(told, egress=whole.egress)


def sources_of(session: Session, names: Iterable[str], *, evidence: bool = False) -> dict[str, ToolResult]:
    """What a model names, whole: kept results, and events word for word, whatever was folded since.

    Args:
        names: `result-0123456789` or `event 12`, as outlines and notes have them; numbers of events never change.
        evidence: without what was said of it: only what was asked and what came back.

    Raises:
        InvalidArgumentsError: one of them is nothing; it says what there is.
    """
    turns, kept = History.of(session.state.turns), kept_results(session)
    found: dict[str, ToolResult] = {}
    for name in names:
        event = None if name in kept else turns.find(name)
        text = "" if event is None else seen_in((), event.turns) if evidence else event.text
        if event and text.strip():
            found[name] = ToolResult(name, name, text, egress=strictest(*[one.egress for one in event.turns]))
        elif name in kept:
            found[name] = kept[name]
        else:
            there = ", ".join([*kept, f"event 1 to event {turns.count}"])
            raise InvalidArgumentsError(f"nothing is kept as {name!r}", hint=f"there is {there}")
    return found
