"""Days in sentences and sources, in the notations of several languages."""

from __future__ import annotations

import re

from transom.evidence.dates import PrintedDate, read_date

_ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}")
# 15.09.2026 and 15/09/2026; where the month comes first, a day above 12 fits no month.
_LOCAL_DAY = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b")
# "12 September 2026", "le 12 septembre", "September 12"
_SPOKEN_DAY = re.compile(
    r"\b(?P<day>\d{1,2})(?:\.|st|nd|rd|th)? (?:de |of )?(?P<month>[^\W\d_]{3,10})\b"
    r"(?:,? (?:de )?(?P<year>\d{4})\b)?"
    r"|\b(?P<first>[A-Z][a-z]{2,8}) (?P<last>\d{1,2})\b(?:,? (?P<end>\d{4})\b)?"
)


def without_days(text: str, source: str) -> str:
    """Return a text without the days that a source has in another notation: 12 September."""
    days = set(_ISO_DAY.findall(source)) | _local_days(source)
    years = {day[:4] for day in days}

    def spoken_day(match: re.Match[str]) -> str:
        for year in years:
            day = f"{match['day'] or match['last']} {match['month'] or match['first']} {year}"
            printed = read_date(day)
            is_known = isinstance(printed, PrintedDate) and printed.day.isoformat() in days
            if is_known and (match["year"] or match["end"] or year) == year:
                return blank(match)
        return match[0]

    return _SPOKEN_DAY.sub(spoken_day, text) if days else text


def _local_days(text: str) -> set[str]:
    """Return the days of a text that are written in figures, the day first, as ISO days."""
    days = set[str]()
    for match in _LOCAL_DAY.finditer(text):
        printed = read_date(f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}")
        if isinstance(printed, PrintedDate):
            days.add(printed.day.isoformat())
    return days


def days_of(text: str) -> set[str]:
    """Return the days of a text as month and day: `09-28`."""
    days = {day[5:] for day in _ISO_DAY.findall(text)}
    for match in _SPOKEN_DAY.finditer(text):
        day = f"{match['day'] or match['last']} {match['month'] or match['first']} 2000"
        printed = read_date(day)
        if isinstance(printed, PrintedDate):
            days.add(printed.day.isoformat()[5:])
    return days


def blank(match: re.Match[str]) -> str:
    """Return as many blanks as a match is long."""
    return " " * len(match[0])
