"""Cuts texts at the end of a line, sentence or word, and never through a number or an id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeAlias

from transom.evidence.facts import Fact, facts_of

_LINES = re.compile(r"(?=\n)")
_SENTENCES = re.compile(r"(?<=[.!?;}\]])(?=\s)|(?<=[}\]],)")  # also after a value of a JSON list
_WORDS = re.compile(r"(?<=[^\s±−–-])(?=\s)(?!\s?%)")
# in text without spaces; 1,234 is one number
_MARKS = re.compile(r"(?<=[,;}\])])(?=\S)(?!\d{3}(?!\d))")
_ANYWHERE = re.compile(r"(?=.)", re.DOTALL)
_SEEN_BEHIND = 3  # characters after a place that the patterns look at
_NEAR = 400  # characters on either side of a place that determine its facts; an id has 300 at most
_TRIES = 400

Span: TypeAlias = tuple[int, int]
"""Start and end in a text."""


def cut(text: str, limit: int, words: Collection[str] = ()) -> int:
    """Return how many characters of a text to keep, at most `limit`, and at least half of that if
    possible.

    The kept text has the same numbers, with their signs, and the same ids as that part of the whole
    text.

    Args:
        text: a text longer than `limit`.
        limit: number of characters at most.
        words: further words that must not be cut through.
    """
    near = text[: limit + _NEAR]
    facts = list(facts_of(near))
    spans = [(fact.start, fact.end) for fact in facts]
    for word in words:
        spans += [match.span() for match in re.finditer(re.escape(word), near)]
    # The best kind of place in the second half; if none fits, the end of any word.
    attempts = [(breaks, limit // 2) for breaks in (_LINES, _SENTENCES, _WORDS, _MARKS, _ANYWHERE)]
    attempts.append((_WORDS, 1))
    for breaks, least in attempts:
        for end in islice(reversed(_places(breaks, near, least, limit)), _TRIES):
            is_within = any(start < end < behind for start, behind in spans)
            if not is_within and _has_same_facts(facts, near, end):
                return end
    return 0


def parts(text: str, limit: int) -> Iterator[Span]:
    """Yield the parts of a long line, each of at most `limit` characters.

    It is fast, since it looks only at the characters around each cut.
    """
    start = 0
    while len(text) - start > limit:
        end = _last(text, start + limit // 2, start + limit)
        yield start, end
        start = end
    yield start, len(text)


def _last(text: str, least: int, limit: int) -> int:
    """Return the best place to end at, or `limit` if there is none."""
    for breaks in (_SENTENCES, _WORDS, _MARKS):
        places = _places(breaks, text, least, limit)
        if places:
            return places[-1]
    return limit


def _places(breaks: re.Pattern[str], text: str, least: int, limit: int) -> list[int]:
    matches = breaks.finditer(text, max(least, 1), limit + _SEEN_BEHIND)
    return [match.start() for match in matches if match.start() <= limit]


def _has_same_facts(facts: list[Fact], text: str, end: int) -> bool:
    """Return whether the text up to `end` has the same facts near its end as the whole text."""
    # Words after a fact may determine its sign, so a cut behind a fact can change it.
    begin = max(0, end - 2 * _NEAR)
    first = begin + _NEAR if begin else 0
    cut_facts = []
    for fact in facts_of(text[begin:end]):
        if fact.start + begin >= first:
            cut_facts.append(fact._replace(start=fact.start + begin))
    return cut_facts == [fact for fact in facts if fact.start >= first and fact.end <= end]
