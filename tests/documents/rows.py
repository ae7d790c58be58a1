"""A row of a document: its name, the entry point that it stands on, and the stub for the latter.

With DOCUMENT_ROWS_STUBBED in the environment each row runs with its entry point replaced by a
function that does nothing. A row that passes all the same proves nothing.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import pytest

STUBBED = "DOCUMENT_ROWS_STUBBED"

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """A row.

    Attributes:
        name: what the document says, in a few words.
        stub: the entry point, `package.module:name` or `package.module:Class.method`.
    """

    name: str
    stub: str


def row(name: str, stub: str) -> Callable[[Test], Test]:
    """Declare that a test is a row of its module's document."""

    def declared(test: Test) -> Test:
        test.row = Row(name, stub)  # type: ignore[attr-defined]
        return test

    return declared


def row_of(test: Any) -> Row | None:
    """Return the row that a test function declares."""
    return getattr(test, "row", None)


def shared(fixture_name: str, config: pytest.Config) -> Literal["function", "module"]:
    """Return the scope of a fixture: a stubbed row makes its own, the others share one."""
    del fixture_name, config
    return "function" if os.environ.get(STUBBED) else "module"


def stub_out(entry_point: str, patch: pytest.MonkeyPatch) -> None:
    """Replace an entry point by a function that does nothing and returns None."""
    module_name, _, path = entry_point.partition(":")
    holder: Any = importlib.import_module(module_name)
    *owners, name = path.split(".")
    for owner in owners:
        holder = getattr(holder, owner)
    original = inspect.getattr_static(holder, name)
    stub: Any = _nothing_later if inspect.iscoroutinefunction(original) else _nothing
    if owners:
        stub = staticmethod(stub)
        patch.setattr(holder, name, stub)
        return
    # Other modules hold the same object under names of their own.
    for module in list(sys.modules.values()):
        module_of = getattr(module, "__name__", "")
        if not module_of.startswith(("transom", "tests.documents")):
            continue
        for key, value in list(vars(module).items()):
            if value is original:
                patch.setattr(module, key, stub)


def _nothing(*arguments: Any, **keywords: Any) -> None:
    del arguments, keywords


async def _nothing_later(*arguments: Any, **keywords: Any) -> None:
    del arguments, keywords
