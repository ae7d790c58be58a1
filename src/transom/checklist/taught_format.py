"""The report format of a lesson, as `check teach` writes it."""

from __future__ import annotations

import re
from typing import Final

from transom.canonical import Json
from transom.checklist.claims.claim_data import ASKED
from transom.checklist.teach import Lesson
from transom.formats.yaml_files import dump_yaml

NO_END: Final = "no line shows that the file is complete"
"""What is left open by a line that was taught from a file without an end."""

_REPEATED_GROUP: Final = re.compile(r"\(\?P=\w+\)")


def format_text(name: str, title: str, lesson: Lesson) -> str:
    """Return the report format of a lesson; the marked lines are its examples.

    Args:
        name: the name of the format, such as `taught.esd`.
        title: what the report is, for people.
        lesson: the patterns.
    """
    row_patterns = [(f"{mark}_line", _in_format(regex)) for mark, regex in lesson.rows]
    # The end is a row as well, so that a report format can require it.
    end = _in_format(f"(?:{'|'.join(lesson.complete)})") if lesson.complete else None
    if end is not None:
        row_patterns.append(("log_end", end))
    for regex in lesson.skipped:
        row_patterns.append(("ignored_line", _in_format(regex)))
    rows = list[Json]()
    for number, (row, pattern) in enumerate(row_patterns):
        written: dict[str, Json] = {"pattern": pattern, "name": row}
        if number < len(lesson.parts):
            written["scope"] = {ASKED: lesson.parts[number]}
        rows.append(written)
    unread = [_in_format(regex) for regex in lesson.must]
    for pattern in unread:
        rows.append({"pattern": pattern, "name": "unread_line", "is_trouble": True})
    patterns = list[Json](dict.fromkeys([*(pattern for _, pattern in row_patterns), *unread]))
    # The patterns of beginnings are tried as one, in which no group has a name.
    begins = [_REPEATED_GROUP.sub(r"\\d+", str(pattern)) for pattern in patterns]
    data: dict[str, Json] = {
        "schema": "transom.report_format/1",
        "name": name,
        "tool": "",
        "title": " ".join(title.split()),
        "seen": "file",
        "is_log": True,
        # Any line that was taught may be the first one, and begins no second report.
        "begins": [*begins],
        "explained": [*patterns],
        "end_is_last": lesson.is_end_last,
        "rows": rows,
        "examples": _examples(lesson),
    }
    if end is not None:
        data["ends"] = [end]
    return dump_yaml(data)


def claim_name(lesson: Lesson) -> str:
    """Return the claim that a lesson teaches."""
    has_good = any(mark == "good" for mark, _ in lesson.rows)
    if has_good:
        return "lines_as_taught"
    return "no_line_like_these"


def _in_format(regex: str) -> str:
    """Return a pattern as a report format has it: scoped flags, and the subject as `object`."""
    if regex.startswith("(?i)"):
        regex = f"(?i:{regex.removeprefix('(?i)')})"
    return regex.replace("(?P<name>", "(?P<object>")


def _examples(lesson: Lesson) -> dict[str, Json]:
    """Return the marked lines as the examples of a format."""
    texts: dict[str, list[str]] = {"good": [], "bad": []}
    for line in lesson.marked:
        if line.mark in texts:
            texts[line.mark].append(line.text)
    if not texts["good"]:
        # A log without violations still has its end.
        texts["good"] = [lesson.ends[0].text if lesson.ends else "nothing to report"]
    if not texts["bad"]:
        texts["bad"] = [f"{texts['good'][0]}\nFATAL: the tool stopped"]
    examples: dict[str, Json] = {}
    for kind, lines in texts.items():
        examples[kind] = [{"text": lesson.completed(line) + "\n"} for line in dict.fromkeys(lines)]
    good = texts["good"][0]
    if lesson.completed(good) != good:
        examples["cut"] = [{"text": good + "\n"}]
    return examples
