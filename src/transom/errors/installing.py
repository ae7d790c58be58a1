"""The installation command of optional dependencies, for hints of errors."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def install_hint(extra: str) -> str:
    """Return the command that installs an extra, e.g. `studies`, into the running Python.

    In a checkout the extra's lock is at hand, so the command installs the pinned versions, and pip
    checks their hashes.
    """
    lock = Path(__file__).parents[3] / "requirements" / f"{extra}.txt"
    if lock.is_file():
        # The lock names every package. Without --no-deps, pip refuses pins of packages that
        # others require with extras.
        packages = f"--no-deps -r {shlex.quote(str(lock))}"
    else:
        packages = shlex.quote(f"transom[{extra}]")
    return f"{sys.executable} -m pip install {packages}"
