"""The reference has an entry for each public name of the library."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from scripts.draw_reference import PACKAGES, PAGE, entries

import transom
from tests.repository.tracked import ROOT

ENTRY = re.compile(r"^##+ (\w+)\n\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def texts() -> dict[str, str]:
    """The text of each entry, by its name."""
    return dict(ENTRY.findall(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("package", ["transom", *PACKAGES])
def test_every_public_name_has_an_entry_that_says_something(package: str) -> None:
    module: Any = import_module(package)
    names = [name for name in module.__all__ if name != "__version__"]
    assert names
    written = texts()
    for name in names:
        assert name in written, f"{package}.{name} has no entry"
        # More than its signature.
        text = re.sub(r"```.*?```", "", written[name], flags=re.DOTALL)
        assert len(text.split()) > 1 or "`" in text, f"{package}.{name}"
        assert " at 0x" not in text, name


def test_each_name_stands_on_the_page_once() -> None:
    names = [name for name, _ in ENTRY.findall(PAGE.read_text(encoding="utf-8"))]
    expected = [name for package in entries().values() for name in package]
    assert sorted(names) == sorted(expected)
    assert {"Unanswered", "ScriptedProvider", "ToolResults", "Agent"} <= set(names)


def test_what_the_pages_on_agents_import_has_an_entry() -> None:
    """The pages that teach the library use no name that the reference leaves out."""
    written = texts()
    imported = re.compile(r"^from (transom(?:\.\w+)?) import ([\w, ]+)$", re.MULTILINE)
    seen = 0
    for page in ("agent", "cookbook", "mcp", "index", "providers", "how-a-run-survives"):
        file = ROOT / "docs" / f"{page}.md"
        if not file.exists():
            continue
        for package, names in imported.findall(file.read_text(encoding="utf-8")):
            if package != "transom" and package not in PACKAGES:
                continue
            for name in names.split(", "):
                seen += 1
                assert name in written, f"{page}: {package}.{name}"
                assert name in vars(import_module(package)) or name in transom.__all__
    assert seen > 50
