"""What a single check says, and when a text says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_EMPTY_WORDS = frozenset({"tbd", "todo", "fixme", "to be defined", "to be determined", "to be done", "see above"})


class SpecProblem(NamedTuple):
    """One finding before its artifact is known."""

    gate: str
    line: int | None
    message: str


def is_thin(text: str, words: int = 2) -> bool:
    """Whether a text has fewer words than that, or only stands in for one."""
    found = re.findall(r"\w+", text)
    return len(found) < words or " ".join(found).casefold() in _EMPTY_WORDS


def missing(gate: str, line: int, owner: str, texts: Sequence[tuple[str, str]]) -> Iterator[SpecProblem]:
    """One finding for each (label, text) whose text is thin."""
    for label, text in texts:
        if is_thin(text):
            what = "is missing" if not text.strip() else "says nothing"
            yield SpecProblem(f"{gate}.{label.split(' ')[-1].casefold()}", line, f"{owner}: {label} {what}")


def consecutive(gate: str, numbers: Sequence[str], section: str, line: int) -> Iterator[SpecProblem]:
    """Headings must be numbered N.1, N.2, ... without gap or repetition."""
    wanted = [f"{section}.{n}" for n in range(1, len(numbers) + 1)]
    if list(numbers) != wanted:
        yield SpecProblem(gate, line, f"numbered {', '.join(numbers)}; must be {', '.join(wanted)}")


def listed(names: Sequence[str]) -> str:
    """Names for a message: `a, b`, or `none`."""
    return ", ".join(names) or "none"
