"""Lines of a log that may read a file, and those of which a person said that they read none.

Such a line holds a PASS back. Who accepts it says that it does not matter: then the log is judged
like one without the line, in which no command reads the file. An acceptance never turns a missing
file into one that was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from transom.evidence.caps import Cap, CapAcceptance

_MAY_READ: Final = "this line may read a "


def text_of_doubt(title: str, line: str) -> str:
    """Return the text of the cap for a line that may read a file of a kind."""
    return f"{_MAY_READ}{title}: {line}"


def lines_that_read_nothing(acceptances: Sequence[CapAcceptance], as_of: str) -> frozenset[str]:
    """Return the lines that a person accepted, by the day of the verdict (ISO)."""
    day = date.fromisoformat(as_of)
    lines = set[str]()
    for acceptance in acceptances:
        if not acceptance.text.startswith(_MAY_READ):
            continue
        if acceptance.until is None or acceptance.until >= day:
            lines.add(_line_of(acceptance.text))
    return frozenset(lines)


def doubtful_lines(caps: Iterable[Cap]) -> frozenset[str]:
    """Return the lines that may read a file, of caps that nobody has accepted yet."""
    return frozenset(_line_of(cap.text) for cap in caps if cap.text.startswith(_MAY_READ))


def _line_of(text: str) -> str:
    return text.removeprefix(_MAY_READ).partition(": ")[2]
