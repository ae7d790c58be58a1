"""Part a description into what it asks and how its result is to be counted and shown.

parts_of("Confirm LVS is clean. One item per cell; a cell with errors is a violation.")
-> asks "Confirm LVS is clean.", and reports "One item per cell",
   "a cell with errors is a violation"
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from transom.checklist.claims.claim_data import shipped_claims

# A full stop inside a name or a number ends no sentence.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"(])")
_CLAUSE_END: Final = re.compile(r"[;:]\s+|,\s+(?=(?:one|an?)\s)", re.IGNORECASE)
_REPORTING: Final = re.compile(
    r"^(?:(?:one|an|a|each|every) (?:item|violation|entry|row)s?\b(?! is\b)|waive\b)",
    re.IGNORECASE,
)
# "An endpoint marked (VIOLATED) is a violation" says again what the claim calls bad.
_DEFINITION: Final = re.compile(
    r"^(?:an?|one|each|every) (?P<subject>.+) (?:is|are|counts? as)(?: an?)? "
    r"(?P<outcome>violations?|found|errors?)[.]?$",
    re.IGNORECASE,
)
_WAIVING: Final = re.compile(r"^waive\b", re.IGNORECASE)
_NOTE: Final = re.compile(r"^(?:note|remark|nb|n\.b\.)\s?:", re.IGNORECASE)
# A word of a list of nouns; a verb would begin a clause of its own.
LISTED: Final = r"(?!(?:is|are|was|were|be|has|have|must|and|or|n?either|met|waived)\b)[\w-]+"
_AT_LEAST_ONE: Final = "at least one"
# "One or more" and "0 ns or better" name no second thing.
_ALTERNATIVE: Final = re.compile(
    r"\b(?:either|or)\b"
    r"(?! (?:more|less|fewer|better|worse|equal|greater|higher|lower|above|below)\b)",
    re.IGNORECASE,
)
# "No opens or shorts" asks that neither is there, and "no opens, shorts or loops" that none is.
_NEITHER: Final = re.compile(
    r"\b(?:no|zero|without|neither|none|free)\b"
    rf"(?:[^.;,]{{0,200}}|(?: {LISTED}){{1,3}}(?:, {LISTED}(?: {LISTED})?){{1,6}},?) \bn?or\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[a-z_]+[a-z0-9_]*")


@dataclass(frozen=True)
class DescriptionParts:
    """The parts of a description.

    Attributes:
        asks: the sentences that ask something.
        reporting: clauses that say how the result is counted and shown, and notes on the matter.
    """

    asks: str
    reporting: tuple[str, ...] = ()


def parts_of(description: str) -> DescriptionParts:
    """Return the parts of a description; its first sentence always asks something."""
    sentences = _SENTENCE_END.split(" ".join(description.split()))
    asks = [sentences[0]]
    reporting = list[str]()
    for sentence in sentences[1:]:
        clauses = [clause.strip() for clause in _CLAUSE_END.split(sentence) if clause.strip()]
        if is_note(sentence):
            reporting.append(sentence)
        elif _REPORTING.match(sentence) or all(map(_DEFINITION.match, clauses)):
            reporting += clauses
        else:
            asks.append(sentence)
    return DescriptionParts(" ".join(asks), tuple(reporting))


def open_alternative(description: str, left_out: Collection[str]) -> str:
    """Return the words left out that offer an alternative to what a claim checks, or "".

    If one of two is enough, the other one may hold where the claim fails.
    """
    asks = parts_of(description).asks
    if _NEITHER.search(asks) or not _ALTERNATIVE.search(asks):
        return ""
    alternatives = [text for text in left_out if _ALTERNATIVE.search(text)]
    # "Or hold timing" says more than a lone "either" does.
    return max(alternatives, key=len, default="")


def used_in_reporting(clause: str) -> Collection[str]:
    """Return the words of a reporting clause that no claim has to check.

    What a waiver is for is checked by the item's waivers; without one the verdict is only stricter.
    """
    if _WAIVING.match(clause):
        return [clause]
    words = shipped_claims().reporting
    definition = _DEFINITION.match(clause)
    if definition is None:
        return [*words, _AT_LEAST_ONE]
    subject = set(_WORD.findall(definition["subject"].lower()))
    is_bad = bool(subject & set(shipped_claims().bad_news))
    is_good = bool(subject & set(shipped_claims().good_news))
    calls_bad = definition["outcome"].lower() != "found"
    if is_bad == is_good or is_bad != calls_bad:
        return []
    return [*words, *subject & {*shipped_claims().bad_news, *shipped_claims().good_news}]


def is_note(sentence: str) -> bool:
    """Return whether a sentence is a note, which asks nothing but may narrow what is asked."""
    return _NOTE.match(sentence) is not None


def has_turned_definition(clause: str) -> bool:
    """Return whether a clause calls good what a claim calls bad, or says neither."""
    return _DEFINITION.match(clause) is not None and not used_in_reporting(clause)
