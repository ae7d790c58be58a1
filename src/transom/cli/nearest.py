"""What somebody may have meant by a name that there is not."""

from __future__ import annotations

from collections.abc import Sequence


def nearest(name: str, known: Sequence[str]) -> str:
    """The one of `known`, which is not empty, that is most like `name`."""
    from rapidfuzz import fuzz, process

    return str(process.extractOne(name, known, scorer=fuzz.WRatio)[0])
