"""Encoding of values and names, common to all stores."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from functools import lru_cache

from transom.canonical import Json, compact_json
from transom.errors import StoreError


def encode(value: Json, where: str) -> str:
    """Encode as JSON text, lone surrogates escaped: databases reject them. StoreError for what
    JSON cannot express.
    """
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the value cannot be stored as JSON ({error})",
            where=where,
            hint="give plain JSON data",
        ) from error


def decode(text: str) -> Json:
    """Decode a text that `encode` wrote."""
    value: Json = json.loads(text)
    return value


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
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(seconds)}.{nanoseconds // 1000:06}Z"


@lru_cache(maxsize=2)  # many records have the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
