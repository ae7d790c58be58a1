"""Folding the older part of a conversation: of what did not fail and is no milestone the counts stay.

The newest stay, too, and what was asked: what a person said is short, and holds on. What was asked last
always does, since it is still worked on.

It is done in large steps. Between two of them a conversation only grows at its end, so that a vendor's cache goes on
being read; folding a little at every turn would break it at every turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from transom.context.budget import Compaction
from transom.context.history import Event, Folded, History, turn_size
from transom.context.statistics import Statistics
from transom.context.tokens import Measure, TokenCorrection, measure
from transom.llm import Dropped, ToolResults

_LASTING_PART = 0.25  # of what a conversation is held to, for what lasts of folded events
_ASKED_PART = 0.15  # the same for what was asked in them
_LINE = measure("- event 1000, asked\n")  # what a note says of one of these
_RECENT_PART = 0.5  # for what a fold for want of room leaves as it is; the rest is room until the next one


Alike: TypeAlias = Mapping[int, tuple[int, ...]]


def compact(history: History, policy: Compaction, limit: int, tokens: TokenCorrection) -> History:
    """Fold a history that has more events than the policy allows; the very history where it has not.

    Args:
        history: whose older part is folded.
        policy: when, and how many of the newest events stay.
        limit: tokens that the conversation is held to when its window is full. What lasts may take a quarter of it, and
            what was asked three twentieths.
        tokens: how tokens are estimated.
    """
    if len(history.live) <= policy.threshold:
        return history
    return fold(history, len(history.live) - policy.keep_recent, limit, tokens)


def shrink(history: History, limit: int, tokens: TokenCorrection, *, hard: bool = False) -> History:
    """Fold the oldest events for want of room, until the others take half the limit.

    Args:
        history: whose oldest events are folded. The newest always stays.
        limit: tokens that the conversation is held to.
        tokens: how tokens are estimated.
        hard: fold all but the newest, and show nothing else.
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
    """Fold the newest event too: its results have no room, whatever else goes, and can be read in parts.

    The very history where something else than results came last: that has to be answered.
    """
    if not history.live or not isinstance(history.live[-1].turns[-1], ToolResults):
        return history
    return fold(history, len(history.live), 0, tokens)


def fold(history: History, count: int, limit: int, tokens: TokenCorrection) -> History:
    """Fold the first `count` events that are not folded yet.

    See `compact` for the arguments.
    """
    count = max(0, count)
    before = history.folded or Folded(0, Statistics())
    if not count and (limit or not before.spare):
        return history
    going, live = history.live[:count], history.live[count:]
    kept = (*before.kept, *[event for event in going if event.lasting])
    asked = (*before.asked, *[event.asked for event in going if event.asked])
    statistics = before.statistics.of_more([event for event in going if not event.lasting])
    question = asked[-1] if asked and not any(event.asked for event in live) else None
    lasting, alike, dropped = _lasting(kept, int(limit * _LASTING_PART), tokens)
    whole = {event.number for event in lasting}
    question = question if question and question.number not in whole else None
    rest = [event for event in asked if event.number not in whole]
    words, equal = _words(rest, question, int(limit * _ASKED_PART), tokens)
    shown = tuple(sorted((*lasting, *words), key=lambda event: event.number))
    last = going[-1].number if going else before.last
    unseen = "" if live else going[-1].name if going else before.unseen
    folded = Folded(last, statistics, kept, asked, shown, {**alike, **equal}, dropped, question, unseen)
    sizes = [*[turn_size(turn) for turn in folded.turns], *[event.size for event in live]]
    size = Measure(sum([one.plain for one in sizes]), sum([one.dense for one in sizes]))
    turns = (*folded.turns, *[turn for event in live for turn in event.turns])
    return replace(history, folded=folded, live=live, turns=turns, size=size)


def _lasting(
    kept: Sequence[Event], room: int, tokens: TokenCorrection
) -> tuple[list[Event], Alike, tuple[Dropped, ...]]:
    """Of equal events the newest; and of those the newest for which there is room."""
    newest, alike = _groups(kept)
    size, shown = Measure(), 0
    for event in newest:
        size = size.plus(event.size)
        if tokens.tokens(size) > room:
            break
        shown += 1
    why = f"over the {room} tokens for what lasts of folded events"
    dropped = [Dropped(event.name, tokens.tokens(event.size), why) for event in reversed(newest[shown:])]
    return newest[:shown], alike, tuple(dropped)


def _words(
    asked: Sequence[Event], question: Event | None, room: int, tokens: TokenCorrection
) -> tuple[list[Event], Alike]:
    """What is shown of what was asked: what is worked on, what it began with, and the newest for which there is room.

    One that is long leaves its room to the shorter ones.
    """
    newest, alike = _groups(asked)
    first = min(alike, key=lambda number: alike[number][0], default=0)
    order = sorted(newest, key=lambda event: (event is not question, event.number != first, -event.number))
    size, shown = Measure(), []
    for event in order:
        more = size.plus(event.size).plus(_LINE)
        if event is question or tokens.tokens(more) <= room:
            size = more
            shown.append(event)
    return shown, alike


def _groups(events: Sequence[Event]) -> tuple[list[Event], Alike]:
    """Of equal events the newest, the newest of all first; and for each its number -> the numbers of its equals."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.likeness, []).append(event)
    newest = sorted((group[-1] for group in groups.values()), key=lambda event: event.number, reverse=True)
    return newest, {group[-1].number: tuple(event.number for event in group) for group in groups.values()}
