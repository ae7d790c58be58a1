"""What a description asks of a number that a file labels: the words of the label, and its limit.

"ALU functional coverage is at least 95 %"   -> functional, coverage: at least 95 %
"no assertion failures"                      -> assertion, failure: at most 0
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.written_limits import (
    COMPARED_BEHIND,
    DENIED_SUBJECT,
    OTHER_COMPARATIVE,
    limit_in,
    plain_limit,
)
from transom.checklist.number_ranges import COMPARISONS, Comparison
from transom.evidence.units import quantity_of

WORD: Final = re.compile(r"[A-Za-z]+")
_SPELLINGS: Final = (("isation", "ization"), ("ised", "ized"), ("our", "or"))
# Words that say that a share is meant, which a table need not repeat.
SHARES: Final = frozenset(
    {"utilization", "usage", "use", "used", "share", "percent", "count", "number"}
)
_VERBS: Final = ("exceed", "exceeds", "stay", "stays", "reach", "reaches", "leave", "leaves")
_NOUN: Final = r"(?<![\w-])(?P<noun>(?:[\w-]++ ){0,3}?[\w-]++)"
_ZERO_OF: Final = re.compile(
    rf"\b(?:no|zero|0|nothing(?: is| left| remains)?|without(?: any)?|free (?:of|from))\s+{_NOUN}"
    r"(?=\s+(?:in|of|on|at|for|after|during|are|is|left|remain\w*|reported|within|across|by|from"
    r"|may|must|should|can|occur\w*|appear\w*|found|and|or)\b|\s*[.,;:)]|\s*$)",
    re.IGNORECASE,
)
_IS_ZERO: Final = re.compile(
    rf"{_NOUN}\s++(?:count\s++)?(?:is|are|equals?|=+|stays?)\s+(?:0|zero)\b(?!\.)", re.IGNORECASE
)
_NOT_ABOVE: Final = re.compile(r"\b(?:\w+ ){0,2}(?:not|never) \w+", re.IGNORECASE)
_NOT_NEGATIVE: Final = re.compile(r"\b(?:not|non|never)[\s-]+negative\b", re.IGNORECASE)
_COMPARISON_WORDS: Final[dict[Comparison, str]] = {
    ">=": "at least",
    "<=": "at most",
    ">": "above",
    "<": "below",
}


@dataclass(frozen=True)
class LabelledLimit:
    """What a description asks of a number.

    Attributes:
        words: words of its label, in the singular.
        needed: those that a line must have.
        comparison, number, unit: the limit.
        used: phrases of the description that the limit uses.
        shown: the limit as a person reads it.
    """

    words: tuple[str, ...]
    needed: frozenset[str]
    comparison: Comparison
    number: str
    unit: str
    used: tuple[str, ...]
    shown: str


def labelled_limit(description: str) -> LabelledLimit | None:
    """Return what a description asks of a number, or None if it limits none."""
    text = " ".join(description.split())
    limited = plain_limit(text)
    limit = limit_in(limited)
    if limit is not None:
        words, bound = limit
        if bound.comparator not in COMPARISONS:
            return None
        label = _label_words(limited.replace(words, " "))
        number = f"{bound.number.value:f}"
        used = (*words.split(), *_VERBS)
        for pattern in (COMPARED_BEHIND, _NOT_ABOVE, OTHER_COMPARATIVE):
            for phrase in pattern.finditer(text):
                used += tuple(phrase[0].split())
        for denied in DENIED_SUBJECT.finditer(text):
            comparison_words = denied[0].removeprefix(denied["denial"] + denied["between"])
            used += (denied["denial"], *comparison_words.split())
        comparison = bound.comparator
        unit = bound.number.unit
        counted = _counted(limited, words)
        if counted:
            label, unit = tuple(dict.fromkeys((*label, *counted))), ""
        shown = f"{_COMPARISON_WORDS[comparison]} {number} {unit}".strip()
        return LabelledLimit(label, frozenset(counted), comparison, number, unit, used, shown)
    if _NOT_NEGATIVE.search(text):
        label = _label_words(_NOT_NEGATIVE.sub(" ", text))
        used = (*_VERBS, "not", "non", "negative", "positive", "non-negative")
        return LabelledLimit(label, frozenset(), ">=", "0", "", used, "at least 0")
    match = _ZERO_OF.search(text) or _IS_ZERO.search(text)
    if match is None:
        return None
    nouns = [word for word in _label_words(match["noun"]) if word not in SHARES]
    # "Setup violation count is 0" counts violations, and what stands before narrows them.
    needed = frozenset(nouns if match.re is _ZERO_OF else nouns[-1:])
    if not needed:
        return None
    used = (*match[0].split(), "zero", "0", "no", "without")
    return LabelledLimit(_label_words(text), needed, "<=", "0", "", used, "at most 0")


def _counted(description: str, limit: str) -> tuple[str, ...]:
    """Return the words of what a limit counts, in the singular; nothing if it has a unit.

    "At most 200 clock buffers" counts clock buffers.
    """
    figures, behind = limit.split(), description.partition(limit)[2].split()
    noun = figures.pop() if figures[-1][:1].isalpha() else ""
    if not noun or quantity_of(noun) is not None or not figures[-1].isdigit():
        return ()
    words = [noun]
    for word in behind:
        if word.strip(".,;:").lower() in shipped_claims().grammar or not word[0].isalpha():
            break
        words.append(word)
        if not word[-1].isalnum():
            break
    return _label_words(" ".join(words))


def _label_words(text: str) -> tuple[str, ...]:
    """Return the words of a description that may stand in a label, in the singular."""
    claims = shipped_claims()
    # "Non-equivalent points" are other points than equivalent ones.
    ignored = {*claims.grammar, *claims.denials, *_VERBS} - {"non"}
    words = []
    for word in WORD.findall(text):
        if len(word) > 1 and word.lower() not in ignored:
            words.append(plain_word(word))
    return tuple(dict.fromkeys(words))


def plain_word(word: str) -> str:
    """Return a word in lower case, in one spelling and in the singular."""
    word = word.lower()
    for british, american in _SPELLINGS:
        word = word.replace(british, american)
    return word.rstrip("s")


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text, each in one spelling and in the singular."""
    return frozenset(plain_word(word) for word in WORD.findall(text))
