"""Read the limit that a description sets on a number, wherever its comparison stands."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import LimitedMeasure, shipped_claims
from transom.checklist.claims.claim_limits import fits_measure
from transom.evidence.number_limits import NumberLimit, read_bound
from transom.evidence.numbers import Comparator
from transom.evidence.units import quantity_of

_WORD: Final = re.compile(r"[a-z_]+[a-z0-9_]*")
# The first word of a unit of two words, such as "square microns".
_TWO_WORDS: Final = r"(?:(?:square|sq|per|degrees)\s)?"
# A comparison with a number and its unit, as `read_bound` reads it.
_LIMIT: Final = re.compile(
    r"(?:\b(?:is|are|be|stays?|must be) ){0,2}"
    r"(?P<denial>(?:not|never) (?:(?:be|falls?|drops?|goe?s?|rises?|gets?|lies?) )?)?"
    r"(?P<limit>(?:at least|at most|not less than|no less than|not more than|no more than|less than"
    r"|more than|greater than|lower than|above|below|under|over|up to|exactly|[<>]=?|[≤≥]|==?"
    r"|(?<![\w-])(?:max(?:imum)?\b\.?|min(?:imum)?\b\.?) ?:?(?= ?-?\d))"
    rf" ?-?\d(?:[\d.,]*\d)?(?:\s?(?:%|{_TWO_WORDS}[a-zµ]+(?:\^?[23])?(?=[\s.,;)]|$)))?)",
    re.IGNORECASE,
)
# A name that may be a metric of a flow, such as `design__instance__count`.
_METRIC: Final = re.compile(r"(?:\bmetric )?(?<![\w:.])(?P<name>[A-Za-z][\w:.]*)")
_METRIC_SIGN: Final = "__"
_DENIED: Final[dict[str, Comparator]] = {">": "<=", "<": ">="}
_NOT_EXCEEDED: Final = re.compile(
    r"\b(?:(?:does|do|must|may|shall|should|can|will) ?not|never) exceeds?\b", re.IGNORECASE
)
_EXCEEDED: Final = re.compile(r"\bexceeds?(?= ?-?\d)", re.IGNORECASE)
# "No larger than 5" compares as "no more than 5" does.
OTHER_COMPARATIVE: Final = re.compile(
    r"\b(?:(?P<more>longer|larger|bigger|higher|later|wider)|smaller|shorter|fewer|earlier) than"
    r"(?= ?-?\d)",
    re.IGNORECASE,
)
# A total that is zero has nothing below zero; the sum of slacks is never above it.
_ZERO_TOTAL: Final = re.compile(
    r"(?P<total>\b(?:tns|total negative slack)\b(?: (?:of|in|for)(?: [\w-]+){1,3}?)?)"
    r" (?:is|are|equals|stays)(?: to| at)? (?:zero|0)(?![\w.,])"
    r"(?= (?:in|on|at|for|of|across|over|after|before|with|and)\b|[.,;:)]|$)(?!\.\d)",
    re.IGNORECASE,
)
_REACHED: Final = re.compile(r"\b(?:reach(?:es)?|attains?|achieves?)(?= ?-?\d)", re.IGNORECASE)
# "0.5 ns or more", "50 ps of margin at least": what compares stands behind the number.
COMPARED_BEHIND: Final = re.compile(
    rf"(?<![\w.,-])(?P<number>-?\d(?:[\d.,]*\d)?(?: ?(?:%|{_TWO_WORDS}[a-zµ]+(?:\^?[23])?))?)"
    r"(?P<between>(?: (?:of|in)(?: [a-z]+){1,3}?)?) "
    r"(?:(?P<least>or (?:more|higher|greater|above|better|faster|longer|larger)|at least"
    r"|at a minimum|minimum)"
    r"|(?:or (?:less|fewer|lower|below|shorter|smaller)|at most|at a maximum|maximum))"
    r"(?=$|[.,;:)]| (?:in|on|at|for|of|across|over|under|after|before|with|and)\b)",
    re.IGNORECASE,
)
# "No path has a slack below 0.1 ns" says that each has at least that.
DENIED_SUBJECT: Final = re.compile(
    r"\b(?P<denial>no|none of|not one|nothing)"
    r"(?P<between>(?: (?!and\b|or\b|nor\b|but\b|with\b|that\b|which\b)[\w/-]+){0,8}?)"
    r" (?:(?P<less>below|under|less than|lower than)|above|over|more than|greater than)(?= ?-?\d)",
    re.IGNORECASE,
)
_BETTER: Final = "or better"
_FASTER: Final = "or faster"
# What is better if it is more, as far as a limit may be about it.
_MORE_IS_BETTER: Final = ("time", "frequency", "share")
_NO_UNIT: Final = re.compile(
    r"\s(?:and|or|in|for|of|at|on|per|the|after|before|during|across|over|with|without|within|by"
    r"|from|to|when|while|if|is|are)$",
    re.IGNORECASE,
)


def limit_in(description: str) -> tuple[str, NumberLimit] | None:
    """Return the limit that a description sets on a number, as written and as read, or None."""
    match = _LIMIT.search(" ".join(plain_limit(description).split()))
    return match and _limit_of_match(match)


def _limit_of_match(match: re.Match[str]) -> tuple[str, NumberLimit] | None:
    """Return the limit of a comparison, as written and as read, or None.

    "Not above 80 %" is at most 80 %; a denied "at least" is no limit that anybody writes.
    """
    words = _limit_words(match)
    bound = read_bound(words, decimal_mark=".")
    if not isinstance(bound, NumberLimit):
        return None
    if match["denial"]:
        if bound.comparator not in _DENIED:
            return None
        bound = replace(bound, comparator=_DENIED[bound.comparator])
    return words, bound


def limit_text(words: str, bound: NumberLimit) -> str:
    """Return a limit as a parameter: as it is written, or in its sense if a word denies that."""
    plain = read_bound(words, decimal_mark=".")
    if isinstance(plain, NumberLimit) and plain.comparator == bound.comparator:
        return words
    amount = re.search(r"-?\d.*", words)
    return f"{bound.comparator} {amount[0] if amount else ''}"


def plain_limit(description: str) -> str:
    """Return a description with what compares before its number, and a total of zero as a limit.

    "Does not exceed 5" is "is at most 5", "reaches 5" is "is at least 5", "0.5 ns or more" is "at
    least 0.5 ns", and "no path has a slack below 0.1 ns" is "each path has a slack at least 0.1
    ns".
    """
    text = _EXCEEDED.sub("is more than", _NOT_EXCEEDED.sub("is at most", description))
    text = _REACHED.sub("is at least", text)
    text = OTHER_COMPARATIVE.sub(_usual_comparative, text)
    text = _ZERO_TOTAL.sub(r"\g<total> is at least 0", text)
    return DENIED_SUBJECT.sub(_of_each, COMPARED_BEHIND.sub(_compared_before, text))


def _of_each(match: re.Match[str]) -> str:
    """Return a comparison that nothing may fulfil as one that each must fulfil."""
    word = "at least" if match["less"] else "at most"
    return f"each{match['between']} {word}"


def _usual_comparative(match: re.Match[str]) -> str:
    return "more than" if match["more"] else "less than"


def _compared_before(match: re.Match[str]) -> str:
    """Return a number and what compares behind it in the usual order."""
    bound = read_bound(f"at least {match['number']}", decimal_mark=".")
    quantity = quantity_of(bound.number.unit) if isinstance(bound, NumberLimit) else None
    written = match[0].lower()
    # A power of 5 mW or better is at most 5 mW, and a delay of 5 ns or faster at most 5 ns.
    if written.endswith(_FASTER) and quantity == "time":
        return f"at most {match['number']}{match['between']}"
    good_above = _MORE_IS_BETTER if written.endswith(_BETTER) else ("frequency",)
    if written.endswith((_BETTER, _FASTER)) and quantity not in good_above:
        return match[0]
    word = "at least" if match["least"] else "at most"
    return f"{word} {match['number']}{match['between']}"


def _limit_words(match: re.Match[str]) -> str:
    return _NO_UNIT.sub("", match["limit"].rstrip(" .,;"))


def read_limit_sentence(text: str, description: str) -> ClaimRow | None:
    """Return the claim of `the <measure> is <limit>`, or None."""
    description = " ".join(description.split())
    match = _LIMIT.search(text)
    # "mW" and "MW" differ in case, so the limit is taken as it is written.
    written = _LIMIT.search(description)
    if match is None or written is None:
        return None
    if match.end() != len(text) or match["denial"]:
        return None
    head = re.sub(r"^the ", "", text[: match.start()].strip())
    if _METRIC_SIGN in head and _METRIC.fullmatch(head):
        # Names differ in case, so the metric is taken as it is written.
        name = _metric_in(description)[1]
        return ClaimRow(name="number_limit", parameters=_metric_limit(name, written["limit"]))
    bound = read_bound(written["limit"].strip(), decimal_mark=".")
    if not isinstance(bound, NumberLimit) or _may_be_miswritten(bound.number.unit):
        return None
    for measure in shipped_claims().measures:
        if head in measure.says and fits_measure(bound, measure):
            return ClaimRow(
                name="number_limit", parameters=measure_parameters(measure, written["limit"])
            )
    return None


def _may_be_miswritten(unit: str) -> bool:
    """Return whether a unit is a million of what a chip has, such as MW for mW."""
    return unit.startswith("M") and quantity_of("m" + unit[1:]) == quantity_of(unit)


def measure_parameters(measure: LimitedMeasure, limit: str) -> dict[str, str]:
    """Return the parameters of a limited measure."""
    parameters = {"measure": measure.name}
    if measure.check is not None:
        parameters["check"] = measure.check
    return {**parameters, "limit": limit.strip()}


def _metric_in(text: str) -> tuple[str, str]:
    """Return the words that name the first metric of a text, and its name; blanks if none does."""
    for match in _METRIC.finditer(text):
        name = match["name"].rstrip(".:")
        if _METRIC_SIGN in name:
            return match[0], name
    return "", ""


def _metric_limit(name: str, limit: str) -> dict[str, str]:
    """Return the parameters of a limited metric of a flow."""
    return {"measure": "metric", "object": name, "limit": limit.strip()}


def limit_parameters(description: str) -> tuple[dict[str, str], list[str]] | None:
    """Return the parameters of a limit in a description, and the words that they use."""
    description = " ".join(description.split())
    match = _LIMIT.search(description)
    if match is None:
        return None
    written = _limit_of_match(match)
    if written is None:
        return None
    words, bound = written
    limit = limit_text(words, bound)
    phrase, name = _metric_in(description[: match.start()])
    if name:
        return _metric_limit(name, limit), [phrase, words, match[0].strip(" .,;")]
    best, best_measure, best_place = "", shipped_claims().measures[0], (False, 0, 0)
    for measure in shipped_claims().measures:
        if not fits_measure(bound, measure):
            continue
        for phrase in measure.says:
            pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
            for occurrence in re.finditer(pattern, description, re.IGNORECASE):
                # The measure that ends last before the limit is the limited one.
                place = (occurrence.end() <= match.start(), occurrence.end(), len(phrase))
                if place > best_place:
                    best, best_measure, best_place = phrase, measure, place
    if not best:
        return None
    best, best_measure = _of_both_checks(best, best_measure, description)
    best_measure, check = _of_named_check(best_measure, description)
    words_of_name = _words_of_name(best_measure, best, description)
    used = [best, *words_of_name, *check, words, match[0].strip(" .,;")]
    return measure_parameters(best_measure, limit), used


def _of_both_checks(
    phrase: str, measure: LimitedMeasure, description: str
) -> tuple[str, LimitedMeasure]:
    """Return the measure of all checks, and its name, if a description names two of them.

    "Setup and hold slack" is the slack of both; the words of the checks stay open until a report
    measures each of them.
    """
    others, plain = list[str](), measure
    for other in shipped_claims().measures:
        if other.name == measure.name and other.check not in (None, measure.check):
            others.append(str(other.check))
        elif other.name == measure.name and other.check is None:
            plain = other
    joined = rf"\b(?:{'|'.join(others)}) and {re.escape(phrase)}\b"
    if not others or plain is measure or not re.search(joined, description, re.IGNORECASE):
        return phrase, measure
    for name in plain.says:
        if phrase.endswith(name):
            return name, plain
    return phrase, measure


def _of_named_check(
    measure: LimitedMeasure, description: str
) -> tuple[LimitedMeasure, tuple[str, ...]]:
    """Return the measure of the one check that a description names elsewhere, and its word.

    "Margin on setup: slack not less than 50 ps" is about the slack of setup.
    """
    words = _WORD.findall(description.lower())
    named = [
        other
        for other in shipped_claims().measures
        if other.name == measure.name and other.check in words
    ]
    if measure.check is not None or len(named) != 1:
        return measure, ()
    return named[0], (str(named[0].check),)


def _words_of_name(measure: LimitedMeasure, phrase: str, description: str) -> list[str]:
    """Return the words right before a measure's name with which another of its names goes on.

    "Total power consumption" is the measure of "total power" and of "power consumption".
    """
    pairs = set[tuple[str, str]]()
    for name in measure.says:
        pairs.update(itertools.pairwise(_WORD.findall(name)))
    before, _, _ = description.lower().partition(phrase)
    words = list[str]()
    following = _WORD.findall(phrase)[0]
    for word in reversed(_WORD.findall(before)):
        if (word, following) not in pairs:
            break
        words.append(word)
        following = word
    return words
