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
    ToolCall,
    ToolResult,
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
    """The size that a turn adds to a window."""
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
        """All of it, for `read_slice`."""
        return "\n\n".join(turn_text(turn) for turn in self.turns)

    @property
    def lasting(self) -> bool:
        """Whether it survives compaction, word for word."""
        return self.failed or bool(self.milestone) or self.preserve

    @cached_property
    def asked(self) -> Event | None:
        """The user message in it as an event of its own; None where there is none."""
        first = self.turns[0]
        return (
            Event(self.number, (first,), turn_size(first))
            if isinstance(first, UserMessage)
            else None
        )

    def joined(self, turn: Turn, size: Measure) -> Event:
        """With one more turn of that size."""
        failed = self.failed or (
            isinstance(turn, ToolResults) and bool([one for one in turn.results if one.is_error])
        )
        turns = (*self.turns, turn)
        return Event(
            self.number,
            turns,
            self.size.plus(size),
            failed,
            self.milestone,
            self.preserve,
            self.values,
        )

    def marked(self, mark: Mark) -> Event:
        """With one more mark."""
        milestones = [one for one in (*self.milestone.split("; "), mark.milestone) if one]
        values = {
            **self.values,
            **{name: (*self.values.get(name, ()), one) for name, one in mark.values.items()},
        }
        return replace(
            self,
            milestone="; ".join(dict.fromkeys(milestones)),
            preserve=self.preserve or mark.preserve,
            values=values,
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            [
                call
                for turn in self.turns
                if isinstance(turn, AssistantMessage)
                for call in turn.calls
            ]
        )

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(
            [
                result
                for turn in self.turns
                if isinstance(turn, ToolResults)
                for result in turn.results
            ]
        )


@dataclass(frozen=True)
class Folded:
    """The folded first events of a conversation, up to and including `last`.

    Attributes:
        statistics: of those that are gone; exact, whatever the steps in which they were folded.
        kept: the others, word for word and in order.
        asked: what was asked in any of them, in order.
        shown: what windows hold of both, in order: the newest for which there is room. What stands
            in a kept one that is shown is not shown again.
        dropped: those that are kept, and for which there is no room.
        question: what was asked last, where that is folded: it is still worked on, so windows
            always hold it.
        unseen: the newest event, where it is folded too because its results have no room.
    """

    last: int
    statistics: Statistics
    kept: tuple[Event, ...] = ()
    asked: tuple[Event, ...] = ()
    shown: tuple[Event, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    question: Event | None = None
    unseen: str = ""

    @property
    def spare(self) -> bool:
        """Whether windows show any of them that may still be dropped."""
        return any(event is not self.question for event in self.shown)

    @cached_property
    def note(self) -> UserMessage:
        """The note that stands for them in a window."""
        gone, kept = self.statistics.events, len(self.kept)
        lines = [
            f"Note: events 1 to {self.last} of this conversation are folded. "
            f"{gone} of them are gone, {kept} stay word for word."
        ]
        if gone:
            lines.append(
                f"Of those that are gone: {self.statistics.text()}. Each can be read as event and"
                " its number."
            )
        if failed := sum(event.failed for event in self.kept):
            lines.append(f"Of those that stay {failed} failed.")
        if self.unseen:
            lines.append(
                f"The results of the newest, {self.unseen}, have no room here: read the parts that"
                " you need."
            )
        shown = {event.number for event in self.shown}
        if any(not event.lasting for event in self.shown):
            lines.append("What was asked in some follows word for word, without what came of it.")
        if missing := sum(event.number not in shown for event in self.asked):
            lines.append(f"What was asked in {missing} more does not, for want of room.")
        if self.question:
            lines.append(f"What was asked last, in {self.question.name}, is still being worked on.")
        if self.shown:
            lines.append("These follow:")
            lines += [f"- {event.name}, {_kind(event)}" for event in self.shown]
        if self.dropped:
            names = [one.name for one in self.dropped]
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            listed = ", ".join(names[:_MOST_NAMES])
            lines.append(
                f"For want of room these do not: {listed}{more}. Each can be read by that name."
            )
        return UserMessage("\n".join(lines))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that stand for them in a window."""
        return (self.note, *(turn for event in self.shown for turn in event.turns))


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
        """A history of turns, in order; ValueError for a result without its call."""
        history = cls()
        for turn in turns:
            history = history.add(turn)
        return history

    def add(self, *turns: Turn, mark: Mark = UNMARKED) -> History:
        """With more turns; the mark is of the event of the last. ValueError for a result without
        its call.
        """
        live, size = [*self.live], self.size
        for turn in turns:
            takes = turn_size(turn)
            size = size.plus(takes)
            if live and _belongs(turn, live[-1]):
                live[-1] = live[-1].joined(turn, takes)
            elif isinstance(turn, ToolResults):
                raise ValueError("a result without its call cannot stand in a conversation")
            else:
                number = live[-1].number if live else self.folded.last if self.folded else 0
                live.append(Event(number + 1, (turn,), takes))
        if live and mark:
            live[-1] = live[-1].marked(mark)
        return History(self.folded, tuple(live), (*self.turns, *turns), size)

    def find(self, name: str) -> Event | None:
        """The event of that name (`event 12`); None where it is gone or never was."""
        events = (*(self.folded.kept if self.folded else ()), *self.live)
        return next((event for event in events if event.name == name), None)

    @property
    def count(self) -> int:
        """The number of events, folded ones included."""
        return self.live[-1].number if self.live else self.folded.last if self.folded else 0


def _kind(event: Event) -> str:
    """Why an event is shown. One that would not last is shown for its user message alone."""
    if event.milestone:
        return f"milestone: {event.milestone}"
    return "failed" if event.failed else "kept" if event.preserve else "asked"


def _belongs(turn: Turn, event: Event) -> bool:
    """Whether a turn belongs to the event before it: results to their call, what is said to what
    was asked.
    """
    before = event.turns[-1]
    if isinstance(turn, ToolResults):
        return isinstance(before, AssistantMessage) and [call.id for call in before.calls] == [
            one.id for one in turn.results
        ]
    return isinstance(turn, AssistantMessage) and isinstance(
        before, UserMessage
    )  # what stayed unanswered is foldable by itself
