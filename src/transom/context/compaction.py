"""Folding of the older part of a conversation: counts replace events that did not fail and are no
milestones.

The newest events stay, and user messages: they are short and remain valid.
The last user message always stays.

It is done in large steps. Between two of them a conversation only grows at its end, so that a
vendor's cache stays valid; folding a little at every turn would break it at every turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transom.context.budget import Compaction
from transom.context.history import Event, Folded, History, turn_size
from transom.context.statistics import Statistics
from transom.context.tokens import Measure, TokenCorrection, measure, total
from transom.llm import Dropped, ToolResults

_LASTING_PART = 0.25  # of what a conversation is held to, for what lasts of folded events
_ASKED_PART = 0.15  # the same for what was asked in them
_LINE = measure("- event 1000, asked\n")  # what a note says of one of these
# for what a fold for want of room leaves as it is; the rest is room until the next one
_RECENT_PART = 0.5


def compact(history: History, policy: Compaction, limit: int, tokens: TokenCorrection) -> History:
    """Fold a history that has more events than the policy allows; the very history where it has
    not.

    Of the `limit`, the tokens that the conversation is held to when its window is full, what lasts
    may take a quarter, and what was asked three twentieths.
    """
    if len(history.live) <= policy.threshold:
        return history
    return fold(history, len(history.live) - policy.keep_recent, limit, tokens)


def shrink(history: History, limit: int, tokens: TokenCorrection, *, hard: bool = False) -> History:
    """Fold the oldest events for want of room, until the others take half the limit; the newest
    always stays.

    `hard` folds all but the newest, and shows nothing else.
    """
    if hard:
        return fold(history, len(history.live) - 1, 0, tokens)
    room = int(limit * _RECENT_PART)
    size, staying = Measure(), 0
    for event in reversed(history.live):
        size = size.plus(event.size)
        if staying and tokens.tokens(size) > room:
            break
        staying += 1
    return fold(history, len(history.live) - staying, limit, tokens)


def fold_newest(history: History, tokens: TokenCorrection) -> History:
    """Fold the newest event too: its results have no room, whatever else goes, and can be read in
    parts.

    The very history where something else than results came last: that has to be answered.
    """
    if not history.live or not isinstance(history.live[-1].turns[-1], ToolResults):
        return history
    return fold(history, len(history.live), 0, tokens)


def fold(history: History, count: int, limit: int, tokens: TokenCorrection) -> History:
    """Fold the first `count` events that are not folded yet; see `compact`."""
    count = max(0, count)
    before = history.folded or Folded(0, Statistics())
    if not count and (limit or not before.spare):
        return history
    going, live = history.live[:count], history.live[count:]
    lasting_events = (*before.lasting_events, *[event for event in going if event.lasting])
    questions = (*before.questions, *[event.user_message for event in going if event.user_message])
    statistics = before.statistics.of_more([event for event in going if not event.lasting])
    room = int(limit * _LASTING_PART)
    # The newest first: they are most likely to matter.
    lasting = _with_room(lasting_events[::-1], room, tokens)
    reason = f"over the {room} tokens for what lasts of folded events"
    lasting_numbers = {event.number for event in lasting}
    dropped = []
    for event in lasting_events:
        if event.number not in lasting_numbers:
            dropped.append(Dropped(event.name, tokens.tokens(event.size), reason))
    # The last message is still worked on if no live event has a newer one.
    question = None
    if questions and not any(event.user_message for event in live):
        question = questions[-1]
    # A message in an event that lasts is shown with that event.
    if question and question.number in lasting_numbers:
        question = None
    other_questions = [event for event in questions if event.number not in lasting_numbers]
    words = _words(other_questions, question, int(limit * _ASKED_PART), tokens)
    shown_events = tuple(sorted((*lasting, *words), key=lambda event: event.number))
    last = going[-1].number if going else before.last
    unseen = ""
    if not live:
        unseen = going[-1].name if going else before.unseen
    folded = Folded(
        last, statistics, lasting_events, questions, shown_events, tuple(dropped), question, unseen
    )
    turns = [*folded.turns]
    sizes = [turn_size(turn) for turn in turns]
    for event in live:
        turns += event.turns
        sizes.append(event.size)
    return replace(history, folded=folded, live=live, turns=tuple(turns), size=total(sizes))


def _words(
    questions: Sequence[Event], question: Event | None, room: int, tokens: TokenCorrection
) -> list[Event]:
    """Return the user messages to show: the last, the first, and the newest that have room."""
    other_questions = [event for event in questions if event is not question]
    order = [*other_questions[:1], *other_questions[:0:-1]]
    if question:
        return [question, *_with_room(order, room - tokens.tokens(question.size), tokens)]
    return _with_room(order, room, tokens)


def _with_room(events: Iterable[Event], room: int, tokens: TokenCorrection) -> list[Event]:
    """Return the events that have room, in that order; a long one is skipped in favour of shorter
    ones.
    """
    size, fitting = Measure(), []
    for event in events:
        longer = size.plus(event.size).plus(_LINE)
        if tokens.tokens(longer) <= room:
            size = longer
            fitting.append(event)
    return fitting
