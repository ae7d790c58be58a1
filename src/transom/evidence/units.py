"""Read units: their spellings, what they measure, and where a report states them.

A unit has one canonical spelling, such as `ms` or `um2`. Case counts, because `mW` and `MW` differ
by a factor of a billion; another case is accepted only if it cannot mean another unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

UnitOrigin = Literal["", "text", "column", "heading", "title", "key", "stated"]
"""Where a unit is written: with the number itself, in a column's head, in a heading above it, in
the report's title, in the suffix of a key, or in the statement of a person.
"""

RATIO = "ratio"
PERCENT = "%"

# quantity -> (base unit, prefixes that are in use with it)
_PREFIXED = {
    "time": ("s", "f p n u m"),
    "power": ("W", "f p n u m k M G"),
    "energy": ("J", "f p n u m k M"),
    "voltage": ("V", "n u m k"),
    "current": ("A", "f p n u m k"),
    "capacitance": ("F", "f p n u m"),
    "resistance": ("Ohm", "m k M"),
    "frequency": ("Hz", "k M G T"),
    "length": ("m", "n u m c k"),
    "data": ("B", "k M G T"),
}
_PREFIXES = {
    "f": Decimal("1e-15"),
    "p": Decimal("1e-12"),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "c": Decimal("1e-2"),
    "k": Decimal(1000),
    "M": Decimal(1_000_000),
    "G": Decimal(1_000_000_000),
    "T": Decimal(1_000_000_000_000),
}
# quantity -> unit -> factor to the quantity's base unit
_OTHERS = {
    "time": {"min": "60", "h": "3600", "d": "86400"},
    "area": {"nm2": "1e-18", "um2": "1e-12", "mm2": "1e-6", "cm2": "1e-4"},
    "temperature": {"degC": "1"},
    "data": {"KiB": "1024", "MiB": "1048576", "GiB": "1073741824", "TiB": "1099511627776"},
    "share": {RATIO: "1", PERCENT: "1e-2", "permille": "1e-3", "ppm": "1e-6"},
    "rate": {"/s": "1", "/min": "0.0166666666666666666666666667"},
}
# canonical unit -> further spellings; each line ends the words of one language or style
_SPELLINGS = {
    "s": "sec secs second seconds sekunde sekunden seconde secondes segundo segundos",
    "ms": "msec msecs millisecond milliseconds millisekunden millisecondes",
    "us": "usec microsecond microseconds",
    "ns": "nsec nanosecond nanoseconds",
    "ps": "psec picosecond picoseconds",
    "min": "mins minute minutes minuten",
    "h": "hr hrs hour hours stunde stunden",
    "d": "day days tag tage jours",
    "W": "watt watts",
    "mW": "mw milliwatt milliwatts",
    "V": "volt volts",
    "Ohm": "ohms Ω",
    "kOhm": "kΩ",
    "Hz": "hertz",
    "MHz": "megahertz",
    "um": "micron microns micrometer micrometers micrometre micrometres",
    "mm": "millimeter millimeters millimetre millimetres",
    "um2": "um^2 um² sq.um square-micron square-microns",
    "nm2": "nm^2 nm²",
    "mm2": "mm^2 mm²",
    "degC": "°C C deg.C celsius",
    "B": "byte bytes",
    "kB": "KB kilobyte kilobytes",
    "MB": "megabyte megabytes",
    "GB": "gigabyte gigabytes",
    "%": "percent pct percentage prozent ％ procent",
    "ratio": "fraction",
    "permille": "‰",
    "/s": "rps tps qps req/s reqs/s requests/s transactions/s 1/s ops/s",
    "/min": "rpm req/min requests/min",
}
# Spellings of two words.
_PHRASES = {
    "per cent": "%",
    "pour cent": "%",
    "por ciento": "%",
    "per second": "/s",
    "requests per second": "/s",
    "transactions per second": "/s",
    "degrees celsius": "degC",
}
_SQUARE = ("square", "sq")
# "Mb" is a megabit to some writers and a megabyte to others; "m" is metre, minute or milli.
AMBIGUOUS_UNITS = frozenset({"Kb", "kb", "Mb", "Gb", "m", "M", "K", "k"})

# In a key "mb" is never a bit, and "min" means the minimum.
_KEY_WORDS = {"kb": "kB", "mb": "MB", "gb": "GB", "min": ""}
# The only letters that are a unit at the end of a key: `p95_s`, `duration_h`.
_KEY_LETTERS = frozenset("sh")

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+|%")
_UNIT_WORD = r"[^\s\d()\[\],;:=][^\s()\[\],;:=]{0,20}"
# "Delay (ns)", "Delay [ns]", "Delay / ns", "Delay, ns", "Delay in ns"
_IN_HEADING = re.compile(
    rf"[(\[]\s*(?:in\s+)?(?P<bracketed>{_UNIT_WORD}(?:\s(?:per\s)?\w+)?)\s*[)\]]"
    rf"|(?:\s/\s?|,\s*|\bin\s+)(?P<behind>{_UNIT_WORD})\s*$"
)
_PERCENT_HEADING = re.compile(r"^\s*[%％]|[%％]\s*$")
# "Time Units = 1ns", "Time unit: 10 ps", "Leakage Power Units = 1.000000pW", "All values in ns"
_IN_TITLE = re.compile(
    r"\b(?P<about>[A-Za-z]*)\s*[_ ]?units?\b\s*+(?:is|are|[:=])?\s*+"
    rf"(?P<factor>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)?\s*+(?P<unit>{_UNIT_WORD})\s*$"
    r"|\b(?:values|times|delays|numbers|figures|all)\b.{0,20}\bin\s+(?P<listed>[^\s\d.,;]{1,20})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class UnitSource:
    """A statement of a unit somewhere beside the number.

    Attributes:
        unit: the canonical unit.
        origin: where it is written.
        factor: what one printed unit stands for, 10 for `Time unit: 10 ps`.
        text: the words that state it, for messages.
    """

    unit: str
    origin: UnitOrigin
    factor: Decimal = Decimal(1)
    text: str = ""


def _listed_units() -> Iterator[tuple[str, str, Decimal]]:
    """Yield each unit with its quantity and its factor."""
    for quantity, (base, prefixes) in _PREFIXED.items():
        yield base, quantity, Decimal(1)
        for prefix in prefixes.split():
            yield prefix + base, quantity, _PREFIXES[prefix]
    for quantity, units in _OTHERS.items():
        for unit, factor in units.items():
            yield unit, quantity, Decimal(factor)


_UNITS = {unit: (quantity, factor) for unit, quantity, factor in _listed_units()}


def _spelling_tables() -> tuple[dict[str, str], dict[str, str]]:
    """Return the units by exact spelling, and by spelling in lower case if that is unique."""
    exact = {unit: unit for unit in _UNITS}
    for unit, spellings in _SPELLINGS.items():
        for spelling in spellings.split():
            exact[spelling] = unit
    for spelling in AMBIGUOUS_UNITS:
        exact.pop(spelling, None)
    folded: dict[str, str] = {}
    conflicts = set[str]()
    for spelling, unit in exact.items():
        if folded.setdefault(spelling.casefold(), unit) != unit:
            conflicts.add(spelling.casefold())
    for spelling in conflicts:
        del folded[spelling]
    return exact, folded


_EXACT, _FOLDED = _spelling_tables()


def find_unit(spelling: str) -> str | None:
    """Return the canonical unit of a spelling, or None if it is no unit or may be two."""
    plain = " ".join(spelling.split()).replace("µ", "u").replace("μ", "u")
    if plain in AMBIGUOUS_UNITS:
        return None
    square, _, length = plain.partition(" ")
    if square.casefold() in _SQUARE and length:
        unit = f"{find_unit(length)}2"
        return unit if unit in _UNITS else None
    if plain in _EXACT or len(plain) < 2:
        return _EXACT.get(plain)
    return _FOLDED.get(plain.casefold()) or _PHRASES.get(plain.casefold())


def quantity_of(unit: str) -> str | None:
    """Return what a canonical unit measures (`time`, `share`, ...), or None if it is not known."""
    if unit not in _UNITS:
        return None
    return _UNITS[unit][0]


def factor_between(unit: str, other: str) -> Decimal | None:
    """Return by what a value in `unit` is multiplied to be one in `other`, or None if it cannot."""
    if unit == other:
        return Decimal(1)
    if quantity_of(unit) is None or quantity_of(unit) != quantity_of(other):
        return None
    return _UNITS[unit][1] / _UNITS[other][1]


def factor_to_base(unit: str) -> Decimal | None:
    """Return the factor from a unit to the base unit of its quantity, or None for a count."""
    if unit not in _UNITS:
        return None
    return _UNITS[unit][1]


def unit_of_key(key: str) -> UnitSource | None:
    """Return the unit that the suffix of a key states: `p95_ms`, `durationSeconds`, `covered_pct`.

    A single letter counts only behind an underscore, point or hyphen: `p95_s`, but not `totalS`.
    """
    words = _CAMEL.findall(key)
    if len(words) < 2:
        return None
    suffix = words[-1].lower()
    if len(suffix) == 1 and (suffix not in _KEY_LETTERS or key[-2] not in "_.-"):
        return None
    if suffix in _KEY_WORDS:
        unit: str | None = _KEY_WORDS[suffix]
    else:
        unit = find_unit(suffix)
    # "requests_per_second" names a rate, "total_seconds" a time.
    if unit == "s" and words[-2].lower() == "per":
        unit = "/s"
    return UnitSource(unit, "key", text=key) if unit else None


def unit_of_heading(heading: str, origin: UnitOrigin = "column") -> UnitSource | None:
    """Return the unit that a column's head or a heading states: `Delay (ns)`, `Coverage %`."""
    if _PERCENT_HEADING.search(heading):
        return UnitSource(PERCENT, origin, text=heading.strip())
    spellings = [match["bracketed"] or match["behind"] for match in _IN_HEADING.finditer(heading)]
    words = heading.split()
    # "Area µm²"; behind a word of the quantity "min" and "max" are no units.
    if len(words) > 1 and words[-1].lower() not in _KEY_WORDS:
        spellings.append(words[-1])
    for spelling in spellings:
        unit = find_unit(spelling)
        if unit is not None:
            return UnitSource(unit, origin, text=heading.strip())
    return None


def unit_of_title(line: str) -> UnitSource | None:
    """Return the unit that a line of a report's head states: `Time Units = 1ns`.

    Use the source only for numbers of that quantity; a report may state several.
    """
    match = _IN_TITLE.search(line)
    if match is None:
        return None
    unit = find_unit(match["unit"] or match["listed"])
    if unit is None:
        return None
    return UnitSource(unit, "title", Decimal(match["factor"] or 1), line.strip())
