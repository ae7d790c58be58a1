"""Reads findings, vulnerabilities and defects by severity: counts, and lists whose entries have
a state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from transom.formats.measurements import Observation, Remark
from transom.formats.scan_findings import UNRATED, rank_of_score
from transom.investigator.reading.quoting import derived, observe
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
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
_COUNTED = word_set(
    "count number total open unresolved remaining active outstanding issue finding vulnerability"
    " vuln defect bug severity of num by risk alert new"
)
_OPEN = {"open", "unresolved", "remaining", "active", "outstanding", "current"}
_GONE = word_set("resolved fixed closed suppressed mitigated remediated patched false dismissed")
_ACCEPTED = word_set("accepted waived exempted tolerated")
_LISTS = word_set("issue finding vulnerability vuln defect bug blocker alert cve problem incident")
_WHOLE = word_set("summary total overall count result report data number statistic by metric")
_MOST_SHOWN = 5


def read_severities(root: Node, prefix: str) -> tuple[list[Observation], list[Remark]]:
    """Return observations `<prefix>.critical` ... `.low` of open entries, and remarks on others."""
    listed, remarks = _listed(root, prefix)
    counted = list(_counted(root))
    observations: list[Observation] = []
    entries_by_severity: Counter[str] = Counter()
    for severity in SEVERITIES:
        rows = [item for level, item, _ in listed if level == severity]
        closed_count = sum(1 for level, _, fate in listed if level == severity and fate == "closed")
        remaining = [item for level, item, fate in listed if level == severity and fate != "closed"]
        for finding in remaining[:_MOST_SHOWN]:
            entries_by_severity[severity] += 1
            observations.append(
                observe(
                    f"{prefix}.{severity}.entry",
                    finding,
                    "fail",
                    label=finding.label,
                    nature="measured",
                )
            )
        if listed:
            place = root
            if rows and rows[0].parent:
                place = rows[0].parent
            counts = [(1.0, item) for item in remaining[:_MOST_SHOWN]]
            observations.append(
                derived(
                    f"{prefix}.{severity}",
                    place,
                    float(len(remaining)),
                    "count of open entries",
                    counts,
                )
            )
        for node, value in ((node, value) for level, node, value in counted if level == severity):
            if listed and value == len(rows) and closed_count and not _OPEN & set(_around(node)):
                continue  # the number counts all entries, the list tells which are open
            if value == node.number:
                observations.append(observe(f"{prefix}.{severity}", node, value))
            else:
                operands = [(node.number or 0.0, node)]
                observations.append(
                    derived(f"{prefix}.{severity}", node, value, "found less resolved", operands)
                )
            if listed and value != len(remaining) and severity in ("critical", "high"):
                text = f"{value:g} {severity} counted, {len(remaining)} open in the list"
                remarks.append(
                    Remark(
                        kind="contradiction",
                        text=text,
                        locator=node.pointer,
                        measure=f"{prefix}.{severity}",
                    )
                )
    if listed and (unknown := _unknown_severities(root, listed)):
        observations.append(
            derived(
                f"{prefix}.unrated",
                unknown[0].parent or root,
                float(len(unknown)),
                "count of open entries",
                [(1.0, entry) for entry in unknown[:_MOST_SHOWN]],
            )
        )
    if (
        not observations
        and prefix == "vulnerabilities"
        and (nothing := _empty_list(root)) is not None
    ):
        observations = [
            observe(f"{prefix}.{severity}", nothing, 0.0, formula="count of entries")
            for severity in SEVERITIES
        ]
    return observations, remarks


def _unknown_severities(root: Node, listed: Sequence[tuple[Severity, Node, str]]) -> list[Node]:
    """Return the open entries beside others whose word for the severity is none that is known."""
    parents = {node.parent.pointer for _, node, _ in listed if node.parent is not None}
    rated_pointers = {node.pointer for _, node, _ in listed}
    return [
        node
        for node in root.walk()
        if node.parent is not None
        and node.parent.pointer in parents
        and node.pointer not in rated_pointers
        and (word := node.get("severity")) is not None
        and isinstance(word.value, str)
        and word.value.strip()
        and not words().placeholders.match(word.value)
        and _fate(node) == "open"
    ]


def _empty_list(root: Node) -> Node | None:
    """Return an empty list of findings, if every such list is empty and no status tells of
    trouble.
    """
    lists = [
        node for node in root.walk() if isinstance(node.value, list) and _LISTS & set(node.words)
    ]
    statuses = {
        words().status_of(node.value)
        for node in root.walk()
        if not isinstance(node.value, dict | list)
    }
    if not lists or any(node.value or node.nature != "measured" for node in lists):
        return None
    trouble = any(node.words == ("error",) and node.value for node in root.walk())
    if trouble or {"fail", "pending", "progress", "skipped"} & statuses:
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
        if fate == "accepted":
            text = (
                f"the data says that {node.label!r} ({severity}) is accepted; only a waiver from"
                " outside counts"
            )
            remarks.append(
                Remark(kind="waiver_claim", text=text, locator=node.pointer, severity="medium")
            )
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
    if isinstance(node.value, str) and node.place >= 0 and "blocker" in node.words:
        if node.value.strip() and not words().placeholders.match(node.value):
            return ("critical", "open")
        return None
    if not isinstance(node.value, dict):
        return None
    severity = _told(node)
    if severity and any(
        child.number is not None and set(child.words) <= _COUNTED for child in node.children
    ):
        return None  # the entry counts findings of a severity
    if severity is None and of_list and "blocker" in (*node.words, *parent.words):
        severity = "critical"
    aside = {"risk", "recommendation", "concern"} & set(node.words) and not _ACCEPTED & set(
        node.words
    )
    if severity is None or (aside and not of_list):
        return None
    return severity, _fate(node)


def _told(node: Node) -> Severity | None:
    for key in ("severity", "cvss_severity", "risk_level", "priority", "level", "impact"):
        rank = node.get(key)
        severity = words().severity_of(rank.value) if rank is not None else None
        if severity is not None:
            return severity
    for key in ("cvss", "cvss_score", "cvss_base_score", "base_score", "score"):
        score = node.get(key)
        rating = UNRATED
        if score is not None:
            rating = rank_of_score(score.value)
        if rating != UNRATED:
            return cast("Severity", rating)
    return None


def _fate(node: Node) -> str:
    if _ACCEPTED & set(node.words):
        return "accepted"
    if set(node.words) & _GONE:
        return "closed"
    for key in ("suppressed", "resolved", "fixed", "false_positive"):
        flag = node.get(key)
        if flag is not None and flag.value is True:
            return "closed"
    if (
        accepted := node.get("accepted", "risk_accepted", "waived")
    ) is not None and accepted.value is True:
        return "accepted"
    state = node.get("status", "state", "resolution", "disposition", "triage")
    if state is not None:
        # "fixed in 4.1.3" beside a package names the version that has the fix.
        has_version = any(sign.isdigit() for sign in str(state.value))
        if has_version and node.get("package_name", "package", "cvss", "vector") is not None:
            return "open"
        return words().fate_of(state.value)
    return "open"


def _is_suppressed(node: Node) -> bool:
    state = node.get("status", "state", "resolution", "disposition", "triage")
    flag = node.get("suppressed", "false_positive")
    state_text = ""
    if state is not None:
        state_text = str(state.value).lower()
    return (
        "suppress" in state_text
        or "false" in state_text
        or (flag is not None and flag.value is True)
    )


def _counted(root: Node) -> Iterator[tuple[Severity, Node, float]]:
    """Yield numbers under the name of a severity, except counts of closed findings."""
    for node in root.walk():
        number = node.number
        if number is None or node.place >= 0 or node.nature in ("history", "limit"):
            continue
        plain = set(node.words) <= _COUNTED and node.parent is not None
        severity = _told(node.parent) if plain and node.parent is not None else None
        severity = severity or _severity_of_key(node)
        around = set(_around(node))
        if (
            severity is None
            or around & _GONE - {"open"}
            or {"score", "cvss", "test", "coverage"} & around
            or not _counts_findings(node)
        ):
            continue
        severity = _in_scale(node, severity)
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
    names = {word for child in siblings for word in child.words}
    if {"blocker", "critical", "major"} <= names:
        scale: dict[str, Severity] = {"blocker": "critical", "critical": "high", "major": "medium"}
        return next((scale[word] for word in node.words if word in scale), severity)
    return severity


def _around(node: Node) -> tuple[str, ...]:
    parent = node.parent
    return (*node.words, *(parent.words if parent is not None else ()))


def _severity_of_key(node: Node) -> Severity | None:
    other_words = [word for word in node.words if word not in _COUNTED and word not in _GONE]
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
        if child is parent or not _GONE & set(child.words):
            continue
        for inner in child.children:
            if inner.words == node.words and inner.number is not None:
                return inner.number
    return 0.0


def _open_beside(node: Node) -> bool:
    """Whether a sibling counts the open ones: `found: {high: 3}, open: {high: 0}`."""
    parent = node.parent
    if parent is None or _OPEN & set(_around(node)):
        return False
    outer = parent.parent
    siblings = outer.children if outer is not None and isinstance(outer.value, dict) else ()
    keys = [child for child in siblings if child is not parent and _OPEN & set(child.words)]
    inner = [child for child in parent.children if child is not node and _OPEN & set(child.words)]
    equal = [
        entry
        for entry in (*inner, *(leaf for key in keys for leaf in key.children))
        if entry.number is not None
    ]
    return any(_severity_of_key(other) == _severity_of_key(node) for other in equal)
