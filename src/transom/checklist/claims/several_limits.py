"""Descriptions that set several limits: alternatives of one, and limits that all have to hold.

    "The clock frequency is at least 1.2GHz or 1.5GHz"    -> the same with 1.2GHz, and with 1.5GHz
    "Skew is below 40 ps and latency is below 0.5 ns"     -> a sentence for skew, one for latency
    "Skew and latency are below 40 ps"                    -> the same, with one limit

Which of two alternatives is meant, only a person can say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.written_limits import limit_in, plain_limit
from transom.evidence.number_limits import NumberLimit, read_bound
from transom.evidence.units import quantity_of

_NUMBER: Final = re.compile(r"(?<![\w.,-])-?\d(?:[\d.,]*\d)?")
_UNIT: Final = re.compile(r" ?(?:%|[A-Za-zµ]+(?:\^?[23])?)(?!\w)")
_OR: Final = re.compile(r",? or (?P<comparison>.*)")
# A value that is demanded without a word of comparison is demanded exactly.
_DEMANDED: Final = re.compile(r"\b(?:is|are|be|match|matches|equal|equals) $", re.IGNORECASE)
_EITHER: Final = re.compile(r"\beither ", re.IGNORECASE)
_JOINT: Final = re.compile(r"[;,] (?:and )?| and ", re.IGNORECASE)


@dataclass(frozen=True)
class Alternative:
    """A description with one of its alternative limits.

    Attributes:
        limit: the limit, such as `at least 1.2 GHz`.
        description: the description with this limit alone.
    """

    limit: str
    description: str


@dataclass(frozen=True)
class _Amount:
    start: int
    end: int
    number: str
    unit: str


def alternatives_of(description: str) -> tuple[Alternative, ...]:
    """Return a description once for each alternative of its limit, or nothing without any."""
    text = _EITHER.sub("", " ".join(plain_limit(description).split()))
    for run in _runs(text, _amounts(text)):
        before = _DEMANDED.sub("is exactly ", text[: run[0].start])
        units = list(filter(None, (amount.unit for amount in run)))
        if len(set(map(quantity_of, units))) > 1:
            continue
        found = list[Alternative]()
        for amount in run:
            # In "1.2 or 1.5 GHz" the unit stands behind the last number alone.
            value = f"{amount.number} {amount.unit or ''.join(units[-1:])}".strip()
            sentence = f"{before}{value}{text[run[-1].end :]}"
            limit = limit_in(sentence)
            if limit is not None and limit[0].endswith(value):
                found.append(Alternative(limit[0], sentence))
        if len(found) == len(run) and _is_one_comparison(text, run, found[0].limit):
            return tuple(found)
    return ()


def _amounts(text: str) -> list[_Amount]:
    """Return the numbers of a text, each with its unit, if one stands behind it."""
    amounts = list[_Amount]()
    for match in _NUMBER.finditer(text):
        end, unit = match.end(), ""
        behind = _UNIT.match(text, end)
        if behind is not None and quantity_of(behind[0].strip()) is not None:
            end, unit = behind.end(), behind[0].strip()
        amounts.append(_Amount(match.start(), end, match[0], unit))
    return amounts


def _runs(text: str, amounts: Sequence[_Amount]) -> list[list[_Amount]]:
    """Return the amounts that are listed with "or"."""
    runs = list[list[_Amount]]()
    run = list[_Amount]()
    for amount in amounts:
        between = text[run[-1].end : amount.start] if run else ""
        if between != ", " and not _OR.fullmatch(between):
            run = []
        run.append(amount)
        if _OR.fullmatch(between):
            runs.append(list(run))
            run = [amount]
    return runs


def _is_one_comparison(text: str, run: Sequence[_Amount], first_limit: str) -> bool:
    """Return whether no amount behind the first one has a comparison of another sense."""
    first = read_bound(first_limit, decimal_mark=".")
    for before, amount in itertools.pairwise(run):
        match = _OR.fullmatch(text[before.end : amount.start])
        words = match["comparison"].strip() if match else ""
        if not words:
            continue
        bound = read_bound(f"{words} {amount.number} {amount.unit}".strip(), decimal_mark=".")
        if not isinstance(bound, NumberLimit) or not isinstance(first, NumberLimit):
            return False
        if bound.comparator != first.comparator:
            return False
    return True


def limits_apart(description: str) -> list[str]:
    """Return the parts of a description that each set one limit; nothing unless there are two."""
    parts, words = list[str](), ""
    text = " ".join(plain_limit(description).split())
    for piece in _JOINT.split(text):
        words = f"{words} and {piece}" if words else piece
        if limit_in(words) is not None:
            parts.append(words)
            words = ""
    if len(parts) < _SEVERAL:
        return _subjects_apart(text)
    # What stands behind the last limit may narrow it.
    return [*parts[:-1], f"{parts[-1]} {words}".strip()]


def _subjects_apart(text: str) -> list[str]:
    """Return a sentence for each subject of the one limit of a text, or nothing without two.

    In "setup and hold slack" the subjects share a noun, which nothing tells from "skew and slew".
    """
    limit = limit_in(text)
    if limit is None:
        return []
    subject, words, behind = text.partition(limit[0])
    names = list(map(str.strip, _JOINT.split(subject)))
    if not words or len(names) < _SEVERAL or {*map(_length, names)} != {1}:
        return []
    return [f"{name} {words}{behind}" for name in names]


def _length(name: str) -> int:
    """Return the number of words of a name, without grammar and without what it is of."""
    grammar = shipped_claims().grammar
    head, _, _ = name.partition(" of ")
    return sum(word not in grammar for word in head.lower().split())


_SEVERAL: Final = 2
