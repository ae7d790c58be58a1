"""The command line: the only code that knows all products."""

from __future__ import annotations

import gc
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    if argv is None:
        # What Python makes while it imports stays to the end, so looking for garbage only takes
        # time. The command enables the collector again.
        gc.disable()
    try:
        from transom.cli import app
    # No run was begun while Python still imports, so there is nothing to say.
    except KeyboardInterrupt:
        return 130
    return app.main(argv)
