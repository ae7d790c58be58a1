"""Classes under the names that they had before."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def earlier_names(module: str, present_names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module that has renamed some of its classes.

    Args:
        module: the module's `__name__`.
        present_names: earlier name -> present name.
    """

    def find(name: str) -> Any:
        if name not in present_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        present = present_names[name]
        warnings.warn(
            f"{module}.{name} is now {module}.{present}; the earlier name ends with the next"
            " version",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], present)

    return find
