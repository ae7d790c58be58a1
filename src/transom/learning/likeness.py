"""Similarity of insights: equal words, nearly equal words, or, with an embedder, equal meaning."""

from __future__ import annotations

import hashlib
import re

from transom.memory.words import stem, words_of

NEARLY = 0.75
"""Least share of common words (Jaccard) of two texts that count as the same."""
PARAPHRASE = 0.84
"""Least cosine similarity of two texts that may count as the same."""
# largest share of differing words between two texts of one length that share a pattern
_SWAPPED = 0.35

_NEGATIONS = frozenset(
    {
        "not",
        "no",
        "never",
        "without",
        "avoid",
        "don",
        "doesn",
        "isn",
        "aren",
        "won",
        "cannot",
        "shouldn",
        "mustn",
    }
    | {"neither", "nor", "except", "unless", "stop", "disable", "disabled"}
)
_OPPOSITES = tuple(
    frozenset(stem(word) for word in pair.split())
    for pair in (
        "increase decrease",
        "raise lower",
        "higher lower",
        "more less",
        "more fewer",
        "maximum minimum",
        "max min",
        "maximise minimise",
        "maximize minimize",
        "before after",
        "above below",
        "enable disable",
        "first last",
        "always never",
        "with without",
        "upper lower",
        "coarse fine",
        "thick thin",
        "fast slow",
        "small large",
        "short long",
        "true false",
        "start stop",
        "begin end",
        "read write",
        "load save",
        "add remove",
        "open close",
        "left right",
        "on off",
        "pass fail",
    )
)
_DIRECTED = frozenset(
    {
        "before",
        "after",
        "over",
        "under",
        "above",
        "below",
        "than",
        "instead",
        "from",
        "into",
        "to",
        "not",
    }
)
"""Words that make the order of the other words part of the meaning."""
_MARKS = re.compile(
    r"(?<=[\w)\]\s])(?<![-=])[<>]=?|[=!]=+|[≤≥≠%]|(?<![\w.)\]])-(?=\.?\d)|(?<=[A-Za-z])(?:\+\+|#)"
)
"""Punctuation that carries meaning: `slack < 0`, `x != 0`, `-0.5`, `50%`, `C++`."""


def fingerprint(content: str) -> str:
    """Hash a text without case, spaces and meaningless punctuation: equal for texts that differ
    only in those.
    """
    return hashlib.blake2b(
        " ".join(words_of(content) + _marks(content)).encode(), digest_size=16
    ).hexdigest()


def _marks(text: str) -> list[str]:
    return _MARKS.findall(text.strip())


def may_paraphrase(one: str, other: str) -> bool:
    """Whether two similar texts can mean the same: no contradiction, and not one pattern about two
    things.

    An embedder rates "Write the log to a local disk" and "Read the log from a local disk" as nearly
    equal.
    """
    first, second = words_of(one), words_of(other)
    swapped = sum(a != b for a, b in zip(first, second, strict=False))
    same_pattern = len(first) == len(second) and swapped <= max(2, _SWAPPED * len(first))
    return not same_pattern and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Whether the difference of two texts reverses the meaning: a number, sign, negation or
    direction.
    """
    first, second = {*words_of(one)}, {*words_of(other)}
    common = first & second
    orders = [
        [*dict.fromkeys(word for word in words_of(text) if word in common)] for text in (one, other)
    ]
    if _marks(one) != _marks(other) or (common & _DIRECTED and orders[0] != orders[1]):
        return True
    mine, theirs = first - second, second - first
    numbers = [{word for word in words if word[0].isdigit()} for words in (mine, theirs)]
    if any(numbers) or bool(mine & _NEGATIONS) != bool(theirs & _NEGATIONS):
        return True
    here, there = {*map(stem, mine)}, {*map(stem, theirs)}
    return any(pair & here and pair & there for pair in _OPPOSITES)
