"""Running items as a person would, and comparing with their truth."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from transom.cli import main
from transom.formats.yaml_files import dump_yaml, load_yaml

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
MOST_SHAPES = 5
"""Kinds of lines that one answer may accept."""
ITEMS = SHARED / "data" / "eda-items"
EDA = SHARED / "data" / "eda"
EXAMPLES = ROOT / "examples" / "checks"

needs_shared = pytest.mark.skipif(
    not ITEMS.is_dir(), reason="the shared items are not beside this checkout"
)


@cache
def comparer() -> Callable[[dict[str, Any], dict[str, Any]], tuple[str, list[str]]]:
    """The comparison that the truth was written for, else (without the shared folder) our own
    small one.
    """
    spec = importlib.util.spec_from_file_location(
        "compare_check", SHARED / "tools" / "compare_check.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compare: Callable[[dict[str, Any], dict[str, Any]], tuple[str, list[str]]] = module.verdict
    return compare


def check(
    capfd: pytest.CaptureFixture[str], workspace: Path, *arguments: str, data: Path = EDA
) -> tuple[int, dict[str, Any]]:
    """`transom check ... --format json`: exit code and document."""
    capfd.readouterr()
    code = main(
        [
            "check",
            *arguments,
            "--var",
            f"CHECKLIST_ROOT={data}",
            "--workspace",
            str(workspace),
            "--format",
            "json",
            "-q",
        ]
    )
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert out, err
    document: dict[str, Any] = json.loads(out)
    return code, document


def check_and_accept(
    capfd: pytest.CaptureFixture[str], workspace: Path, item: Path, data: Path = EDA
) -> tuple[int, dict[str, Any]]:
    """Check an item as a person does: choose the first claim that is offered, if it is a question;
    if something holds its PASS back, accept that in one answer, and check again.

    What holds a PASS back is a question to a person: a stage that the report does not state, or
    trouble in a log that has nothing to do with the item.
    """
    code, document = check(capfd, workspace, "all", str(item), data=data)
    if document.get("readings"):
        code, document = choose_first(capfd, workspace, item, document, data)
    caps = document.get("capped_by", ())
    if not 1 <= len(caps) <= MOST_SHAPES:
        return code, document
    numbers = [part for number in range(1, len(caps) + 1) for part in ("--accept", str(number))]
    answer = ["answer", document["run_id"], *numbers, "--by", "Ann Lee"]
    assert main([*answer, "--workspace", str(workspace), "-q"]) == 0
    return check(capfd, workspace, "all", str(item), data=data)


def choose_first(
    capfd: pytest.CaptureFixture[str],
    workspace: Path,
    item: Path,
    question: dict[str, Any],
    data: Path,
) -> tuple[int, dict[str, Any]]:
    """Answer what an item means with the first claim that is offered, and check it again."""
    choice = ["answer", question["run_id"], "--choose", "1", "--by", "Ann Lee"]
    assert main([*choice, "--workspace", str(workspace), "-q"]) == 0
    return check(capfd, workspace, "all", str(item), data=data)


def reworded(item: Path, description: str, folder: Path) -> Path:
    """A copy of an item with another description."""
    data = load_yaml(item).data
    assert isinstance(data, dict)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / item.name
    target.write_text(dump_yaml({**data, "description": description}), encoding="utf-8")
    return target


def table(name: str) -> dict[str, list[dict[str, str]]]:
    """One of the tables beside this module."""
    rows: dict[str, list[dict[str, str]]] = yaml.safe_load(
        (Path(__file__).parent / name).read_text("utf-8")
    )
    return rows
