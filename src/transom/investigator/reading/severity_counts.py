"""Reads numbers of findings under the name of a severity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from transom.formats.scan_findings import SEVERITIES, rank_of_score
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Severity, word_set, words

# Keys below or beside which a severity counts findings; a table of anything else may have it, too.
_FINDINGS = word_set(
    "issue finding vulnerability vuln defect bug blocker alert cve problem incident severity risk"
    " security scan scanner sast dast dependency open unresolved remaining active outstanding"
)
_NOT_FINDINGS = word_set(
    "confidence maintainability smell quality effort complexity test coverage priority story"
    " debt duplication reliability"
)
COUNTED = word_set(
    "count number total open unresolved remaining active outstanding issue finding vulnerability"
    " vuln defect bug severity of num by risk alert new"
)
OPEN = {"open", "unresolved", "remaining", "active", "outstanding", "current"}
GONE = word_set("resolved fixed closed suppressed mitigated remediated patched false dismissed")
_WHOLE = word_set("summary total overall count result report data number statistic by metric")


def stated_severity(node: Node) -> Severity | None:
    """Return the severity that an entry states, by a word or a CVSS score; None if it has none."""
    # A word outranks a score: a team that triaged a finding wrote the word.
    for key in ("severity", "cvss_severity", "risk_level", "priority", "level", "impact"):
        rank = node.get(key)
        severity = words().severity_of(rank.value) if rank is not None else None
        if severity is not None:
            return severity
    # A finding may have a score for each version of CVSS; the gravest counts.
    scores = [child for child in node.children if _is_score(child)]
    ratings = [rank_of_score(score.value) for score in scores]
    return next((cast("Severity", rank) for rank in SEVERITIES if rank in ratings), None)


def _is_score(node: Node) -> bool:
    """Return whether a key is that of a CVSS score: `cvss3`, `cvss_base_score`, `score`."""
    plain = {word.rstrip("v0123456789.") for word in node.words}
    return bool(plain & {"cvss", "score"}) and plain <= {"cvss", "score", "base", ""}


def counted_findings(root: Node) -> Iterator[tuple[Severity, Node, float]]:
    """Yield numbers under the name of a severity, except counts of closed findings."""
    for node in root.walk():
        number = node.number
        if number is None or node.place >= 0 or node.nature in ("history", "limit"):
            continue
        # `{severity: high, count: 3}`: the key counts, and the severity stands beside it.
        plain = set(node.words) <= COUNTED and node.parent is not None
        severity = stated_severity(node.parent) if plain and node.parent is not None else None
        severity = severity or _severity_of_key(node)
        around = set(words_around(node))
        if (
            severity is None
            or around & GONE - {"open"}
            or {"score", "cvss", "test", "coverage"} & around
            or not _counts_findings(node)
        ):
            continue
        severity = _in_scale(node, severity)
        # Of those found only the open ones count, and another number tells how many they are.
        if _open_beside(node):
            continue
        yield severity, node, max(0.0, number - _resolved_beside(node))


def _counts_findings(node: Node) -> bool:
    """Return whether the keys around a number say that it counts findings, or say nothing."""
    around: Node | None = node
    is_bare = True
    while around is not None:
        words = set(around.words)
        if words & _NOT_FINDINGS:
            return False
        if words & _FINDINGS:
            return True
        is_bare = is_bare and (around is node or not words or bool(words & _WHOLE))
        around = around.parent
    return is_bare


def _in_scale(node: Node, severity: Severity) -> Severity:
    """Return a severity in the scale of its table: below blocker and critical, major is medium."""
    siblings = node.parent.children if node.parent is not None else ()
    names = set[str]()
    for child in siblings:
        names.update(child.words)
    if {"blocker", "critical", "major"} <= names:
        scale: dict[str, Severity] = {"blocker": "critical", "critical": "high", "major": "medium"}
        return next((scale[word] for word in node.words if word in scale), severity)
    return severity


def words_around(node: Node) -> tuple[str, ...]:
    """Return the words of a node's key and of the key around it."""
    parent = node.parent
    return (*node.words, *(parent.words if parent is not None else ()))


def _severity_of_key(node: Node) -> Severity | None:
    other_words = []
    for word in node.words:
        if word not in COUNTED and word not in GONE:
            other_words.append(word)
    # More words make a name of their own, as in `high_availability_zone_count`.
    if other_words and len(other_words) <= 2:
        return words().severity_of(" ".join(other_words))
    return None


def _resolved_beside(node: Node) -> float:
    """Return how many are resolved beside those found: `found: {high: 2}, resolved: {high: 2}`."""
    parent = node.parent
    outer = parent.parent if parent is not None else None
    if parent is None or outer is None or not {"found", "identified", "total"} & set(parent.words):
        return 0.0
    for child in outer.children:
        if child is parent or not GONE & set(child.words):
            continue
        for inner in child.children:
            if inner.words == node.words and inner.number is not None:
                return inner.number
    return 0.0


def _open_beside(node: Node) -> bool:
    """Whether a sibling counts the open ones: `found: {high: 3}, open: {high: 0}`."""
    parent = node.parent
    if parent is None or OPEN & set(words_around(node)):
        return False
    outer = parent.parent
    siblings = outer.children if outer is not None and isinstance(outer.value, dict) else ()
    candidates = []
    for child in parent.children:
        if child is not node and OPEN & set(child.words):
            candidates.append(child)
    for child in siblings:
        if child is not parent and OPEN & set(child.words):
            candidates += child.children
    severity = _severity_of_key(node)
    for candidate in candidates:
        if candidate.number is not None and _severity_of_key(candidate) == severity:
            return True
    return False
