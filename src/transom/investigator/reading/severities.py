"""Reads findings, vulnerabilities and defects by severity: counts, and lists whose entries have
a state.
"""

from __future__ import annotations

from collections.abc import Sequence

from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.severity_counts import (
    COUNTED,
    GONE,
    OPEN,
    counted_findings,
    stated_severity,
    words_around,
)
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Severity, word_set, words

SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
# A list under such a key says that its findings are accepted, one by one.
_ACCEPTED = word_set("accepted waived exempted tolerated")
_LISTS = word_set("issue finding vulnerability vuln defect bug blocker alert cve problem incident")
_MOST_SHOWN = 5


def read_severities(root: Node, prefix: str) -> tuple[list[Observation], list[Remark]]:
    """Return observations `<prefix>.critical` ... `.low` of open entries, and remarks on others."""
    listed, remarks = _listed(root, prefix)
    counted = list(counted_findings(root))
    observations: list[Observation] = []
    for severity in SEVERITIES:
        rows = _ListedSeverity(severity, listed)
        measure = f"{prefix}.{severity}"
        observations += rows.observations(root, measure)
        for level, node, value in counted:
            # A number may count all entries, while the list tells which of them are open.
            if level != severity or rows.counts_all(node, value):
                continue
            observations.append(_of_count(measure, node, value))
            if rows.contradicts(value):
                text = f"{value:g} {severity} counted, {len(rows.remaining)} open in the list"
                remarks.append(
                    Remark(kind="contradiction", text=text, locator=node.pointer, measure=measure)
                )
    if listed and (unknown := _unknown_severities(root, listed)):
        place = unknown[0].parent or root
        operands = [(1.0, entry) for entry in unknown[:_MOST_SHOWN]]
        formula = "count of open entries"
        observations.append(
            derived(f"{prefix}.unrated", place, float(len(unknown)), formula, operands)
        )
    # Only a scan without a finding lists nothing; a review without one may not have looked.
    if not observations and prefix == "vulnerabilities":
        observations += _nothing_found(root, prefix)
    return observations, remarks


class _ListedSeverity:
    """The entries of one severity in the lists of a document, and those that remain open."""

    def __init__(self, severity: Severity, listed: Sequence[tuple[Severity, Node, str]]) -> None:
        self.severity = severity
        self.has_list = bool(listed)
        self.entries: list[Node] = []
        self.remaining: list[Node] = []
        for level, entry, fate in listed:
            if level == severity:
                self.entries.append(entry)
                if fate != "closed":
                    self.remaining.append(entry)

    def observations(self, root: Node, measure: str) -> list[Observation]:
        """Return the first open entries, and their number if the document has a list."""
        observations = []
        for entry in self.remaining[:_MOST_SHOWN]:
            label = entry.label
            observations.append(
                observe(f"{measure}.entry", entry, "fail", label=label, nature="measured")
            )
        if self.has_list:
            place = root
            if self.entries and self.entries[0].parent:
                place = self.entries[0].parent
            total = float(len(self.remaining))
            operands = [(1.0, entry) for entry in self.remaining[:_MOST_SHOWN]]
            observations.append(derived(measure, place, total, "count of open entries", operands))
        return observations

    def counts_all(self, node: Node, value: float) -> bool:
        """Whether a number counts the closed entries, too."""
        has_closed = len(self.remaining) < len(self.entries)
        is_all = value == len(self.entries) and not OPEN & set(words_around(node))
        return self.has_list and has_closed and is_all

    def contradicts(self, value: float) -> bool:
        """Whether a number differs from the list where that matters."""
        is_grave = self.severity in ("critical", "high")
        return self.has_list and is_grave and value != len(self.remaining)


def _of_count(measure: str, node: Node, value: float) -> Observation:
    """Return a number of findings as the document states it, or less those it calls resolved."""
    if value == node.number:
        return observe(measure, node, value)
    return derived(measure, node, value, "found less resolved", [(node.number or 0.0, node)])


def _nothing_found(root: Node, prefix: str) -> list[Observation]:
    """Return a count of 0 for each severity, if the lists of findings are there and empty."""
    nothing = _empty_list(root)
    if nothing is None:
        return []
    formula = "count of entries"
    observations = []
    for severity in SEVERITIES:
        observations.append(observe(f"{prefix}.{severity}", nothing, 0.0, formula=formula))
    return observations


def _unknown_severities(root: Node, listed: Sequence[tuple[Severity, Node, str]]) -> list[Node]:
    """Return the open entries beside others whose word for the severity is none that is known."""
    rated_pointers = {node.pointer for _, node, _ in listed}
    list_pointers = set()
    for _, node, _ in listed:
        if node.parent is not None:
            list_pointers.add(node.parent.pointer)
    unknown = list[Node]()
    for node in root.walk():
        # Also an entry that holds a rated part: `{severity: ERROR, metadata: {impact: low}}`.
        is_listed = node.parent is not None and node.parent.pointer in list_pointers
        holds_rated = node.pointer in list_pointers
        if not (is_listed or holds_rated) or node.pointer in rated_pointers:
            continue
        word = node.get("severity")
        if word is None or not isinstance(word.value, str) or not word.value.strip():
            continue
        if not words().placeholders.match(word.value) and _fate(node) == "open":
            unknown.append(node)
    return unknown


def _empty_list(root: Node) -> Node | None:
    """Return an empty list of findings, if every such list is empty and no status tells of
    trouble.
    """
    lists = []
    statuses = set()
    for node in root.walk():
        if isinstance(node.value, list) and _LISTS & set(node.words):
            lists.append(node)
        if not isinstance(node.value, dict | list):
            statuses.add(words().status_of(node.value))
        # A scan that ended in an error has an empty list as well.
        if node.words == ("error",) and node.value:
            return None
    if not lists or any(node.value or node.nature != "measured" for node in lists):
        return None
    if {"fail", "pending", "progress", "skipped"} & statuses:
        return None
    return lists[0]


def _listed(root: Node, prefix: str) -> tuple[list[tuple[Severity, Node, str]], list[Remark]]:
    """Return entries with a severity and a fate (`open`, `closed`, `accepted`), and remarks."""
    rows: list[tuple[Severity, Node, str]] = []
    remarks: list[Remark] = []
    for node in root.walk():
        entry = _entry(node)
        if entry is None:
            continue
        severity, fate = entry
        rows.append((severity, node, fate))
        remarks.append(Remark(kind="settled", text=f"{node.label} is {fate}", locator=node.pointer))
        # Whoever wrote the data cannot waive it: a waiver comes from outside.
        if fate == "accepted":
            text = (
                f"the data says that {node.label!r} ({severity}) is accepted; only a waiver from"
                " outside counts"
            )
            remarks.append(
                Remark(kind="waiver_claim", text=text, locator=node.pointer, severity="medium")
            )
        # A suppressed finding was not fixed, so a reader should know of it.
        if fate == "closed" and severity in ("critical", "high") and _is_suppressed(node):
            text = f"{node.label!r} ({severity}) is suppressed"
            remarks.append(
                Remark(
                    kind="suppressed",
                    text=text,
                    locator=node.pointer,
                    measure=f"{prefix}.{severity}",
                )
            )
    return rows, remarks


def _entry(node: Node) -> tuple[Severity, str] | None:
    """Return severity and fate of an entry of a list of findings; None if it is not one."""
    parent = node.parent
    if parent is None or node.nature in ("history", "limit"):
        return None
    of_list = _LISTS & set(node.words if node.place >= 0 else parent.words)
    # `blockers: ["no rollback plan"]`: a text in such a list blocks by itself.
    if isinstance(node.value, str) and node.place >= 0 and "blocker" in node.words:
        if node.value.strip() and not words().placeholders.match(node.value):
            return ("critical", "open")
        return None
    if not isinstance(node.value, dict):
        return None
    severity = stated_severity(node)
    if severity and _has_counts(node):
        return None
    if severity is None and of_list and "blocker" in (*node.words, *parent.words):
        severity = "critical"
    # A risk has a severity as well, and is a finding only in a list of findings.
    is_risk = {"risk", "recommendation", "concern"} & set(node.words)
    is_aside = is_risk and not _ACCEPTED & set(node.words)
    if severity is None or (is_aside and not of_list):
        return None
    return severity, _fate(node)


def _has_counts(node: Node) -> bool:
    """Whether an entry counts the findings of a severity, and is none itself."""
    counts = [child for child in node.children if child.number is not None]
    return any(set(child.words) <= COUNTED for child in counts)


def _fate(node: Node) -> str:
    if _ACCEPTED & set(node.words):
        return "accepted"
    if set(node.words) & GONE:
        return "closed"
    for key in ("suppressed", "resolved", "fixed", "false_positive"):
        flag = node.get(key)
        if flag is not None and flag.value is True:
            return "closed"
    accepted = node.get("accepted", "risk_accepted", "waived")
    if accepted is not None and accepted.value is True:
        return "accepted"
    state = node.get("status", "state", "resolution", "disposition", "triage")
    if state is not None:
        # "fixed in 4.1.3" beside a package names the version that has the fix.
        has_version = any(sign.isdigit() for sign in str(state.value))
        # A scanner's "fixed" says the same beside the version that fixes.
        fix = node.get("fix_version", "fixed_version", "fix_versions")
        if fix is not None and words().fate_of(state.value) == "closed" and fix.value:
            return "open"
        if has_version and node.get("package_name", "package", "cvss", "vector") is not None:
            return "open"
        return words().fate_of(state.value)
    return "open"


def _is_suppressed(node: Node) -> bool:
    flag = node.get("suppressed", "false_positive")
    if flag is not None and flag.value is True:
        return True
    state = node.get("status", "state", "resolution", "disposition", "triage")
    state_text = str(state.value).lower() if state is not None else ""
    return "suppress" in state_text or "false" in state_text
