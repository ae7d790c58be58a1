"""Findings of security scanners, and the severities that their tools' words mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import elements_of, members_of

# The ratings of CVSS 3 and 4; a score of 0 is "none" there, and is listed as low here.
SCORE_RANKS = ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.0, "low"))
"""The least CVSS base score of each severity."""
SEVERITIES = ("critical", "high", "medium", "low")
UNRATED = "unrated"
"""The severity of a finding for which the tool gives none."""
_RANKS = {
    "critical": "critical", "blocker": "critical", "fatal": "critical", "severe": "critical",
    "high": "high", "error": "high", "important": "high", "major": "high", "serious": "high",
    "medium": "medium", "moderate": "medium", "warning": "medium", "warn": "medium",
    "low": "low", "minor": "low", "note": "low", "info": "low", "informational": "low",
    "negligible": "low", "inventory": "low", "none": "low", "experiment": "low", "style": "low",
}  # fmt: skip


@dataclass(frozen=True)
class ScanFinding:
    """One finding.

    Attributes:
        id: the id of the rule or the vulnerability.
        severity: `critical | high | medium | low | unrated`.
        text: its message.
        locator: JSON pointer of the result.
        suppressed: the kind of suppression; "" for an open finding.
    """

    id: str
    severity: str
    text: str
    locator: str
    suppressed: str = ""


@dataclass(frozen=True)
class ScanReport:
    """The report of a scanner.

    Attributes:
        tool: the scanner's name, or the name of its format.
        locator: the place of the findings as a whole.
        problems: what the report says against itself, with its place.
    """

    tool: str
    locator: str
    findings: tuple[ScanFinding, ...]
    problems: tuple[tuple[str, str], ...] = ()


def rank_of(word: object) -> str:
    """Return the severity of a tool's own word; `unrated` if the word is unknown or missing."""
    text = str(word or "").strip().casefold().replace("_", " ")
    # Some tools add to the word: `High (7.5)`.
    return _RANKS.get(text) or _RANKS.get(text.partition(" ")[0], UNRATED)


def rank_of_score(score: object) -> str:
    """Return the severity of a CVSS base score; `unrated` if there is none."""
    number = read_number(score)
    if not isinstance(number, PrintedNumber) or not 0 <= number.value <= 10:
        return UNRATED
    return next(name for least, name in SCORE_RANKS if number.value >= least)


def open_by_severity(findings: Iterable[ScanFinding]) -> Iterator[tuple[str, list[ScanFinding]]]:
    """Yield each severity with its open findings, also if there are none."""
    open_findings = [finding for finding in findings if not finding.suppressed]
    for severity in SEVERITIES:
        yield severity, [finding for finding in open_findings if finding.severity == severity]


def dict_entries(value: object) -> list[dict[str, Any]]:
    """Return the objects of a JSON list; none if the value is no list."""
    return [entry for entry in elements_of(value) if isinstance(entry, dict)]


def documents_of(data: object) -> list[tuple[str, Any]]:
    """Return the document, or each of its objects if it is a list of several, by JSON pointer."""
    if not isinstance(data, list):
        return [("", data)]
    return [(f"/{number}", entry) for number, entry in enumerate(dict_entries(data))]


def dict_at(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key of a JSON object; an empty one if there is none."""
    inner = value.get(key)
    return members_of(inner)
