"""Results that are too large for a window: kept in the store, named by a model, and read in
parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from transom.agent.session import CALLER, Session
from transom.canonical import digest
from transom.context import History
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import Oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.errors import InvalidArgumentsError, ToolRefused
from transom.llm import ToolResult
from transom.llm.turns import strictest
from transom.tools import Arguments, ToolDefinition, ToolOutcome, ToolReturn
from transom.tools.definition import outcome_from_json


async def keep(session: Session, outcome: ToolOutcome, most: int) -> ToolOutcome:
    """A result of more than so many tokens goes to the store and to a file; an outline stands in
    its place.
    """
    tokens = session.correction
    if tokens.fits(outcome.result.content, most):
        return outcome
    whole = whole_of(session, outcome) if outcome.kept else outcome.result
    data = whole.content.encode("utf-8", "surrogatepass")
    big = Oversized(whole, name_of(digest(data)), tokens.count(whole.content), most, "refer")
    told = await in_thread_if_large(len(whole.content), lambda: big.reference(tokens))
    if tokens.count(told.content) >= tokens.count(outcome.result.content):
        return outcome
    sha = await session.stage.host.store.put_blob(data)
    session.stage.note(f"results/{big.source}.txt", whole.content)
    return replace(outcome, result=told, kept=sha)


def name_of(sha: str) -> str:
    """The name of a kept result."""
    return f"result-{sha[:10]}"


def whole_of(session: Session, outcome: ToolOutcome) -> ToolResult:
    """A kept result as it came."""
    text = session.stage.host.store.get_blob(outcome.kept).decode("utf-8", "surrogatepass")
    return replace(outcome.result, content=text)


def outcomes_kept(session: Session) -> Iterator[tuple[str, ToolOutcome]]:
    """The outcomes whose results are kept, by name; those of the conversations around it first."""
    if session.parent:
        yield from outcomes_kept(session.parent)
    for message in session.state.messages:
        for came in message.results.values():
            for outcome in came.values():
                if outcome.get("kept"):
                    yield name_of(outcome["kept"]), outcome_from_json(outcome)


async def _read(arguments: Arguments) -> ToolReturn:
    """A part of a kept result, or of an event word for word, whatever was folded since."""
    session, name = CALLER.get()[0], str(arguments["source"])
    turns, kept = History.of(session.state.turns), dict(outcomes_kept(session))
    if name in kept:
        whole = whole_of(session, kept[name])
    elif (event := turns.find(name)) and event.text.strip():
        whole = ToolResult(
            name, name, event.text, egress=strictest(*[one.egress for one in event.turns])
        )
    else:
        there = ", ".join([*kept, f"event 1 to event {turns.count}"])
        raise InvalidArgumentsError(f"nothing is kept as {name!r}", hint=f"there is {there}")
    try:
        told = read_slice(
            whole.content, arguments, session.window.result_tokens, session.correction
        )
    except ToolRefused as error:
        error.egress = whole.egress  # it names what there is
        raise
    except RecursionError as error:
        raise ToolRefused(
            "it is nested too deeply to be shown by a pointer", hint="read it by lines"
        ) from error
    return ToolReturn(told, egress=whole.egress)


READING = ToolDefinition(
    READ_SLICE.name,
    READ_SLICE.description,
    READ_SLICE.parameters,
    _read,
    effect="pure",
    fresh=True,
    of_run=True,
)
"""The tool of the runtime that reads parts of what is kept or folded."""
