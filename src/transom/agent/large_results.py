"""Results that are too large for a window: stored, named by a model, and read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transom.agent.session import CALLER, AgentSession, ConversationLog
from transom.canonical import digest
from transom.context import History, TokenCorrection
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import Oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.errors import InvalidArgumentsError, ToolRefused
from transom.llm import ToolResultPart
from transom.llm.turns import strictest
from transom.store import Store
from transom.tools import Arguments, ToolDefinition, ToolOutcome, ToolReturn
from transom.tools.definition import outcome_from_json


async def store_large_result(
    log: ConversationLog, outcome: ToolOutcome, limit: int, correction: TokenCorrection
) -> ToolOutcome:
    """Store a result of more than `limit` tokens, also as a file for people.

    Returns:
        The outcome with an outline in the place of its result, or the same outcome if the result is
        small or the outline would be no shorter.
    """
    if correction.fits(outcome.result.content, limit):
        return outcome
    result = outcome.result
    # It was stored before, and is now cut further: the outline must tell of the whole text.
    if outcome.kept:
        result = stored_result(log.host.store, outcome)
    data = result.content.encode("utf-8", "surrogatepass")
    tokens = correction.count(result.content)
    large = Oversized(result, name_of(digest(data)), tokens, limit, "refer")
    outline = await in_thread_if_large(len(result.content), lambda: large.reference(correction))
    if correction.count(outline.content) >= correction.count(outcome.result.content):
        return outcome
    sha = await log.host.store.put_blob(data)
    log.stage.note(f"results/{large.source}.txt", result.content)
    return replace(outcome, result=outline, kept=sha)


def name_of(sha: str) -> str:
    """Return the name of a stored result."""
    return f"result-{sha[:10]}"


def stored_result(store: Store, outcome: ToolOutcome) -> ToolResultPart:
    """Return a stored result in full."""
    text = store.get_blob(outcome.kept).decode("utf-8", "surrogatepass")
    return replace(outcome.result, content=text)


def whole_result(store: Store, outcome: dict[str, Any]) -> ToolResultPart:
    """Return a result as its tool returned it, whatever the model gets in its place.

    A program sees the same when the call is made and when it comes from the journal.

    Args:
        store: has the results that were too long.
        outcome: the outcome of the call, as the journal has it.
    """
    current = outcome_from_json(outcome)
    if not current.kept:
        return current.result
    # A summary in its place is as local as the model that wrote it.
    egress = outcome.get("egress", current.result.egress)
    return replace(stored_result(store, current), egress=egress)


def stored_outcomes(session: AgentSession) -> Iterator[tuple[str, ToolOutcome]]:
    """Yield the outcomes whose results are stored, by name.

    Those of the conversations around this one come first.
    """
    if session.parent:
        yield from stored_outcomes(session.parent)
    for message in session.log.state.messages:
        for outcomes in message.results.values():
            for outcome in outcomes.values():
                if outcome.get("kept"):
                    yield name_of(outcome["kept"]), outcome_from_json(outcome)


async def _read(arguments: Arguments) -> ToolReturn:
    """Return a part of a stored result, or of an event, word for word even if it was folded."""
    session, name = CALLER.get().session, str(arguments["source"])
    events = History.of(session.log.state.turns)
    # Names of stored results win: an event is called `event N`, which no result is.
    outcomes = dict(stored_outcomes(session))
    if name in outcomes:
        result = stored_result(session.log.host.store, outcomes[name])
    elif (event := events.find(name)) and event.text.strip():
        egress = strictest(*[turn.egress for turn in event.turns])
        result = ToolResultPart(name, name, event.text, egress=egress)
    else:
        names = ", ".join([*outcomes, f"event 1 to event {events.count}"])
        raise InvalidArgumentsError(f"nothing is kept as {name!r}", hint=f"there is {names}")
    limit, correction = session.window.budget.result_tokens, session.index.correction()
    try:
        text = read_slice(result.content, arguments, limit, correction)
    except ToolRefused as error:
        error.egress = result.egress  # the error names parts of the result
        raise
    except RecursionError as error:
        raise ToolRefused(
            "it is nested too deeply to be shown by a pointer", hint="read it by lines"
        ) from error
    return ToolReturn(text, egress=result.egress)


READING = ToolDefinition(
    READ_SLICE.name,
    READ_SLICE.description,
    READ_SLICE.parameters,
    _read,
    effect="pure",
    fresh=True,
    of_run=True,
)
"""The tool of the runtime that reads parts of what is stored or folded."""
