"""Which command goes on with a run, by the run's kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from transom.cli.session import Session

Entry = Callable[[Session, dict[str, Any]], Awaitable[int]]


def resume_entries() -> dict[str, Entry]:
    """Run kind -> how to start it again from the entry that its journal kept."""
    from transom.cli.check import RESUME

    return dict(RESUME)
