"""`check import`: the lines of a spreadsheet become item files.

The first line names the columns, in any order: `description`, and if wanted `item_id`,
`input_files`, `pattern_items`, `waive_items`, `waive_reasons`, `owner`, `expires`. A cell holds
several texts on lines of their own or divided by `;`. Comma, semicolon and tabulator divide cells.
A relative path in `input_files` starts at the sheet's folder; the item file names the same file
from its own folder.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

from transom.canonical import Json
from transom.checklist.item import parse_item
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml, read_text
from transom.formats.yaml_models import nearest_key

COLUMNS: Final = (
    "item_id",
    "description",
    "input_files",
    "pattern_items",
    "waive_items",
    "waive_reasons",
    "owner",
    "expires",
)


@dataclass(frozen=True)
class SheetItem:
    """An item of a sheet: the name and the text of its file, and the sheet's line."""

    name: str
    text: str
    line: int


def read_sheet(path: Path, folder: Path) -> list[SheetItem]:
    """Return the items of a sheet, each checked as an item file.

    Args:
        path: the sheet.
        folder: the folder that the item files are written to.

    Raises:
        InputError: it cannot be read, a column is unknown, two items have one id, or a line makes
            no item; with its line.
    """
    text = read_text(path)
    # The first line holds names without signs, so the commonest divider there is the sheet's.
    divider = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=divider)
    names = [_column(name, path) for name in next(rows, [])]
    if "description" not in names:
        hint = f"name some of {', '.join(COLUMNS)}"
        raise InputError("no column is called description", place=f"{path}:1", hint=hint)
    items: dict[str, SheetItem] = {}
    # A cell may hold several lines, so rows are not lines.
    line = rows.line_num + 1
    for row in rows:
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=False)}
        if any(cells.values()):
            item = _item(cells, path, folder, line)
            if items.setdefault(item.name, item) is not item:
                problem = f"{Path(item.name).stem} stands in line {items[item.name].line} already"
                raise InputError(
                    problem, place=f"{path}:{line}", hint="give each item an item_id of its own"
                )
        line = rows.line_num + 1
    return list(items.values())


def _column(name: str, path: Path) -> str:
    column = re.sub(r"\W+", "_", name.strip().lower())
    if column not in COLUMNS:
        near = nearest_key(column, COLUMNS)
        hint = f"did you mean {near}?" if near else f"the columns are {', '.join(COLUMNS)}"
        raise InputError(f"unknown column {name!r}", place=f"{path}:1", hint=hint)
    return column


def _item(cells: dict[str, str], path: Path, folder: Path, line: int) -> SheetItem:
    item_id = cells.get("item_id") or f"{path.stem}-{line:03}"
    patterns, waivers = _texts(cells, "pattern_items"), _texts(cells, "waive_items")
    reasons = _texts(cells, "waive_reasons")
    ownership: dict[str, Json] = {}
    for name in ("owner", "expires"):
        if cells.get(name):
            ownership[name] = cells[name]
    if waivers and len(reasons) not in (0, 1, len(waivers)):
        problem = f"there are {len(reasons)} waive_reasons for {len(waivers)} waive_items"
        raise InputError(problem, place=f"{path}:{line}", hint="write one for all, or one for each")
    if (reasons or ownership) and not waivers:
        raise InputError(
            "a reason, an owner or an expiry stands without waive_items", place=f"{path}:{line}"
        )
    # One reason may stand for all waivers of a line.
    why = cycle([{"reason": reason} for reason in reasons] or [{}])
    data: dict[str, Json] = {
        "item_id": item_id,
        "description": cells.get("description", ""),
        "requirements": {"value": len(patterns) or "N/A", "pattern_items": list(patterns)},
        "input_files": _input_files(cells, path, folder),
        "waivers": {
            "value": len(waivers) or "N/A",
            "waive_items": [
                {"pattern": waive_item, **reason, **ownership}
                for waive_item, reason in zip(waivers, why, strict=False)
            ],
        },
    }
    text = dump_yaml(data)
    try:
        # Each item is read as its file will be, so that an import never writes a broken one.
        parse_item(text, Path(f"{item_id}.yaml"))
    except InputError as error:
        raise InputError(error.problem, place=f"{path}:{line}", hint=error.hint) from error
    return SheetItem(f"{item_id}.yaml", text, line)


def _input_files(cells: Mapping[str, str], sheet: Path, folder: Path) -> list[Json]:
    """Return the paths of a line, as the item file in `folder` must name them."""
    # `..` in a path leads where a link points, so both folders are compared without links.
    sheet_folder = os.path.relpath(os.path.realpath(sheet.parent), os.path.realpath(folder))
    paths: list[Json] = []
    for written in _texts(cells, "input_files"):
        is_fixed = written.startswith(("/", "~", "${"))
        if is_fixed or sheet_folder == os.curdir:
            paths.append(written)
        else:
            paths.append(f"{sheet_folder}/{written.removeprefix('./')}")
    return paths


def _texts(cells: Mapping[str, str], name: str) -> list[str]:
    texts: list[str] = []
    for text in re.split(r"[;\n]", cells.get(name, "")):
        if text.strip():
            texts.append(text.strip())
    return texts
