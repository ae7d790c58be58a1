"""Results that are too large for a window: kept in the store, read in parts, and named by a model.

A model names what it can see or count: servers need not show it the ids of its calls, and some have none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from transom.agent.session import Session
from transom.canonical import canonical_json, digest
from transom.context import History
from transom.context.in_thread import in_thread_if_large
from transom.context.oversized import Oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import seen_in
from transom.errors import InvalidArgumentsError, ToolRefused
from transom.llm import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn
from transom.llm.turns import strictest
from transom.runs.conversation import Conversation
from transom.tools import Arguments, ToolDefinition, ToolOutcome, ToolReturn
from transom.tools.definition import outcome_from_json

_COUNTED = re.compile(r"(.+?)\s*#\s*(\d{1,9})")
_EVENT = re.compile(r"event \d{1,9}")
_MOST_LISTED = 20
_LONGEST = 60  # characters of a call's arguments


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
    name = str(arguments["source"])
    whole = History.of(session.state.turns)  # word for word, whatever was folded since; numbers never change
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


# -- what a model names -----------------------------------------------------------------------------------------------


def sources_of(state: Conversation, kept: Mapping[str, ToolResult], names: Sequence[str]) -> dict[str, ToolResult]:
    """What a model names, each once.

    Raises:
        InvalidArgumentsError: one of them is nothing, or may be several things; it says what there is.
    """
    beside = {call.name for call in state.pending.calls} if state.pending else set[str]()
    known = Sources(state.turns, kept, beside)
    found = {name: known.find(name) for name in names}
    if missing := [name for name, one in found.items() if one is None]:
        soon = "; what is called in this very reply can be named in the next one" if beside & {*missing} else ""
        error = InvalidArgumentsError(f"there is no one source {', '.join(missing)}", hint=known.hint + soon)
        error.egress = state.egress  # it tells arguments, which are made of whatever was seen
        raise error
    return dict([one for one in found.values() if one])


class Sources:
    """All that can be named.

    Args:
        turns: of the conversation, word for word, whatever was folded since.
        kept: what is kept elsewhere, by its name.
        beside: tools that are called at the same time, and have no results yet.
    """

    def __init__(self, turns: Sequence[Turn], kept: Mapping[str, ToolResult], beside: Collection[str] = ()) -> None:
        self._turns, self._kept, self._beside = turns, kept, beside
        made: Counter[str] = Counter()
        self._good: dict[str, tuple[ToolCall, ToolResult]] = {}
        asked: tuple[ToolCall, ...] = ()
        for turn in turns:
            if isinstance(turn, AssistantMessage):
                asked = turn.calls
            elif isinstance(turn, ToolResults):
                for call, result in zip(asked, turn.results, strict=True):
                    made[call.name] += 1
                    if not result.is_error:
                        self._good[f"{call.name} #{made[call.name]}"] = (call, result)

    def find(self, name: str) -> tuple[str, ToolResult] | None:
        """What somebody means, with a name that is its own; None where it is nothing, or may be several things.

        Args:
            name: of a kept result; a call's id; `look #2`; `look` where only one result of it is there; `event 12`.
        """
        if name in self._kept:
            return name, self._kept[name]
        if _EVENT.fullmatch(name):
            return self._event(name)
        fits = [key for key, (call, _) in self._good.items() if call.id == name][-1:]
        if not fits and (counted := _COUNTED.fullmatch(name)):
            fits = [key for key in self._good if key == f"{counted[1]} #{int(counted[2])}"]
        if not fits and name not in self._beside:
            fits = [key for key, (call, _) in self._good.items() if call.name == name]
        return self._whole(fits[0]) if len(fits) == 1 else None

    @property
    def hint(self) -> str:
        """What can be named, the newest last, and which call it is of."""
        if not self._good:
            return "there are none yet: leave sources empty"
        told, more = [self._told(key) for key in self._good], len(self._good) - _MOST_LISTED
        older = f"; {more} older ones are counted from the first" if more > 0 else ""
        return f"there are {'; '.join(told[-_MOST_LISTED:])}{older}"

    def _told(self, key: str) -> str:
        arguments, (name, _) = canonical_json(self._good[key][0].arguments), self._whole(key)
        cut = arguments if len(arguments) <= _LONGEST else f"{arguments[:_LONGEST]}..."
        return f"{key} {cut}" + (f", kept as {name}" if name != key else "")

    def _whole(self, key: str) -> tuple[str, ToolResult]:
        """A result as it came, where the conversation has only an outline or a summary of it."""
        result = self._good[key][1]
        for name, whole in self._kept.items():
            if whole.name == result.name and f"kept whole as {name}." in result.content:
                return name, whole
        return key, result

    def _event(self, name: str) -> tuple[str, ToolResult] | None:
        """What was asked and what came back in an event; what was said of that is no evidence."""
        event = History.of(self._turns).find(name)
        held = seen_in((), event.turns) if event else ""
        if event is None or not held.strip():
            return None
        return name, ToolResult(name, name, held, egress=strictest(*[turn.egress for turn in event.turns]))
