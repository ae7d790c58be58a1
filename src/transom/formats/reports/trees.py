"""Turns XML, JSON and tables of one row into lines, which a report format reads as it reads text.

    <a x="1"><b>two</b></a>         ->  xml a
                                        a/@x = 1
                                        a/b = two
                                        /xml a
    {"a": {"b": 2}, "c": []}        ->  json
                                        a/b = 2
                                        c = []
                                        /json
    a,b,c                           ->  csv
    1,2,3                               a = 1
                                        ...
                                        /csv

Each line keeps the number of the line of the file that it comes from. The last line stands only if
the document is complete and well-formed; otherwise a line says what is wrong.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import Literal
from xml.parsers import expat

from transom.canonical import Json

TreeKind = Literal["xml", "json", "csv"]
NumberedLine = tuple[int, str]

_HEAD = 200
_XML = re.compile(r"\s*<(?:\?xml\b|!--|!DOCTYPE\b)")
_ELEMENT = re.compile(r"\s*<[A-Za-z_]")
_END_OF_ELEMENT = re.compile(r"</[A-Za-z_]|/>")
# A log may begin with a brace as well, so a key must follow, or the object is empty.
_JSON = re.compile(r"\s*\{\s*(?:\"|\}\s*$)")
# The head of a table whose one row below it has a value for each of many keys.
_FEWEST_KEYS = 6
_KEY = re.compile(r"[A-Za-z_(][\w ()/^%.:-]*")
_JSON_ENTRY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.*?),?\s*$')


def kind_of_tree(text: str) -> TreeKind | None:
    """Return whether a text is XML or JSON, by its first piece."""
    head = text[:_HEAD]
    if _XML.match(head):
        return "xml"
    # Some tools print `<CMD>` before each command: XML only if an element also ends.
    if _ELEMENT.match(head) and _END_OF_ELEMENT.search(text):
        return "xml"
    if _JSON.match(head):
        return "json"
    return "csv" if _one_row(text) else None


def _one_row(text: str) -> list[tuple[str, str]]:
    """Return the keys and values of a table of one row; nothing if a text is something else."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != 2 or lines[0].count(",") < _FEWEST_KEYS:
        return []
    try:
        head, row = csv.reader(lines)
    except (csv.Error, ValueError):
        return []
    # The number of the row may stand below a blank head.
    if len(head) != len(row) or not all(_KEY.fullmatch(key.strip()) for key in head[1:]):
        return []
    return [
        (key.strip(), value.strip()) for key, value in zip(head, row, strict=True) if key.strip()
    ]


def csv_lines(text: str) -> Iterator[NumberedLine]:
    """Yield the values of a table of one row, each with the key above it."""
    yield 1, "csv"
    for key, value in _one_row(text):
        yield 2, f"{key} = {value}"
    yield 2, "/csv"


class _XmlLines:
    """Collects the lines of an XML document while expat reads it.

    Attributes:
        lines: the lines that are ready.
        is_complete: whether the root element has ended.
    """

    def __init__(self) -> None:
        self.lines: list[NumberedLine] = []
        self.is_complete = False
        self._path: list[str] = []
        self._texts: list[list[str]] = []
        self._has_children: list[bool] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        # A comment is text of the report, in which a word of trouble counts.
        self.parser.CommentHandler = self._comment
        self.parser.EntityDeclHandler = self._entity

    def _add(self, line: str) -> None:
        self.lines.append((self.parser.CurrentLineNumber, " ".join(line.split())))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._path:
            self._add_text_of_container()
            self._has_children[-1] = True
        else:
            self._add(f"xml {tag}")
        self._path.append(tag)
        self._texts.append([])
        self._has_children.append(False)
        for name, value in attributes.items():
            self._add(f"{'/'.join(self._path)}/@{name} = {value}")

    def _end(self, tag: str) -> None:
        if self._has_children[-1]:
            self._add_text_of_container()
        else:
            text = "".join(self._texts[-1]).strip()
            self._add(f"{'/'.join(self._path)} = {text}")
        self._path.pop()
        self._texts.pop()
        self._has_children.pop()
        if not self._path:
            self._add(f"/xml {tag}")
            self.is_complete = True

    def _add_text_of_container(self) -> None:
        """Add text that stands between elements, where a report has none."""
        text = "".join(self._texts[-1]).strip()
        self._texts[-1].clear()
        if text:
            self._add(f"text in {'/'.join(self._path)}: {text}")

    def _text(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)

    def _comment(self, text: str) -> None:
        self._add(f"comment: {text}")

    def _entity(self, *declaration: object) -> None:
        # A few entities can mean billions of characters.
        raise expat.ExpatError(f"declares the entity {declaration[0]}")


def xml_lines(pieces: Iterable[str]) -> Iterator[NumberedLine]:
    """Yield the lines of an XML document that comes in pieces."""
    document = _XmlLines()
    try:
        for piece in pieces:
            # expat would decode a text again by the encoding that it declares.
            document.parser.Parse(piece)
            yield from document.lines
            document.lines.clear()
        document.parser.Parse("", True)
    except expat.ExpatError as error:
        document.lines.append((document.parser.CurrentLineNumber, f"not well-formed XML: {error}"))
        if document.is_complete:
            # Something follows the root element; what it is must be seen.
            document.lines.append((document.parser.CurrentLineNumber, "text behind the document"))
    yield from document.lines


def json_lines(text: str) -> Iterator[NumberedLine]:
    """Yield the lines of a JSON object."""
    numbers = dict[str, int]()
    for number, line in enumerate(text.split("\n"), 1):
        match = _JSON_ENTRY.match(line)
        if match is not None:
            # The parser of JSON gives no lines, so a key is looked for; the first line with it
            # counts.
            numbers.setdefault(match[1], number)
    last_line = text.rstrip("\n").count("\n") + 1
    yield 1, "json"
    try:
        data: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        # A report that was cut off may have said something bad before.
        yield from _entries_of_broken_json(text)
        yield last_line, f"not well-formed JSON: {error}"
        return
    last = 1
    for path, value in _flat(data, ()):
        # The innermost key that stands in a line of its own is the nearest place that is known.
        last = next((numbers[key] for key in reversed(path) if key in numbers), last)
        yield last, f"{'/'.join(path)} = {_printed(value)}"
    yield last_line, "/json"


def _entries_of_broken_json(text: str) -> Iterator[NumberedLine]:
    """Yield the entries that stand in a line of their own."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _JSON_ENTRY.match(line)
        if match is not None and match[2] not in ("{", "["):
            value = match[2].strip('"')
            yield number, f"{match[1]} = {value}"


def _flat(data: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield each value of a document with the keys that lead to it."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _flat(value, (*path, key))
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _flat(value, (*path, str(index)))
    else:
        yield path, data


def _printed(value: Json) -> str:
    """Return a value in one line, a text without quotes."""
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)
