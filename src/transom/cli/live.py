"""What a model is writing, on stderr, while it writes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from transom.cli.output import printable, write_error

if TYPE_CHECKING:
    from transom.llm.deltas import Delta

_EVERY = 0.1  # seconds between two counts
_CLEAR = "\r\x1b[K"


class Live:
    """Hears replies as they come.

    Args:
        whole: the text itself is shown; else, on a terminal, how long it is so far.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._counts = not whole and sys.stderr.isatty()
        self._length = 0
        self._shown = 0.0

    def __call__(self, delta: Delta) -> None:
        from transom.llm.deltas import Again
        from transom.llm.turns import Text

        if isinstance(delta, Again):
            write_error(f"\n[all of this is void: {delta.why}]\n" if self._whole else "")
            self._length = 0
        elif isinstance(delta, Text):
            self._length += len(delta.text)
            if self._whole:
                write_error("\n".join(map(printable, delta.text.split("\n"))))
            elif self._counts and time.monotonic() - self._shown > _EVERY:
                self._shown = time.monotonic()
                write_error(f"{_CLEAR}  {self._length} characters so far")

    def end(self) -> None:
        """What comes next on stderr begins a line."""
        if self._length:
            write_error("\n" if self._whole else _CLEAR if self._counts else "")
        self._length = 0
