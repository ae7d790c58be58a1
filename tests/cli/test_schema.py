"""`transom schema`: the files that ship follow the schemas, and slips do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.repository.tracked import ROOT
from transom.cli import main
from transom.cli.schemas import INPUTS
from transom.formats.yaml_files import load_yaml

EXAMPLES = ROOT / "examples"
GOOD = [
    *(("item", path) for path in sorted(EXAMPLES.glob("checks/*.yaml"))),
    *(("item", path) for path in sorted(EXAMPLES.glob("learning/*.yaml"))),
    *(("study", EXAMPLES / "studies" / name) for name in ("beam.yaml", "bracket.yaml")),
    *(("stories", path) for path in sorted(EXAMPLES.glob("stories/**/stories.yaml"))),
    *(("settings", path) for path in sorted(EXAMPLES.glob("**/transom.yaml"))),
]


def schema(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> dict[str, Any]:
    assert main(["schema", name]) == 0
    document: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return document


@pytest.mark.parametrize(("name", "path"), GOOD, ids=lambda part: getattr(part, "name", part))
def test_the_shipped_files_follow_their_schemas(
    name: str, path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    jsonschema.validate(load_yaml(path).data, schema(name, capsysbinary))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("item", {"description": "DRC is clean.", "requirement": {"value": 1}}),
        ("item", {"requirements": {"value": 1}}),
        ("item", {"description": "DRC is clean.", "accept": {"by": "ann"}}),
        ("settings", {"modell": "rules"}),
        ("stories", {"stories": [{"title": "no id"}]}),
        ("stories", {"stories": []}),
        ("study", {"variables": []}),
        ("policy", {"no_such_key": 1}),
    ],
)
def test_a_slip_does_not_follow(
    name: str, wrong: dict[str, Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema(name, capsysbinary))


@pytest.mark.parametrize("name", [*INPUTS, "check", "investigation"])
def test_each_schema_is_one(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name, capsysbinary))


def test_schemas_are_listed_and_a_misspelled_name_gets_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == 0
    listed = capsys.readouterr().out
    assert "settings" in listed and "transom.yaml" in listed and "printed by a command" in listed
    assert main(["schema", "itme"]) == 2
    assert "no schema 'itme'; did you mean item?" in capsys.readouterr().err
