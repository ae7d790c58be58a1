"""JSON Schemas: one for every shape, made from its model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from scripts import make_schemas

from tests.repository.tracked import ROOT

CLI = "transom.doctor/1"
"""Shapes for reading at the terminal, not built on by others, have no model."""


def test_the_schema_files_are_made_from_todays_models() -> None:
    assert make_schemas.stale() == [], "run: make generated"


def test_every_shape_with_a_model_has_a_schema() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src" / "transom").rglob("*.py")
    )
    modelled = set(re.findall(r'schema_: Literal\["(transom\.\w+/\d+)"\]', sources))
    assert modelled
    assert modelled == {shape.name for shape in make_schemas.SHAPES}


def test_a_schema_that_lags_behind_its_model_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, text in make_schemas.files():
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(make_schemas, "FOLDER", tmp_path)
    assert make_schemas.stale() == []
    (tmp_path / "lint-1.json").write_text("{}", encoding="utf-8")
    (tmp_path / "gone-1.json").write_text("{}", encoding="utf-8")
    assert [path.name for path in make_schemas.stale()] == ["gone-1.json", "lint-1.json"]


@pytest.mark.parametrize("shape", make_schemas.SHAPES, ids=lambda shape: shape.file)
def test_a_schema_is_valid_and_refuses_unknown_keys(shape: make_schemas.Shape) -> None:
    schema = make_schemas.schema_of(shape)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    errors = "\n".join(
        error.message for error in validator.iter_errors({"schema": shape.name, "no_such_key": 1})
    )
    assert "no_such_key" in errors
    assert "required property" in errors
    assert shape.name in json.dumps(schema["properties"]["schema"])
