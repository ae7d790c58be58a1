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
    spans += [match.span() for word in words for match in re.finditer(re.escape(word), near)]
    for breaks, least in [
        *((pattern, limit // 2) for pattern in (_LINES, _SENTENCES, _WORDS, _MARKS, _ANYWHERE)),
        (_WORDS, 1),
    ]:
        for end in islice(reversed(_places(breaks, near, least, limit)), _TRIES):
            if not any(start < end < behind for start, behind in spans) and _has_same_facts(
                facts, near, end
            ):
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
    places = (_places(breaks, text, least, limit) for breaks in (_SENTENCES, _WORDS, _MARKS))
    return next((ends[-1] for ends in places if ends), limit)


def _places(breaks: re.Pattern[str], text: str, least: int, limit: int) -> list[int]:
    matches = breaks.finditer(text, max(least, 1), limit + _SEEN_BEHIND)
    return [match.start() for match in matches if match.start() <= limit]


def _has_same_facts(facts: list[Fact], text: str, end: int) -> bool:
    """Whether the text up to `end` has the same facts there as the whole: words after a fact may
    determine its sign.
    """
    begin = max(0, end - 2 * _NEAR)
    from_ = begin + _NEAR if begin else 0
    facts_there = [fact._replace(start=fact.start + begin) for fact in facts_of(text[begin:end])]
    return [fact for fact in facts_there if fact.start >= from_] == [
        fact for fact in facts if fact.start >= from_ and fact.end <= end
    ]
