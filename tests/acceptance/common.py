"""Running items as a person would, and comparing with their truth."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from transom.cli import main

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
ITEMS = SHARED / "data" / "eda-items"
EDA = SHARED / "data" / "eda"
EXAMPLES = ROOT / "examples" / "checks"

needs_shared = pytest.mark.skipif(not ITEMS.is_dir(), reason="the shared items are not beside this checkout")


@cache
def comparer() -> Callable[[dict[str, Any], dict[str, Any]], tuple[str, list[str]]]:
    """The comparison that the truth was written for, else (without the shared folder) our own small one."""
    spec = importlib.util.spec_from_file_location("compare_check", SHARED / "tools" / "compare_check.py")
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


def reworded(item: Path, description: str, folder: Path) -> Path:
    """A copy of an item with another description."""
    yaml = YAML()
    data = yaml.load(item.read_text(encoding="utf-8"))
    data["description"] = description
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / item.name
    with target.open("w", encoding="utf-8") as out:
        yaml.dump(data, out)
    return target


def table(name: str) -> dict[str, list[dict[str, str]]]:
    """One of the tables beside this module."""
    rows: dict[str, list[dict[str, str]]] = YAML(typ="safe").load((Path(__file__).parent / name).read_text("utf-8"))
    return rows
