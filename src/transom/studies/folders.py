"""The folders of solves that studies of a workspace left, for a clean-up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from transom.studies.reading import kept_studies, kept_trials
from transom.studies.storage import FileLock
from transom.studies.study_stages import find_study
from transom.studies.trials import front


@dataclass(frozen=True)
class OldSolves:
    """Folders of one study's solves that can be removed.

    Attributes:
        study: its name.
        folders: the folders.
        size: bytes in them.
    """

    study: str
    folders: tuple[Path, ...]
    size: int

    def remove(self) -> None:
        """Remove the folders; trials, results and reports stay."""
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def old_solves(root: Path, before: datetime) -> Iterator[OldSolves]:
    """Yield for each study the folders of solves that ended before a time.

    The folders of its best designs stay, and those of trials that a worker has.
    """
    for name in kept_studies(root):
        study = find_study(name, root)
        # Reports and later verifications read the folders of the best designs.
        best = {trial.number for trial in front(study, kept_trials(study, root / name))}
        folders = []
        for folder in sorted((root / name / "trials").glob("*")):
            is_best = folder.name.isdecimal() and int(folder.name) in best
            is_younger = folder.stat().st_mtime > before.timestamp()
            if not is_best and not is_younger and not _is_held(root / name, folder.name):
                folders.append(folder)
        size = 0
        for folder in folders:
            size += sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
        if folders:
            yield OldSolves(name, tuple(folders), size)


def _is_held(study_folder: Path, trial: str) -> bool:
    """Return whether a worker has a trial."""
    path = study_folder / "locks" / trial
    if not path.exists():
        return False
    lock = FileLock(path)
    if not lock.acquire(wait=False):
        return True
    lock.release()
    return False
