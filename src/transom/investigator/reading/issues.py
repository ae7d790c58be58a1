"""Reads a feature's Jira issue and changelog."""

from __future__ import annotations

import hashlib

from transom.errors import InputError
from transom.formats.jira import Issue, LinkedIssue, read_issue, status_changes
from transom.formats.json_tree import parse_json, quote_of
from transom.formats.measurements import Observation, Operand, Reading, Remark
from transom.formats.text_files import decode_text
from transom.investigator.reading.analysis import steering
from transom.investigator.reading.documents import found_in_text
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.severities import read_severities
from transom.investigator.reading.tree import Node
from transom.investigator.reading.words import words

_ENTRIES = {"subtask", "issuelink", "link", "fields"}
_MOST_SHOWN = 5


def read_issue_file(data: bytes, source: str) -> Reading:
    """Read an issue: its status, its blockers, its open subtasks."""
    base = Reading(
        source=source,
        kind="jira",
        name="jira",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )
    try:
        root = Node(parse_json(decode_text(data), source))
    except InputError as error:
        return base.model_copy(update={"state": "unreadable", "why": error.what})
    issue = read_issue(root.value)
    if issue is None:
        return base.model_copy(update={"state": "placeholder", "why": "holds no issue"})
    found = [_status(issue, root), *_links(issue, root), *_stops(issue, root)]
    entries = [child for child in root.children if not _ENTRIES & set(child.words)]
    remarks: list[Remark] = list(steering(root))
    for child in entries:
        if isinstance(child.value, list | dict):
            issues, claims = read_severities(child, "jira.issues")
            found += [one for one in issues if one.value]
            remarks += claims
    if issue.text and isinstance(root.value, dict):
        remarks += [one for one in found_in_text(issue.text, "/fields/description") if not remarks]
    return base.model_copy(
        update={"observations": tuple(found), "remarks": tuple(remarks), "title": issue.summary}
    )


def _status(issue: Issue, root: Node) -> Observation:
    node = root.find(issue.status_at)
    quote = quote_of(node) if node is not None else issue.status
    return Observation(
        measure="jira.status",
        value=issue.status,
        locator=issue.status_at,
        label=issue.key,
        quote=quote,
    )


def _stops(issue: Issue, root: Node) -> list[Observation]:
    """Return observations of a status or a flag that marks the issue as blocked."""
    state = root.find(issue.status_at)
    flags = [
        one
        for one in root.walk()
        if one.words in (("blocked",), ("flagged",)) and one.pointer.count("/") <= 2
    ]
    held = (
        [state]
        if state is not None and words().status_of(issue.status) in ("fail", "conditional")
        else []
    )
    held += [one for one in flags if one.value not in (None, False, "", [], "false", "no")]
    return [observe("source.outcome", one, "fail", label=one.key) for one in held]


def _links(issue: Issue, root: Node) -> list[Observation]:
    blockers = [
        one for one in issue.links if "blocked by" in one.relation.lower() and not _done(one)
    ]
    undone = [one for one in issue.links if one.relation == "subtask" and not _done(one)]
    place = issue.status_at.partition("/status")[0]
    found = [_count("jira.open_blockers", blockers, "count of open blocking issues", place)]
    found.append(_count("jira.open_subtasks", undone, "count of open subtasks", place))
    for one in (*blockers[:_MOST_SHOWN], *undone[:_MOST_SHOWN]):
        measure = "jira.blocker" if one in blockers else "jira.subtask"
        label = f"{one.key} {one.summary} ({one.status})"
        node = root.find(one.locator)
        quote = quote_of(node) if node is not None else ""
        found.append(
            Observation(
                measure=measure, value="fail", locator=one.locator, label=label[:160], quote=quote
            )
        )
    return found


def _count(measure: str, rows: list[LinkedIssue], formula: str, place: str) -> Observation:
    operands = tuple(
        Operand(value="1", locator=one.locator, quote=one.key) for one in rows[:_MOST_SHOWN]
    )
    keys = ", ".join(one.key for one in rows[:_MOST_SHOWN])
    where = rows[0].locator.rpartition("/")[0] if rows else place
    return Observation(
        measure=measure,
        value=float(len(rows)),
        locator=where,
        formula=formula,
        operands=operands,
        quote=keys,
    )


def _done(one: LinkedIssue) -> bool:
    return one.done if one.done is not None else words().fate_of(one.status) == "closed"


def read_changelog_file(data: bytes, source: str) -> Reading:
    """Read a changelog: the last change of the status."""
    base = Reading(
        source=source,
        kind="jira",
        name="changelog",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )
    try:
        root = Node(parse_json(decode_text(data), source))
    except InputError as error:
        return base.model_copy(update={"state": "unreadable", "why": error.what})
    changes = status_changes(root.value)
    remarks = tuple(steering(root))
    if not changes:
        why = "holds no change of the status"
        return base.model_copy(update={"state": "placeholder", "why": why, "remarks": remarks})
    last = changes[-1]
    node = root.find(last.locator)
    quote = quote_of(node) if node is not None else ""
    last_status = Observation(
        measure="jira.last_status",
        value=last.became,
        locator=last.locator,
        quote=quote,
        label=last.when,
    )
    return base.model_copy(update={"observations": (last_status,), "remarks": remarks})
