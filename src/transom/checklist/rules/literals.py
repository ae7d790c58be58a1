"""Which words a line must hold before any expression can match it, so that a reader looks for these
first.

All this is about ASCII texts in small letters whose blanks are spaces; a line with another
character is always read.
"""

from __future__ import annotations

import functools
import re
import re._constants as op  # type: ignore[import-not-found]  # the library's own, without stubs
import re._parser as parser  # type: ignore[import-not-found]  # as above
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

Words: TypeAlias = frozenset[str]

_NEVER: Final[Words] = frozenset()  # what has these words matches no ASCII text
_NOTHING: Final[Words] = frozenset(("",))
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_FEW, _MANY = 26, 64  # characters of a set that count as words, and words that a run may grow to
# characters of logs, the most frequent first
_ALL: Final = " 0e_1taoins2rh.ldcu3/456789mfpgy(:,-wbv)kxjqz"
_OFTEN: Final = frozenset(_ALL[:20])
_RARE: Final = 3  # what a word must weigh to be looked for


@functools.lru_cache(maxsize=2_000)
def words_before(regex: str) -> tuple[str, ...] | None:
    """Words in small letters, of which every match of an expression holds one; None where it has
    none.
    """
    found = _of_all(parser.parse(regex))
    if found is None:
        return None
    return tuple(sorted(_shortest(found)))


def gate(regexes: Iterable[str]) -> list[str]:
    """One or two expressions, of which one is found wherever one of these matches a line; none
    where some has no word.

    The first is searched for in a text in small letters and with spaces for blanks, the second is
    matched at the beginning of each line of the text as it is.
    """
    return list(_gate(tuple(dict.fromkeys(regexes))))


@functools.lru_cache(maxsize=64)  # a snippet is read before the atom is written
def _gate(regexes: tuple[str, ...]) -> tuple[str, ...]:
    words = ["\x1b"]  # which stands for every character that is no text
    heads: list[str] = []
    for regex in regexes:
        found = words_before(regex)
        if (found is None or min(map(_weight, found), default=_RARE) < _RARE) and _begins_a_line(
            regex
        ):
            heads.append(re.sub(r"\(\?P<\w+>", "(?:", re.sub(r"^\(\?i\)(.*)", r"(?i:\1)", regex)))
        elif found is None:
            return ()
        else:
            words += found
    return (_search_for(words), *([f"(?m)(?:{'|'.join(heads)})"] if heads else []))


def _search_for(words: Iterable[str]) -> str:
    """An expression for any of these words: each from a letter on, and what stands before that
    behind.

    The letters are few and seldom met, as each is a place where all is tried.
    """
    told, left = [], _shortest(words)
    while left:
        held = Counter(letter for word in left for letter in dict.fromkeys(word))
        letter = max(sorted(held), key=lambda one: held[one] * _seldom(one))
        of_it = sorted(word for word in left if letter in word)
        rest = [
            re.escape(one.partition(letter)[2]) + f"(?<={re.escape(one)})" * (one[0] != letter)
            for one in of_it
        ]
        told.append(f"{re.escape(letter)}(?:{'|'.join(rest)})")
        left = [word for word in left if letter not in word]
    return "|".join(told)


def _shortest(words: Iterable[str]) -> list[str]:
    """The words without those that hold another one."""
    each = dict.fromkeys(words)
    return [word for word in each if not any(other != word and other in word for other in each)]


def _seldom(letter: str) -> int:
    return _ALL.find(letter) % 99 + 1


def _weight(word: str) -> int:
    return sum(1 if one in _OFTEN else 2 for one in word)


@functools.lru_cache(maxsize=2_000)
def _begins_a_line(regex: str) -> bool:
    """Whether an expression is tried at heads of lines alone, and matches in a text wherever it
    does in the line.
    """
    told = parser.parse(regex)
    plain = not told.state.flags & ~(
        re.UNICODE | (re.IGNORECASE if regex.startswith("(?i)") else 0)
    )
    begins = list(told)[:1] == [(op.AT, op.AT_BEGINNING)]
    return plain and begins and not _loses(told)


def _loses(parts: Iterable[Any]) -> bool:
    """Whether an expression may miss a line among others that it matches alone: by the next
    lines, or by its groups.
    """
    for code, value in parts:
        firm = code in (op.ASSERT_NOT, op.ATOMIC_GROUP, op.POSSESSIVE_REPEAT)
        inner = _inner(code, value)
        refers = code in (op.GROUPREF, op.GROUPREF_EXISTS) or value is op.AT_END_STRING
        if refers or (firm and any(map(_crosses, inner))) or any(map(_loses, inner)):
            return True
    return False


def _crosses(parts: Iterable[Any]) -> bool:
    """Whether a line feed may be among what these parts match."""
    for code, value in parts:
        if code in (op.NOT_LITERAL, op.CATEGORY) or (
            code is op.IN and _characters(code, value, most=200) is None
        ):
            return True
        if any(map(_crosses, _inner(code, value))):
            return True
    return False


def _inner(code: Any, value: Any) -> list[Any]:
    match code:
        case op.BRANCH:
            return list(value[1])
        case op.SUBPATTERN:
            return [value[3]]
        case op.ASSERT | op.ASSERT_NOT:
            return [value[1]]
        case op.ATOMIC_GROUP:
            return [value]
    return [value[2]] if code in _REPEATS else []


def _of_all(parts: Iterable[Any]) -> Words | None:
    """The best words of parts that stand one after the other."""
    sets: list[Words] = []
    run: Words = _NOTHING
    for code, value in parts:
        begins, whole = _heads([(code, value)])
        told = _joined(run, begins)
        if whole and told is not None:
            run = told
            continue
        inner = _of_one(code, value)
        sets += [told or run, *([inner] if inner is not None else [])]
        run = begins if code in _REPEATS and value[0] and _heads(value[2])[1] else _NOTHING
    sets = [words for words in (*sets, run) if not any(not word.strip() for word in words)]
    if _NEVER in sets:
        return _NEVER
    return max(sets, key=lambda words: (min(map(_weight, words)), -len(words)), default=None)


def _heads(parts: Iterable[Any]) -> tuple[Words, bool]:
    """How all texts begin that parts can match, and whether that is all of them; blanks are
    spaces.
    """
    told: Words = _NOTHING
    for code, value in parts:
        begins: tuple[Words, bool] = (_NOTHING, code is op.AT)
        if code in (op.LITERAL, op.IN):
            found = _characters(code, value)
            begins = (_NOTHING, False) if found is None else (found, True)
        elif code is op.BRANCH:
            each = [_heads(branch) for branch in value[1]]
            begins = frozenset().union(*(one for one, _ in each)), all(whole for _, whole in each)
        elif code is op.SUBPATTERN:
            begins = _heads(value[3])
        elif code in _REPEATS and value[1] == 1:
            one, whole = _heads(value[2])
            begins = (one if value[0] else one | _NOTHING), whole
        elif code in _REPEATS and value[0]:
            begins = _heads(value[2])[0], False
        longer = _joined(told, begins[0])
        if longer is None or not begins[1]:
            return longer or told, False
        told = longer
    return told, True


def _joined(heads: Words, tails: Words) -> Words | None:
    """Each of the first with each of the second behind it; None of too many."""
    return (
        frozenset(a + b for a in heads for b in tails) if len(heads) * len(tails) <= _MANY else None
    )


def _of_one(code: Any, value: Any) -> Words | None:
    """The words of one part, None where it can match without any."""
    if code is op.FAILURE or (code is op.ASSERT_NOT and not len(value[1])):
        return _NEVER
    if code is op.ASSERT_NOT or (code in _REPEATS and not value[0]):
        return None
    told = [_of_all(branch) for branch in _inner(code, value)]
    return (
        frozenset().union(*(words or () for words in told)) if told and None not in told else None
    )


def _characters(code: Any, value: Any, most: int = _FEW) -> Words | None:
    """The ASCII characters of a literal or of a set, in small letters; None of many, or where a
    line feed is one.
    """
    found: set[int] = set()
    for kind, told in [(code, value)] if code is op.LITERAL else value:
        if kind is op.LITERAL:
            found.add(told)
        elif kind is op.RANGE:
            found.update(range(told[0], told[1] + 1))
        elif (kind, told) == (op.CATEGORY, op.CATEGORY_SPACE) and most == _FEW:
            found.add(32)
        else:
            return None
    small = {chr(one).lower() for one in found} | {chr(one).upper().lower() for one in found}
    kept = frozenset(" " if one.isspace() else one for one in small if one.isascii())
    return None if "\n" in small or len(kept) > most else kept


__all__ = ["gate", "words_before"]
