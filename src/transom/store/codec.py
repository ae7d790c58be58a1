"""Encoding of values and names, common to all stores."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from functools import lru_cache
from zlib import crc32

from transom.canonical import Json, compact_bytes
from transom.errors import StoreError


def encode(value: Json, place: str) -> str:
    """Encode as JSON text, lone surrogates escaped: databases reject them. StoreError for what
    JSON cannot express.
    """
    try:
        return compact_bytes(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the value cannot be stored as JSON ({error})",
            place=place,
            hint="give plain JSON data",
        ) from error


def decode(
    text: str, crc: int | None = None, first: str = "", second: str = "", last: str = ""
) -> Json:
    """Decode a text that `encode` wrote.

    Args:
        crc: the row's checksum; None in a row of format 1.
        first, second, last: see `checksum`.

    Raises:
        ValueError, TypeError: the row is not as it was written.
    """
    if crc is not None and crc != checksum(first, second, text, last):
        raise ValueError("the checksum differs")
    value: Json = json.loads(text)
    return value


def checksum(first: str, second: str, text: str, last: str = "") -> int:
    """Return the CRC-32 of a row: its names, its text, and the time of a record.

    SQLite does not notice a bit that flips within a text, so each row has a checksum of its own.
    """
    return crc32(f"{first}\0{second}\0{last}\0{text}".encode())


@lru_cache(maxsize=256)  # the same few streams and kinds, over and over
def check_name(name: str, role: str) -> None:
    """Raise StoreError for a name of a stream, kind, table or key (its role) that some databases
    cannot store.
    """
    try:
        name.encode()
        good = bool(name) and "\0" not in name
    except UnicodeEncodeError:  # an unpaired surrogate
        good = False
    if not good:
        raise StoreError(
            f"{name!a} cannot name a {role}",
            hint="give a non-empty name without NUL or unpaired surrogates",
        )


def now() -> str:
    """Return the current time, UTC, ISO 8601 with microseconds."""
    # Without `divmod`: every append asks for the time, and a call costs more than the arithmetic.
    microseconds = time.time_ns() // 1000
    return f"{_second(microseconds // 1_000_000)}.{microseconds % 1_000_000:06}Z"


@lru_cache(maxsize=2)  # many records have the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
