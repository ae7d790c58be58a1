"""Sessions: the state that every window shows, the state read on demand, and opening and closing
in a workspace.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from transom.canonical import pretty_json, write_atomic
from transom.errors import InputError
from transom.learning.insight import Source
from transom.learning.playbook import Playbook
from transom.learning.reflector import OptimizationOutcome, Reflector
from transom.learning.tasks import PROFILES, TaskType
from transom.llm import Block, Tier
from transom.store.codec import now

MOST_ACTIONS, MOST_ERRORS, MOST_ITEMS = 10, 5, 15
"""Limits of what a window shows of a session, the newest of each."""

BLOCK = "session_state"
SESSION = "session.json"
"""File of the open session in a workspace; closed sessions are in `sessions/`."""

SKILL = Path(__file__).with_name("skill.md")
"""The skill file of a coding agent that works with a playbook."""

_CLOSED = "sessions"


class ExposedState(BaseModel):
    """State that every window shows; older actions and errors are only counted."""

    model_config = ConfigDict(validate_assignment=True, extra="forbid", defer_build=True)

    task_type: TaskType | None = None
    current_objective: str = ""
    recent_actions: list[str] = Field(default_factory=list)
    recent_errors: list[str] = Field(default_factory=list)
    earlier_actions: int = 0
    earlier_errors: int = 0
    study_name: str | None = None
    study_status: str | None = None
    trials_completed: int = 0
    trials_total: int = 0
    best_value: float | None = None
    best_trial: int | None = None
    active_playbook_items: list[str] = Field(default_factory=list)


class IsolatedState(BaseModel):
    """State that no window shows, read by name with `SessionState.load_isolated_data`."""

    model_config = ConfigDict(validate_assignment=True, extra="allow", defer_build=True)

    full_trial_history: list[dict[str, Any]] = Field(default_factory=list)
    all_errors: list[str] = Field(default_factory=list)
    all_items_used: list[str] = Field(default_factory=list)
    nx_model_path: str | None = None
    nx_expressions: dict[str, Any] = Field(default_factory=dict)
    neural_predictions: dict[str, Any] = Field(default_factory=dict)
    last_solver_output: str | None = None
    last_f06_content: str | None = None
    optimization_config: dict[str, Any] = Field(default_factory=dict)
    study_config: dict[str, Any] = Field(default_factory=dict)


class SessionState:
    """The state of one session."""

    def __init__(self, session_id: str = "session") -> None:
        self.session_id = session_id
        self.exposed = ExposedState()
        self.isolated = IsolatedState()

    def add_action(self, action: str) -> None:
        """Add an action; older actions beyond the limit are only counted."""
        shown = self.exposed
        shown.recent_actions, gone = _newest([*shown.recent_actions, _line(action)], MOST_ACTIONS)
        shown.earlier_actions += gone

    def add_error(self, error: str, error_type: str | None = None) -> None:
        """Add an error and its kind."""
        text = f"{error_type}: {error}" if error_type else error
        shown = self.exposed
        self.isolated.all_errors.append(_line(text))
        shown.recent_errors, gone = _newest([*shown.recent_errors, _line(text)], MOST_ERRORS)
        shown.earlier_errors += gone

    def add_trial(self, trial: Mapping[str, Any]) -> None:
        """Add a trial's record to the isolated state."""
        self.isolated.full_trial_history.append(dict(trial))

    def use_items(self, *ids: str) -> None:
        """Add ids of used insights; a window shows the newest 15."""
        used = self.isolated.all_items_used
        used += [one for one in dict.fromkeys(ids) if one not in used]
        items = dict.fromkeys(
            (*(one for one in self.exposed.active_playbook_items if one not in ids), *ids)
        )
        self.exposed.active_playbook_items = _newest([*items], MOST_ITEMS)[0]

    def update_study_status(
        self,
        name: str,
        status: str,
        trials_completed: int = 0,
        trials_total: int = 0,
        best_value: float | None = None,
        best_trial: int | None = None,
    ) -> None:
        """Set the status of a study."""
        shown = self.exposed
        shown.study_name, shown.study_status = name, status
        shown.trials_completed, shown.trials_total = trials_completed, trials_total
        shown.best_value, shown.best_trial = best_value, best_trial

    def load_isolated_data(self, name: str) -> Any:
        """Return isolated data by its name, or None."""
        return getattr(self.isolated, name, None)

    def get_llm_context(self) -> str:
        """Return the exposed state as text of bounded length."""
        shown = self.exposed
        lines = [f"Task: {shown.task_type.value}"] if shown.task_type else []
        lines += [f"Objective: {_line(shown.current_objective)}"] if shown.current_objective else []
        if shown.study_name:
            best = "" if shown.best_value is None else f", best {shown.best_value:g}"
            best += "" if shown.best_trial is None else f" in trial {shown.best_trial}"
            done = f"{shown.trials_completed} of {shown.trials_total} trials"
            lines.append(
                f"Study {shown.study_name}: {shown.study_status or 'unknown'}, {done}{best}"
            )
        lines += _listed(
            "Errors, the newest last", shown.recent_errors, MOST_ERRORS, shown.earlier_errors
        )
        lines += _listed(
            "Actions, the newest last", shown.recent_actions, MOST_ACTIONS, shown.earlier_actions
        )
        if shown.active_playbook_items:
            lines.append(f"Insights in use: {', '.join(shown.active_playbook_items[-MOST_ITEMS:])}")
        return "\n".join(lines)

    def block(self) -> Block:
        """Return the exposed state as a block; errors may quote logs, so it is untrusted."""
        return Block(BLOCK, self.get_llm_context(), Tier.TURN, "untrusted")

    def save(self, path: Path) -> None:
        """Write the session; trials go to a file of their own beside it, so that this one stays
        small.
        """
        document = {"session_id": self.session_id, "exposed": self.exposed.model_dump(mode="json")}
        document |= {"isolated": self.isolated.model_dump(exclude={"full_trial_history"})}
        write_atomic(history_of(path), pretty_json(self.isolated.full_trial_history).encode())
        write_atomic(path, pretty_json(document).encode())

    @classmethod
    def load(cls, path: Path) -> SessionState:
        """Read a session that `save` wrote.

        Raises:
            InputError: the file cannot be read as a session.
        """
        try:
            saved = _Saved.model_validate_json(path.read_bytes())
            history = history_of(path)
            trials = _TRIALS.validate_json(history.read_bytes()) if history.exists() else []
        except (OSError, ValidationError) as error:
            hint = "give a file that `SessionState.save` wrote"
            raise InputError("this is not a session", where=str(path), hint=hint) from error
        session = cls(saved.session_id)
        session.exposed, session.isolated = saved.exposed, saved.isolated
        session.isolated.full_trial_history = trials
        return session


def session_of(workspace: Path, *, must: bool = False) -> SessionState:
    """Return the workspace's open session, or an empty one. InputError: `must` is set and none
    is open.
    """
    if (workspace / SESSION).is_file():
        return SessionState.load(workspace / SESSION)
    if must:
        raise InputError(
            "no session is open",
            where=str(workspace),
            hint="open one with: transom session open TASK",
        )
    return SessionState()


def open_session(
    workspace: Path, task: str, objective: str = "", study: str | None = None
) -> SessionState:
    """Open a session for a task, a `TaskType`'s value, with its objective in words.

    Raises:
        InputError: another session is open, or the task is unknown.
    """
    if (workspace / SESSION).is_file():
        open_one = session_of(workspace).session_id
        raise InputError(
            f"session {open_one} is open",
            where=str(workspace),
            hint="transom session close --good|--bad",
        )
    if task not in PROFILES:
        raise InputError(
            f"unknown task {task!r}", where="session", hint=f"choose {', '.join(TaskType)}"
        )
    session = SessionState(f"session-{''.join(one for one in now()[:23] if one.isdigit())}")
    session.exposed.task_type, session.exposed.current_objective = TaskType(task), objective
    session.exposed.study_name = study
    session.save(workspace / SESSION)
    return session


def note(
    workspace: Path,
    *,
    actions: Sequence[str] = (),
    errors: Sequence[str] = (),
    used: Sequence[str] = (),
) -> SessionState:
    """Add actions, errors and used insights to the open session."""
    with _locked_session(workspace) as session:
        for one in actions:
            session.add_action(one)
        for one in errors:
            session.add_error(one)
        session.use_items(*used)
        session.save(workspace / SESSION)
    return session


def close_session(workspace: Path, playbook: Playbook, *, good: bool) -> dict[str, Any]:
    """Close the open session: its outcome counts for the insights it used, its errors become
    insights.

    Returns:
        `session_id`, `items_updated` (ids), `insights_added`, `items_pruned`.
    """
    with _locked_session(workspace) as session:
        shown, isolated, reflector = session.exposed, session.isolated, Reflector(playbook)
        source = Source(session.session_id, "session", study=shown.study_name or "", by="session")
        errors = isolated.all_errors or shown.recent_errors
        failed = OptimizationOutcome(None, False, solver_errors=errors, source=source)
        used = isolated.all_items_used or shown.active_playbook_items
        updated = reflector.learn(replace(failed, success=good), used)
        if good:  # errors on the way are worth knowing also after a good end
            reflector.analyze_trial(failed)
        added = reflector.commit_insights()
        closed = workspace / _CLOSED / f"{session.session_id}.json"
        closed.parent.mkdir(exist_ok=True)
        session.save(closed)
        for path in (workspace / SESSION, history_of(workspace / SESSION)):
            path.unlink(missing_ok=True)
    done = {"session_id": session.session_id, "items_updated": updated, "insights_added": added}
    return {**done, "items_pruned": playbook.prune_harmful()}


@contextmanager
def _locked_session(workspace: Path) -> Iterator[SessionState]:
    """Lock and load the open session; InputError where none is open."""
    session_of(workspace, must=True)  # before the lock file is made
    with (workspace / "session.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield session_of(workspace, must=True)


class _Saved(BaseModel):
    session_id: str
    exposed: ExposedState
    isolated: IsolatedState


_TRIALS = TypeAdapter(list[dict[str, Any]])


def history_of(path: Path) -> Path:
    """Return the path of a session's trials."""
    return path.with_name(f"{path.stem}_history{path.suffix}")


def _newest(entries: list[str], most: int) -> tuple[list[str], int]:
    return entries[-most:], max(0, len(entries) - most)


def _listed(heading: str, entries: list[str], most: int, earlier: int) -> list[str]:
    shown, gone = _newest(entries, most)
    before = f"; {gone + earlier} earlier ones" if gone + earlier else ""
    return [f"{heading}{before}:", *(f"- {one}" for one in shown)] if shown else []


def _line(text: str) -> str:
    return " ".join(text.split())
