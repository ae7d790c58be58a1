"""Kinds of tasks, and which insights each needs first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from transom.learning.insight import InsightCategory

# Short names, which keep the table below readable.
_STR, _MIS, _TOOL, _CAL, _DOM, _WF = InsightCategory


class TaskType(StrEnum):
    """A kind of task."""

    CREATE_STUDY = "create_study"
    RUN_OPTIMIZATION = "run_optimization"
    MONITOR_PROGRESS = "monitor_progress"
    ANALYZE_RESULTS = "analyze_results"
    DEBUG_ERROR = "debug_error"
    CONFIGURE_SETTINGS = "configure_settings"
    EXPORT_DATA = "export_data"
    NEURAL_ACCELERATION = "neural_acceleration"


@dataclass(frozen=True)
class TaskProfile:
    """The needs of a kind of task: preferred categories, preferred tags, a share of the tokens."""

    categories: tuple[InsightCategory, ...] = ()
    tags: frozenset[str] = frozenset()
    share: float = 1.0


PROFILES: Mapping[str, TaskProfile] = {
    TaskType.CREATE_STUDY: TaskProfile(
        (_STR, _DOM, _TOOL, _MIS), frozenset({"setup", "study", "design"})
    ),
    TaskType.RUN_OPTIMIZATION: TaskProfile(
        (_STR, _MIS, _TOOL), frozenset({"optimization", "solver", "sampler"})
    ),
    TaskType.MONITOR_PROGRESS: TaskProfile(
        (_WF, _MIS), frozenset({"progress", "convergence"}), 0.5
    ),
    TaskType.ANALYZE_RESULTS: TaskProfile(
        (_DOM, _CAL, _STR), frozenset({"results", "analysis", "report"})
    ),
    TaskType.DEBUG_ERROR: TaskProfile(
        (_MIS, _TOOL, _WF), frozenset({"error", "failure", "solver"})
    ),
    TaskType.CONFIGURE_SETTINGS: TaskProfile(
        (_WF, _TOOL, _MIS), frozenset({"settings", "configuration"}), 0.6
    ),
    TaskType.EXPORT_DATA: TaskProfile((_WF, _TOOL), frozenset({"export", "data", "format"}), 0.4),
    TaskType.NEURAL_ACCELERATION: TaskProfile(
        (_STR, _TOOL, _MIS), frozenset({"surrogate", "neural", "training"})
    ),
}


def profile_of(task: TaskType | str) -> TaskProfile:
    """Return the profile of a kind of task; an unknown kind has no preferences."""
    return PROFILES.get(task, TaskProfile())
