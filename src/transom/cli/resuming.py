"""Which command goes on with a run, by the run's kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from transom.cli.session import Session

Entry = Callable[[Session, dict[str, Any]], Awaitable[int]]


def next_step(run_id: str, kind: str, entry: dict[str, Any]) -> str:
    """What to do with a run so that it goes on, where nobody has to answer it first."""
    if kind in resume_entries() and entry:
        return f"go on with: transom resume {run_id}"
    started = "the command" if entry else "the program"
    return f"to go on, start {started} that began it again; it goes on where it was"


def resume_entries() -> dict[str, Entry]:
    """Run kind -> how to start it again from the entry that its journal kept."""
    from transom.cli import check, eval, investigate, story, study  # noqa: A004  the command's name

    return {**check.RESUME, **eval.RESUME, **investigate.RESUME, **story.RESUME, **study.RESUME}
