"""Comparing what an atom says with what is printed: texts as they stand, numbers up to the unit in which they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from transom.canonical import Json
from transom.checklist.build.mutation.evidence import Spot

_NUMBER = re.compile(r"\s*([-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:%|[fpnumkMG]?(?:s|W|V|A|Hz|F))?\s*")
_EDGE = r"[\s,;:()=]"
_PREFIXES = {"f": -5, "p": -4, "n": -3, "u": -2, "µ": -2, "m": -1, "": 0, "k": 1, "K": 1, "M": 2, "G": 3}
_WORDS = {"seconds": "s", "watts": "W", "watt": "W", "volts": "V", "hertz": "Hz"}
_UNIT = r"(?P<prefix>[fpnuµmkKMG]?)(?P<base>s|W|V|A|Hz|F|Watts?|Volts|Hertz)(?![\w/])"
_IN = re.compile(rf"\bin {_UNIT}")
_CLOCK = re.compile(r"(?i)run\s?time|elapsed|\bcpu\b|\bwall\b|\d:\d\d")
# A table says its unit above it; further up it speaks of something else.
_ABOVE = 60
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOSE = 1e-3


@dataclass(frozen=True)
class Unit:
    """`mW` is -1 of `W`: what it says of a number is a power of 1000."""

    prefix: int
    base: str


def plain(text: str) -> str:
    """A text without what may differ where it is the same: case, white space, quotes, and the v of a version."""
    bare = re.sub(r"[\"'`\\{}]", "", text)
    return re.sub(r"\bv(?=\d)", "", " ".join(bare.split()).casefold().strip(" ,;:"))


def stands_in(part: str, whole: str) -> bool:
    """Whether whole words of a text are the other; both as `plain` gives them."""
    return bool(part) and re.search(rf"(?:^|(?<={_EDGE})){re.escape(part)}(?:$|(?={_EDGE}))", whole) is not None


def number(said: Json) -> float | None:
    """What a number or the text of one says, None where it is neither."""
    if isinstance(said, bool):
        return None
    if isinstance(said, int | float):
        return float(said)
    found = _NUMBER.fullmatch(said) if isinstance(said, str) else None
    return float(found[1].replace(",", "")) if found else None


def scale(said: float, printed: float) -> float | None:
    """By what a number was multiplied, where that may come from a unit: a power of 1000, or percent; else None."""
    if said == printed or (not said and not printed):
        return 1.0
    if not said or not printed:
        return None
    return next((one for one in _scales() if math.isclose(said, printed * one, rel_tol=_CLOSE)), None)


def _scales() -> Iterator[float]:
    yield from (1000.0**power for power in (0, 1, -1, 2, -2, 3, -3, 4, -4))
    yield from (100.0, 0.01)


def same_date(said: str, printed: str) -> bool:
    """Whether all numbers of a date and time stand in the other, months as their names too."""
    numbers = [int(one) for one in re.findall(r"\d+", said)]
    known = {int(one) for one in re.findall(r"\d+", printed)}
    known |= {at for at, month in enumerate(_MONTHS, 1) if re.search(rf"\b{month}", printed.casefold())}
    return len(numbers) > 2 and set(numbers) <= known


def wanted_unit(meaning: str) -> Unit | None:
    """The unit in which a field is told, by the words on it: `the slack in ns`."""
    found = _IN.search(meaning)
    return _unit(found) if found else None


def printed_unit(spot: Spot, end: int, base: str) -> Unit | None:
    """The unit of a number that ends at a column: beside it, in the line, or in the lines above; None where unclear."""
    beside = re.match(rf"\s*{_UNIT}", spot.line[end:])
    if beside and beside["base"] == base:
        return _unit(beside)
    units = {unit for _, _, unit in unit_places(spot, base)}
    return units.pop() if len(units) == 1 else None


def unit_places(spot: Spot, base: str) -> list[tuple[int, tuple[int, int], Unit]]:
    """Where the line or those above it say a unit: `(line number, span, unit)`; the line itself before the others."""
    first = max(1, spot.number - _ABOVE)
    for numbers in ([spot.number], range(first, spot.number)):
        found = [
            (number, match.span("unit"), unit)
            for number in numbers
            for match in _said(spot.page.lines[number - 1])
            if (unit := _unit(match)).base == base
        ]
        if found:
            return found
    return []


def _said(line: str) -> Iterator[re.Match[str]]:
    """Units in brackets, and those of which a line says that it is about units: `time 1ns`."""
    if len(line) > 2000 or _CLOCK.search(line):
        return
    yield from re.finditer(rf"(?<!\w)[(\[]\s*1?\s*(?P<unit>{_UNIT})\s*[)\]]", line)
    yield from re.finditer(rf"^\s*(?:time|power|voltage|current|capacitance)\s+1\s*(?P<unit>{_UNIT})\s*$", line)
    if re.search(r"(?i)\bunits?\b", line):
        yield from re.finditer(rf"[:=]\s*1?\s*(?P<unit>{_UNIT})", line)


def _unit(found: re.Match[str]) -> Unit:
    base = found["base"]
    return Unit(_PREFIXES[found["prefix"]], _WORDS.get(base.casefold(), base))
