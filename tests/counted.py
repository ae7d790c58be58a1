"""What something costs as a number that is the same on every machine, however busy that is:
calls of functions.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable
from typing import Any


def calls(act: Callable[[], object], at_most: float = math.inf) -> int:
    """How many calls of Python functions something takes in this thread.

    Raises:
        AssertionError: there are `at_most` or more; nothing waits for the rest of them.
    """
    made, before = 0, sys.getprofile()

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal made
        made += event == "call"
        assert made < at_most

    gc.disable()  # which tells others of its passes
    sys.setprofile(seen)
    try:
        act()
    finally:
        sys.setprofile(before)
        gc.enable()
    return made
