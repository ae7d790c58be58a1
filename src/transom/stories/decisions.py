"""Strict parser of an agent's reply: one explicit decision, its reasons, and the files that it
claims to have changed.

A decision is the field `decision` of a reply that is one JSON object, or a line with nothing else.
Quotations, code and comments do not count. An ambiguous reply has no decision.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from transom.errors import ReplyError
from transom.formats.tags import read_tag
from transom.stories.story import Action, count_words

Seat = Literal["sm", "po", "dev", "qa"]
MAX_REPLY = 200_000
"""Characters of a reply, at most; usual replies have a hundredth of that."""
MAX_SUMMARY = 2_000
_SHORTEST_SUMMARY = 3  # words of a sentence that says who does what

_APPROVED, _BLOCKED, _CHANGES, _PASS, _FAIL = (
    "APPROVED",
    "BLOCKED",
    "CHANGES REQUESTED",
    "PASS",
    "FAIL",
)
_WORDS: Mapping[str, Mapping[str, str]] = {
    "po": {
        **dict.fromkeys(("APPROVED", "APPROVE", "GO", "PASS"), _APPROVED),
        **dict.fromkeys(("BLOCKED", "BLOCK", "NO-GO", "NO GO", "FAIL"), _BLOCKED),
        **dict.fromkeys(
            ("CHANGES REQUESTED", "CHANGES_REQUESTED", "REQUEST CHANGES", "CONCERNS"), _CHANGES
        ),
    },
    "qa": {
        **dict.fromkeys(("PASS", "PASSED"), _PASS),
        **dict.fromkeys(("FAIL", "FAILED", "CONCERNS"), _FAIL),
    },
}
_LABEL = re.compile(
    r"^(?:(?:po|qa|final|my)\s+)*(?:decision|verdict|gate|outcome)\s*(?:[:=]\s*(.*))?$",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"^(summary|reasons?|references?|tests|files?(?: list| modified| changed)?)\s*:?\s*(.*)$",
    re.IGNORECASE,
)
_COVERS = re.compile(
    r"^[-*+]?\s*(?:AC|criterion)\s*#?(\d{1,6})\s*[:=–—-]+>?\s*(.+)$", re.IGNORECASE
)
_ACTIONS: Mapping[str, Action] = {
    **dict.fromkeys(("created", "create", "added", "new"), "created"),
    **dict.fromkeys(("modified", "modify", "changed", "updated", "edited"), "modified"),
    **dict.fromkeys(("deleted", "delete", "removed"), "deleted"),
}
_FILE_FIRST = re.compile(r"^[-*+]\s+`?([^\s`]+?)`?\s*+[-–—:(]\s*+(\w+)\b.*$")
_ACTION_FIRST = re.compile(r"^[-*+]?\s*+(\w++)(?:\s*+[:–—-](?=\s))?\s++`?([^\s`]++)`?(?:\s.*)?$")

_NO = (
    r"(?:cannot|can\s?not|can't|do not|don't|will not|won't|must not|should not|shall not|am unable"
    r" to|refuse to|"
    r"decline to)"
)
_AGAINST_YES = (
    re.compile(rf"\bI\s+{_NO}\s+(?:\w+\s+)?(?:approve|accept|pass|sign)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:is|are|be|remains?|stays?)\s+not\s+(?:yet\s+)?(?:approved|accepted)\b", re.IGNORECASE
    ),
    re.compile(r"^\W*not\s+(?:yet\s+)?approved\b", re.IGNORECASE),
    re.compile(r"\b(?:is|are|remains?|stays?)\s+(?:still\s+|now\s+)?blocked\b", re.IGNORECASE),
    re.compile(
        r"\bapproved?\b[^.\n]{0,30}\b(?:if|once|provided|pending|subject to|unless|assuming)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\bI\s+(?:reject|disapprove|block)\b", re.IGNORECASE),
)
_AGAINST_NO = (
    re.compile(
        r"\bI\s+(?:hereby\s+|fully\s+|now\s+)?approve\s+(?:this|it|the story)\b", re.IGNORECASE
    ),
)
_NOT_OWN = re.compile(
    r"<!--.*?(?:-->|\Z)|^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1[^\n]*|\Z)", re.DOTALL | re.MULTILINE
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`")
_TEST_NAME = re.compile(r"`([^`\n]+)`|[\"“]([^\"”\n]+)[\"”]|[^\s,;`]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_PARTS = re.compile(
    r"\b(?:acceptance criteria|criteria|user story|story|goal|tasks?(?:\s+\d+)?|dev"
    r" notes|description|files|title|"
    r"dependenc(?:y|ies)|technical notes|testing)\b"
)
_AC = re.compile(
    r"\b(?:AC|acceptance"
    r" criterion|criterion|criteria)s?\s*+[:#]?\s*+((?:#?\d++(?:\s*+(?:,|and|&)\s*+)?)+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Read:
    """The contents of a reply. `problem`: why it has no valid decision, with the offending text.

    `files`: path -> claimed action; `tests`: number of a criterion -> tests claimed to cover it.
    """

    decision: str = ""
    problem: str = ""
    summary: str = ""
    reasons: tuple[str, ...] = ()
    files: Mapping[str, Action] = field(default_factory=dict)
    tests: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def read_reply(text: str, seat: Seat = "dev") -> Read:
    """Read a reply: for PO and QA, also its decision; SM's has no other form than its summary or a
    rewritten story.
    """
    if not text.strip():
        return Read(problem="the reply is empty")
    if len(text) > MAX_REPLY:
        return Read(problem=f"the reply has {len(text)} characters, more than {MAX_REPLY}")
    if "\0" in text:
        return Read(problem="the reply holds a NUL character")
    fields, problem = _json_object(text)
    if problem:
        return Read(problem=problem)
    if fields is not None:
        return _of_fields(fields, seat)
    lines = _own_lines(text)
    # JSON with text around it: nobody can tell which of the two the agent means.
    for line in lines:
        if re.search(r"[\"']decision[\"']\s*:", line, re.IGNORECASE):
            return Read(problem=f"the reply is JSON only in part: {_excerpt(line)}")
    rows = _labelled(lines)
    summary = rows["sum"]
    if not summary:
        # An agent that writes prose alone is read as well, without its decision.
        summary = [line for line in lines if line and not _LABEL.match(_bare(line))]
    tests: dict[int, tuple[str, ...]] = {}
    for line in rows["tes"]:
        if match := _COVERS.match(line):
            tests[int(match[1])] = _names(match[2])
    decision, problem = _decided_by(lines, seat)
    if seat == "sm":
        problem = "" if _has_story(text) else _unsummed(" ".join(rows["sum"]), text)
    return Read(
        decision=decision,
        problem=problem,
        summary=" ".join(summary)[:MAX_SUMMARY],
        reasons=(*rows["rea"], *rows["ref"]),
        files=dict(filter(None, map(_claim, rows["fil"]))),
        tests=tests,
    )


def _has_story(text: str) -> bool:
    """Whether SM's reply holds the story, written again."""
    try:
        return bool(read_tag(text, "story").text)
    except ReplyError:
        return False


def _unsummed(summary: str, reply: str) -> str:
    """Return why SM's reply says nothing; "" if its summary is a sentence."""
    if count_words(summary) >= _SHORTEST_SUMMARY:
        return ""
    return (
        f"the reply has no summary: {_excerpt(reply)}; write one line: SUMMARY: what the story asks"
        f" for, in {_SHORTEST_SUMMARY} words or more"
    )


def _names(text: str) -> tuple[str, ...]:
    """Return the names of tests in a list. A quoted name may hold blanks; other names are separated
    by blanks, commas or semicolons.
    """
    names = []
    for match in _TEST_NAME.finditer(text):
        name = match[1] or match[2] or match[0]
        # A sign that joins the names of a group and of its test is part of the name.
        if re.search(r"\w", name) or name in (">", "›"):
            names.append(name.strip())
    return tuple(names)


def references(reasons: Sequence[str], criteria: int) -> tuple[str, ...]:
    """Return the parts of the story that reasons refer to: existing criteria, and sections by
    name.
    """
    parts: dict[str, None] = {}
    for reason in reasons:
        for match in _AC.finditer(reason):
            for number in re.findall(r"\b\d{1,6}\b", match[1]):
                if 1 <= int(number) <= criteria:
                    parts[f"AC {number}"] = None
        # "criterion 7" of a story with two criteria must not count as the section of that name.
        for match in _PARTS.finditer(_AC.sub("", reason).lower()):
            parts[match[0]] = None
    return tuple(parts)


def _json_object(text: str) -> tuple[dict[str, Any] | None, str]:
    """Parse a reply that is one JSON object; returns (None, "") for other replies, (None,
    problem) for bad JSON.
    """
    bare = text.strip()
    if match := re.fullmatch(r"```(?:json)?[ \t]*\n(.*?)\n?```", bare, re.DOTALL):
        bare = match[1].strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return None, ""

    # Python takes the last of two equal keys, so a second decision would win unseen.
    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a field occurs twice")
        return dict(pairs)

    try:
        return json.loads(bare, object_pairs_hook=unique_keys), ""
    except (ValueError, RecursionError) as error:
        return None, f"the reply's JSON cannot be read: {error}"


def _of_fields(fields: dict[str, Any], seat: Seat) -> Read:
    reasons: list[str] = []
    rows = _as_list(fields.get("reasons", fields.get("reason")))
    for row in (*rows, *_as_list(fields.get("reference"))):
        if isinstance(row, dict):
            reasons.append(f"{row.get('text', '')} ({row.get('reference', '')})")
        else:
            reasons.append(str(row))
    files: dict[str, Action] = {}
    for row in _as_list(fields.get("files")):
        if isinstance(row, dict) and row.get("path"):
            # What git shows decides; an unknown word is no reason to refuse the work.
            action = str(row.get("action", "")).lower()
            files[str(row["path"])] = _ACTIONS.get(action, "modified")
    tests: dict[int, tuple[str, ...]] = {}
    claims = fields.get("tests")
    for number, names in claims.items() if isinstance(claims, dict) else ():
        digits = re.sub(r"\D", "", number)[:6]
        tests[int(digits or 0)] = tuple(map(str, _as_list(names)))
    decision = problem = ""
    if seat == "sm":
        problem = _unsummed(str(fields.get("summary", "")), json.dumps(fields))
    if seat in _WORDS:
        written = fields.get("decision")
        if isinstance(written, str):
            decision = _WORDS[seat].get(written.strip().upper(), "")
        if not decision:
            problem = f"the field decision is {written!r}; {_wanted_words(seat)}"
    return Read(decision, problem, str(fields.get("summary", "")), tuple(reasons), files, tests)


def _wanted_words(seat: Seat) -> str:
    """Return how a role has to state its decision."""
    *others, last = dict.fromkeys(_WORDS[seat].values())
    return f"write one line: DECISION: {', '.join(others)} or {last}"


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        value = [value]
    return [*filter(None, value)]


def _own_lines(text: str) -> list[str]:
    """Return the agent's own lines, without fences, indented code, quotations and comments."""
    lines = _NOT_OWN.sub("", text.replace("\r\n", "\n")).split("\n")
    return [line.strip() for line in lines if not re.match(r" {0,3}>|\t| {4}", line)]


def _bare(line: str) -> str:
    """Strip heading marks, list marks and emphasis."""
    line = re.sub(r"^(?:#{1,6}\s+|[-*+]\s+)", "", line)
    return re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", line).strip()


def _undecorated(text: str) -> str:
    """Return a text without the signs and symbols around its words: `**APPROVED** ✅`. A question
    mark stays: `APPROVED?` decides nothing.
    """
    return re.sub(r"^[^\w\n]+|[^\w\n?]+$", "", text)


def _decided_by(lines: Sequence[str], seat: Seat) -> tuple[str, str]:
    """Return the one decision of a role, or ("", problem) with the words that it may use; SM and
    Dev have neither.
    """
    if seat not in _WORDS:
        return "", ""
    decision, problem = _decided(lines, _WORDS[seat])
    return decision, f"{problem}; {_wanted_words(seat)}" if problem else ""


def _decided(lines: Sequence[str], words: Mapping[str, str]) -> tuple[str, str]:
    """Return the one decision, or ("", problem)."""
    decisions: dict[str, str] = {}
    remaining = iter([*filter(None, map(_bare, lines))])
    for line in remaining:
        if label := _LABEL.match(line):
            labelled_line = line
            if not label[1]:
                # Below a heading, the next line has its value.
                labelled_line = f"{line} {next(remaining, '')}"
            value = _undecorated(label[1] or labelled_line.removeprefix(line))
            if value.upper() not in words:
                return "", f"unknown decision: {_excerpt(labelled_line)}"
            decisions[words[value.upper()]] = labelled_line
        elif decision := words.get(_undecorated(line)):
            decisions[decision] = line
    if not decisions:
        return "", f"the reply has no decision: {_excerpt(' '.join(filter(None, lines)))}"
    if len(decisions) > 1:
        listed = " and ".join(map(_excerpt, decisions.values()))
        return "", f"the reply has several decisions: {listed}"
    decision = next(iter(decisions))
    against = _AGAINST_YES if decision in (_APPROVED, _PASS) else _AGAINST_NO
    # A reply that decides and says the opposite decides nothing. Quoted words are not its own.
    for line in lines:
        for sentence in _SENTENCE.split(_QUOTED.sub("", line)):
            if any(pattern.search(sentence) for pattern in against):
                return "", f"the reply decides {decision} and says: {_excerpt(sentence)}"
    return decision, ""


def _labelled(lines: Sequence[str]) -> defaultdict[str, list[str]]:
    """Return the first three letters of a label -> its text, on the same line or in a list
    below.
    """
    texts: defaultdict[str, list[str]] = defaultdict(list)
    into = ""
    for line in lines:
        bare = _bare(line)
        label = _FIELD.match(bare)
        # "Files are read twice." is no label: it has no colon, and its line goes on.
        if label and (":" in bare or line.startswith("#") or not label[2]):
            into, text = label[1].lower()[:3], label[2]
        elif _LABEL.match(bare) or line.startswith("#"):
            into = text = ""
        else:
            text = line if into == "fil" else bare
        if into and text:
            texts[into].append(text)
    return texts


def _claim(line: str) -> tuple[str, Action] | None:
    line = line.replace("**", "")
    # `created: a.py`, `a.py (created)`, and a bare path, as agents write lists of files.
    if (match := _ACTION_FIRST.match(line)) and match[1].lower() in _ACTIONS:
        return match[2].rstrip(",;"), _ACTIONS[match[1].lower()]
    if (match := _FILE_FIRST.match(line)) and match[2].lower() in _ACTIONS:
        return match[1], _ACTIONS[match[2].lower()]
    if match := re.match(r"^[-*+]\s+`?([\w./@+-]+\.\w+|[\w.@+-]+/[\w./@+-]+)`?\s*$", line):
        return match[1], "modified"
    return None


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 120:
        text = text[:119] + "…"
    return repr(text)
