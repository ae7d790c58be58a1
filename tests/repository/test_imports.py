"""The import contracts forbid what they say; `make lint` holds the real code to them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tracked import ROOT


def _lint(folder: Path) -> str:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("errors/base", "import transom.canonical", "Rooms use only the rooms below them"),
        (
            "evidence/findings",
            "import transom.checklist.item",
            "Rooms use only the rooms below them",
        ),
        ("checklist/judging/verdict", "import transom.cli", "Rooms use only the rooms below them"),
        (
            "checklist/judging/verdict",
            "import transom.checklist.writing.words",
            "Running a checker needs neither",
        ),
        ("checklist/results", "import opentelemetry.sdk", "OpenTelemetry's packages are for tests"),
        ("runs/journal", "import sqlite3", "Databases stay in store"),
        ("config", "import anthropic", "SDKs of model vendors stay in llm"),
        ("runs/run", "import langgraph", "The product needs no LangGraph"),
        ("agent/call", "import rich", "The terminal stays in cli"),
        ("learning/insight", "import transom.learning.playbook", "No import circle"),
        ("unlisted", "", "Rooms use only the rooms below them"),
    ],
)
def test_an_import_against_a_contract_is_noticed(
    module: str, line: str, broken: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "src" / "transom", tmp_path / "src" / "transom")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src" / "transom" / f"{module}.py").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    said = _lint(tmp_path)
    assert re.search(rf"^{broken}[^\n]* BROKEN", said, re.M), said
