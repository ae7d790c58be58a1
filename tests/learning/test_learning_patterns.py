"""What the reflector learns from failures and from whole studies."""

from __future__ import annotations

import pytest

from transom.learning import (
    InsightCategory,
    OptimizationOutcome,
    Playbook,
    Reflector,
)

STR, MIS, *_ = InsightCategory


@pytest.fixture
def reflector() -> Reflector:
    return Reflector(Playbook())


@pytest.mark.parametrize(("rate", "category"), [(0.85, STR), (0.3, MIS), (0.6, None)])
def test_a_whole_study_teaches_how_its_method_did(
    reflector: Reflector, rate: float, category: InsightCategory | None
) -> None:
    found = reflector.analyze_study_completion(
        study_name="bracket", total_trials=100, best_value=50.2, convergence_rate=rate, method="TPE"
    )
    assert [one.category for one in found] == ([category] if category else [])
    assert all(
        "TPE" in one.content and one.evidence == "100 trials; the best value was 50.2"
        for one in found
    )
    assert reflector.analyze_study_completion("none", 0) == []


def test_the_same_failure_in_many_trials_is_one_insight_with_each_of_them() -> None:
    playbook = Playbook()
    reflector = Reflector(playbook)
    for trial in (3, 7, 12):
        errors = [f"did not converge in increment {trial}"]
        reflector.analyze_trial(OptimizationOutcome(trial, False, solver_errors=errors))
    assert reflector.commit_insights() == 1
    (one,) = playbook.items.values()
    assert one.source_trials == (3, 7, 12)
    assert "convergence_failure" in one.tags
