"""Data of outside tools and people as plain values: JSON, JSON lines, YAML, a table in CSV, or a
written form.
"""

from __future__ import annotations

import csv
from pathlib import Path, PurePosixPath

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.json_tree import parse_json
from transom.formats.written_forms import FORM_SUFFIXES, parse_form
from transom.formats.yaml_files import parse_yaml

_YAML = (".yaml", ".yml")
_TABLES = (".csv", ".tsv")
_MOST_COLUMNS = 200


def parse_data(text: str, place: str) -> Json:
    """Return the value of a text: its content decides, and its suffix only between YAML, CSV and
    forms.

    Raises:
        InputError: the text is neither, or gives one key two values.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    suffix = data_suffix(place)
    if suffix in FORM_SUFFIXES and not stripped.startswith("{"):
        return parse_form(text, place)
    if stripped.startswith(("{", "[")) or suffix not in (*_YAML, *_TABLES):
        return parse_json(text, place)
    if suffix in _YAML:
        return parse_yaml(text, Path(place)).data
    return parse_table(text, place)


def data_suffix(name: str) -> str:
    """Return the suffix of a file's name in lower case; that of the packed file for `.gz`."""
    path = PurePosixPath(name)
    if path.suffix.casefold() == ".gz":
        path = path.with_suffix("")
    return path.suffix.casefold()


def parse_table(text: str, place: str) -> Json:
    """Return the rows of a table in CSV as objects by the names of their columns.

    Raises:
        InputError: a row has more cells than the head, or the head names a column twice.
    """
    lines = text.lstrip("\ufeff").splitlines()
    head = lines[0] if lines else ""
    # Spreadsheets write semicolons where the comma is the decimal mark.
    mark = max(",;\t", key=head.count)
    rows = list(csv.reader(lines, delimiter=mark))
    columns = [column.strip() for column in rows[0]] if rows else []
    if len(columns) > _MOST_COLUMNS or len(set(columns)) < len(columns):
        raise InputError(
            "has no head with one name for each column", place=place, hint="write the table again"
        )
    table = list[Json]()
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(columns):
            raise InputError(
                "has more cells than its head", place=f"{place}:{number}", hint="quote its commas"
            )
        table.append({name: cell.strip() for name, cell in zip(columns, row, strict=False)})
    return table
