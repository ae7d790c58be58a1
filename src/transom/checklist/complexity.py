"""Complexity of a description for who reads it, and what the prompts hold for that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Complexity: TypeAlias = Literal["simple", "medium", "complex"]

BEYOND: Final[Mapping[Complexity, frozenset[str]]] = MappingProxyType(
    {
        "simple": frozenset(
            {"example_reasoning", "quality_criteria", "many_questions", "worked_answer"}
        ),
        "medium": frozenset({"many_questions"}),
        "complex": frozenset(),
    }
)
"""Blocks that a round does without, by the complexity of its item."""

_DIVIDES: Final = re.compile(r"(?i)(?:(?<!\s)\s++)?(?:[,;/]|\b(?:and|or|as well as)\b|\.\s)+\s*")
_ASIDE: Final = re.compile(r"\([^()]*\)")
_DOUBTS: Final = (
    (0.3, re.compile(r"(?i)\w/\w|\b(?:or|either)\b")),
    (
        0.3,
        re.compile(
            r"(?i)\b(?:quality|metrics?|etc|various|relevant|appropriate|suitable|reasonable|as"
            r" needed)\b"
        ),
    ),
    (0.2, re.compile(r"(?i)\b(?:correct|valid|clean|proper|properly|good|fine|okay|healthy)\b")),
    (0.1, _ASIDE),
)
"""Words that can be read in more than one way, and how much each occurrence weighs."""


def complexity_of(description: str) -> Complexity:
    """Return the complexity by the number of things a description speaks of and its ambiguity."""
    statements = _DIVIDES.split(_ASIDE.sub(" ", description).rstrip(". \n"))
    entities = sum(1 for part in statements if re.search(r"\w", part))
    ambiguity = min(
        1.0, sum(weight * len(pattern.findall(description)) for weight, pattern in _DOUBTS)
    )
    # The limits were set on descriptions that people had sorted by hand.
    if entities <= 2 and ambiguity < 0.3:
        return "simple"
    if entities <= 4 and ambiguity < 0.6:
        return "medium"
    return "complex"
