"""The installation command of optional dependencies, for hints of errors."""

from __future__ import annotations

import sys
from pathlib import Path


def install_hint(extra: str) -> str:
    """Return the command that installs an extra, e.g. `studies`, into the running Python."""
    root = Path(__file__).parents[3]
    package = (
        f"-e '{root}[{extra}]'" if (root / "pyproject.toml").is_file() else f"'transom[{extra}]'"
    )
    return f"{sys.executable} -m pip install {package}"
