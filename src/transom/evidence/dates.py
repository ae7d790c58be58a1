"""Read printed dates, and compare them with a limit of age.

    read_date("Tue Nov  5 11:00:00 2024")       -> PrintedDate: some 26 hours, since no zone is told
    read_date("2024-11-05T11:00:00+01:00")      -> PrintedDate: one second
    read_date("05/11/2024")                     -> UnknownDate: day or month first
    read_age("14 days")                         -> timedelta(days=14)
    freshness_of(date, now, timedelta(days=14)) -> "fresh", "stale" or "unknown"

A date without a time or without a zone is a span of time. A comparison that depends on where in the
span the moment lies is unknown, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from transom.evidence.numbers import PrintedNumber, convert, read_number

Freshness = Literal["fresh", "stale", "unknown"]
DayOrder = Literal["day_first", "month_first"]

# The clocks of the earth, from UTC+14 to UTC-12.
_EASTERNMOST = timedelta(hours=14)
_WESTERNMOST = timedelta(hours=-12)
# Abbreviations of one meaning; CST, IST and BST have several.
_ZONE_HOURS: Mapping[str, int] = {
    **{"z": 0, "utc": 0, "gmt": 0, "ut": 0, "wet": 0, "west": 1},
    **{"cet": 1, "cest": 2, "mez": 1, "mesz": 2, "eet": 2, "eest": 3, "msk": 3},
    **{"jst": 9, "kst": 9, "est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6},
    **{"pst": -8, "pdt": -7},
}
# The names of each month in English, German, French, Spanish and Italian; a beginning will do.
_MONTHS = (
    "january januar jänner janvier enero gennaio",
    "february februar feber février fevrier febrero febbraio",
    "march märz maerz mrz mars marzo",
    "april avril abril aprile",
    "may mai mayo maggio",
    "june juni juin junio giugno",
    "july juli juillet julio luglio",
    "august août aout agosto",
    "september septembre septiembre settembre",
    "october oktober octobre octubre ottobre",
    "november novembre noviembre",
    "december dezember décembre decembre diciembre dicembre",
)
_LONGEST = 80
_DAY_NAME = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
_MONTH = r"(?P<month>[^\W\d_]{3,10})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>\d{4})"
_ZONE = r"(?P<zone>\s*[+-]\d{2}:?\d{2}|\s*[+-]\d{2}\b|\s*\(?[A-Za-z]{1,4}\)?)?"
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?(?:\s*Uhr)?"
)
_BEHIND = rf"(?:(?:\s*,\s*|\s+(?:at\s+|um\s+)?|T|_|:|\s+-\s+){_CLOCK}{_ZONE})?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # 2024-11-05, 2024/11/05 11:00, 2024-11-05T11:00:00Z
        rf"{_DAY_NAME}{_YEAR}(?P<mark>[-/.])(?P<number>\d{{1,2}})(?P=mark){_DAY}{_BEHIND}",
        # 20241105T110000Z
        rf"{_YEAR}(?P<number>\d{{2}})(?P<day>\d{{2}})"
        rf"(?:[T_-]?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE})?",
        # Tue Nov  5 11:00:00 CET 2024
        rf"{_DAY_NAME}{_MONTH}\s+{_DAY}\s+{_CLOCK}{_ZONE}\s+{_YEAR}",
        # Nov 5, 2024 11:00
        rf"{_DAY_NAME}{_MONTH}\s+{_DAY},?\s+{_YEAR}{_BEHIND}",
        # 5 November 2024, 05-Nov-2024, Tue, 05 Nov 2024 11:00:00 +0100
        rf"{_DAY_NAME}{_DAY}[\s/.-]+(?:de\s+)?{_MONTH}[\s/.-]+(?:de\s+)?{_YEAR}{_BEHIND}",
        # 2024-Nov-05
        rf"{_YEAR}[\s/.-]+{_MONTH}[\s/.-]+{_DAY}{_BEHIND}",
        # 11:00:00 Nov 05 2024
        rf"{_CLOCK}{_ZONE},?\s+{_DAY_NAME}{_MONTH}\s+{_DAY},?\s+{_YEAR}",
        # 05.11.2024: with points the day comes first everywhere
        rf"{_DAY_NAME}(?P<day>\d{{1,2}})\.\s?(?P<number>\d{{1,2}})\.\s?{_YEAR}{_BEHIND}",
        # 05/11/2024, 05-11-2024
        rf"{_DAY_NAME}(?P<first>\d{{1,2}})(?P<mark>[-/])(?P<other>\d{{1,2}})(?P=mark)"
        rf"{_YEAR}{_BEHIND}",
    )
)
_EPOCH = re.compile(r"@?(?P<seconds>\d{10})(?P<milliseconds>\d{3})?(?:\.\d+)?")
_LONGEST_AGE = 10**10
"""Seconds, about 300 years: a longer limit is a mistake."""
_WEEKS = re.compile(r"(?P<amount>.*\d)\s*(?P<unit>weeks?|wochen?|w)", re.IGNORECASE)


@dataclass(frozen=True)
class PrintedDate:
    """A date as it was printed: a moment, or the span of time that it may lie in.

    Attributes:
        earliest: the first moment that it can mean, in UTC.
        latest: the last moment that it can mean, in UTC.
        begin: the moment that is written, without a zone, and `end` the moment after it.
        has_zone: whether the offset from UTC is known; of an ambiguous zone (CST) or an unknown
            one it is not.
        has_time: whether a time of day is written.
    """

    text: str
    earliest: datetime
    latest: datetime
    begin: datetime
    end: datetime
    has_zone: bool
    has_time: bool

    @property
    def day(self) -> date:
        """The day as it is written."""
        return self.begin.date()


@dataclass(frozen=True)
class UnknownDate:
    """A text that gives no certain date, and the reason in words."""

    text: str
    message: str


def read_date(value: object, *, order: DayOrder | None = None) -> PrintedDate | UnknownDate:
    """Read a printed date with or without a time and a zone; the name of the day is not checked.

    Args:
        value: a text, or seconds or milliseconds since 1970 as a number of JSON.
        order: what stands first in this source if a date has digits and slashes only, or None.

    Returns:
        The span of time that the date means, or why there is none.
    """
    text = " ".join(str(value).split())
    if value is None or isinstance(value, bool) or not text or len(text) > _LONGEST:
        return UnknownDate(text[:_LONGEST], f"{text[:_LONGEST]!r} is not a date")
    epoch = _EPOCH.fullmatch(text)
    if epoch is not None:
        return _of_epoch(epoch, text)
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is None:
            continue
        printed = _of_match(match.groupdict(), text, order)
        # "5 xyz 2024" has the form of a date, too.
        if printed is not None:
            return printed
    return UnknownDate(text, f"{text!r} is not a date")


def _of_epoch(match: re.Match[str], text: str) -> PrintedDate:
    """Return the moment of seconds since 1970."""
    moment = datetime.fromtimestamp(int(match["seconds"]), UTC)
    end = moment + timedelta(seconds=1)
    begin = moment.replace(tzinfo=None)
    return PrintedDate(
        text, moment, end, begin, end.replace(tzinfo=None), has_zone=True, has_time=True
    )


def _of_match(
    parts: dict[str, str | None], text: str, order: DayOrder | None
) -> PrintedDate | UnknownDate | None:
    """Return the date of a form's parts, or None if its word is no month."""
    days = _days_of(parts, order)
    if days is None:
        return None
    if len(days) > 1:
        either = " or ".join(f"{day[0]}-{day[1]:02}-{day[2]:02}" for day in sorted(days))
        return UnknownDate(text, f"{text!r} may mean {either}")
    year, month, day = days.pop()
    hour, length = _hour_and_duration(parts)
    try:
        local = datetime(
            year, month, day, hour, int(parts.get("minute") or 0), int(parts.get("second") or 0)
        )
        offsets = _offsets_of(parts.get("zone"))
        earliest = (local - max(offsets)).replace(tzinfo=UTC)
        latest = (local + length - min(offsets)).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return UnknownDate(text, f"{text!r} is a day or a time that does not exist")
    has_time = length < timedelta(days=1)
    has_zone = len(offsets) == 1
    return PrintedDate(
        text, earliest, latest, local, local + length, has_zone=has_zone, has_time=has_time
    )


def _days_of(
    parts: dict[str, str | None], order: DayOrder | None
) -> set[tuple[int, int, int]] | None:
    """Return the days that the parts may mean, as year, month and day."""
    year = int(parts["year"] or 0)
    if "first" in parts:
        first, other = int(parts["first"] or 0), int(parts["other"] or 0)
        month_first, day_first = (year, first, other), (year, other, first)
        if first > 12 or order == "day_first":
            return {day_first}
        if other > 12 or order == "month_first":
            return {month_first}
        return {month_first, day_first}
    if parts.get("number"):
        month = int(parts["number"] or 0)
    else:
        month = _month_of((parts["month"] or "").casefold())
        if month == 0:
            return None
    return {(year, month, int(parts["day"] or 0))}


def _month_of(beginning: str) -> int:
    """Return the month whose name begins so, or 0 if there is none or several."""
    months = list[int]()
    for number, names in enumerate(_MONTHS, 1):
        if any(name.startswith(beginning) for name in names.split()):
            months.append(number)
    return months[0] if len(months) == 1 else 0


def _hour_and_duration(parts: dict[str, str | None]) -> tuple[int, timedelta]:
    """Return the hour of the day, and how long the printed time lasts."""
    if not parts.get("hour"):
        return 0, timedelta(days=1)
    hour = int(parts["hour"] or 0)
    half = (parts.get("half") or "").lower()
    # 12 am is midnight and 12 pm is noon.
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour, timedelta(seconds=1) if parts.get("second") else timedelta(minutes=1)


def _offsets_of(zone: str | None) -> tuple[timedelta, ...]:
    """Return the offset from UTC, or the least and the greatest if it is not known."""
    name = (zone or "").strip(" ()").casefold()
    if name in _ZONE_HOURS:
        return (timedelta(hours=_ZONE_HOURS[name]),)
    if name[:1] in ("+", "-") and name:
        digits = name[1:].replace(":", "").ljust(4, "0")
        amount = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return (amount if name[0] == "+" else -amount,)
    return (_WESTERNMOST, _EASTERNMOST)


def read_age(text: str) -> timedelta | None:
    """Return a limit of age such as `14 days`, `2 weeks`, `36 h`, or None if it is none."""
    weeks = _WEEKS.fullmatch(text.strip())
    number = read_number(f"{weeks['amount']} d" if weeks else text)
    if not isinstance(number, PrintedNumber):
        return None
    seconds = convert(number, "s")
    if not isinstance(seconds, PrintedNumber):
        return None
    total = float(seconds.value)
    if weeks:
        total *= 7
    return timedelta(seconds=total) if 0 < total < _LONGEST_AGE else None


def freshness_of(printed: PrintedDate, now: datetime, limit: timedelta) -> Freshness:
    """Return whether a date is at most `limit` old.

    A date after `now` is unknown, since one of the two clocks is wrong.

    Args:
        now: a moment with a zone.
    """
    if printed.earliest > now:
        return "unknown"
    oldest = now - limit
    if printed.earliest >= oldest:
        return "fresh"
    if printed.latest < oldest:
        return "stale"
    return "unknown"


def is_before(printed: PrintedDate, other: PrintedDate) -> bool | None:
    """Return whether a date lies before another, or None if it depends on time or zone.

    Two dates without a zone are taken for dates of one zone, since one flow wrote both. A day
    without a time is neither before nor behind a time of that day: `2024-11-05` and
    `2024-11-05 10:00` give None.
    """
    both_have_or_lack_a_zone = printed.has_zone == other.has_zone
    is_one_moment = printed.earliest == other.earliest and printed.has_time and other.has_time
    if both_have_or_lack_a_zone and is_one_moment:
        return False
    if not printed.has_zone and not other.has_zone:
        if printed.end <= other.begin:
            return True
        if printed.begin >= other.end:
            return False
        return None
    if printed.latest <= other.earliest:
        return True
    return False if printed.earliest >= other.latest else None


def is_over(last_day: date, today: date) -> bool:
    """Return whether a last day has passed; on the day itself what it limits still holds."""
    return today > last_day
