"""Read a description as a claim: at once by its written sentences, else as up to three candidates.

Words alone never decide, since "setup timing is not met" has the words of "setup timing is met".
Each candidate says which words of the description it leaves out; a person chooses once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.absent_texts import (
    TEXT_SEPARATOR,
    TextAbsence,
    guess_absence,
    is_denied_once,
    read_absence,
)
from transom.checklist.claims.claim_data import Claim, shipped_claims
from transom.checklist.claims.claim_limits import fits_measure
from transom.checklist.claims.file_kinds import (
    FIELDS,
    KINDS,
    header_parameters,
    kinds_in,
    known_claim,
)
from transom.checklist.claims.sentences import (
    LISTED,
    has_turned_definition,
    is_note,
    parts_of,
    used_in_reporting,
)
from transom.checklist.claims.written_limits import (
    limit_in,
    limit_parameters,
    limit_text,
    measure_parameters,
    plain_limit,
    read_limit_sentence,
)
from transom.checklist.narrowing import narrowing_of
from transom.evidence.account import words_of_question
from transom.evidence.units import quantity_of

MOST_CANDIDATES: Final = 3
_LEAST_SCORE: Final = 0.3
_WITHOUT_NEEDED: Final = 0.5
_SHORTEST_MISSPELLED: Final = 5
_LONG_WORD: Final = 9
# Commands such as verifyConnectivity and check_timing are two words of a description.
_COMMAND: Final = re.compile(r"\b(verify|check|report)(?:_(?=[a-z])|(?=[A-Z][a-z]))")
_ADVERB: Final = "ly"
_JOINED: Final = re.compile(
    r"\b(?:no|zero|without|of)(?: \w+){0,2} (?P<first>\w+) or (?P<second>\w+)"
)
# So does "no opens, shorts or other problems".
_LIST: Final = re.compile(
    r"\b(?:no|zero|without|of)"
    rf"(?P<before>(?: {LISTED}){{1,3}}(?:, {LISTED}(?: {LISTED})?){{0,6}}),?"
    rf" or (?P<other>other|further)? ?(?P<last>{LISTED}(?: {LISTED})?)"
)
# "No setup or hold violations" denies both kinds of bad news.
_KINDS: Final = re.compile(
    r"\b(?:no|zero|without|of)(?: \w+){0,1} (?P<first>\w+) or (?P<second>\w+) (?P<news>\w+)"
)
# "Nothing violates setup or hold" does so, too.
_KINDS_BEHIND: Final = re.compile(
    r"\b(?:nothing|none|no \w+) (?P<news>\w+) (?P<first>\w+) or (?P<second>\w+)"
)
# "In both runs" asks for two of them, while "DRC runs clean" says that there is a result.
_COUNTED: Final = re.compile(
    r"\b(?:(?:all|both|several|these|those|two|three|four|five|\d{1,3})(?: of)?(?: the)?(?: \w+)?"
    r"|(?:in|for|across|over)(?: the)?) (?P<noun>runs|reports)\b"
)
_WORD: Final = re.compile(r"[a-z_]+[a-z0-9_]*")
_OPENING: Final = re.compile(
    r"^(?:please )?(?:(?:confirm|verify|check|ensure|make sure)(?: that)?|the check is that) "
)
_ZERO: Final = re.compile(r"(?<![\w.,-])0(?P<news> (?:\w+ ){0,2}?(?P<noun>\w+))")


@dataclass(frozen=True)
class ClaimCandidate:
    """A claim that a description may mean.

    Attributes:
        row: the claim with its parameters and the words that it leaves out.
        score: 0..1, the weight of the words that it covers.
    """

    row: ClaimRow
    title: str
    score: float

    @property
    def sentence(self) -> str:
        """Return the candidate as a person reads it."""
        parameters = [f"{key} {value}" for key, value in self.row.parameters.items()]
        words = f"{self.title} [{', '.join([self.row.name, *parameters])}]"
        if self.row.left_out:
            words += "; not checked: " + ", ".join(f'"{text}"' for text in self.row.left_out)
        return words


def plain_sentence(description: str) -> str:
    """Return a description in lower case, without its opening and its final stop."""
    text = " ".join(description.lower().split()).rstrip(".").strip()
    return _OPENING.sub("", text).strip()


def read_at_once(
    description: str, *, has_patterns: bool, listed: Collection[str] = ()
) -> ClaimRow | None:
    """Return the claim of which a description is a written sentence, or None.

    A tool's name may stand before the matter ("KLayout DRC is clean"): it is looked for in the
    report. Everything else must be written as it is.

    Args:
        description: the description of an item.
        has_patterns: whether the item lists patterns.
        listed: the plain texts among them.
    """
    parts = parts_of(plain_limit(description))
    description = parts.asks
    text = plain_sentence(description)
    written = {text}
    for word in narrowing_of(text):
        if word.facet == "tool":
            text = re.sub(rf"(?<!\w){re.escape(word.words)}\s+", "", text, count=1, flags=re.I)
    written.add(text)
    for name, claim in shipped_claims().claims.items():
        is_listed = (claim.list is not None) == has_patterns
        if (
            not written.isdisjoint(claim.says)
            and is_listed
            and not _reporting_left_out(parts.reporting, claim)
        ):
            return ClaimRow(name=name)
    absent = _read_absent_texts(description, listed, has_patterns=has_patterns)
    if absent is not None:
        claim = shipped_claims().claims[absent.name]
        return None if _reporting_left_out(parts.reporting, claim) else absent
    if has_patterns or parts.reporting:
        return None
    return read_limit_sentence(text, description)


def _read_absent_texts(
    description: str, listed: Collection[str], *, has_patterns: bool
) -> ClaimRow | None:
    """Return the claim that texts must not appear in a log, or None."""
    sentence = " ".join(description.split()).rstrip(".").strip()
    opening = _OPENING.match(sentence.lower())
    absence = read_absence(
        sentence[opening.end() :] if opening else sentence,
        has_patterns=has_patterns,
        listed=listed,
    )
    if absence is None:
        return None
    step = absence.step
    # A tool or a stage is compared with the report; any other word must be a step of its tool.
    for word in narrowing_of(step):
        step = re.sub(rf"(?<!\w){re.escape(word.words)}(?!\w)", " ", step, count=1, flags=re.I)
    left_out = _left_out(step, [])
    if has_patterns:
        return ClaimRow(name="texts_absent", left_out=left_out)
    return ClaimRow(name="text_absent", parameters=_text_of(absence), left_out=left_out)


def _text_of(absence: TextAbsence) -> dict[str, str]:
    return {"text": TEXT_SEPARATOR.join(absence.texts)}


def _with_zero(description: str) -> str:
    """Return a description with "0 violations" as "zero violations"."""

    def word(match: re.Match[str]) -> str:
        return f"zero{match['news']}" if _is_bad_news(match["noun"].lower()) else match[0]

    return _ZERO.sub(word, description)


def candidates(
    description: str, *, has_patterns: bool, listed: Collection[str] = ()
) -> list[ClaimCandidate]:
    """Return up to three claims that a description may mean, the best first.

    A claim that leaves out what another one asks for stands behind it, however many of the other
    words it covers: what is left out is then the matter itself.

    The arguments are those of `read_at_once`.
    """
    close_claims = list[ClaimCandidate]()
    for name, claim in shipped_claims().claims.items():
        # A claim without words is chosen by `reads_as` alone.
        if not claim.words or (claim.list is not None) != has_patterns:
            continue
        candidate = candidate_of(name, claim, description, listed)
        if candidate is not None:
            candidate = _as_needed(candidate, claim, description)
        if candidate is not None and candidate.score >= _LEAST_SCORE:
            close_claims.append(candidate)
    ranks = dict[str, tuple[int, float, int]]()
    for candidate in close_claims:
        better = [other for other in close_claims if _outranks(other, candidate)]
        # A claim that takes more of the words as parameters is the narrower one.
        filled = len(candidate.row.parameters)
        ranks[candidate.row.name] = (len(better), -candidate.score, -filled)
    close_claims.sort(key=lambda candidate: ranks[candidate.row.name])
    return close_claims[:MOST_CANDIDATES]


def _outranks(one: ClaimCandidate, other: ClaimCandidate) -> bool:
    """Return whether only the other candidate leaves out the matter of a claim."""
    return _leaves_out_matter(other, one) and not _leaves_out_matter(one, other)


def _leaves_out_matter(one: ClaimCandidate, other: ClaimCandidate) -> bool:
    """Return whether a candidate leaves out a word by which another one is known, and reads it."""
    needs = shipped_claims().claims[other.row.name].needs
    matter = {*needs, *_WORD.findall(" ".join(other.row.parameters.values()).lower())}
    left_out = set(_WORD.findall(" ".join(one.row.left_out).lower()))
    left_out -= set(_WORD.findall(" ".join(other.row.left_out).lower()))
    # A misspelled word may be another one, as "violation" is near "isolation".
    return any(word.rstrip("s") == need.rstrip("s") for word in left_out for need in matter)


def candidates_of_limit(description: str) -> list[ClaimCandidate]:
    """Return the limits of each measure that a description may limit without a name of it."""
    found = list[ClaimCandidate]()
    limit = limit_in(description)
    if limit is None:
        return found
    words, bound = limit
    claim = shipped_claims().claims["number_limit"]
    for measure in shipped_claims().measures:
        # "Fewer than 45000 cells" counts cells, and is no area.
        is_counted = quantity_of(bound.number.unit) is None
        if measure.says and not is_counted and fits_measure(bound, measure):
            filled = (
                measure_parameters(measure, limit_text(words, bound)),
                [words, *_WORD.findall(" ".join(measure.says))],
            )
            candidate = candidate_of("number_limit", claim, description, (), filled)
            if candidate is not None:
                found.append(candidate)
    return found


def _as_needed(candidate: ClaimCandidate, claim: Claim, description: str) -> ClaimCandidate | None:
    """Return a candidate, less likely without a word that its claim needs; or None.

    Words of many claims, such as "design", say nothing of this one if others are left over.
    """
    words = _WORD.findall(_COMMAND.sub(r"\1 ", description).lower())
    if not claim.needs or any(same_word(w, n) for w in words for n in claim.needs):
        return candidate
    if candidate.row.left_out:
        return None
    return replace(candidate, score=candidate.score * _WITHOUT_NEEDED)


def candidate_of(
    name: str,
    claim: Claim,
    description: str,
    listed: Collection[str],
    filled: tuple[dict[str, str], list[str]] | None = None,
) -> ClaimCandidate | None:
    """Return a claim as a candidate, or None if the description lacks its parameters.

    Args:
        name: the name of the claim.
        claim: the claim.
        description: the description of an item.
        listed: the plain texts that the item lists.
        filled: its parameters and the words that they use; by default those of the description.
    """
    parts = parts_of(plain_limit(_COMMAND.sub(r"\1 ", description)))
    description = _with_zero(parts.asks)
    lowered = description.lower()
    filled = filled or _fill_parameters(claim, description, listed)
    if filled is None:
        return None
    parameters, used_words = filled
    names_texts = "text" in claim.parameters or claim.list == "forbidden"
    grammar = _grammar_in(lowered)
    words = [word for word in _WORD.findall(lowered) if word not in grammar]
    is_denied = any(word in shipped_claims().denials for word in words) or "clean" in words
    known_words = _words_of_claim(claim, lowered)
    has_limit = "limit" in claim.parameters
    # "No opens or shorts" denies both, while "setup or hold is met" asks for one of two.
    for match in _JOINED.finditer(lowered):
        if is_denied and _is_bad_news(match["first"]) and _is_bad_news(match["second"]):
            used_words.append("or")
    for match in _LIST.finditer(lowered):
        listed_nouns = [noun.split() for noun in (*match["before"].split(","), match["last"])]
        if is_denied and all(any(map(_is_bad_news, noun)) for noun in listed_nouns):
            used_words += ["or", match["other"] or "or"]
    for match in (*_KINDS.finditer(lowered), *_KINDS_BEHIND.finditer(lowered)):
        kinds_are_known = all(_is_known(match[key], known_words) for key in ("first", "second"))
        if is_denied and kinds_are_known and _is_bad_news(match["news"]):
            used_words.append("or")
    covered = total = 0.0
    for word in words:
        weight = _weight(word)
        total += weight
        is_known = _is_known(word, known_words) or _is_in(word, used_words)
        if word in shipped_claims().denials:
            is_known = names_texts or any(_is_bad_news(other) for other in words)
        elif _is_bad_news(word) and not is_denied and not has_limit:
            is_known = False
        if is_known:
            covered += weight
            used_words.append(word)
    score = covered / total if total else 0.0
    left_out = _left_out(description, used_words)
    left_out += _reporting_left_out(parts.reporting, claim)
    row = ClaimRow(name=name, parameters=parameters, left_out=left_out)
    return ClaimCandidate(row, known_claim(row).title, score)


def _words_of_claim(claim: Claim, lowered: str) -> list[str]:
    """Return the words that a claim knows, and those of a description that narrow its reports."""
    words = [*claim.words, *claim.fixed.values()]
    if "met" in claim.words:
        words += shipped_claims().same_as_met
    # Of two tools or stages nobody can tell which is meant, so no report is compared with them.
    narrowing_words = narrowing_of(lowered)
    facets = [word.facet for word in narrowing_words]
    for word in narrowing_words:
        if facets.count(word.facet) == 1:
            words += _WORD.findall(word.words)
    return words


def _fill_parameters(
    claim: Claim, description: str, listed: Collection[str]
) -> tuple[dict[str, str], list[str]] | None:
    """Return the parameters of a claim and the words that they use; None if one is lacking."""
    if "limit" in claim.parameters:
        return limit_parameters(description)
    sentence = " ".join(description.split())
    if FIELDS in claim.parameters:
        parameters = header_parameters(claim, sentence)
        return None if parameters is None else (parameters, [])
    if KINDS in claim.parameters:
        named = kinds_in(claim, sentence)
        return None if named is None else ({KINDS: named.text}, [*named.words])
    if "text" in claim.parameters:
        absence = guess_absence(sentence)
        return None if absence is None else (_text_of(absence), [*absence.words])
    listed_in_sentence = [text for text in listed if text.lower() in sentence.lower()]
    if claim.list == "forbidden" and not is_denied_once(sentence):
        return None
    # A sentence may name what the item lists.
    return {}, listed_in_sentence if claim.list else []


def _grammar_in(lowered: str) -> set[str]:
    """Return the words of grammar, without those that are nouns in a description in lower case."""
    return {*shipped_claims().grammar} - {match["noun"] for match in _COUNTED.finditer(lowered)}


def _left_out(description: str, used_words: Collection[str]) -> tuple[str, ...]:
    """Return the words of a description that a claim does not use; a limit is one of them."""
    grammar = _grammar_in(description.lower())
    words = words_of_question(description, [*used_words], ignored=grammar)
    return tuple(word.text for word in words if not word.is_used and word.could_matter)


def _reporting_left_out(clauses: Iterable[str], claim: Claim) -> tuple[str, ...]:
    """Return the words of reporting clauses that narrow the claim, which nothing checks."""
    left_out = list[str]()
    for clause in clauses:
        used_words = [*used_in_reporting(clause)]
        if has_turned_definition(clause) or is_note(clause):
            left_out.append(clause)
            continue
        for word in _WORD.findall(clause.lower()):
            if any(
                same_word(word, claim_word) for claim_word in (*claim.words, *claim.fixed.values())
            ):
                used_words.append(word)
        left_out += _left_out(clause, used_words)
    return tuple(left_out)


def _is_in(word: str, phrases: Iterable[str]) -> bool:
    return any(word in _WORD.findall(phrase.lower()) for phrase in phrases)


def _is_known(word: str, known_words: Iterable[str]) -> bool:
    return any(same_word(word, other) for other in known_words)


def _is_bad_news(word: str) -> bool:
    return word in shipped_claims().bad_news


@lru_cache(maxsize=4096)
def _weight(word: str) -> float:
    """Return how much a word tells: one that few claims know tells much."""
    claims = shipped_claims().claims.values()
    count = sum(any(same_word(word, claim_word) for claim_word in claim.words) for claim in claims)
    return math.log(1 + len(claims) / max(count, 0.7))


def same_word(word: str, other: str) -> bool:
    """Return whether two words are the same up to number and a typing error."""
    if word == other or word.rstrip("s") == other.rstrip("s"):
        return True
    if word.removesuffix(_ADVERB) == other:
        return True
    shorter = min(len(word), len(other))
    if shorter < _SHORTEST_MISSPELLED:
        return False
    return OSA.distance(word, other) <= (1 if shorter < _LONG_WORD else 2)
