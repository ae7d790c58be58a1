"""Acceptance criteria as tables, and as mappings and lists of data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from transom.formats.markdown import Bullets, InlineText, ListItem, MarkdownTable, iter_lines

_MARK = re.compile(r"\W*(?:AC|criterion|scenario|no)?\W{0,3}\d+(?:\.\d+)*[a-z]?\W*", re.IGNORECASE)
_STEPS = ("given", "when", "then")
_TEXTS = ("text", "description", "criterion", "statement", "requirement", "title")
_LABEL = re.compile(r"(?!AC\b)[^\W\d][\w /-]{2,30}:", re.IGNORECASE)
_LABEL_WORDS = 3
_SENTENCE_WORDS = 4


def criteria_of_table(table: MarkdownTable, *, is_first: bool) -> list[str]:
    """Return a criterion for each row of a table, or none if the table belongs to another one.

    Args:
        is_first: whether no criterion was read before it.
    """
    rows = [row for row in map(_cells, table.rows) if any(row)]
    names = [name.lower() for name in _cells(table.header)]
    marks = [row[0] for row in rows]
    is_marked = bool(marks) and all(map(_MARK.fullmatch, marks))
    # Behind other criteria, only marks of its own tell a table of criteria from one of values.
    if not is_first and not (is_marked and all(re.match(r"\W*AC", mark, re.I) for mark in marks)):
        return []
    steps = [number for number, name in enumerate(names) if name in _STEPS]
    if len(steps) > 1:
        texts = []
        for row in rows:
            parts = [f"{names[number]} {row[number]}" for number in steps if row[number]]
            texts.append(", ".join(parts))
        return texts
    if len(names) < 2 and is_marked:
        return []
    columns = range(1 if is_marked else 0, len(names))
    # A priority comes before it at times, and a test or a result behind it.
    words = {number: sum(len(row[number].split()) for row in rows) for number in columns}
    sentences = [number for number in columns if words[number] >= _SENTENCE_WORDS * len(rows)]
    column = sentences[0] if sentences else max(columns, key=lambda number: words[number])
    return [*filter(None, (row[column] for row in rows))]


def _cells(row: Sequence[InlineText]) -> list[str]:
    return [cell.text.strip() for cell in row]


def _text_of(lines: Iterable[InlineText]) -> str:
    return " ".join(line.text for line in lines).strip()


def criteria_of_item(item: ListItem) -> list[str]:
    """Return the criterion of an item, or those of its own list if it only names their group."""
    text = _text_of(item.lines)
    inner: list[ListItem] = []
    for block in item.blocks:
        inner += block.items if isinstance(block, Bullets) else ()
    is_label = _LABEL.fullmatch(text) and len(text.split()) <= _LABEL_WORDS
    # Single words in the list are values of the criterion.
    are_sentences = all(len(_text_of(row.lines).split()) >= _SENTENCE_WORDS for row in inner)
    if is_label and inner and are_sentences:
        return [_text_of([*row.lines, *iter_lines(row.blocks)]) for row in inner]
    return [_text_of([*item.lines, *iter_lines(item.blocks)])]


def criteria_of_value(value: Any) -> list[str]:
    """Return the criteria that a field holds: a text, a list, or a mapping from marks or from the
    names of groups.
    """
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [text for entry in value for text in _of_entry(entry)]
    if isinstance(value, dict) and not _is_one(value):
        return [text for key, entry in value.items() for text in _of_pair(key, entry)]
    return _of_entry(value)


def _is_one(value: dict[Any, Any]) -> bool:
    """Whether a mapping is one criterion with its parts."""
    names = {str(key).lower() for key in value}
    return bool(names & {*_STEPS, *_TEXTS[:-1]})


def _of_entry(entry: Any) -> list[str]:
    """Return the criteria of an entry of a list."""
    if not isinstance(entry, dict):
        text = str(entry).strip() if entry is not None else ""
        return [text] if text else []
    if _is_one(entry):
        return _of_parts(entry)
    if len(entry) == 1 or any(isinstance(part, (list, dict)) for part in entry.values()):
        return [text for key, part in entry.items() for text in _of_pair(key, part)]
    return _of_parts(entry)


def _of_pair(key: Any, value: Any) -> list[str]:
    """Return the criteria under a key, which is a mark, a group, or the beginning of a sentence."""
    if isinstance(value, (list, dict)):
        return criteria_of_value(value)
    texts = _of_entry(value)
    return texts if _MARK.fullmatch(str(key)) else [f"{key}: {text}" for text in texts]


def _of_parts(entry: dict[Any, Any]) -> list[str]:
    """Return one criterion of a mapping with its parts."""
    named = {str(key).lower(): part for key, part in entry.items()}
    for name in _TEXTS:
        if isinstance(named.get(name), str) and named[name].strip():
            return [named[name].strip()]
    parts = [f"{key} {part}" for key, part in entry.items() if str(key).lower() != "id"]
    return ["; ".join(parts)] if parts else []
