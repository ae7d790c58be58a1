"""Which rows of a source a sentence is about: those that share most of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from transom.evidence.number_words import number_of_word
from transom.evidence.quantities import STATE, has_denial, kinds_of

_ROW_WORD = re.compile(r"[^\W_](?:[\w./#-]*[^\W_])?")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ROW_STEM = 4
_MOST_BEST = 8  # rows that have equally many words of a sentence
_KEY = re.compile(r"\"([^\"]{1,60})\":")


def rows_of_sentence(sentence: str, rows: Sequence[str]) -> list[str]:
    """Return the rows that share most words with a sentence; rare words count for more."""
    return rows_with_most(row_words(sentence), rows, row_words)


def rows_with_most(
    words: frozenset[str], rows: Sequence[str], words_of: Callable[[str], frozenset[str]]
) -> list[str]:
    """Return the rows that share most of some words, at most eight; rare words count for more.

    Args:
        words_of: returns the words of a row.
    """
    words_by_row = [words & words_of(row) for row in rows]
    counts = Counter[str]()
    for shared in words_by_row:
        counts.update(shared)
    scores = [sum(1 / counts[word] for word in shared) for shared in words_by_row]
    best = max(scores, default=0)
    if best <= 0:
        return []
    best_rows = list[str]()
    for row, score in zip(rows, scores, strict=True):
        if score == best:
            best_rows.append(row)
    return best_rows[:_MOST_BEST]


def counts_rows(sentence: str, states: frozenset[str], rows: Sequence[str]) -> bool:
    """Return whether a part of a sentence counts the rows of one table that have its state."""
    numbers = list[int]()
    for word in _ROW_WORD.findall(sentence):
        number = number_of_word(word)
        if number is not None:
            numbers.append(number)
    if not numbers or len(numbers) > 2 or len(states) != 1:
        return False
    wholes, counts = Counter[str](), Counter[str]()
    for row in rows:
        # A cell of prose is left out of its row, but hardly the first one.
        first = " ".join(_KEY.findall(row)[:1])
        wholes[first] += 1
        if states <= kinds_of(row)[STATE] and not has_denial(row):
            counts[first] += 1
    for key, count in counts.items():
        if key and [count, wholes[key]][: len(numbers)] == numbers:
            return True
    return False


def names_in(sentence: str) -> frozenset[str]:
    """Return the beginnings of the words of a sentence that name no kind of a quantity."""
    own = [word for word in _ROW_WORD.findall(sentence) if not any(kinds_of(word))]
    return row_words(" ".join(word for word in own if len(word) >= _ROW_STEM))


@lru_cache(maxsize=2048)
def row_words(text: str) -> frozenset[str]:
    """Return the beginnings of the words and names of a text: `p95`, `swap/sync`, `covered`."""
    words = set[str]()
    # `covered_lines` and `numFailedTests` are words, too.
    parted = _CAMEL.sub(" ", text).replace("_", " ")
    for word in _ROW_WORD.findall(f"{text} {parted}"):
        if not word[0].isdigit():
            words.add(word.casefold() if not word.isalpha() else word.casefold()[:_ROW_STEM])
    return frozenset(words)
