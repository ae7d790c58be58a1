"""Tests that show a half of their criterion, as far as the words and numbers of both tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from decimal import Decimal

from transom.stories.criterion_words import is_english
from transom.stories.stated_values import small_numbers
from transom.stories.written_checks import checks_of
from transom.stories.written_numbers import NumbersOfText

_CODE_OR_QUOTE = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|\([^()\n]*\)")
_STEPS = re.compile(r"^.*?\bthen\b", re.IGNORECASE | re.DOTALL)
_JOINT = re.compile(r";\s|,\s(?:and|but|and then|then)\s|(?<=[a-z`\"”)])\.\s+(?=[A-Z])")
_EXPLAINS = re.compile(r"^(?:so|because|since|as|for|thus|hence|therefore|which|e\.g|i\.e)\b", re.I)
_CLAUSE_WORDS = 3
_MANY = re.compile(
    r"\bfor\b|\bwhile\b|parametrize|subTest|forEach|\.each\b|\bt\.Run\(|\.map\(|\ball\(|\bany\(|"
    r"\.every\(|\.iter\(\)|\brepeat\b|snapshot",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"\bassert\b|\bself\.assert\w+\(|\bassert(?:\.\w+)*\(|\bexpect\(|\bassert(?:_eq|_ne)?!"
    r"|\bpytest\.raises\(|\bt\.(?:Error|Fatal)f?\(|\brequire\.\w+\("
)
# A value of several parts shows several things at once.
_PARTS = re.compile(
    r"[\[{]|\(\s*+[^()\n]{1,200},[^()\n]{1,200}\)[^\S\n]*+(?:$|[)\]=;])"
    r"|[\"'`][^\"'`\s]*+[^\S\n][^\"'`\n]*+[\"'`]"
    r"|\band\b|&&|\bnot\b.{0,120}\bor\b|match=|DeepEqual|regex|\bre\.",
    re.MULTILINE,
)
_WORDS = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]{0,2000}`")


def clauses(criterion: str) -> int:
    """Return how many things a criterion states, as far as its English words tell."""
    if not is_english(criterion):
        return 1
    plain = _CODE_OR_QUOTE.sub("x", _STEPS.sub("", criterion))
    count = 0
    for part in map(str.strip, _JOINT.split(plain)):
        if len(part.split()) >= _CLAUSE_WORDS and not _EXPLAINS.match(part):
            count += 1
    return max(1, count)


def makes_one_check(texts: Collection[str]) -> bool:
    """Whether tests make one check of a single value, all together.

    Args:
        texts: each test, once.
    """
    whole = "\n".join(texts)
    if len(texts) != 1 or _MANY.search(whole):
        return False
    if "*testing.T" in whole:
        checks = [check.condition for check in checks_of(whole) if not check.is_set_up]
        return len(checks) == 1 and "||" not in checks[0] and not _PARTS.search(checks[0])
    # A test of Python is there as it is written and as it is read.
    lines = {line.strip().replace("'", '"') for line in whole.splitlines() if _CHECK.search(line)}
    if len(lines) != 1:
        return False
    (line,) = lines
    # A check over several lines may hold anything.
    is_whole = line.count("(") == line.count(")")
    compared = re.split(r"==+|,", line, maxsplit=1)[-1]
    return is_whole and not _PARTS.search(compared)


def uncounted(criterion: str, text: str) -> str:
    """Return a small number of a criterion that nothing in a text can stand for, or "".

    A text holds a number as such, the one beside it, as a word, or as that many items.
    """
    numbers, sizes = NumbersOfText(text), {*_sizes(text)}
    lower = text.lower()
    for value in small_numbers(criterion):
        whole = int(value)
        near = any(numbers.has((Decimal(form),)) for form in (whole - 1, whole, whole + 1))
        near = near or any(
            numbers.has((value * scale,)) for scale in (10, 12, 24, 60, 100, 1000, 3600)
        )
        word = _WORDS[whole] if whole < len(_WORDS) else ""
        is_word = bool(word) and bool(re.search(rf"(?<![a-z]){word}(?![a-z])", lower))
        if not near and not is_word and not sizes & {whole - 1, whole, whole + 1}:
            return str(whole)
    return ""


def _sizes(text: str) -> Iterator[int]:
    """Yield the lengths of the lists, calls and strings of a text, and of runs of like lines."""
    for match in _STRING.finditer(text):
        yield len(match[0]) - 2
        yield len(match[0].split())
    plain = _STRING.sub("x", text)
    yield from _bracketed(plain)
    # Lines that begin alike are as many calls or checks.
    yield from Counter(line.split()[0][:12] for line in plain.splitlines() if line.strip()).values()


def _bracketed(plain: str) -> Iterator[int]:
    """Yield the number of items in each pair of brackets."""
    commas = [0]
    starts = [-1]
    for place, sign in enumerate(plain):
        if sign in "([{":
            commas.append(0)
            starts.append(place)
        elif sign in ")]}" and len(starts) > 1:
            inner = plain[starts.pop() + 1 : place].strip()
            yield commas.pop() + bool(inner) - inner.endswith(",")
        elif sign == ",":
            commas[-1] += 1
