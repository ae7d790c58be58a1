"""The rows of a source: its small objects and elements, lines, and rows of tables with heads."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.data_text import parse_data
from transom.formats.xml_paths import read_xml, tag_of

_MOST_ROW = 800  # characters; a longer row is about too much to show what a sentence says
_MOST_ROWS = 400
_MOST_WORDS = 6  # words of a title; more are prose
_SEPARATORS = ("|", "\t", ";", ",")
_LEAST_CELLS = 3


def rows_of(text: str, source: str) -> tuple[str, ...]:
    """Return the rows of a source's text, each with its keys or heads."""
    rows = list[str]()
    for row in _rows(text.strip(), source):
        if row and len(row) <= _MOST_ROW:
            rows.append(row)
        if len(rows) >= _MOST_ROWS:
            break
    return tuple(dict.fromkeys(rows))


def _rows(text: str, source: str) -> Iterator[str]:
    if text.startswith("<"):
        try:
            root = read_xml(text, source)
        except InputError:
            return
        for element in root.iter():
            yield _row_of_element(element)
        return
    try:
        data = parse_data(text, source)
    except InputError:
        data = text
    if isinstance(data, dict | list):
        yield from _rows_of_data(data)
    else:
        yield from _rows_of_lines(text)


def _rows_of_data(data: Json) -> Iterator[str]:
    """Yield each object: with all that it holds if that is little, else its own values alone."""
    pending: list[tuple[str, Json]] = [("", data)]
    while pending:
        name, node = pending.pop(0)
        if isinstance(node, list):
            pending += [(name, child) for child in node]
        # A number of prose belongs to the words behind it, not to the key.
        if isinstance(node, str) and _is_prose(node):
            yield from _rows_of_lines(node)
        if not isinstance(node, dict):
            continue
        row = " ".join(_leaves(name, node))
        if len(row) > _MOST_ROW:
            values = list[str]()
            for key, child in node.items():
                if not isinstance(child, dict | list):
                    values += _leaves(key, child)
            row = " ".join(values)
        yield row
        pending += list(node.items())


def _leaves(name: str, node: Json) -> Iterator[str]:
    """Yield each value below a node with its key: `failed: 14,`.

    The objects of a list are rows of their own: what one says is not said of the others.
    """
    if isinstance(node, dict):
        if name:
            yield f"{name}:"
        for key, child in node.items():
            yield from _leaves(key, child)
    elif isinstance(node, list):
        if sum(isinstance(child, dict) for child in node) <= 1:
            for child in node:
                yield from _leaves(name, child)
    elif not (isinstance(node, str) and _is_prose(node)):
        yield f'"{name}": {node},'


def _is_prose(text: str) -> bool:
    return "\n" in text or len(text.split()) > _MOST_WORDS


def _row_of_element(element: Element) -> str:
    """Return an element with its attributes, and those of its children that are no rows."""
    parts = [tag_of(element), *_attributes(element)]
    for child in element:
        # A child with a name or children of its own is a row of its own.
        if not len(child) and not {"name", "id"} & child.attrib.keys():
            parts += [tag_of(child), *_attributes(child)]
    return " ".join(filter(None, parts))


def _attributes(element: Element) -> Iterator[str]:
    for name, value in element.attrib.items():
        yield f'"{name}": {value},'
    yield " ".join((element.text or "").split())


def _rows_of_lines(text: str) -> Iterator[str]:
    """Yield each line; one of a table has the heads of its columns before its cells."""
    heads: list[str] = []
    separator = ""
    # An empty file has no line, and none that follows.
    lines = text.splitlines() or [""]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if separator and line.count(separator) == len(heads) - 1:
            cells = next(csv.reader([line], delimiter=separator), [])
            pairs = zip(heads, cells, strict=False)
            yield " ".join(f'"{head}": {cell.strip()},' for head, cell in pairs if cell.strip())
            continue
        separator = _separator_of_heads(line, following)
        heads = [head.strip() for head in line.split(separator)] if separator else []
        # The heads have all words of the table, and none of its figures.
        if not heads:
            yield line.strip()


def _separator_of_heads(line: str, following: str) -> str:
    """Return what parts the heads of a table, or "" if a line is none.

    The line behind it has as many cells, and numbers where the heads have words.
    """
    for separator in _SEPARATORS:
        count = line.count(separator)
        if count < _LEAST_CELLS - 1 or following.count(separator) != count:
            continue
        has_numbers = any(map(_is_number, following.split(separator)))
        is_rule = not following.strip("|-: \t")
        if (has_numbers or is_rule) and not any(map(_is_number, line.split(separator))):
            return separator
    return ""


def _is_number(cell: str) -> bool:
    return cell.strip(" %").replace(".", "").replace(",", "").isdecimal()
