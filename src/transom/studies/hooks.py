"""Hooks around a solve; a hook that fails costs a warning, never a trial.

`error_tracker` is one that keeps every failure of a study in `error_history.jsonl`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from transom.errors import InputError
from transom.studies.solver import Solved, load_object
from transom.studies.study import Number, Study

Moment: TypeAlias = Literal["pre_solve", "post_solve", "on_failure", "study_end"]

BUILT_IN = {"error_tracker": "transom.studies.hooks:error_tracker"}
_log = logging.getLogger("transom.studies")


@dataclass
class Occasion:
    """The argument of a hook.

    Attributes:
        moment: `pre_solve`, `post_solve` (after every solve), `on_failure`, `study_end`.
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


Hook: TypeAlias = Callable[[Occasion], object]


class Hooks:
    """The hooks of a study: those of its file, and any that a program adds."""

    def __init__(self, study: Study, added: Mapping[Moment, tuple[Hook, ...]] | None = None) -> None:
        self._hooks: dict[Moment, list[tuple[str, Hook]]] = {}
        for moment, names in study.hooks.items():
            for name in names:
                found = load_object(BUILT_IN.get(name, name), f"hooks.{moment}")
                if not callable(found):
                    raise InputError(f"{name} cannot be called", where=f"hooks.{moment}", hint="name a function")
                self._hooks.setdefault(moment, []).append((name, found))
        for moment, hooks in (added or {}).items():
            self._hooks.setdefault(moment, []).extend((getattr(hook, "__name__", "hook"), hook) for hook in hooks)

    def __call__(self, occasion: Occasion) -> list[str]:
        """Call the hooks of a moment in order; gives one line for each that failed."""
        failed = []
        for name, hook in self._hooks.get(occasion.moment, ()):
            try:
                hook(occasion)
            except Exception as error:  # noqa: BLE001  whatever a hook does, the trial counts
                line = f"hook {name} failed at {occasion.moment}: {type(error).__name__}: {error}"
                failed.append(line)
                _log.warning(line)
        return failed


def error_tracker(occasion: Occasion) -> None:
    """Append a failed solve to `error_history.jsonl` in the study's folder; for `post_solve` or `on_failure`."""
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
        "evidence": [str(one) for one in solved.diagnosis.evidence],
        "design_variables": dict(occasion.params),
        "solver": solved.by,
    }
    with (occasion.folder / "error_history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, sort_keys=True) + "\n")
