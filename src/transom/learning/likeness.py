"""Which insights say the same: equal words, nearly equal words, or, where there is an embedder, equal meaning."""

from __future__ import annotations

import hashlib
import re

from transom.memory.words import stem, words_of

NEARLY = 0.75
"""Of the words of two texts so many are common at least, where the two are taken for one (Jaccard)."""
PARAPHRASE = 0.84
"""Cosine from which two texts may be taken for one."""
_SWAPPED = 0.35  # of the words in their places, up to which two texts of one length are a pattern with other words

_NEGATIONS = frozenset(
    {"not", "no", "never", "without", "avoid", "don", "doesn", "isn", "aren", "won", "cannot", "shouldn", "mustn"}
    | {"neither", "nor", "except", "unless", "stop", "disable", "disabled"}
)
_OPPOSITES = tuple(
    frozenset(stem(word) for word in pair.split())
    for pair in (
        "increase decrease", "raise lower", "higher lower", "more less", "more fewer", "maximum minimum", "max min",
        "maximise minimise", "maximize minimize", "before after", "above below", "enable disable", "first last",
        "always never", "with without", "upper lower", "coarse fine", "thick thin", "fast slow", "small large",
        "short long", "true false", "start stop", "begin end", "read write", "load save", "add remove", "open close",
        "left right", "on off", "pass fail",
    )
)  # fmt: skip
_DIRECTED = frozenset(
    {"before", "after", "over", "under", "above", "below", "than", "instead", "from", "into", "to", "not"}
)
"""Beside these the order of the other words is what is said."""
_MARKS = re.compile(r"(?<=[\w)\]\s])(?<![-=])[<>]=?|[=!]=+|[≤≥≠%]|(?<![\w.)\]])-(?=\.?\d)|(?<=[A-Za-z])(?:\+\+|#)")
"""Punctuation that says something: `slack < 0`, `x != 0`, `-0.5`, `50%`, `C++`."""


def fingerprint(content: str) -> str:
    """The same for texts that differ in nothing but case, spaces and punctuation that says nothing."""
    return hashlib.blake2b(" ".join(words_of(content) + _marks(content)).encode(), digest_size=16).hexdigest()


def _marks(text: str) -> list[str]:
    return _MARKS.findall(text.strip())


def may_paraphrase(one: str, other: str) -> bool:
    """Whether two texts of like meaning can be one: they do not contradict, nor say the same of two things.

    "Write the log to a local disk" and "Read the log from a local disk" mean nearly the same to an embedder.
    """
    first, second = words_of(one), words_of(other)
    swapped = sum(a != b for a, b in zip(first, second, strict=False))
    same_pattern = len(first) == len(second) and swapped <= max(2, _SWAPPED * len(first))
    return not same_pattern and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Whether what differs between two texts turns the meaning around: a number, a sign, a negation, a direction."""
    first, second = {*words_of(one)}, {*words_of(other)}
    common = first & second
    orders = [[*dict.fromkeys(word for word in words_of(text) if word in common)] for text in (one, other)]
    if _marks(one) != _marks(other) or (common & _DIRECTED and orders[0] != orders[1]):
        return True
    mine, theirs = first - second, second - first
    numbers = [{word for word in words if word[0].isdigit()} for words in (mine, theirs)]
    if any(numbers) or bool(mine & _NEGATIONS) != bool(theirs & _NEGATIONS):
        return True
    here, there = {*map(stem, mine)}, {*map(stem, theirs)}
    return any(pair & here and pair & there for pair in _OPPOSITES)
