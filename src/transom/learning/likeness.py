"""Similarity of insights: equal texts are one insight, near texts are a question for a person."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from transom.memory.words import words_of

NEARLY = 0.75
"""Least share of common words (Jaccard) of two texts that a person is asked about."""
PARAPHRASE = 0.84
"""Least cosine similarity of two texts that a person is asked about."""

_MARKS = re.compile(
    r"(?<=[\w)\]\s])(?<![-=])[<>]=?|[=!]=+|[≤≥≠%]|(?<![\w.)\]])-(?=\.?\d)|(?<=[A-Za-z])(?:\+\+|#)"
)
"""Punctuation that carries meaning: `slack < 0`, `x != 0`, `-0.5`, `50%`, `C++`."""
_QUOTES = "\"'`“”„‘’«»"
_QUOTATION = re.compile(
    rf"(?<![\w\])])[{_QUOTES}]((?:[^{_QUOTES}]|(?<=\w)['’](?=\w))+)[{_QUOTES}](?!\w)"
)
"""A quotation without another one in it: `5'` and `f'` are none, since nothing opens it."""
# What ends a part of a sentence stands behind a word and before a space. `.cache` and `!ready` are
# names and operators; so is `n!`, a factorial, unlike the end of a longer word.
_ENDING = re.compile(r"(?:(?<=[\w)\]}%])[.,:;…]+|(?<=[^\W\d_]{2})!+)(?=[\s)\]}]|$)")
# A dash joins two whole words, or stands alone between two spaces as more than a minus. Before one
# word only it belongs to it: `--fast`, `_rotor.prt`.
_DASHES = "\u2010-\u2015"
_JOINING = re.compile(
    rf"(?<=[^\W_]{{2}})[-_{_DASHES}](?=[^\W\d_]{{2}})|(?<=\w)['’](?=\w)"
    rf"|(?<!\S)(?:--+|[{_DASHES}]+)(?!\S)"
)
_TOKEN = re.compile(
    r"(?:(?<![\w.)\]])[-+])?\.?\d+(?>(?:\.\d+)*)(?:e[-+]?\d+)?[^\W_]*"  # -0.5, 1e-8, 5mm, 1.2.3
    r"|[^\W_]+|\S"
)


def fingerprint(content: str) -> str:
    """Hash a text without case, spaces and most punctuation.

    Equal texts have equal fingerprints. Texts with equal fingerprints may still differ in a symbol,
    see `normalised`. Fingerprints are stored, so this function must not change.
    """
    marks = _MARKS.findall(content.strip())
    return hashlib.blake2b(" ".join(words_of(content) + marks).encode(), digest_size=16).hexdigest()


def normalised(content: str) -> tuple[str, ...]:
    """Return the words and symbols of a text, in order and in lower case.

    Only spaces and punctuation that joins, quotes or ends words are left out: `a / b` and `a * b`,
    `f(x) + y` and `f(x + y)`, `-v` and `v` stay apart.
    """
    text = unicodedata.normalize("NFC", content).lower()
    # Quotations lie in each other: the innermost lose their marks first.
    while (unquoted := _QUOTATION.sub(r"\1", text)) != text:
        text = unquoted
    for marks in (_ENDING, _JOINING):
        text = marks.sub(" ", text)
    return tuple(_TOKEN.findall(text))


def differ_in_a_number(first: str, second: str) -> bool:
    """Return whether two texts have different numbers, so that they state different facts.

    Only numbers in digits count; a hyphen behind a word is no sign.
    """
    return _numbers(first) != _numbers(second)


def _numbers(text: str) -> list[str]:
    return sorted(token for token in normalised(text) if token.lstrip("+-.")[:1].isdigit())
