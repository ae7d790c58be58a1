"""Findings as a gate collects them, and texts that say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transom.evidence.findings import Finding, sort_findings

_EMPTY_WORDS = frozenset(
    {"tbd", "todo", "fixme", "to be defined", "to be determined", "to be done", "see above"}
)


class Problems:
    """Collects the findings of one artifact."""

    def __init__(self, artifact: str) -> None:
        self.artifact = artifact
        self._findings: list[Finding] = []

    @property
    def findings(self) -> list[Finding]:
        return sort_findings(self._findings)

    def add(self, gate: str, line: int | None, message: str) -> None:
        self._findings.append(Finding(gate, self.artifact, line, message))

    def unless(self, holds: object, gate: str, line: int | None, message: str) -> None:
        """Add a finding if something does not hold."""
        if not holds:
            self.add(gate, line, message)

    def thin(self, text: str, gate: str, line: int, label: str, words: int = 2) -> None:
        """Add a finding if a text has fewer words than that, or only stands in for one."""
        self.unless(not is_thin(text, words), gate, line, f"{label} is missing or says nothing")

    def numbered(self, gate: str, numbers: Sequence[str], section: str, line: int) -> None:
        """Check that headings are numbered N.1, N.2, ... without gap or repetition."""
        expected = [f"{section}.{n}" for n in range(1, len(numbers) + 1)]
        self.unless(
            list(numbers) == expected,
            gate,
            line,
            f"numbered {', '.join(numbers)}; must be {', '.join(expected)}",
        )


def is_thin(text: str, words: int = 2) -> bool:
    """Return whether a text has fewer words than that, or only stands in for one."""
    words_of_text = re.findall(r"\w+", text)
    # Some models write that a text is to be written.
    return len(words_of_text) < words or " ".join(words_of_text).casefold() in _EMPTY_WORDS


def comma_list(names: Sequence[str]) -> str:
    """Return names for a message: `a, b`, or `none`."""
    return ", ".join(names) or "none"
