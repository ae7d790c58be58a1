"""How many tokens a text is: an estimate that the usage which comes back corrects, model by model."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple, Self

from transom.once import once

# Letters and spaces make words, which tokenizers have whole. Digits, marks, line ends and what is not ASCII they cut
# small: a byte of those is worth about three of the others with every tokenizer in use.
_WORDS = bytes(byte for byte in range(128) if chr(byte).isalpha() or chr(byte) == " ")
_PLAIN, _DENSE = 0.21, 0.60
# Before anything came back every byte counts alike, and three make a token, as in `llm.estimate_tokens`.
_UNCORRECTED = 1 / 3
_BYTES = 4  # of a character at most
_FADING = 0.7  # of what is known, with each new observation
_STIFFNESS = 0.01  # how much the usual ratio of plain to dense counts against what was seen
_FAR = 4.0  # no tokenizer is that far from the usual one


class Measure(NamedTuple):
    """What an estimate is made from; of two texts joined it is the sum. In bytes."""

    plain: int = 0
    dense: int = 0

    def plus(self, other: Measure) -> Measure:
        """Of both together."""
        return Measure(self.plain + other.plain, self.dense + other.dense)

    def minus(self, other: Measure) -> Measure:
        """Of what is left without the other."""
        return Measure(self.plain - other.plain, self.dense - other.dense)


def measure(text: str) -> Measure:
    """The measure of a text."""
    data = text.encode("utf-8", "surrogatepass")
    dense = len(data.translate(None, _WORDS))
    return Measure(len(data) - dense, dense)


@dataclass(frozen=True)
class TokenCorrection:
    """What is known of a model's tokenizer from the usage that came back. A value.

    Tokens are taken to be `a` times the plain bytes plus `b` times the dense ones. Both are fitted by least squares
    over the calls seen, the newest counting most; where calls are too alike to tell the two apart, their usual ratio
    decides.

    Attributes:
        seen: calls that it was learned from; with 0 it is `llm.estimate_tokens`.
        moments: faded sums over calls of u·u, u·v, v·v, u·t and v·t. Of the tokens that a usual tokenizer makes of a
            call, u and v are the parts that come of its plain and its dense bytes; t times as many were reported. The
            last is of the tokens reported for each byte.
    """

    seen: int = 0
    moments: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def tokens(self, size: Measure) -> int:
        """An estimate of the tokens of something of that measure."""
        plain, dense = self._weights
        tokens = math.ceil(plain * size.plain + dense * size.dense - 1e-6)
        return tokens if tokens > 0 else 0

    def at_most(self, size: Measure) -> int:
        """An estimate from above, for what has to fit: also where the text is unlike all that was seen so far.

        It is the largest of what the fit says, what it would be if the usual ratio of plain to dense held, and if all
        bytes counted alike. Where a text is like those seen the three agree.
        """
        if not self.seen:
            return self.tokens(size)
        uu, uv, vv, ut, vt, each = self.moments
        weight = uu + 2 * uv + vv
        usual = (ut + vt) / weight * (_PLAIN * size.plain + _DENSE * size.dense)
        even = each / weight * (size.plain + size.dense)
        return max(self.tokens(size), math.ceil(usual), math.ceil(even))

    def count(self, text: str) -> int:
        """An estimate of the tokens of a text."""
        return self.tokens(measure(text))

    def fits(self, text: str, most: int) -> bool:
        """Whether a text is at most so many tokens, as estimated; of a short one that is plain without measuring it."""
        return max(self._weights) * _BYTES * len(text) <= most or self.count(text) <= most

    def reach(self, text: str, most: int) -> int:
        """How many characters of a text, from its beginning, are at most so many tokens, as estimated."""
        longest = min(len(text), math.ceil(max(0, most) / min(self._weights)))
        return max(0, bisect_right(range(longest + 1), most, key=lambda end: self.count(text[:end])) - 1)

    def learned(self, size: Measure, tokens: int) -> Self:
        """With one more call: its measure, and the input tokens that its usage reported, cached ones included.

        No tokenizer makes more than a token of a byte. What is reported beyond that is the server's own, e.g. what it
        puts before a request with tools; taken for text it would make a short first call teach absurd sizes.
        """
        tokens = min(tokens, size.plain + size.dense)
        if tokens <= 0:
            return self
        usual = _PLAIN * size.plain + _DENSE * size.dense
        u, v, t = _PLAIN * size.plain / usual, _DENSE * size.dense / usual, tokens / usual
        new = (u * u, u * v, v * v, u * t, v * t, tokens / (size.plain + size.dense))
        faded = tuple([_FADING * old + more for old, more in zip(self.moments, new, strict=True)])
        return type(self)(self.seen + 1, faded)  # type: ignore[arg-type]  # as long as `new`

    @once
    def _weights(self) -> tuple[float, float]:
        if not self.seen:
            return _UNCORRECTED, _UNCORRECTED
        uu, uv, vv, ut, vt, _ = self.moments
        weight = uu + 2 * uv + vv  # u + v is 1, so this is the faded number of calls
        usual = (ut + vt) / weight  # the best single factor
        stiff = _STIFFNESS * weight
        free = (uu + stiff) * (vv + stiff) - uv * uv
        a = ((ut + stiff * usual) * (vv + stiff) - (vt + stiff * usual) * uv) / free
        b = ((vt + stiff * usual) * (uu + stiff) - (ut + stiff * usual) * uv) / free
        return _PLAIN * _near(a, usual), _DENSE * _near(b, usual)


def _near(factor: float, usual: float) -> float:
    return min(max(factor, usual / _FAR), usual * _FAR)
