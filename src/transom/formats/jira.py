"""Issues and changelogs in the shapes of Jira's REST API, and in the shapes that people save."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from transom.canonical import Json
from transom.formats.json_tree import elements_of

_BLOCKED = "is blocked by"
_CATEGORIES = {"new", "indeterminate", "done", "undefined"}


@dataclass(frozen=True)
class LinkedIssue:
    """A subtask, or an issue that blocks this one.

    Attributes:
        relation: `subtask` or the link's text, e.g. `is blocked by`.
        done: whether it is done, by its status category; None if that is unknown.
        locator: JSON pointer.
    """

    key: str
    summary: str
    status: str
    done: bool | None
    priority: str
    relation: str
    locator: str


@dataclass(frozen=True)
class Issue:
    """An issue.

    Attributes:
        status: the status name, in any language.
        category: `new | indeterminate | done`, "" if unknown.
        fix_versions: names of the versions that are to have it.
        components: names of the components that it changes.
        data_quality: what the team says of the feature's data, "" if nothing.
        status_at: JSON pointer of the status name.
        text: description and comments as plain text.
    """

    key: str
    summary: str
    status: str
    category: str
    status_at: str
    feature_id: str
    links: tuple[LinkedIssue, ...]
    text: str
    fix_versions: tuple[str, ...] = ()
    data_quality: str = ""
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatusChange:
    """A change of an issue's status."""

    when: str
    was: str
    became: str
    locator: str


def read_issue(data: Json) -> Issue | None:
    """Read one issue in the REST shape with `fields`, or the flat shape that people save; None
    if it is neither.
    """
    if not isinstance(data, dict):
        return None
    listed = data.get("issues")
    if isinstance(listed, list) and listed:
        # Scanners have lists of issues, too, with keys of their own.
        is_search = isinstance(listed[0], dict) and "fields" in listed[0]
        return read_issue(listed[0]) if is_search else None
    key = next(
        (
            str(data[name])
            for name in ("key", "jira_key", "issue_key")
            if isinstance(data.get(name), str)
        ),
        "",
    )
    inner = data.get("fields")
    fields, pointer = (inner, "/fields") if isinstance(inner, dict) else (data, "")
    if not key:
        return None
    # The name of a status is free text in any language; its category is not.
    status, status_at, category = _status(fields, pointer)
    return Issue(
        key=key,
        summary=str(fields.get("summary") or fields.get("title") or fields.get("name") or ""),
        status=status,
        category=category,
        status_at=status_at,
        feature_id=_own_field(data, fields, "featureid"),
        links=(*_subtasks(fields, pointer), *_links(fields, pointer)),
        text=plain_text(fields.get("description")),
        fix_versions=tuple(
            _names(fields, "fixVersions", "fixVersion", "fix_versions", "fix_version")
        ),
        components=tuple(_names(fields, "components", "component")),
        data_quality=_own_field(data, fields, "dataquality").strip(),
    )


def _names(fields: dict[str, Any], *keys: str) -> Iterator[str]:
    """Yield the names that a field of an issue lists, as Jira writes them or as people save
    them; the keys are its usual ones.
    """
    for key in keys:
        listed = fields.get(key)
        for entry in listed if isinstance(listed, list) else [listed]:
            text = entry.get("name") if isinstance(entry, dict) else entry
            if isinstance(text, str) and text.strip():
                yield text.strip()


def _own_field(data: dict[str, Any], fields: dict[str, Any], name: str) -> str:
    """Return a field that Jira does not have by itself, and that teams spell as they like."""
    for of in (data, fields):
        for key, value in of.items():
            plain = re.sub(r"[^a-z]", "", key.lower())
            if plain == name and isinstance(value, str | int):
                return str(value)
    return ""


def _status(fields: dict[str, Any], pointer: str) -> tuple[str, str, str]:
    status = fields.get("status")
    if isinstance(status, dict):
        inner = status.get("statusCategory")
        category = str(inner.get("key", "")) if isinstance(inner, dict) else ""
        return (
            str(status.get("name", "")),
            f"{pointer}/status/name",
            category if category in _CATEGORIES else "",
        )
    return str(status or ""), f"{pointer}/status", ""


def _subtasks(fields: dict[str, Any], pointer: str) -> list[LinkedIssue]:
    listed = fields.get("subtasks")
    return [
        _linked(member, "subtask", f"{pointer}/subtasks/{number}")
        for number, member in enumerate(elements_of(listed))
        if isinstance(member, dict)
    ]


def _links(fields: dict[str, Any], pointer: str) -> list[LinkedIssue]:
    entries = []
    name = next(
        (member for member in ("issuelinks", "links", "linked_issues") if fields.get(member)),
        "links",
    )
    listed = fields.get(name)
    for number, link in enumerate(elements_of(listed)):
        if not isinstance(link, dict):
            continue
        place = f"{pointer}/{name}/{number}"
        kind = link["type"] if isinstance(link.get("type"), dict) else {"inward": link.get("type")}
        for side, words in (
            ("inwardIssue", "inward"),
            ("outwardIssue", "outward"),
            ("issue", "inward"),
        ):
            if isinstance(link.get(side), dict):
                relation = str(kind.get(words) or kind.get("name") or "")
                if side == "inwardIssue" and str(kind.get("name")).lower() == "blocks":
                    relation = _BLOCKED  # a link's text is localised, its type name is not
                entries.append(_linked(link[side], relation, f"{place}/{side}"))
        if "key" in link:
            entries.append(
                _linked(link, str(kind.get("inward") or link.get("relation") or ""), place)
            )
    blockers = fields.get("blocked_by")
    for number, member in enumerate(elements_of(blockers)):
        entries.append(
            _linked(
                member if isinstance(member, dict) else {"key": member},
                _BLOCKED,
                f"{pointer}/blocked_by/{number}",
            )
        )
    return entries


def _linked(data: dict[str, Any], relation: str, locator: str) -> LinkedIssue:
    inner = data.get("fields")
    fields = inner if isinstance(inner, dict) else data
    status, _, category = _status(fields, "")
    priority = fields.get("priority")
    return LinkedIssue(
        key=str(data.get("key", "")),
        summary=str(fields.get("summary", "")),
        status=status,
        done=category == "done" if category else None,
        priority=str(priority.get("name", ""))
        if isinstance(priority, dict)
        else str(priority or ""),
        relation=relation,
        locator=locator,
    )


def status_changes(data: Json) -> list[StatusChange] | None:
    """Return the changes of the status, oldest first; None if the data is not a changelog.

    It reads the shapes of REST (`changelog.histories`, `histories`, a page with `values`) and a
    plain list.
    """
    histories, pointer = _histories(data)
    if histories is None:
        return None
    entries = []
    for number, history in enumerate(histories):
        if not isinstance(history, dict):
            continue
        items = history.get("items")
        single = [history] if "field" in history else []
        for place, item in enumerate(items if isinstance(items, list) else single):
            if isinstance(item, dict) and str(item.get("field", "")).lower() == "status":
                inner = f"/items/{place}" if isinstance(items, list) else ""
                when = str(
                    history.get("created") or history.get("date") or history.get("timestamp") or ""
                )
                was = str(item.get("fromString") or item.get("from") or "")
                became = str(item.get("toString") or item.get("to") or "")
                entries.append(StatusChange(when, was, became, f"{pointer}/{number}{inner}"))
    # Servers list the newest first, exports often the oldest.
    return sorted(entries, key=lambda change: change.when)


def _histories(data: Json) -> tuple[list[Json] | None, str]:
    match data:
        # Each level may be left out in a saved file.
        case list():
            return data, ""
        case {"changelog": dict() | list() as inner}:
            entries, pointer = _histories(inner)
            return entries, f"/changelog{pointer}"
        case {"histories": list(entries)}:
            return entries, "/histories"
        case {"values": list(entries)}:
            return entries, "/values"
        case {"changes": list(entries)}:
            return entries, "/changes"
    return None, ""


def plain_text(value: object) -> str:
    """Return a description as text, from Jira's document format or from text."""
    if isinstance(value, dict):
        inner = value.get("text")
        parts = [inner] if isinstance(inner, str) else []
        parts += [
            plain_text(member)
            for member in value.get("content", [])
            if isinstance(value.get("content"), list)
        ]
        return "\n".join(part for part in parts if part)
    return value if isinstance(value, str) else ""
