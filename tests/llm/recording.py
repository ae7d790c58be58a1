"""A recording of calls that are at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.llm import Reply, Request, render
from transom.llm.replay import RecordedCall, Recording


def write_recording(path: Path, calls: Sequence[tuple[Request, Reply]]) -> None:
    """Write it where `ReplayProvider` answers from it."""
    rows = [
        RecordedCall(asked.role, asked.digest, render(asked).as_text(), reply)
        for asked, reply in calls
    ]
    Recording(tuple(rows)).write(path)
