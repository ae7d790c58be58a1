"""Hooks around a solve; a failing hook causes a warning and never fails a trial.

The hook `error_tracker` stores every failure of a study in `error_history.jsonl`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from transom.studies.solver import Solved, load_callable
from transom.studies.storage import append_line
from transom.studies.study import Moment, Number, Study

BUILT_IN = {"error_tracker": "transom.studies.hooks:error_tracker"}


@dataclass
class HookOccasion:
    """The argument of a hook.

    Attributes:
        folder: the study's folder in the workspace; a trial's own is `trial_folder`.
        trial: its number, None at the study's end; `params` is its design, `solved` the result.
        summary: at the study's end: its counts.
    """

    moment: Moment
    study: Study
    folder: Path
    trial: int | None = None
    params: Mapping[str, Number] = field(default_factory=dict)
    solved: Solved | None = None
    trial_folder: Path | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)


Hook: TypeAlias = Callable[[HookOccasion], object]


def load_hooks(study: Study) -> dict[Moment, dict[str, Hook]]:
    """Load the hooks of a study; InputError if one cannot be imported or called."""
    hooks: dict[Moment, dict[str, Hook]] = {}
    for moment, names in study.hooks.items():
        hooks[moment] = {}
        for name in names:
            hooks[moment][name] = load_callable(BUILT_IN.get(name, name), f"hooks.{moment}")
    return hooks


def call_hooks(hooks: Mapping[Moment, Mapping[str, Hook]], occasion: HookOccasion) -> list[str]:
    """Call the hooks of a moment in order; returns one line for each that failed."""
    failed = []
    for name, hook in hooks.get(occasion.moment, {}).items():
        try:
            hook(occasion)
        except Exception as error:  # noqa: BLE001  a hook's failure must not affect the trial
            failed.append(
                f"hook {name} failed at {occasion.moment}: {type(error).__name__}: {error}"
            )
    return failed


def error_tracker(occasion: HookOccasion) -> None:
    """Append a failed solve to `error_history.jsonl` in the study's folder; for `post_solve` or
    `on_failure`.
    """
    # At the end of a study there is no solve.
    solved = occasion.solved
    if solved is None or solved.diagnosis.failure is None:
        return
    row = {
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": occasion.study.study,
        "trial": occasion.trial,
        "error_type": solved.diagnosis.failure,
        "severity": solved.diagnosis.severity,
        "message": solved.diagnosis.reason,
        "evidence": [str(evidence) for evidence in solved.diagnosis.evidence],
        "design_variables": dict(occasion.params),
        "solver": solved.by,
    }
    append_line(occasion.folder / "error_history.jsonl", row)
