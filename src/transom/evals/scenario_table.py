"""Scenarios from a table: `scenarios.csv` beside `suite.yaml`, one scenario a row.

The head names keys of `scenario.yaml`, with a point for inner keys: `expected.verdict`. `question`,
`verdict` and `subject` may stand alone. Texts of a list are parted by semicolons, and a cell that
begins with a bracket is read as JSON. An empty cell leaves its key out.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from transom.errors import InputError
from transom.evals.scenario_models import Scenario
from transom.formats.text_decoding import decode_text
from transom.formats.yaml_files import read_bytes
from transom.formats.yaml_models import nearest_key

TABLE_FILE: Final = "scenarios.csv"
_SHORT: Final = {
    "question": "input.question",
    "verdict": "expected.verdict",
    "subject": "expected.subject",
    "mentions": "expected.mentions",
}
_LISTS: Final = frozenset(
    {
        *("tags", "rubric", "expected.verdict", "expected.mentions", "expected.evidence"),
        *("expected.reports", "expected.forbidden_tools"),
    }
)


def scenarios_in_table(path: Path) -> Iterator[tuple[str, Scenario]]:
    """Yield each row's place and scenario.

    Raises:
        InputError: a column is unknown, an id is missing or twice there, or a value is wrong, with
            file:line.
    """
    lines = decode_text(read_bytes(path)).splitlines(keepends=True)
    reader = csv.DictReader(lines)
    for name in reader.fieldnames or ():
        _check_column(name, path)
    # Two rows of one id would be one scenario in a comparison.
    ids = set[str]()
    for row in reader:
        place = f"{path}:{reader.line_num}"
        identifier = (row.get("id") or "").strip()
        if not identifier:
            raise InputError("the row has no id", place=place, hint="fill in the column id")
        if identifier in ids:
            raise InputError(f"the id {identifier!r} is used twice", place=place)
        ids.add(identifier)
        yield place, _scenario(identifier, row, place)


def _check_column(name: str, path: Path) -> None:
    known = (*_SHORT, "id", *Scenario.model_fields)
    top = name.partition(".")[0]
    if top in known and top not in ("folder", "data_folder"):
        return
    near = nearest_key(top, known)
    hint = f"did you mean {near}?" if near else "name a key of scenario.yaml, or remove it"
    raise InputError(f"unknown column {name!r}", place=f"{path}:1", hint=hint)


def _scenario(identifier: str, row: dict[str, Any], place: str) -> Scenario:
    # The csv module puts cells beyond the head under None.
    if None in row:
        raise InputError("the row has more cells than the head", place=place)
    data: dict[str, Any] = {}
    for name, cell in row.items():
        if name == "id" or not (cell or "").strip():
            continue
        key = _SHORT.get(name, name)
        *outer, last = key.split(".")
        inner = data
        for part in outer:
            inner = inner.setdefault(part, {})
        # `expected.verdict` stands for {expected: {verdict: ...}}.
        inner[last] = _value(key, cell.strip(), place)
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        column = ".".join(map(str, first["loc"]))
        raise InputError(f"{column}: {first['msg']}", place=place) from None
    return scenario.model_copy(update={"id": identifier})


def _value(key: str, cell: str, place: str) -> object:
    if cell[0] in "[{":
        try:
            return json.loads(cell)
        except ValueError as error:
            raise InputError(f"{key} is not JSON: {error}", place=place) from None
    if key in _LISTS:
        return [part.strip() for part in cell.split(";") if part.strip()]
    return cell
