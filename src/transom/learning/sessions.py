"""The session of a workspace: opened for a task, noted in while it lasts, closed with what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.learning.insight import Source
from transom.learning.playbook import Playbook
from transom.learning.reflector import OptimizationOutcome, Reflector
from transom.learning.session import SessionState, history_of
from transom.learning.tasks import TaskType
from transom.store.codec import now

SESSION = "session.json"
"""Where the open session lies in a workspace; closed ones lie in `sessions/`."""

SKILL = Path(__file__).with_name("skill.md")
"""The skill file of a coding agent that works with a playbook."""

_CLOSED = "sessions"


def session_of(workspace: Path) -> SessionState:
    """The workspace's open session; an empty one where none is open."""
    path = workspace / SESSION
    return SessionState.load(path) if path.is_file() else SessionState()


def open_session(workspace: Path, task: str, objective: str = "", study: str | None = None) -> SessionState:
    """Open a session for a task, a `TaskType`'s value, and what is to be reached, in words.

    Raises:
        InputError: another one is open, or there is no such kind of task.
    """
    if (workspace / SESSION).is_file():
        open_one = session_of(workspace).session_id
        raise InputError(f"session {open_one} is open", where=str(workspace), hint="transom session close --good|--bad")
    if task not in TaskType.__members__.values():
        raise InputError(f"there is no task {task!r}", where="session", hint=f"choose {', '.join(TaskType)}")
    session = SessionState(f"session-{''.join(one for one in now()[:19] if one.isdigit())}")
    session.exposed.task_type, session.exposed.current_objective = TaskType(task), objective
    session.exposed.study_name = study
    session.save(workspace / SESSION)
    return session


def note(
    workspace: Path, *, actions: Sequence[str] = (), errors: Sequence[str] = (), used: Sequence[str] = ()
) -> SessionState:
    """Note in the open session what was done, what went wrong, and which insights were relied on."""
    session = _opened(workspace)
    for one in actions:
        session.add_action(one)
    for one in errors:
        session.add_error(one)
    session.use_items(*used)
    session.save(workspace / SESSION)
    return session


def close_session(workspace: Path, playbook: Playbook, *, good: bool) -> dict[str, Any]:
    """Close the open session: its outcome counts for the insights that it relied on, its errors become insights.

    Returns:
        `session_id`, `items_updated` (ids), `insights_added`, `items_pruned`.
    """
    session = _opened(workspace)
    shown, reflector = session.exposed, Reflector(playbook)
    source = Source(session.session_id, "session", study=shown.study_name or "", by="session")
    failed = OptimizationOutcome(None, False, solver_errors=shown.recent_errors, source=source)
    updated = reflector.learn(replace(failed, success=good), shown.active_playbook_items)
    if good:  # what went wrong on the way is worth knowing, however it ended
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


def _opened(workspace: Path) -> SessionState:
    if not (workspace / SESSION).is_file():
        raise InputError("no session is open", where=str(workspace), hint="open one with: transom session open TASK")
    return session_of(workspace)
