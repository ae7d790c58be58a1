"""The command line: the only code that knows all products."""

from __future__ import annotations

import gc
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    if argv is None:
        # while Python imports: what it makes then stays; the command itself collects again
        gc.disable()
    try:
        from transom.cli import app
    # while Python still imports: nothing was begun, so there is nothing to say
    except KeyboardInterrupt:
        return 130
    return app.main(argv)
