"""How hard properties are tried: a little in every test run, `FUZZ` times as long by `make
fuzz`.
"""

from __future__ import annotations

import os

_TIMES = int(os.environ.get("FUZZ", "1"))


def examples(count: int) -> int:
    """For `max_examples`: `count` in an ordinary run."""
    return count * _TIMES
