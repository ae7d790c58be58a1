"""Which part of a design the words that a claim leaves out may name: a resource, a corner, a layer.

A report of a device lists each of its resources, and "block memory stays below 50 %" is about one
of them. Words that name exactly one choose it; otherwise a value of another part proves nothing
against the claim, and the words are a question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import bad_facts, shipped_claims
from transom.checklist.claims.claim_limits import limit_of
from transom.checklist.judging.claim_view import ClaimView
from transom.formats.reports import FileReading, Measurement

_OBJECT: Final = "object"
# The keys of a scope by which a report tells parts of a design, or views of it, apart.
_VIEWS: Final = ("corner", "scenario", "view", "mode", "clock", "group", "layer")
_PARTS: Final = (_OBJECT, *_VIEWS)
_WORD: Final = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def row_of_named_object(row: ClaimRow, readings: Iterable[FileReading]) -> ClaimRow:
    """Return a claim about the one object that words name which it leaves out, or the claim itself.

    Its words leave the list of what is left out.
    """
    claim = shipped_claims().claims[row.name]
    if _OBJECT not in claim.parameters or _OBJECT in row.parameters or not row.left_out:
        return row
    names = set[str]()
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements)
        names |= _names_of_parts(_OBJECT, view.matching(view.proving))
    names.discard("")
    for phrase in row.left_out:
        chosen = _named_by(_words_of(phrase), names)
        if len(names) > 1 and len(chosen) == 1:
            return _row_of_object(row, phrase, chosen.pop())
    return row


def _row_of_object(row: ClaimRow, phrase: str, object_name: str) -> ClaimRow:
    """Return a claim about one object, which a left-out phrase names."""
    remaining = list[str]()
    for word in phrase.split():
        if not _words_of(word) <= _words_of(object_name):
            remaining.append(word)
    left_out = [*row.left_out]
    left_out.remove(phrase)
    # Articles and the like ask for nothing.
    if _words_of(" ".join(remaining)):
        left_out.append(" ".join(remaining))
    parameters = {**row.parameters, _OBJECT: object_name}
    return row.model_copy(update={"parameters": parameters, "left_out": tuple(left_out)})


def may_be_of_other_parts(row: ClaimRow, readings: Sequence[FileReading]) -> bool:
    """Return whether a claim is broken for parts alone that its left-out words may not mean."""
    claim = shipped_claims().claims.get(row.name)
    words = _words_of(" ".join(row.left_out))
    if claim is None or not words:
        return False
    breaking, holding = list[Measurement](), list[Measurement]()
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements, limit_of(row.parameters))
        broken = list[Measurement]()
        for pattern in bad_facts(claim, row.parameters):
            for fact in view.matching([pattern]):
                if view.is_bad(pattern, fact):
                    broken.append(fact)
        breaking += broken
        for fact in view.matching(view.proving):
            if fact not in broken:
                holding.append(fact)
    # "No constraint is violated" is about each object, while a limit may be about one.
    keys = _PARTS if "limit" in row.parameters else _VIEWS
    return any(_are_other_parts(key, words, breaking, holding) for key in keys)


def _are_other_parts(
    key: str, words: set[str], breaking: Sequence[Measurement], holding: Sequence[Measurement]
) -> bool:
    """Return whether words choose other parts than those that break a claim, or may do so."""
    broken = _names_of_parts(key, breaking)
    unbroken = _names_of_parts(key, holding) - broken
    # A value of the whole breaks the claim whichever part is meant.
    if not broken or "" in broken or not unbroken:
        return False
    chosen = _named_by(words, broken | unbroken)
    if chosen == broken | unbroken:
        # Of objects nobody knows which one the words mean; a corner may have no name there.
        return key == _OBJECT
    return not chosen & broken


def _names_of_parts(key: str, measurements: Iterable[Measurement]) -> set[str]:
    """Return the names that measurements have under a key of their scope; "" if none."""
    names = set[str]()
    for fact in measurements:
        names.add(fact.scope.get(key, ""))
    return names


def _named_by(words: set[str], names: Collection[str]) -> set[str]:
    """Return the names that have all those of some words which any of them has."""
    known = set[str]()
    for name in names:
        known |= _words_of(name)
    wanted = words & known
    return {name for name in names if wanted <= _words_of(name)}


def _words_of(text: str) -> set[str]:
    """Return the words of a text or a name in the singular, without those of grammar."""
    words = {word.lower().rstrip("s") for word in _WORD.findall(text)}
    return words - {*shipped_claims().grammar, ""}
