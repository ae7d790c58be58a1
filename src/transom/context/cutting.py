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


def cut(text: str, most: int, whole: Collection[str] = ()) -> int:
    """Return how many characters of a text to keep, at most `most`, and at least half of that if
    possible.

    The kept text has the same numbers, with their signs, and the same ids as that part of the whole
    text.

    Args:
        text: a text longer than `most`.
        most: number of characters at most.
        whole: further words that must not be cut through.
    """
    near = text[: most + _NEAR]
    facts = list(facts_of(near))
    spans = [(fact.start, fact.end) for fact in facts]
    spans += [match.span() for word in whole for match in re.finditer(re.escape(word), near)]
    for breaks, least in [
        *((one, most // 2) for one in (_LINES, _SENTENCES, _WORDS, _MARKS, _ANYWHERE)),
        (_WORDS, 1),
    ]:
        for end in islice(reversed(_places(breaks, near, least, most)), _TRIES):
            if not any(start < end < behind for start, behind in spans) and _same(facts, near, end):
                return end
    return 0


def parts(text: str, most: int) -> Iterator[Span]:
    """Yield the parts of a long line, each of at most `most` characters.

    It is fast, since it looks only at the characters around each cut.
    """
    at = 0
    while len(text) - at > most:
        end = _last(text, at + most // 2, at + most)
        yield at, end
        at = end
    yield at, len(text)


def _last(text: str, least: int, most: int) -> int:
    """Return the best place to end at, or `most` if there is none."""
    places = (_places(breaks, text, least, most) for breaks in (_SENTENCES, _WORDS, _MARKS))
    return next((found[-1] for found in places if found), most)


def _places(breaks: re.Pattern[str], text: str, least: int, most: int) -> list[int]:
    found = breaks.finditer(text, max(least, 1), most + _SEEN_BEHIND)
    return [match.start() for match in found if match.start() <= most]


def _same(facts: list[Fact], text: str, end: int) -> bool:
    """Whether the text up to `end` has the same facts there as the whole: words after a fact may
    determine its sign.
    """
    begin = max(0, end - 2 * _NEAR)
    from_ = begin + _NEAR if begin else 0
    there = [fact._replace(start=fact.start + begin) for fact in facts_of(text[begin:end])]
    return [fact for fact in there if fact.start >= from_] == [
        fact for fact in facts if fact.start >= from_ and fact.end <= end
    ]
