"""What somebody may have meant by a name that there is not."""

from __future__ import annotations

from collections.abc import Sequence

_LEAST = 70  # of 100; below it two ids have no more in common than any two


def near(text: str, ids: Sequence[str], most: int = 3) -> list[str]:
    """Those of `ids` that somebody may have meant who wrote `text`, or their beginnings, the likest first."""
    from rapidfuzz import fuzz

    likeness = {one: max(fuzz.ratio(text, one), fuzz.ratio(text, one[: len(text)])) for one in ids}
    return [one for one in sorted(likeness, key=lambda one: -likeness[one]) if likeness[one] >= _LEAST][:most]


def nearest(name: str, known: Sequence[str]) -> str:
    """The one of `known`, which is not empty, that is most like `name`."""
    from rapidfuzz import fuzz, process

    return str(process.extractOne(name, known, scorer=fuzz.WRatio)[0])
