"""Studies: optimisation with solvers that may fail, which learns from each failure and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.studies.optimizing import Optimum, StudyFolder, optimize
    from transom.studies.samplers import TransomSampler

__all__ = ["Optimum", "StudyFolder", "TransomSampler", "optimize"]

_MODULES = {
    "Optimum": "transom.studies.optimizing",
    "StudyFolder": "transom.studies.optimizing",
    "TransomSampler": "transom.studies.samplers",
    "optimize": "transom.studies.optimizing",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: Optuna is slow to import, and may be missing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
