"""Tell whether words speak of a claim's own matter, or of that of another claim."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import Claim, shipped_claims
from transom.checklist.claims.ranking import same_word
from transom.evidence.units import quantity_of

_WORD: Final = re.compile(r"[a-z]+(?:_[a-z]+)*")
# Words of extent, which turn a question into another one.
_EXTENT: Final = frozenset(
    {"only", "except", "excluding", "most", "least", "less", "more", "than", "never", "some"}
)
# A token that begins with a digit or a sign; "I2C" and "ECP5" are names.
_NUMBER: Final = re.compile(r"[^A-Za-z_]*\d")
# "After final routing" says when, and asks for no routing.
_WHEN: Final = re.compile(
    r"\b(?:after|before|prior to|following)(?: (?!and\b|or\b|but\b|while\b)[\w&/-]+)*"
)
# "Finds nothing on the final GDS" denies what the claim denies; "nothing floats" is about more.
_NOTHING: Final = re.compile(
    r"\b(?:nothing|none)\b(?=$| (?:of|on|in|at|for|from|after|before)\b)|\bany ?more\b"
)


def names_other_matter(words: str, row: ClaimRow, more_words: Collection[str] = ()) -> bool:
    """Return whether words of a description ask for more than a claim does.

    "In the slow corner" narrows a claim; "and the density is below 70 %" is a matter of its own, as
    is everything with a number, a denial or a result. `more_words` are words of the same matter.
    """
    for word in words.split():
        if _NUMBER.match(word) and quantity_of(word) is None:
            return True
    written = _NOTHING.sub(" ", words.lower())
    words = written if _says_more_than_a_result(written) else ""
    claims = shipped_claims()
    # "LUTs used as memory" are other things than LUTs, while each slack is one of all slacks.
    measure = row.parameters.get("measure", "worst_slack")
    if measure not in _OF_EVERYTHING and not _is_unit_or_place(words):
        return True
    text = f" {' '.join(_WORD.findall(words.lower()))} "
    if any(f" {phrase} " in text for phrase in _measures()):
        return True
    for word in _WORD.findall(words.lower()):
        if word in _EXTENT or word in (*claims.denials, *claims.bad_news, *claims.good_news):
            return True
    return _has_need_of_other(words, row, more_words)


def may_mean_other(words: str, row: ClaimRow) -> bool:
    """Return whether words of a description name the matter of another claim, not only when."""
    return _has_need_of_other(_WHEN.sub(" ", words.lower()), row)


def _has_need_of_other(words: str, row: ClaimRow, more_words: Collection[str] = ()) -> bool:
    """Return whether words have one by which another claim is known."""
    own_words = [*shipped_claims().claims[row.name].words, *_words_of_limit(row), *more_words]
    for word in _WORD.findall(words.lower()):
        # A word that is merely near another one, as "places" is near "placed", is none of its own.
        singular = word.rstrip("s")
        is_own = any(singular == own_word.rstrip("s") for own_word in own_words)
        if not is_own and singular in _matters():
            return True
    return False


def _words_of_limit(row: ClaimRow) -> set[str]:
    """Return the words of the claims that judge what a claim with a limit limits.

    A slack is one of paths and endpoints; of which check, only the parameters say.
    """
    measure, check = row.parameters.get("measure"), row.parameters.get("check")
    words, checks = set[str](), set[str]()
    for claim in shipped_claims().claims.values():
        if "check" in claim.fixed:
            checks |= {claim.fixed["check"], *claim.needs}
        if claim.fixed.get("check", check) == check and _judges(claim, measure):
            words |= {*claim.words}
    return words - checks


def _judges(claim: Claim, measure: str | None) -> bool:
    """Return whether a claim breaks by a measure."""
    return any(pattern.name == measure for pattern in claim.bad)


def _says_more_than_a_result(words: str) -> bool:
    """Return whether words say more than that a result is good, such as "is clean"."""
    claims = shipped_claims()
    known = {*claims.grammar, *claims.good_news}
    return any(word not in known for word in _WORD.findall(words))


def _is_unit_or_place(words: str) -> bool:
    """Return whether words name the unit of a limit, or where a number stands."""
    if words.startswith("the unit "):
        return True
    for word in _WORD.findall(words.lower()):
        if word not in shipped_claims().grammar and word not in _PLACES:
            return False
    return True


def names_matter(line: str, row: ClaimRow) -> bool:
    """Return whether a line of a log has a word of a claim, or of what it limits."""
    measure = _WORD.findall(row.parameters.get("measure", ""))
    own_words = [*shipped_claims().claims[row.name].words, *"_".join(measure).split("_")]
    words = _WORD.findall(line.lower())
    return any(own and same_word(word, own) for word in words for own in own_words)


# Measures of which a part is measured with the whole.
_OF_EVERYTHING: Final = frozenset(
    {"worst_slack", "total_negative_slack", "violating_paths", "max_frequency"}
)
_PLACES: Final = frozenset(
    {"report", "log", "summary", "table", "file", "final", "design", "chip", "block", "top"}
)


@lru_cache(maxsize=1)
def _matters() -> frozenset[str]:
    """Return the words by which claims are known, in the singular."""
    words = set[str]()
    for claim in shipped_claims().claims.values():
        # A claim over a list is no matter of a description without one.
        if not claim.list:
            words.update(word.rstrip("s") for word in claim.needs)
    return frozenset(words)


@lru_cache(maxsize=1)
def _measures() -> tuple[str, ...]:
    """Return what a limit may be about, in words without signs."""
    phrases = list[str]()
    for measure in shipped_claims().measures:
        for phrase in measure.says:
            phrases.append(" ".join(_WORD.findall(phrase)))
    return tuple(dict.fromkeys(phrases))
