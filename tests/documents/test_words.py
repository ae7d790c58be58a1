"""The page of other words has a row for each name that a reader of the documents may look for."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import transom
from tests.documents.blocks import FOLDER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "words.md"
_DEFINED = re.compile(r"^\s*(?:class\s+(\w+)|(?:async\s+)?def\s+(\w+)\()", re.MULTILINE)
_INTERFACE = re.compile(r"^\s*(?:- )?(\w+)\([^)\n]*\)\s*(?:->|:)", re.MULTILINE)
_QUOTED = re.compile(r"`(\w+)\(")
_ERROR = re.compile(r"\b([A-Z][a-z]+[A-Za-z]*Error)\b")
_OURS = re.compile(r"`(?:await )?(transom(?:\.\w+)+)")


def names_of(text: str) -> set[str]:
    """The classes, calls and errors that a document names, without private ones."""
    found = {one or other for one, other in _DEFINED.findall(text)}
    for pattern in (_INTERFACE, _QUOTED, _ERROR):
        found.update(pattern.findall(text))
    found -= {*dir(builtins)}
    return {name for name in found if len(name) > 3 and not name.startswith("_")}


def own_names() -> set[str]:
    """The classes and functions of the package."""
    found = set[str]()
    for path in Path(inspect.getfile(transom)).parent.rglob("*.py"):
        found.update(re.findall(r"\b(?:class|def)\s+(\w+)", path.read_text("utf-8")))
    return found


@pytest.mark.skipif(not FOLDER.is_dir(), reason="TRANSOM_DATA names no documents")
@pytest.mark.parametrize("number", range(5))
def test_each_name_of_a_document_is_ours_or_on_the_page(number: int) -> None:
    (document,) = FOLDER.glob(f"00{number}_*.txt")
    page = PAGE.read_text("utf-8")
    known = own_names() | {*re.findall(r"\w+", page)}
    names = names_of(document.read_text("utf-8"))
    assert names
    assert sorted(names - known) == []


@pytest.mark.parametrize("path", sorted({*_OURS.findall(PAGE.read_text("utf-8"))}))
def test_each_name_of_ours_on_the_page_is_there(path: str) -> None:
    found: Any = transom
    for number, part in enumerate(path.split(".")[1:], 2):
        # A room may import its modules at their first use.
        with suppress(ImportError):
            importlib.import_module(".".join(path.split(".")[:number]))
        found = getattr(found, part)


@pytest.mark.parametrize("name", ["transom.checklist", "transom.studies"])
def test_the_public_names_are_listed(name: str) -> None:
    module = importlib.import_module(name)
    assert {*module.__all__} <= {*dir(module)}
