"""Tells whether a sentence says that a figure keeps its limit, in seven languages."""

from __future__ import annotations

import re

from transom.evidence.quantities import has_denial
from transom.investigator.ledger import Evidence
from transom.investigator.measures import words_of
from transom.investigator.wording import fold

_CITATION = re.compile(r"\[[A-Za-z]+\d+\]")
_QUOTED = re.compile(r"[\"“«][^\"“”«»\n]{2,600}[\"”»]")
# Figures that are better the higher they are.
AT_LEAST = (".throughput", ".availability", ".success_rate", ".line", ".branch", ".pass_rate")
_LIMITS = re.compile(
    r"\b(?:targets?|limits?|thresholds?|ziele?n?|zielwerte?|grenzwerte?n?|schwellen?"
    r"|cibles?|seuils?"
    r"|limites?|objectifs?|objetivos?|umbral|umbrales|obiettiv\w+|sogli\w|limiti|doel|drempel)\b"
)
_KEEPS = re.compile(
    r"\b(?:meets?|met|within|keeps?|kept|holds?|erreich\w+|haelt|halten|eingehalten"
    r"|einhalt\w*|tient"
    r"|tiennent|respect\w*|atteint|atteignent|cumpl\w+|dentro|rispett\w*|raggiun\w+|haalt|halen)\b"
)
_BREAKS = re.compile(
    r"\b(?:miss\w*|violat\w+|breach\w*|verfehl\w+|verletz\w+|incumpl\w+|manqu\w+|mist)\b"
)
_LOWER = re.compile(
    r"\b(?:below|under|unter|unterhalb|sous|inferieur\w*|debajo|inferior\w*|sotto|onder)\b"
)
_HIGHER = re.compile(
    r"\b(?:above|over|exceed\w*|ueber|oberhalb|ueberschr\w+|depass\w*|superieur\w*|encima"
    r"|super[ao]\w*|superior\w*|sopra|oltre|boven|overschr\w+)\b"
)


def says_kept(sentence: str) -> bool:
    """Return whether a sentence says that a limit is kept, and denies nothing."""
    folded = fold(_QUOTED.sub(" ", _CITATION.sub(" ", sentence)))
    is_of_limit = _LIMITS.search(folded) is not None and not has_denial(folded)
    return is_of_limit and _KEEPS.search(folded) is not None and _BREAKS.search(folded) is None


def wrong_comparison(sentence: str, row: Evidence, *, is_kept: bool) -> str:
    """Return what is wrong if a sentence says that a figure keeps its limit, or not; or "".

    Args:
        is_kept: whether the figure of the entry keeps the limit that is stated for it.
    """
    folded = fold(_QUOTED.sub(" ", _CITATION.sub(" ", sentence)))
    if not _LIMITS.search(folded) or has_denial(folded):
        return ""
    is_below = is_kept != row.measure.endswith(AT_LEAST)
    is_said_kept, is_said_broken = bool(_KEEPS.search(folded)), bool(_BREAKS.search(folded))
    says_below, says_above = bool(_LOWER.search(folded)), bool(_HIGHER.search(folded))
    is_contrary = (is_said_broken if is_kept else is_said_kept) or (
        says_above if is_below else says_below
    )
    is_mixed = (is_said_kept and is_said_broken) or (says_below and says_above)
    if is_contrary and not is_mixed:
        return f"{row.label or words_of(row.measure)}: {row.value[:60]} {row.unit}".rstrip()
    return ""
