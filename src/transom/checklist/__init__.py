"""Checklist: a one-line description becomes a specification, a checker, and a verdict on real
files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.checklist.calls import BuildFlow as BuildFlow
    from transom.checklist.calls import CheckOptions as CheckOptions
    from transom.checklist.calls import CodeReport as CodeReport
    from transom.checklist.calls import build as build
    from transom.checklist.calls import build_flow as build_flow
    from transom.checklist.calls import check_all as check_all
    from transom.checklist.calls import run as run
    from transom.checklist.calls import specify as specify
    from transom.checklist.calls import validate_code as validate_code
    from transom.checklist.calls import validate_spec as validate_spec

# Imported at their first use: who runs a checker needs neither the writer nor the builder.
__all__ = [
    "BuildFlow",
    "CheckOptions",
    "CodeReport",
    "build",
    "build_flow",
    "check_all",
    "run",
    "specify",
    "validate_code",
    "validate_spec",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("transom.checklist.calls"), name)
    raise AttributeError(f"module 'transom.checklist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
