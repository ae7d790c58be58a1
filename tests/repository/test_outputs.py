"""What the commands print and leave is what the shipped JSON Schemas say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.repository.tracked import ROOT

SCHEMAS = ROOT / "src" / "transom" / "schemas"
DATA = "CHECKLIST_ROOT=examples/checks/data"

Transom = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples and, after the tests below, one workspace."""
    made = tmp_path_factory.mktemp("outputs")
    shutil.copytree(ROOT / "examples", made / "examples")
    return made


@pytest.fixture(scope="module")
def transom(folder: Path) -> Transom:
    """`transom(*arguments)` is the exit code and the JSON document of a command."""

    def run(*arguments: str) -> tuple[int, Any]:
        command = [sys.executable, "-m", "transom", *arguments, "--format", "json"]
        env = {**os.environ, "COLUMNS": "120"}
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


def holds(document: Any) -> None:
    """Whether a document is what the schema that it names says."""
    schema = json.loads((SCHEMAS / _file(document["schema"])).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def _file(name: str) -> str:
    return name.removeprefix("transom.").replace("/", "-") + ".json"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("item", "code"), [("VER-01", 0), ("VER-02", 1), ("VER-07", 1), ("VER-08", 0), ("STA-03", 0)]
)
def test_a_verdict_holds_printed_and_stored(
    item: str, code: int, transom: Transom, folder: Path
) -> None:
    out = folder / f"out-{item}"
    got, verdict = transom(
        "check", "all", f"examples/checks/{item}.yaml", "--var", DATA, "-o", str(out)
    )
    assert got == code
    assert verdict["schema"] == "transom.check/1"
    assert verdict["run_id"] is not None
    holds(verdict)
    stored = json.loads(next(out.rglob("*_verdict.json")).read_text(encoding="utf-8"))
    assert "run_id" not in stored
    holds(stored)
    holds(json.loads(next(out.rglob("build.json")).read_text(encoding="utf-8")))
    holds(yaml.safe_load(next(out.rglob("checker.yaml")).read_text("utf-8")))


@pytest.mark.slow
def test_several_verdicts_hold(transom: Transom, folder: Path) -> None:
    items = [f"examples/checks/{item}.yaml" for item in ("VER-01", "VER-02")]
    for item in items:
        transom(
            "check", "all", item, "--var", DATA, "-o", str(folder / f"several-{Path(item).stem}")
        )
    checkers = [
        next((folder / f"several-{Path(item).stem}").rglob("checker.yaml")).parent for item in items
    ]
    code, verdicts = transom("check", "run", *map(str, checkers), "--var", DATA)
    assert code == 1
    assert verdicts["schema"] == "transom.checks/1"
    holds(verdicts)


@pytest.mark.slow
def test_spec_build_and_lint_hold(transom: Transom, folder: Path) -> None:
    code, spec = transom(
        "check", "spec", "examples/checks/VER-01.yaml", "-o", str(folder / "specs")
    )
    assert (code, spec["schema"]) == (0, "transom.spec/1")
    holds(spec)
    item = ("--item", "examples/checks/VER-01.yaml", "--var", DATA)
    code, build = transom(
        "check", "build", spec["itemspec_path"], *item, "-o", str(folder / "checkers")
    )
    assert (code, build["schema"]) == (0, "transom.build/1")
    holds(build)
    code, lint = transom(
        "check", "lint", "examples/checks/VER-01.yaml", build["checker_path"], "--var", DATA
    )
    assert (code, lint["schema"]) == (0, "transom.lint/1")
    holds(lint)


@pytest.mark.slow
def test_words_not_understood_hold(transom: Transom, folder: Path) -> None:
    item = folder / "odd.yaml"
    item.write_text("description: Confirm that the flux capacitor is charged.\n", encoding="utf-8")
    code, answer = transom("check", "all", str(item))
    assert code == 3
    assert answer["needs_model"]
    holds(answer)
