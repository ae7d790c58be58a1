"""Which words a line must hold before any expression can match it, so that a reader looks for these first.

All this is about ASCII texts: other ones are read line by line. A word in front of which stands a line feed begins the
line.
"""

from __future__ import annotations

import re._constants as op  # type: ignore[import-not-found]  # the library's own, without stubs
import re._parser as parser  # type: ignore[import-not-found]  # as above
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

Words: TypeAlias = frozenset[str]

_NEVER: Final[Words] = frozenset()  # what has these words matches no ASCII text
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_FEW: Final = 4  # characters of a set that count as words


def words_before(regexes: Iterable[str]) -> list[str] | None:
    """Words in small letters, of which every match of one of these expressions holds one; None where some has none."""
    found: set[str] = set()
    for regex in regexes:
        words = _of_all(parser.parse(regex))
        if words is None:
            return None
        found |= words
    return sorted(word for word in found if not any(other != word and other in word for other in found))


def _of_all(parts: Iterable[Any]) -> Words | None:
    """The best words of parts that stand one after the other."""
    parts = list(parts)
    sets: list[Words] = []
    run = ""
    for code, value in parts:
        if code is op.LITERAL and value < 128:
            run += chr(value).lower()
        elif code is not op.AT:  # a place takes no character
            sets += _of_run(run)
            run = ""
            inner = _of_one(code, value)
            sets += [inner] if inner is not None else []
    sets += _of_run(run)
    if _NEVER in sets:
        return _NEVER
    if parts[:1] == [(op.AT, op.AT_BEGINNING)] and (first := _first(parts)):
        sets.append(frozenset(f"\n{one}" for one in first))
    return max(sets, key=lambda words: (min(map(len, words)), -len(words)), default=None)


def _of_run(run: str) -> list[Words]:
    return [frozenset((run,))] if run.strip() else []


def _of_one(code: Any, value: Any) -> Words | None:
    """The words of one part, None where it can match without any."""
    match code:
        case op.FAILURE:
            return _NEVER
        case op.LITERAL | op.IN:
            characters = _characters(code, value)
            return None if characters is None or len(characters) > _FEW else characters
        case op.BRANCH:
            return _of_any(value[1], _of_all)
        case op.SUBPATTERN:
            return _of_all(value[3])
        case op.ASSERT:
            return _of_all(value[1])
        case op.ASSERT_NOT:
            return None if len(value[1]) else _NEVER
        case op.ATOMIC_GROUP:
            return _of_all(value)
    return _of_all(value[2]) if code in _REPEATS and value[0] else None


def _of_any(branches: Sequence[Any], of: Any) -> Words | None:
    told = [of(branch) for branch in branches]
    return None if None in told else frozenset().union(*told)


def _first(parts: Iterable[Any]) -> Words | None:
    """The characters with which these parts can begin; None where that cannot be told."""
    for code, value in parts:
        if code in (op.LITERAL, op.IN):
            return _characters(code, value)
        if code is op.BRANCH:
            return _of_any(value[1], _first)
        if code is op.SUBPATTERN:
            return _first(value[3])
        if code in _REPEATS:
            return _first(value[2]) if value[0] else None
        if code not in (op.AT, op.ASSERT, op.ASSERT_NOT):
            return None
    return None


def _characters(code: Any, value: Any) -> Words | None:
    """The ASCII characters of a literal or of a set, in small letters."""
    found: set[int] = set()
    for kind, told in [(code, value)] if code is op.LITERAL else value:
        if kind is op.LITERAL:
            found.add(told)
        elif kind is op.RANGE:
            found.update(range(told[0], told[1] + 1))
        else:
            return None
    small = {chr(one).lower() for one in found} | {chr(one).upper().lower() for one in found}
    kept = frozenset(one for one in small if one.isascii())
    return None if any(one.isspace() for one in kept) else kept


__all__ = ["words_before"]
