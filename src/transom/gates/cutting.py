"""Where a text can be cut: at the end of a line, of a sentence or of a word, and never through a number or an id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeAlias

from transom.gates.facts import Fact, facts_of

_LINES = re.compile(r"(?=\n)")
_SENTENCES = re.compile(r"(?<=[.!?;}\]])(?=\s)|(?<=[}\]],)")  # also a value of a list in JSON
_WORDS = re.compile(r"(?<=[^\s±−–-])(?=\s)(?!\s?%)")
_MARKS = re.compile(r"(?<=[,;}\])])(?=\S)(?!\d{3}(?!\d))")  # where there are no spaces; 1,234 is a number
_ANYWHERE = re.compile(r"(?=.)", re.DOTALL)
_SEEN_BEHIND = 3  # characters that these look at
_NEAR = 400  # characters on either side of a place that tell what is a fact there; an id has 300 at most
_TRIES = 400

Span: TypeAlias = tuple[int, int]
"""Where something begins and ends in a text."""


def cut(text: str, most: int, whole: Collection[str] = ()) -> int:
    """How many characters of a text to keep, of at most so many: half of them are not lost for a better place.

    The numbers and ids of what is kept are those of the text, each with the sign that its words give it.

    Args:
        text: is longer than that.
        most: characters.
        whole: words that are not cut through either.
    """
    near = text[: most + _NEAR]
    facts = list(facts_of(near))
    spans = [(fact.start, fact.end) for fact in facts]
    spans += [match.span() for word in whole for match in re.finditer(re.escape(word), near)]
    for breaks, least in [*((one, most // 2) for one in (_LINES, _SENTENCES, _WORDS, _MARKS, _ANYWHERE)), (_WORDS, 1)]:
        for end in islice(reversed(_places(breaks, near, least, most)), _TRIES):
            if not any(start < end < behind for start, behind in spans) and _same(facts, near, end):
                return end
    return 0


def parts(text: str, most: int) -> Iterator[Span]:
    """Where a long line is divided into parts of at most so many characters.

    That is quick: it looks at no more than the characters beside a place.
    """
    at = 0
    while len(text) - at > most:
        end = _last(text, at + most // 2, at + most)
        yield at, end
        at = end
    yield at, len(text)


def _last(text: str, least: int, most: int) -> int:
    """The best place to end at; where there is none that is no longer."""
    places = (_places(breaks, text, least, most) for breaks in (_SENTENCES, _WORDS, _MARKS))
    return next((found[-1] for found in places if found), most)


def _places(breaks: re.Pattern[str], text: str, least: int, most: int) -> list[int]:
    found = breaks.finditer(text, max(least, 1), most + _SEEN_BEHIND)
    return [match.start() for match in found if match.start() <= most]


def _same(facts: list[Fact], text: str, end: int) -> bool:
    """Whether the text up to there has the facts that the whole of it has there: words behind one may tell its sign."""
    begin = max(0, end - 2 * _NEAR)
    from_ = begin + _NEAR if begin else 0
    there = [fact._replace(start=fact.start + begin) for fact in facts_of(text[begin:end])]
    return [fact for fact in there if fact.start >= from_] == [
        fact for fact in facts if fact.start >= from_ and fact.end <= end
    ]
