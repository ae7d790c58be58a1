"""How far a study is while it runs: a small file in its folder, so that a page that shows it does
not read all trials.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

_FILE = "progress.json"


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is.

    Attributes:
        ended: designs that were solved, or failed.
        budget: designs to solve.
        seconds_left: seconds to the end at the pace of this run, when it was written.
        at: when it was written, UTC, ISO 8601.
    """

    ended: int
    budget: int
    seconds_left: float
    at: str

    @classmethod
    def of(cls, ended: int, budget: int, seconds_left: float) -> Self:
        """Return the progress as it is now."""
        return cls(ended, budget, round(seconds_left, 3), datetime.now(UTC).isoformat())

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the progress of the newest run of a study, by the study's folder; None if none of
        its designs has ended.
        """
        # It is no record: an unreadable file is one that is not there.
        with suppress(OSError, ValueError, TypeError):
            return cls(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
        return None

    def write(self, folder: Path) -> None:
        """Write the file, which readers never see half-written."""
        with suppress(OSError):
            part = folder / f"{_FILE}.part"
            part.write_text(json.dumps(asdict(self)), encoding="utf-8")
            part.replace(folder / _FILE)

    def left_now(self) -> float:
        """Return the seconds that are left now; 0 if the design at work takes longer than usual."""
        since = datetime.now(UTC) - datetime.fromisoformat(self.at)
        return max(0.0, self.seconds_left - since.total_seconds())


def forget_progress(folder: Path) -> None:
    """Remove the file: another run begins, whose pace may be another one."""
    with suppress(OSError):
        (folder / _FILE).unlink(missing_ok=True)
