"""Sessions: the state that every window contains, the state that is read on demand, and the open
session of a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from transom.canonical import pretty_json, write_atomic
from transom.errors import InputError
from transom.learning.insight import InsightSource
from transom.learning.playbook import Playbook
from transom.learning.reflector import OptimizationOutcome, Reflector
from transom.learning.tasks import PROFILES, TaskType
from transom.llm import Block, Tier
from transom.store.codec import now
from transom.store.file_lock import lock_file

MOST_ACTIONS, MOST_ERRORS, MOST_ITEMS = 10, 5, 15
"""Numbers of the newest actions, errors and insights of a session that a window contains."""

BLOCK = "session_state"
SESSION = "session.json"
"""File of the open session in a workspace; closed sessions are in `sessions/`."""

SKILL = Path(__file__).with_name("skill.md")
"""The skill file of a coding agent that works with a playbook."""

_CLOSED = "sessions"


class ExposedState(BaseModel):
    """The state that every window contains. Older actions and errors are only counted."""

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
    """The state that no window contains; see `SessionState.load_isolated_data`."""

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
        state = self.exposed
        actions = [*state.recent_actions, _line(action)]
        state.recent_actions, omitted = _newest(actions, MOST_ACTIONS)
        state.earlier_actions += omitted

    def add_error(self, error: str, error_type: str | None = None) -> None:
        """Add an error and its kind."""
        text = f"{error_type}: {error}" if error_type else error
        state = self.exposed
        self.isolated.all_errors.append(_line(text))
        state.recent_errors, omitted = _newest([*state.recent_errors, _line(text)], MOST_ERRORS)
        state.earlier_errors += omitted

    def add_trial(self, trial: Mapping[str, Any]) -> None:
        """Add a trial's record to the isolated state."""
        self.isolated.full_trial_history.append(dict(trial))

    def use_items(self, *ids: str) -> None:
        """Add ids of used insights; a window contains the newest 15."""
        all_items = self.isolated.all_items_used
        for item_id in ids:
            if item_id not in all_items:
                all_items.append(item_id)
        # An insight that is used again becomes the newest one.
        earlier = [item for item in self.exposed.active_playbook_items if item not in ids]
        items = [*dict.fromkeys((*earlier, *ids))]
        self.exposed.active_playbook_items, _ = _newest(items, MOST_ITEMS)

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
        state = self.exposed
        state.study_name, state.study_status = name, status
        state.trials_completed, state.trials_total = trials_completed, trials_total
        state.best_value, state.best_trial = best_value, best_trial

    def load_isolated_data(self, name: str) -> Any:
        """Return isolated data by its name, or None."""
        return getattr(self.isolated, name, None)

    def get_llm_context(self) -> str:
        """Return the exposed state as text of bounded length."""
        state = self.exposed
        lines = []
        if state.task_type:
            lines.append(f"Task: {state.task_type.value}")
        if state.current_objective:
            lines.append(f"Objective: {_line(state.current_objective)}")
        if state.study_name:
            lines.append(_study_line(state))
        lines += _listed(
            "Errors, the newest last", state.recent_errors, MOST_ERRORS, state.earlier_errors
        )
        lines += _listed(
            "Actions, the newest last", state.recent_actions, MOST_ACTIONS, state.earlier_actions
        )
        if state.active_playbook_items:
            lines.append(f"Insights in use: {', '.join(state.active_playbook_items[-MOST_ITEMS:])}")
        return "\n".join(lines)

    def block(self) -> Block:
        """Return the exposed state as a block; errors may quote logs, so it is untrusted."""
        return Block(BLOCK, self.get_llm_context(), Tier.TURN, "untrusted")

    def save(self, path: Path) -> None:
        """Write the session. Its trials go to a second file, so that this one stays small."""
        document = {"session_id": self.session_id, "exposed": self.exposed.model_dump(mode="json")}
        document |= {"isolated": self.isolated.model_dump(exclude={"full_trial_history"})}
        # The trials first: a kill in between leaves an older session, and loses no trial.
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
            raise InputError("this is not a session", place=str(path), hint=hint) from error
        session = cls(saved.session_id)
        session.exposed, session.isolated = saved.exposed, saved.isolated
        session.isolated.full_trial_history = trials
        return session


def session_of(workspace: Path, *, must: bool = False) -> SessionState:
    """Return the open session of a workspace, or an empty one.

    Raises:
        InputError: `must` is set, and no session is open.
    """
    if (workspace / SESSION).is_file():
        return SessionState.load(workspace / SESSION)
    if must:
        raise InputError(
            "no session is open",
            place=str(workspace),
            hint="open one with: transom session open TASK",
        )
    return SessionState()


def open_session(
    workspace: Path, task: str, objective: str = "", study: str | None = None
) -> SessionState:
    """Open a session.

    Args:
        workspace: folder of the workspace.
        task: kind of the task, a value of `TaskType`.
        objective: in words.
        study: name of the study, if there is one.

    Raises:
        InputError: another session is open, or the task is unknown.
    """
    if (workspace / SESSION).is_file():
        session_id = session_of(workspace).session_id
        raise InputError(
            f"session {session_id} is open",
            place=str(workspace),
            hint="transom session close --good|--bad",
        )
    if task not in PROFILES:
        raise InputError(
            f"unknown task {task!r}", place="session", hint=f"choose {', '.join(TaskType)}"
        )
    digits = "".join(filter(str.isdigit, now()[:23]))
    session = SessionState(f"session-{digits}")
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
        for action in actions:
            session.add_action(action)
        for error in errors:
            session.add_error(error)
        session.use_items(*used)
        session.save(workspace / SESSION)
    return session


def close_session(workspace: Path, playbook: Playbook, *, good: bool) -> dict[str, Any]:
    """Close the open session: its outcome counts for the insights that it used, and its errors
    become insights.

    Returns:
        `session_id`, `items_updated` (ids), `insights_added`, `items_pruned`.
    """
    with _locked_session(workspace) as session:
        state, isolated, reflector = session.exposed, session.isolated, Reflector(playbook)
        source = InsightSource(
            session.session_id, "session", study=state.study_name or "", by="session"
        )
        # A session that another program wrote may have no isolated state.
        errors = isolated.all_errors or state.recent_errors
        failed = OptimizationOutcome(None, False, solver_errors=errors, source=source)
        items_used = isolated.all_items_used or state.active_playbook_items
        updated = reflector.learn(replace(failed, success=good), items_used)
        # Errors on the way are worth knowing also after a good end.
        if good:
            reflector.analyze_trial(failed)
        added = reflector.commit_insights()
        closed = workspace / _CLOSED / f"{session.session_id}.json"
        closed.parent.mkdir(exist_ok=True)
        session.save(closed)
        for path in (workspace / SESSION, history_of(workspace / SESSION)):
            path.unlink(missing_ok=True)
    return {
        "session_id": session.session_id,
        "items_updated": updated,
        "insights_added": added,
        "items_pruned": playbook.prune_harmful(),
    }


@contextmanager
def _locked_session(workspace: Path) -> Iterator[SessionState]:
    """Lock and load the open session.

    Raises:
        InputError: no session is open.
    """
    # Checked before the lock file is made in a folder that may not be a workspace.
    session_of(workspace, must=True)
    with (workspace / "session.lock").open("ab") as file:
        lock_file(file)
        yield session_of(workspace, must=True)


class _Saved(BaseModel):
    session_id: str
    exposed: ExposedState
    isolated: IsolatedState


_TRIALS = TypeAdapter(list[dict[str, Any]])


def history_of(path: Path) -> Path:
    """Return the path of a session's trials."""
    return path.with_name(f"{path.stem}_history{path.suffix}")


def _newest(entries: list[str], limit: int) -> tuple[list[str], int]:
    """Return the newest entries, and the number of the others."""
    return entries[-limit:], max(0, len(entries) - limit)


def _study_line(state: ExposedState) -> str:
    trials = f"{state.trials_completed} of {state.trials_total} trials"
    line = f"Study {state.study_name}: {state.study_status or 'unknown'}, {trials}"
    if state.best_value is not None:
        line += f", best {state.best_value:g}"
    if state.best_trial is not None:
        line += f" in trial {state.best_trial}"
    return line


def _listed(heading: str, entries: list[str], limit: int, earlier: int) -> list[str]:
    """Return a heading and a line for each of the newest entries; nothing without entries.

    Args:
        heading: a noun phrase.
        entries: oldest first.
        limit: number of lines at most.
        earlier: number of older entries that are not in `entries`.
    """
    newest, omitted = _newest(entries, limit)
    if not newest:
        return []
    if omitted + earlier:
        heading += f"; {omitted + earlier} earlier ones"
    return [f"{heading}:", *(f"- {entry}" for entry in newest)]


def _line(text: str) -> str:
    return " ".join(text.split())
