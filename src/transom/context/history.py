"""A conversation as a sequence of events, each kept or folded as a whole: a call is never parted
from its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from transom.context.marks import UNMARKED, Mark
from transom.context.statistics import Statistics
from transom.context.tokens import Measure, measure
from transom.llm import (
    AssistantMessage,
    Dropped,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    UserMessage,
)
from transom.llm.render import render_turn, turn_text

_BETWEEN = "\n\n"
SEPARATOR = measure(_BETWEEN)
"""The size of the separator between two parts of a window."""
_MOST_NAMES = 20


def turn_size(turn: Turn) -> Measure:
    """Return the size that a turn adds to a window."""
    return measure(render_turn(turn) + _BETWEEN)


@dataclass(frozen=True)
class Event:
    """One step of a conversation: an exchange, or tool calls with their results.

    Attributes:
        number: from 1, in the order of the conversation; it never changes.
        turns: in order.
        size: what they add to a window.
        failed: a call was not carried out.
        milestone, preserve: see `Mark`.
        values: what code measured in it, each as often as it did.
    """

    number: int
    turns: tuple[Turn, ...]
    size: Measure = field(default_factory=Measure)
    failed: bool = False
    milestone: str = ""
    preserve: bool = False
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name for `read_slice`: `event 12`."""
        return f"event {self.number}"

    @property
    def text(self) -> str:
        """The text of all its turns, for `read_slice`."""
        return "\n\n".join([turn_text(turn) for turn in self.turns])

    @property
    def lasting(self) -> bool:
        """Whether it survives compaction, word for word."""
        return self.failed or bool(self.milestone) or self.preserve

    @cached_property
    def user_message(self) -> Event | None:
        """The user message in it as an event of its own; None where there is none."""
        first = self.turns[0]
        if not isinstance(first, UserMessage):
            return None
        return Event(self.number, (first,), turn_size(first))

    def joined(self, turn: Turn, size: Measure) -> Event:
        """Return the event with one more turn of that size."""
        failed = self.failed
        if isinstance(turn, ToolResults):
            for result in turn.results:
                failed = failed or result.is_error
        # Not with `replace`, which is slower, and this runs for every turn.
        return Event(
            self.number,
            (*self.turns, turn),
            self.size.plus(size),
            failed,
            self.milestone,
            self.preserve,
            self.values,
        )

    def marked(self, mark: Mark) -> Event:
        """Return the event with one more mark."""
        # An event has several calls, and each of them may set a mark.
        milestones = [*filter(None, [*self.milestone.split("; "), mark.milestone])]
        values = dict(self.values)
        for name, value in mark.values.items():
            values[name] = (*values.get(name, ()), value)
        return replace(
            self,
            milestone="; ".join(dict.fromkeys(milestones)),
            preserve=self.preserve or mark.preserve,
            values=values,
        )

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls in it."""
        calls: list[ToolCallPart] = []
        for turn in self.turns:
            if isinstance(turn, AssistantMessage):
                calls += turn.calls
        return tuple(calls)

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """The results of its calls."""
        results: list[ToolResultPart] = []
        for turn in self.turns:
            if isinstance(turn, ToolResults):
                results += turn.results
        return tuple(results)


@dataclass(frozen=True)
class Folded:
    """The folded first events of a conversation, up to and including `last`.

    Attributes:
        statistics: of those that are gone; exact, whatever the steps in which they were folded.
        lasting_events: the others, word for word and in order.
        questions: what was asked in any of them, in order.
        shown_events: the newest of both for which windows have room, in order. A question that
            stands in a lasting event that is shown is not shown again.
        dropped: those that are kept, and for which there is no room.
        question: what was asked last, where that is folded: it is still worked on, so windows
            always hold it.
        unseen: the newest event, where it is folded too because its results have no room.
    """

    last: int
    statistics: Statistics
    lasting_events: tuple[Event, ...] = ()
    questions: tuple[Event, ...] = ()
    shown_events: tuple[Event, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    question: Event | None = None
    unseen: str = ""

    @property
    def spare(self) -> bool:
        """Whether windows show any of them that may still be dropped."""
        return any(event is not self.question for event in self.shown_events)

    @cached_property
    def note(self) -> UserMessage:
        """The note that stands for them in a window."""
        # The note is trusted text of ours, so it repeats nothing that a model or a tool wrote.
        gone_events, kept_count = self.statistics.events, len(self.lasting_events)
        lines = [
            f"Note: events 1 to {self.last} of this conversation are folded. "
            f"{gone_events} of them are gone, {kept_count} stay word for word."
        ]
        if gone_events:
            lines.append(
                f"Of those that are gone: {self.statistics.text()}. Each can be read as event and"
                " its number."
            )
        if failed := sum(event.failed for event in self.lasting_events):
            lines.append(f"Of those that stay {failed} failed.")
        if self.unseen:
            lines.append(
                f"The results of the newest, {self.unseen}, have no room here: read the parts that"
                " you need."
            )
        shown_numbers = {event.number for event in self.shown_events}
        if any(not event.lasting for event in self.shown_events):
            lines.append("What was asked in some follows word for word, without what came of it.")
        if missing := sum(event.number not in shown_numbers for event in self.questions):
            lines.append(f"What was asked in {missing} more does not, for want of room.")
        if self.question:
            lines.append(f"What was asked last, in {self.question.name}, is still being worked on.")
        if self.shown_events:
            lines.append("These follow:")
            lines += [f"- {event.name}, {_kind(event)}" for event in self.shown_events]
        if self.dropped:
            names = [event.name for event in self.dropped]
            listed = ", ".join(names[:_MOST_NAMES])
            if len(names) > _MOST_NAMES:
                listed += f" and {len(names) - _MOST_NAMES} more"
            lines.append(f"For want of room these do not: {listed}. Each can be read by that name.")
        return UserMessage("\n".join(lines))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that stand for them in a window."""
        turns: list[Turn] = [self.note]
        for event in self.shown_events:
            turns += event.turns
        return tuple(turns)


@dataclass(frozen=True)
class History:
    """A conversation so far. A value: whatever is added makes a new one; adding costs the same
    however long it is.

    Attributes:
        folded: what stands for its beginning, where that was folded.
        live: the events since, in order.
        turns: all that a window holds of it.
        size: what that adds to a window.
    """

    folded: Folded | None = None
    live: tuple[Event, ...] = ()
    turns: tuple[Turn, ...] = ()
    size: Measure = field(default_factory=Measure)

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> History:
        """Return the history of turns, in order; ValueError for a result without its call."""
        history = cls()
        for turn in turns:
            history = history.add(turn)
        return history

    def add(self, *turns: Turn, mark: Mark = UNMARKED) -> History:
        """Return the history with more turns; the mark belongs to the event of the last one.

        Raises:
            ValueError: a result without its call.
        """
        live, size = [*self.live], self.size
        # The turns of a long history are not looked at again: adding costs the same for any length.
        for turn in turns:
            takes = turn_size(turn)
            size = size.plus(takes)
            if live and _belongs(turn, live[-1]):
                live[-1] = live[-1].joined(turn, takes)
            elif isinstance(turn, ToolResults):
                raise ValueError("a result without its call cannot stand in a conversation")
            else:
                number = live[-1].number if live else self._last_folded
                live.append(Event(number + 1, (turn,), takes))
        if live and mark:
            live[-1] = live[-1].marked(mark)
        return History(self.folded, tuple(live), (*self.turns, *turns), size)

    def find(self, name: str) -> Event | None:
        """Return the event of a name (`event 12`), or None if it is gone or never was."""
        folded_events = self.folded.lasting_events if self.folded else ()
        for event in (*folded_events, *self.live):
            if event.name == name:
                return event
        return None

    @property
    def count(self) -> int:
        """The number of events, folded ones included."""
        return self.live[-1].number if self.live else self._last_folded

    @property
    def _last_folded(self) -> int:
        """The number of the last folded event, or 0."""
        return self.folded.last if self.folded else 0


def _kind(event: Event) -> str:
    """Return the reason why an event is shown."""
    # An event that would not last is shown for its user message alone.
    if event.milestone:
        return f"milestone: {event.milestone}"
    if event.failed:
        return "failed"
    return "kept" if event.preserve else "asked"


def _belongs(turn: Turn, event: Event) -> bool:
    """Return whether a turn belongs to the event before it.

    Results belong to their calls, and an answer belongs to its message.
    """
    match event.turns[-1], turn:
        case AssistantMessage() as before, ToolResults(results):
            return [call.id for call in before.calls] == [result.id for result in results]
        # A message that stayed unanswered is an event by itself, and can be folded.
        case UserMessage(), AssistantMessage():
            return True
    return False
