"""Clauses of a description that speak of a waiver: "(waive for synthesis stage)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# In brackets, or behind a semicolon or comma up to the end of the sentence.
_CLAUSE: Final = re.compile(
    r"\([^()]{0,80}\bwaive[drs]?\b[^()]{0,80}\)|[;,][^;,.()]{0,80}\bwaive[drs]?\b[^;.()]{0,80}",
    re.IGNORECASE,
)

WAIVE: Final = "waive"
"""The parameter of a claim that says what is waived: the word of a stage, or a pattern."""

_OBJECT: Final = re.compile(
    r"\bwaive[drs]?\s+(?:\w+\s+)?(?:for|in|on|at|of)\s+(?P<object>[\w\s-]{1,80})$"
)


def words_waived(clause: str) -> list[str]:
    """Return the words of what a clause waives: `["legacy", "libs"]` of "waive for legacy libs"."""
    match = _OBJECT.search(clause.lower())
    return match["object"].split() if match else []


def waiver_clauses(description: str) -> Iterator[tuple[str, str]]:
    """Yield each clause that speaks of a waiver, and the description without it."""
    for clause in _CLAUSE.finditer(description):
        rest = f"{description[: clause.start()]}{description[clause.end() :]}".strip()
        yield clause[0].strip(" ();,."), rest


def without_waiver_clauses(description: str) -> str:
    """Return a description without these clauses: the stage of a waiver is none of the check."""
    return _CLAUSE.sub("", description)
