"""Estimates of tokens, corrected by reported usage, model by model."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

# Letters and spaces make words, which tokenizers have whole. Digits, marks, line ends and what is
# not ASCII they cut small: a byte of those is worth about three of the others with every tokenizer
# in use.
_WORDS = bytes(byte for byte in range(128) if chr(byte).isalpha() or chr(byte) == " ")
_PLAIN, _DENSE = 0.21, 0.60
# the same of a tokenizer that cuts these into single bytes, and runs of spaces, too
_DENSEST = 1.30
# Before anything came back every byte counts alike, and three make a token, as in
# `llm.estimate_tokens`.
_UNCORRECTED = 1 / 3
_BYTES = 4  # of a character at most
_ROUNDING = 1e-6  # sums of floats err by less
_FADING = 0.7  # of what is known, with each new observation


class Measure(NamedTuple):
    """The size of a text, in bytes of two kinds; the size of two texts joined is the sum."""

    plain: int = 0
    dense: int = 0

    def plus(self, other: Measure) -> Measure:
        """Return the size of both together."""
        return Measure(self.plain + other.plain, self.dense + other.dense)

    def minus(self, other: Measure) -> Measure:
        """Return the size without the other."""
        return Measure(self.plain - other.plain, self.dense - other.dense)


def total(sizes: Iterable[Measure]) -> Measure:
    """Return the sum of sizes."""
    plain = dense = 0
    for size in sizes:
        plain += size.plain
        dense += size.dense
    return Measure(plain, dense)


def measure(text: str) -> Measure:
    """Return the measure of a text."""
    data = text.encode("utf-8", "surrogatepass")
    dense = len(data.translate(None, _WORDS))
    return Measure(len(data) - dense, dense)


@dataclass(frozen=True)
class TokenCorrection:
    """An estimator of tokens that learns a model's tokenizer from reported usage. A value.

    Attributes:
        calls: number of calls that it was learned from; with 0 it is `llm.estimate_tokens`.
        factor: tokens that were reported for each that a usual tokenizer makes; the newest calls
            count most.
        steep: the same for each that one makes which cuts dense text into single bytes.
        per_byte: the same for each byte.
        even: whether counting every byte alike predicted the last call better than the usual
            weights.
    """

    calls: int = 0
    factor: float = 1.0
    steep: float = 1.0
    per_byte: float = _UNCORRECTED
    even: bool = True

    def tokens(self, size: Measure) -> int:
        """Return an estimate of the tokens of something of that measure."""
        if self.even:
            estimate = self.per_byte * (size.plain + size.dense)
        else:
            estimate = self.factor * (_PLAIN * size.plain + _DENSE * size.dense)
        tokens = math.ceil(estimate - _ROUNDING)
        return tokens if tokens > 0 else 0

    def at_most(self, size: Measure) -> int:
        """Return an estimate from above, for what has to fit, even if the text is unlike all
        earlier ones.

        It is the largest of three: the usual weights of bytes may hold, every byte may count alike,
        or dense text may be cut smaller than usual, which prose does not show.
        """
        even = self.per_byte * (size.plain + size.dense)
        usual = self.factor * (_PLAIN * size.plain + _DENSE * size.dense) if self.calls else 0.0
        steep = self.steep * (_PLAIN * size.plain + _DENSEST * size.dense) if self.calls else 0.0
        return math.ceil(max(even, usual, steep, _ROUNDING) - _ROUNDING)

    def count(self, text: str) -> int:
        """Return an estimate of the tokens of a text."""
        return self.tokens(measure(text))

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text is at most so many tokens, as estimated; of a short one that is plain
        without measuring it.
        """
        return self._of_a_byte(_DENSE) * _BYTES * len(text) <= limit or self.count(text) <= limit

    def reach(self, text: str, limit: int) -> int:
        """Return the number of characters, from the beginning of a text, that are at most `limit`
        tokens, as estimated.
        """
        longest = min(len(text), math.ceil(max(0, limit) / self._of_a_byte(_PLAIN)))
        return max(
            0, bisect_right(range(longest + 1), limit, key=lambda end: self.count(text[:end])) - 1
        )

    def learned(self, size: Measure, tokens: int) -> Self:
        """With one more call: its measure, and the input tokens that its usage reported, cached
        ones included.

        No tokenizer makes more than a token of a byte. What is reported beyond that is the server's
        own, e.g. what it puts before a request with tools; taken for text it would make a short
        first call teach absurd sizes.
        """
        size_bytes = size.plain + size.dense
        tokens = min(tokens, size_bytes)
        if tokens <= 0:
            return self
        usual = _PLAIN * size.plain + _DENSE * size.dense
        # the first call counts whole
        old = _FADING * (1 - _FADING**self.calls) / (1 - _FADING ** (self.calls + 1))
        factor = old * self.factor + (1 - old) * tokens / usual
        steep = old * self.steep + (1 - old) * tokens / (
            _PLAIN * size.plain + _DENSEST * size.dense
        )
        per_byte = old * self.per_byte + (1 - old) * tokens / size_bytes
        # by a token
        closer = abs(self.per_byte * size_bytes - tokens) + 1 < abs(self.factor * usual - tokens)
        return type(self)(self.calls + 1, factor, steep, per_byte, self.calls > 0 and closer)

    def _of_a_byte(self, usual: float) -> float:
        return self.per_byte if self.even else self.factor * usual
