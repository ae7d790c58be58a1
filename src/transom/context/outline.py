"""An outline of a long text, from which a model can ask for the parts that it needs."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Literal

from transom.canonical import Json
from transom.context.tokens import TokenCorrection

Kind = Literal["json", "markdown", "log", "text"]

LONGEST_LINE = 2_000
"""Longer lines count as several, so that any text can be read in parts."""
_MOST_LINES = 60
_MOST_KEYS = 12
_SHOWN = 80
_LONGEST_ENTRY = 240
_REST = 10  # tokens of the line that says how much more there is

_STAMP = re.compile(r"^\W{0,2}(\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\w{3} +\d+ \d\d:)")
_LEVEL = re.compile(r"\b(FATAL|ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE)\b", re.IGNORECASE)
_HEADING = re.compile(r"^ {0,3}#{1,6} ", re.MULTILINE)
_BAD = ("FATAL", "ERROR")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as outlines and slices number them; overlong ones are broken."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _pieces(line)
    return lines


def _pieces(line: str) -> list[str]:
    # Nearly all lines are short, an empty one among them, which must stay a line.
    if len(line) <= LONGEST_LINE:
        return [line]
    return [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)]


def kind_of(text: str) -> Kind:
    """Return the kind of a text, by its form."""
    if text.lstrip()[:1] in ("{", "[") and parsed(text) is not None:
        return "json"
    if len(_HEADING.findall(text)) >= 2:
        return "markdown"
    lines = lines_of(text)[:500]
    logged = sum(bool(_STAMP.match(line) or _LEVEL.search(line)) for line in lines)
    return "log" if len(lines) >= 5 and logged * 3 >= len(lines) else "text"


def parsed(text: str) -> Json:
    """Return a text's JSON value; None if it is not JSON, or is null."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def outline(text: str, limit: int, tokens: TokenCorrection) -> str:
    """Return an outline of a text in at most `limit` tokens and sixty lines: its parts and their
    positions.
    """
    kind = kind_of(text)
    entries: Iterator[str]
    if kind == "json":
        entries = json_entries(parsed(text))
    elif kind == "markdown":
        entries = _headings(lines_of(text))
    elif kind == "log":
        entries = _marks(lines_of(text))
    else:
        entries = _beginnings(lines_of(text))
    head = f"{kind}, {len(lines_of(text))} lines, {len(text)} characters"
    entry_lines, omitted = _bounded(entries, limit - tokens.count(head) - _REST, tokens)
    if omitted:
        entry_lines.append(f"... and {omitted} more")
    return "\n".join([head, *entry_lines])


def json_entries(value: Json) -> Iterator[str]:
    """Yield pointer and content of each object and list in a value, the outer ones first."""
    # Breadth first: an outline that is cut then still shows the whole width of the value.
    waiting: deque[tuple[str, Json]] = deque([("", value)])
    while waiting:
        pointer, inner = waiting.popleft()
        name = pointer or "the whole"
        if isinstance(inner, dict):
            yield f"{name}: object with {_keys(list(inner))}"
            for key, member in inner.items():
                waiting.append((f"{pointer}/{_escaped(key)}", member))
        elif isinstance(inner, list):
            first = inner[0] if inner else None
            each = ""
            if isinstance(first, dict):
                each = f", the first an object with {_keys(list(first))}"
            yield f"{name}: list of {len(inner)}{each}"
            for index, member in enumerate(inner):
                if isinstance(member, list):
                    waiting.append((f"{pointer}/{index}", member))
            # Objects of a list are alike, so the first one stands for all of them.
            if isinstance(first, dict):
                for key, member in first.items():
                    if _nested(member):
                        waiting.append((f"{pointer}/0/{_escaped(key)}", member))
        else:
            yield f"{name}: {_cut(json.dumps(inner, ensure_ascii=False))}"


def _nested(value: Json) -> bool:
    return isinstance(value, dict | list)


def _keys(keys: Sequence[str]) -> str:
    text = ", ".join(map(_cut, keys[:_MOST_KEYS])) or "nothing"
    if len(keys) > _MOST_KEYS:
        text += f" and {len(keys) - _MOST_KEYS} more"
    return text


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _headings(lines: Sequence[str]) -> Iterator[str]:
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and _HEADING.match(line):
            yield f"line {number}: {_cut(line)}"


def _marks(lines: Sequence[str]) -> Iterator[str]:
    """Yield entries for a log: counts of levels, the first and the last line, and errors."""
    levels: Counter[str] = Counter()
    error_numbers, filled_numbers = list[int](), list[int]()
    for number, line in enumerate(lines, 1):
        if line.strip():
            filled_numbers.append(number)
        if match := _LEVEL.search(line):
            level = match[1].upper()
            levels[level] += 1
            if level in _BAD:
                error_numbers.append(number)
    if levels:
        yield "levels: " + ", ".join([f"{name} {count}" for name, count in sorted(levels.items())])
    # The first line names the tool, and the last one often the outcome.
    for number in dict.fromkeys((*filled_numbers[:1], *filled_numbers[-1:])):
        yield f"line {number}: {_cut(lines[number - 1])}"
    for number in error_numbers:
        yield f"line {number}: {_cut(lines[number - 1])}"


def _beginnings(lines: Sequence[str]) -> Iterator[str]:
    """Yield entries for plain text: the first line of each paragraph."""
    before = ""
    for number, line in enumerate(lines, 1):
        if line.strip() and not before.strip():
            yield f"line {number}: {_cut(line)}"
        before = line


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _bounded(entries: Iterator[str], limit: int, tokens: TokenCorrection) -> tuple[list[str], int]:
    # All entries are counted, also behind the last one that fits: the outline names their number.
    entry_lines: list[str] = []
    tokens_used = omitted = 0
    for entry in entries:
        tokens_used += tokens.count(f"{entry[:_LONGEST_ENTRY]}\n")
        if len(entry_lines) < _MOST_LINES and tokens_used <= limit:
            entry_lines.append(entry[:_LONGEST_ENTRY])
        else:
            omitted += 1
    return entry_lines, omitted
