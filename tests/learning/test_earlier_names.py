"""Programs of an earlier system run with another import line."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.compat import ace
from transom.compat.ace import (
    AtomizerPlaybook,
    AtomizerReflector,
    AtomizerSessionState,
    CompactionManager,
    ContextCacheOptimizer,
    FeedbackLoop,
    InsightCategory,
    OptimizationOutcome,
    StablePrefixBuilder,
    TaskType,
    get_playbook,
    get_session,
    save_playbook,
)


def test_a_playbook_is_filled_asked_pruned_and_kept(tmp_path: Path) -> None:
    playbook = AtomizerPlaybook()
    item = playbook.add_insight(
        category=InsightCategory.STRATEGY,
        content="Thin walls want shells",
        source_trial=42,
        tags=["mesh", "shell"],
    )
    assert playbook.record_outcome(item.id, helpful=True)
    context = playbook.get_context_for_task(
        task_type="optimization", max_items=15, min_confidence=0.5
    )
    assert f"[{item.id}]" in context
    assert playbook.prune_harmful(threshold=-3) == 0
    playbook.save(tmp_path / "playbook.json")
    loaded = AtomizerPlaybook.load(tmp_path / "playbook.json")
    assert loaded.items == playbook.items
    assert loaded.items[item.id].source_trials == (42,)


def test_a_reflector_learns_in_two_phases() -> None:
    playbook = AtomizerPlaybook()
    reflector = AtomizerReflector(playbook)
    outcome = OptimizationOutcome(
        trial_number=42,
        success=False,
        objective_value=None,
        solver_errors=["convergence failure"],
        design_variables={"thickness": 0.5},
    )
    assert len(reflector.analyze_trial(outcome)) == 1
    reflector.analyze_study_completion(
        study_name="bracket", total_trials=100, convergence_rate=0.85
    )
    assert not playbook.items
    assert reflector.commit_insights() == 2


def test_a_loop_over_a_file_returns_its_report(tmp_path: Path) -> None:
    feedback = FeedbackLoop(tmp_path / "knowledge_base" / "playbook.json")
    for trial in range(20):
        result = feedback.process_trial_result(
            trial_number=trial,
            success=trial % 10 != 0,
            objective_value=100.5 - trial,
            design_variables={"thickness": 1.5},
            context_items_used=["str-00001", "mis-00003"],
            errors=None,
        )
        assert result["trial_number"] == trial
    stats = {"name": "bracket", "total_trials": 20, "best_value": 81.5, "convergence_rate": 0.85}
    report = feedback.finalize_study(stats)
    assert (report["insights_added"], report["items_pruned"]) == (1, 0)


def test_a_session_a_record_and_a_context() -> None:
    session = AtomizerSessionState(session_id="one")
    session.exposed.task_type = TaskType.RUN_OPTIMIZATION
    session.exposed.study_name = "bracket"
    session.add_action("Started trial 42")
    session.add_error("Convergence failure", error_type="solver")
    assert "Convergence failure" in session.get_llm_context()
    assert session.load_isolated_data("last_f06_content") is None
    manager = CompactionManager(compaction_threshold=50, keep_recent=20, keep_errors=True)
    manager.add_trial_event(trial_number=42, success=True, objective=100.5)
    manager.add_error_event("Convergence failure", error_type="solver")
    manager.add_milestone("Half way", {"improvement": 0.5})
    assert len(manager.get_context_string().splitlines()) == 3
    builder = StablePrefixBuilder()
    builder.add_identity("I am the optimiser.")
    builder.add_capabilities("I can optimise.")
    builder.add_tools("Tools: none.")
    optimizer = ContextCacheOptimizer()
    context = optimizer.prepare_context(
        stable_prefix=builder.build(), semi_stable="protocol", dynamic="message"
    )
    assert context.startswith("I am the optimiser.")
    assert "Cache Hits: 0/1" in optimizer.get_report()


def test_the_one_playbook_and_the_one_session_of_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    playbook = get_playbook()
    playbook.add_insight(
        category=InsightCategory.MISTAKE,
        content="Tolerances under 1e-10 never converge",
        tags=["solver"],
    )
    save_playbook()
    assert get_playbook() is playbook
    assert (tmp_path / "knowledge_base" / "playbook.json").exists()
    assert [one.content for one in playbook.search_by_content("tolerances", limit=5)] == [
        *_contents(playbook)
    ]
    assert playbook.get_by_category(InsightCategory.MISTAKE)
    stats = playbook.get_stats()
    assert (stats["total_items"], stats["by_category"]) == (1, {"mis": 1})
    session = get_session()
    session.update_study_status(
        name="bracket",
        status="running",
        trials_completed=45,
        trials_total=100,
        best_value=123.5,
        best_trial=38,
    )
    assert "45 of 100" in get_session().get_llm_context()
    playbook.close()
    ace._playbook.cache_clear()
    ace.get_session.cache_clear()
    assert [*_contents(get_playbook())] == ["Tolerances under 1e-10 never converge"]
    get_playbook().close()
    ace._playbook.cache_clear()


def _contents(playbook: AtomizerPlaybook) -> list[str]:
    return [one.content for one in playbook.items.values()]
