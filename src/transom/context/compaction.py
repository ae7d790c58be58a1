"""Folding the older part of a conversation: of what did not fail and is no milestone the counts stay.

The newest stay, too, and what was asked last, which is still worked on.

It is done in large steps. Between two of them a conversation only grows at its end, so that a vendor's cache goes on
being read; folding a little at every turn would break it at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transom.canonical import canonical_json, digest
from transom.context.budget import Compaction
from transom.context.history import Event, Folded, History, turn_size
from transom.context.statistics import Statistics
from transom.context.tokens import Measure, TokenCorrection
from transom.llm import Asked, CameBack, Dropped, Said, ToolCall, Turn

_LASTING_PART = 0.25  # of what a conversation is held to, for what lasts of folded events
_RECENT_PART = 0.5  # for what a fold for want of room leaves as it is; the rest is room until the next one


def compact(history: History, policy: Compaction, limit: int, tokens: TokenCorrection) -> History:
    """Fold a history that has more events than the policy allows; the very history where it has not.

    Args:
        history: whose older part is folded.
        policy: when, and how many of the newest events stay.
        limit: tokens that the conversation is held to when its window is full. What lasts may take a quarter of it.
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


def fold(history: History, count: int, limit: int, tokens: TokenCorrection) -> History:
    """Fold the first `count` events that are not folded yet.

    See `compact` for the arguments.
    """
    count = max(0, count)
    if not count and not (history.folded and history.folded.shown and not limit):
        return history
    before = history.folded or Folded(0, Statistics())
    going, live = history.live[:count], history.live[count:]
    kept = (*before.kept, *(event for event in going if event.lasting))
    statistics = before.statistics.of_more(event for event in going if not event.lasting)
    shown, alike, dropped = _shown(kept, int(limit * _LASTING_PART), tokens)
    last = going[-1].number if going else before.last
    question = _question(before, going, live)
    folded = Folded(last, statistics, kept, shown, alike, dropped, question)
    sizes = [*(turn_size(turn) for turn in folded.turns), *(event.size for event in live)]
    size = Measure(sum(one.plain for one in sizes), sum(one.dense for one in sizes))
    turns = (*folded.turns, *(turn for event in live for turn in event.turns))
    return replace(history, folded=folded, live=live, turns=turns, size=size)


def _question(before: Folded, going: Sequence[Event], live: Sequence[Event]) -> Asked | None:
    """What was asked last, unless that stands in what is not folded."""
    return None if _asked(live) else _asked(going) or before.question or _asked(before.kept)


def _asked(events: Sequence[Event]) -> Asked | None:
    turns = (turn for event in reversed(events) for turn in reversed(event.turns))
    return next((turn for turn in turns if isinstance(turn, Asked)), None)


def _shown(
    kept: Sequence[Event], room: int, tokens: TokenCorrection
) -> tuple[tuple[Event, ...], dict[int, tuple[int, ...]], tuple[Dropped, ...]]:
    """Of equal events the newest; and of those the newest for which there is room, in order."""
    groups: dict[str, list[Event]] = {}
    for event in kept:
        groups.setdefault(_likeness(event), []).append(event)
    newest = sorted((group[-1] for group in groups.values()), key=lambda event: event.number, reverse=True)
    alike = {group[-1].number: tuple(event.number for event in group) for group in groups.values()}
    size, shown = Measure(), 0
    for event in newest:
        size = size.plus(event.size)
        if tokens.tokens(size) > room:
            break
        shown += 1
    why = f"over the {room} tokens for what lasts of folded events"
    dropped = [Dropped(event.name, tokens.tokens(event.size), why) for event in reversed(newest[shown:])]
    return tuple(reversed(newest[:shown])), alike, tuple(dropped)


def _likeness(event: Event) -> str:
    """The same for events that differ in nothing but the ids of their calls."""
    return digest(canonical_json([event.milestone, *(_plain(turn) for turn in event.turns)]))


def _plain(turn: Turn) -> object:
    match turn:
        case Said(parts):
            return [[part.name, part.arguments] if isinstance(part, ToolCall) else part.to_json() for part in parts]
        case CameBack(results):
            return [{**result.to_json(), "id": ""} for result in results]
    return turn.to_json()
