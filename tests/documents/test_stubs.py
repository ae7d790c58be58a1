"""Each row fails once its entry point does nothing: so it proves what it says."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.rows import STUBBED, Row, row_of

MODULES = [f"test_document_00{number}" for number in range(5)]


def rows_of(module: str) -> dict[str, Row]:
    """The rows of a module by the names of their tests."""
    loaded = importlib.import_module(f"tests.documents.{module}")
    found = {}
    for name, value in vars(loaded).items():
        declared = row_of(value)
        if declared is not None and name.startswith("test_"):
            found[name] = declared
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_row_has_a_name_of_its_own_and_an_entry_point_that_is_there(module: str) -> None:
    rows = rows_of(module)
    assert len({declared.name for declared in rows.values()}) == len(rows) > 10
    for declared in rows.values():
        module_name, _, path = declared.stub.partition(":")
        holder = importlib.import_module(module_name)
        for part in path.split("."):
            holder = getattr(holder, part)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_row_fails_without_its_entry_point(module: str) -> None:
    path = Path(__file__).with_name(f"{module}.py")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-vv"),
            *(str(path), "-m", "slow or not slow", "--tb=no"),
        ],
        env=os.environ | {STUBBED: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes = re.findall(r"::(test_\w+)(?:\[.*\])? (PASSED|FAILED|ERROR|SKIPPED)", done.stdout)
    assert {name for name, _ in outcomes} == {*rows_of(module)}, done.stdout[-2000:]
    assert [name for name, outcome in outcomes if outcome == "PASSED"] == []
