"""Reads a feature's Jira issue and changelog."""

from __future__ import annotations

import hashlib

from transom.errors import InputError
from transom.evidence.trouble import TroubleFinder
from transom.formats.jira import Issue, LinkedIssue, plain_text, read_issue, status_changes
from transom.formats.json_tree import parse_json, quote_of
from transom.formats.measurements import Observation, Operand, Reading, Remark
from transom.formats.text_decoding import decode_text
from transom.investigator.reading.analysis import steering
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.severities import read_severities
from transom.investigator.reading.speech import language_of, speech_of
from transom.investigator.reading.steering import found_in_text
from transom.investigator.reading.tree import Node, said
from transom.investigator.reading.vocabulary import plain_words, word_set, words

# Jira's own members, whose lists are links and settings, not findings of the feature.
_ENTRIES = {"subtask", "issuelink", "link", "fields"}
_MOST_SHOWN = 5
# Texts of links by which the feature waits for the other issue, and those by which it does not.
_WAITING = ("blocked by", "depends on", "requires", "waits for", "needs", "gated by", "done after")
_HARMLESS = (
    "blocks", "relate", "duplicate", "clone", "depended on by", "required by", "needed by", "cause",
    "test", "parent", "child", "implement", "split", "mention", "review", "document", "subtask",
    "created", "resolve", "fix", "supersede", "problem", "incident", "epic", "part of",
    "done before",
)  # fmt: skip
_BESIDE_STATE = word_set("is the release feature for by deploy production prod do not ready to")
# The one option of Jira's field "Flagged", in the languages of its interface.
_REOPENED = frozenset(
    {
        *("reopened", "re opened", "wieder offen", "wieder geöffnet", "wiedereröffnet", "rouvert"),
        *(
            "rouverte",
            "reabierto",
            "reabierta",
            "riaperto",
            "переоткрыт",
            "переоткрыто",
            "重新打开",
        ),
    }
)
_IMPEDIMENTS = ("impediment", "hindernis", "obstacle", "impedimento", "obstáculo", "ostacolo",
                "belemmering", "blokada", "hinder", "障害")  # fmt: skip
_BUILT = ("done", "fixed", "resolved", "complete", "completed", "implemented", "released",
          "unresolved", "green", "erledigt", "fertig", "delivered", "deployed")  # fmt: skip


def _opened(data: bytes, source: str, name: str) -> tuple[Reading, Node | None]:
    """Return a reading without observations, and the root of its document; no root and the reason
    in the reading if the document cannot be parsed.
    """
    reading = Reading(
        source=source,
        kind="jira",
        name=name,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )
    try:
        return reading, Node(parse_json(decode_text(data), source))
    except InputError as error:
        return reading.model_copy(update={"state": "unreadable", "why": error.problem}), None


def read_issue_file(data: bytes, source: str) -> Reading:
    """Read an issue: its status, its blockers, its open subtasks."""
    base, root = _opened(data, source, "jira")
    if root is None:
        return base
    issue = read_issue(root.value)
    if issue is None:
        return base.model_copy(update={"state": "placeholder", "why": "holds no issue"})
    # The three are judged whatever the stage: an issue on hold is on hold for all of them.
    observations = [_status(issue, root), *_links(issue, root), *_stops(issue, root)]
    observations += _last_objection(root)
    entries = []
    for child in root.children:
        if not _ENTRIES & set(child.words):
            entries.append(child)
    remarks: list[Remark] = list(steering(root))
    for child in entries:
        if isinstance(child.value, list | dict):
            issues, claims = read_severities(child, "jira.issues")
            for identity_fact in issues:
                if identity_fact.value:
                    observations.append(identity_fact)
            remarks += claims
    # Jira's rich text spreads a sentence over many nodes; its plain text has it whole.
    if issue.text and isinstance(root.value, dict):
        remarks += [
            identity_fact
            for identity_fact in found_in_text(issue.text, "/fields/description")
            if not remarks
        ]
    return base.model_copy(
        update={
            "observations": tuple(observations),
            "remarks": tuple(remarks),
            "title": issue.summary,
        }
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
    flags = []
    for node in root.walk():
        # Only at the top: a field deep in the issue may be the state of something linked.
        if node.words in (("blocked",), ("flagged",)) and node.pointer.count("/") <= 2:
            flags.append(node)
    flags += _impediments(root)
    flags += _labels(root)
    flags += _resolution(root)
    hold_nodes = (
        [state]
        if state is not None
        and (
            words().status_of(issue.status) in ("fail", "conditional")
            or _is_reopened(issue.status)
            or TroubleFinder("release", with_system=False).in_status(issue.status)
        )
        else []
    )
    for entry in flags:
        if entry.value not in (None, False, "", [], "false", "no"):
            hold_nodes.append(entry)
    return [observe("source.outcome", entry, "fail", label=entry.key) for entry in hold_nodes]


def _is_reopened(status: str) -> bool:
    return " ".join(plain_words(status)) in _REOPENED


def _last_objection(root: Node) -> list[Observation]:
    """Return the objection to the release in the last comment, if it is one: "Do not ship this".

    An earlier objection may have been met since, and comments say "failed" of much.
    """
    comment = (root.get("fields") or root).get("comment")
    listed = (comment.get("comments") if comment is not None else None) or comment
    last = listed.children[-1:] if listed is not None and isinstance(listed.value, list) else ()
    for entry in last:
        body = entry.get("body") or entry
        text = plain_text(body.value)
        speech = speech_of(text, language_of(text))
        if "order not to pass" in speech:
            label = f"the last comment objects: {text}"[:160]
            return [observe("source.outcome", body, "conditional", label=label)]
    return []


def _impediments(root: Node) -> list[Node]:
    """Return Jira's flag, which is a custom field of any number with one option."""
    flags = list[Node]()
    for field in (root.get("fields") or root).children:
        # The number of the field differs from server to server.
        if not field.key.startswith("customfield") or not isinstance(field.value, list):
            continue
        for option in field.children:
            value = option.get("value") if isinstance(option.value, dict) else option
            if value is not None and said(str(value.value)) in _IMPEDIMENTS:
                flags.append(value)
    return flags


def _labels(root: Node) -> list[Node]:
    """Return the labels that mean trouble: `blocked`, `on-hold`."""
    finder = TroubleFinder("release", with_system=False)
    labels = list[Node]()
    for node in root.walk():
        is_label = node.place >= 0 and node.words == ("label",) and isinstance(node.value, str)
        if is_label and _is_state(str(node.value), finder):
            labels.append(node)
    return labels


def _is_state(label: str, finder: TroubleFinder) -> bool:
    """Return whether a whole label is a state of trouble: `on-hold`, not `failed-build-2024`."""
    words = set(plain_words(label.replace("_", " ")))
    for trouble in finder.in_status(label):
        words -= set(plain_words(trouble.word))
        if not words - _BESIDE_STATE:
            return True
    return False


def _resolution(root: Node) -> list[Node]:
    """Return the resolution if it says that the issue is closed without being built."""
    fields = root.get("fields") or root
    resolution = fields.get("resolution")
    # A server sends an object, an export a word.
    name = resolution.get("name") if resolution is not None else None
    if name is None:
        name = resolution
    if name is None or not isinstance(name.value, str) or not name.value.strip():
        return []
    # "Won't do" and "duplicate" close an issue, too; only some resolutions mean built.
    is_built = " ".join(plain_words(name.value)) in _BUILT
    if is_built:
        return []
    return [name]


def _is_blocking(link: LinkedIssue) -> bool:
    """Return whether the feature waits for a linked issue, in any words that trackers use."""
    relation = link.relation.casefold()
    return any(words in relation for words in _WAITING)


def _is_unclear(link: LinkedIssue) -> bool:
    """Return whether the text of a link is in no words that are known, and its issue is open."""
    relation = link.relation.casefold()
    is_known = any(words in relation for words in (*_WAITING, *_HARMLESS))
    return not is_known and not _done(link)


def _links(issue: Issue, root: Node) -> list[Observation]:
    blockers = []
    for link in issue.links:
        # A subtask of the highest priority is part of the feature, and nobody ships without it.
        is_urgent = link.relation == "subtask" and words().severity_of(link.priority) == "critical"
        if (is_urgent or _is_blocking(link)) and not _done(link):
            blockers.append(link)
    subtasks = [entry for entry in issue.links if entry.relation == "subtask"]
    undone = [entry for entry in subtasks if not _done(entry)]
    place = issue.status_at.partition("/status")[0]
    observations = [_count("jira.open_blockers", blockers, "count of open blocking issues", place)]
    # Without any, none of them is open: that says nothing of what is done.
    if subtasks:
        observations.append(_count("jira.open_subtasks", undone, "count of open subtasks", place))
    else:
        observations.append(_count("jira.subtasks", subtasks, "count of subtasks", place))
    for link in issue.links:
        # A team may name its links as it likes, so an unknown one is a question.
        if _is_unclear(link):
            label = f'{link.key} is open, and is linked by "{link.relation}"'
            node = root.find(link.locator)
            observations.append(
                Observation(
                    measure="source.outcome",
                    value="conditional",
                    locator=link.locator,
                    label=label,
                    said=link.status,
                    quote=quote_of(node) if node is not None else "",
                )
            )
    for blocker in (*blockers[:_MOST_SHOWN], *undone[:_MOST_SHOWN]):
        measure = "jira.subtask"
        if blocker in blockers:
            measure = "jira.blocker"
        label = f"{blocker.key} {blocker.summary} ({blocker.status})"
        node = root.find(blocker.locator)
        quote = ""
        if node is not None:
            quote = quote_of(node)
        observations.append(
            Observation(
                measure=measure,
                value="fail",
                locator=blocker.locator,
                label=label[:160],
                quote=quote,
            )
        )
    return observations


def _count(measure: str, rows: list[LinkedIssue], formula: str, place: str) -> Observation:
    operands = tuple(
        Operand(value="1", locator=row.locator, quote=row.key) for row in rows[:_MOST_SHOWN]
    )
    keys = ", ".join(entry.key for entry in rows[:_MOST_SHOWN])
    location = place
    if rows:
        location = rows[0].locator.rpartition("/")[0]
    return Observation(
        measure=measure,
        value=float(len(rows)),
        locator=location,
        formula=formula,
        operands=operands,
        quote=keys,
    )


def _done(link: LinkedIssue) -> bool:
    if link.done is not None:
        return link.done
    return words().fate_of(link.status) == "closed"


def read_changelog_file(data: bytes, source: str) -> Reading:
    """Read a changelog: the last change of the status."""
    base, root = _opened(data, source, "changelog")
    if root is None:
        return base
    changes = status_changes(root.value)
    remarks = tuple(steering(root))
    if not changes:
        why = "holds no change of the status"
        return base.model_copy(update={"state": "placeholder", "why": why, "remarks": remarks})
    # Only the last change counts; the way to it is history.
    last = changes[-1]
    node = root.find(last.locator)
    quote = ""
    if node is not None:
        quote = quote_of(node)
    last_status = Observation(
        measure="jira.last_status",
        value=last.became,
        locator=last.locator,
        quote=quote,
        label=last.when,
    )
    reopened = []
    for change in changes[-1:]:
        if _is_reopened(change.became):
            reopened.append(
                Observation(
                    measure="source.outcome",
                    value="conditional",
                    locator=change.locator,
                    label=f"reopened on {change.when}",
                    said=change.became,
                )
            )
    return base.model_copy(update={"observations": (last_status, *reopened), "remarks": remarks})
