"""The digest chain of a stream: each record has a digest of itself and of all before it.

A checksum notices a record that was altered. The chain also notices one that is missing, or stands
in another place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from typing import TypeAlias

ChainRow: TypeAlias = tuple[int, str, str, str, str, bytes | None]
"""Number, stream, kind, text, time and chain of a record."""


def chain_of(previous: bytes | None, stream: str, kind: str, text: str, at: str) -> bytes:
    """Return the digest of a record and of all before it.

    Args:
        previous: that of the record before it in its stream; None for the first one, and after
            records of a format without chains.
    """
    return sha256((previous or b"") + f"{stream}\0{kind}\0{at}\0{text}".encode()).digest()


def broken_chains(rows: Iterable[ChainRow]) -> Iterator[str]:
    """Yield the streams whose records are not those that were appended, each in a few words.

    Args:
        rows: all records in the order of streams and numbers.
    """
    for stream, records in groupby(rows, lambda row: row[1]):
        previous: bytes | None = None
        for number, _, kind, text, at, chain in records:
            # Records of an older format come first, and have no chain.
            if chain is None and previous is None:
                continue
            if chain != chain_of(previous, stream, kind, text, at):
                name = stream if stream.isprintable() else ascii(stream)
                yield f"the records of {name:.120}: something was changed up to record {number}"
                break
            previous = chain
