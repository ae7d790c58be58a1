"""Studies that ran in a workspace, read without a solver: their trials, results and insights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from transom.formats.charts import thinned
from transom.learning import Playbook
from transom.studies.advice import Advice, StudyInsight
from transom.studies.charts import StudyCharts, study_charts
from transom.studies.control import FORGOTTEN
from transom.studies.pictures import importances
from transom.studies.report import insight_rows
from transom.studies.result import StudyResult, result_of
from transom.studies.storage import open_storage
from transom.studies.study import Study
from transom.studies.study_stages import STUDY, ended, find_study, has_trials
from transom.studies.trials import StudyTrial


@dataclass(frozen=True)
class KeptStudy:
    """A study as it stands.

    Attributes:
        trials: all started trials, by number.
        insights: the insights of its scope with what they did, see `insight_rows`.
        known_insights: the insights themselves.
    """

    study: Study
    trials: Sequence[StudyTrial]
    result: StudyResult
    insights: Sequence[dict[str, Any]]
    known_insights: Sequence[StudyInsight] = ()

    @cached_property
    def charts(self) -> StudyCharts:
        """Its charts."""
        # A page is drawn often, and shares of many designs are those of a part of them.
        weights = importances(self.study, thinned(self.trials, "trials")[0])
        return study_charts(self.study, self.trials, weights, self.known_insights)


def kept_studies(root: Path) -> list[str]:
    """Return the names of the studies in a workspace's folder for studies."""
    names = []
    for path in root.glob(f"*/{STUDY}"):
        study = find_study(path.parent.name, root)
        if has_trials(study, path.parent):
            names.append(path.parent.name)
    return sorted(names)


_Marks: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, time of the last change, and size of the files that a study is read from."""
_MOST_STUDIES = 8  # that a process keeps; one of ten thousand designs has some ten megabytes


def read_study(name: str, root: Path, playbook: Playbook) -> KeptStudy:
    """Return a study by its name; InputError if it did not run in this workspace.

    A page is drawn often, and ten thousand designs take seconds to read. So a study is read again
    only after a change of its files or of the playbook.
    """
    study = find_study(name, root)
    # Nothing tells whether another database than that in the study's folder has changed.
    if study.storage_url:
        return _read(name, root, playbook)
    return _read_once(name, root, playbook, playbook.epoch, _marks_of(root, root / study.study))


def _marks_of(root: Path, folder: Path) -> _Marks:
    marks: list[tuple[str, int, int]] = []
    for path in [*root.glob("*"), *folder.glob("*")]:
        # A file may be removed meanwhile.
        with suppress(OSError):
            stat = path.stat()
            marks.append((str(path), stat.st_mtime_ns, stat.st_size))
    return tuple(sorted(marks))


@lru_cache(_MOST_STUDIES)
def _read_once(name: str, root: Path, playbook: Playbook, _epoch: int, _marks: _Marks) -> KeptStudy:
    """Return a study as `_read` does; the last two arguments differ after any change."""
    return _read(name, root, playbook)


def _read(name: str, root: Path, playbook: Playbook) -> KeptStudy:
    study = find_study(name, root)
    trials = kept_trials(study, root / study.study)
    # Of the trials, since the solver itself may be missing on this machine.
    solver = next((trial.by for trial in reversed(trials) if trial.by), "")
    result = result_of(study, trials, ended(root / study.study, study), solver)
    insights = Advice(root, playbook).insights(study.scope)
    return KeptStudy(study, trials, result, insight_rows(result, insights, trials), insights)


def kept_trials(study: Study, folder: Path) -> list[StudyTrial]:
    """Return the trials in a study's folder; none if no design was drawn yet."""
    if not has_trials(study, folder):
        return []
    storage = open_storage(folder, study.storage_url)
    try:
        key = storage.get_study_id_from_name(study.study)
    except KeyError:
        return []
    # The storage keeps what a person made a study forget.
    forgotten = storage.get_study_user_attrs(key).get(FORGOTTEN, ())
    trials: list[StudyTrial] = []
    for stored in storage.get_all_trials(key, deepcopy=False):
        if stored.state.name != "WAITING":
            trials.append(StudyTrial.of(stored, study, forgotten))
    return trials
