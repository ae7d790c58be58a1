"""How values and names are written down: the same for every store."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from functools import lru_cache

from transom.canonical import Json, compact_json
from transom.errors import StoreError


def encode(value: Json, where: str) -> str:
    """JSON text of `value`.

    Lone surrogates are escaped: file names read from disk may hold them, and no database takes them as text.

    Raises:
        StoreError: `value` holds something JSON has no word for: NaN, an infinity, an object, a cycle.
    """
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the value cannot be kept as JSON ({error})", where=where, hint="give plain JSON data"
        ) from error


def decode(text: str) -> Json:
    """The value that `encode` wrote."""
    value: Json = json.loads(text)
    return value


@lru_cache(maxsize=256)  # the same few streams and kinds, over and over
def check_name(name: str, role: str) -> None:
    """Refuse a name that not every database can hold.

    Args:
        name: the name of a stream, kind, table or key.
        role: which of these it is, for the message.
    """
    try:
        name.encode()
        good = bool(name) and "\0" not in name
    except UnicodeEncodeError:  # an unpaired surrogate
        good = False
    if not good:
        raise StoreError(
            f"{name!a} cannot name a {role}", hint="give a non-empty name without NUL or unpaired surrogates"
        )


def now() -> str:
    """This moment, UTC, ISO 8601 with microseconds."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(seconds)}.{nanoseconds // 1000:06}Z"


@lru_cache(maxsize=2)  # many records are of one second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
