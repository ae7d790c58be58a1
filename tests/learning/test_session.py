from __future__ import annotations

import string
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError

from transom.errors import InputError
from transom.learning import InsightCategory, Playbook, SessionState, TaskType
from transom.learning.session import close_session, note, open_session


@pytest.fixture
def session() -> SessionState:
    session = SessionState(session_id="session_001")
    session.exposed.task_type = TaskType.RUN_OPTIMIZATION
    session.exposed.current_objective = "lighter\nbracket"
    session.update_study_status("bracket", "running", 45, 100, best_value=123.5, best_trial=38)
    for n in range(13):
        session.add_action(f"Started trial {n}")
    for n in range(7):
        session.add_error(f"no convergence in {n}", error_type="solver")
    session.use_items(*(f"str-{n:05}" for n in range(20)))
    session.isolated.last_f06_content = "F06 " * 1000
    session.add_trial({"number": 1, "value": 2.5})
    return session


def test_a_window_shows_the_exposed_part_within_its_bounds(session: SessionState) -> None:
    text = session.get_llm_context()
    assert text.splitlines()[:3] == [
        "Task: run_optimization", "Objective: lighter bracket",
        "Study bracket: running, 45 of 100 trials, best 123.5 in trial 38",
    ]  # fmt: skip
    assert "Errors, the newest last; 2 earlier ones:\n- solver: no convergence in 2\n" in text
    assert "Actions, the newest last; 3 earlier ones:\n- Started trial 3\n" in text
    assert text.endswith("str-00019")
    assert text.count("str-") == 15
    assert "F06" not in text
    session.exposed.recent_actions.extend(f"past the door {n}" for n in range(30))
    assert session.get_llm_context().count("\n- ") == 15
    block = session.block()
    assert (block.name, block.text, block.trust) == (
        "session_state",
        session.get_llm_context(),
        "untrusted",
    )
    assert SessionState().get_llm_context() == ""


def test_isolated_data_is_read_by_name(session: SessionState) -> None:
    assert session.load_isolated_data("last_f06_content").startswith("F06")
    assert session.load_isolated_data("nothing_here") is None
    with pytest.raises(ValidationError):
        session.isolated.full_trial_history = "no list"  # type: ignore[assignment]  # as a program might
    with pytest.raises(ValidationError):
        session.exposed.task_type = "no such task"  # type: ignore[assignment]  # as a program might


def test_a_saved_session_is_the_same_and_its_trials_lie_apart(
    session: SessionState, tmp_path: Path
) -> None:
    path = tmp_path / "session.json"
    session.save(path)
    assert '"value": 2.5' not in path.read_text()
    again = SessionState.load(path)
    assert (again.session_id, again.exposed, again.isolated) == (
        "session_001",
        session.exposed,
        session.isolated,
    )
    (tmp_path / "session_history.json").unlink()
    assert SessionState.load(path).isolated.full_trial_history == []
    path.write_text("{}")
    with pytest.raises(InputError, match=r"session\.json: this is not a session"):
        SessionState.load(path)


def test_all_that_was_noted_counts_at_the_end_whoever_noted_it_at_once(tmp_path: Path) -> None:
    playbook = Playbook()
    ids = [
        playbook.add_insight(InsightCategory.TOOL, f"{word} is needed").id
        for word in string.ascii_letters[:18]
    ]
    open_session(tmp_path, "debug_error")
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda key: note(tmp_path, used=[key]), ids))
    errors = [
        "mesh alpha bad",
        "license beta missing",
        "disk gamma full",
        "contact delta chatters",
        "port eta shut",
    ]
    note(tmp_path, errors=[*errors, "timeout of zeta", "no such file as theta"])
    done = close_session(tmp_path, playbook, good=True)
    assert sorted(done["items_updated"]) == sorted(ids)
    assert done["insights_added"] == 7
    assert open_session(tmp_path, "debug_error").session_id != done["session_id"]
