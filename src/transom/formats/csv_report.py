"""CSV for spreadsheets (RFC 4180), without cells that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile(r"[=@+\-\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")


def csv_report(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a head and rows as CSV, UTF-8 with a byte order mark so that spreadsheets detect the
    encoding.

    A text that a spreadsheet would take for a formula gets a leading apostrophe; None is an empty
    cell.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue().encode("utf-8-sig", "backslashreplace")


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
