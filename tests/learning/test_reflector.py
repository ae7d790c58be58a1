from __future__ import annotations

import pytest

from transom.learning import (
    InsightCategory,
    InsightSource,
    OptimizationOutcome,
    Playbook,
    Reflector,
)

STR, MIS, *_ = InsightCategory


@pytest.fixture
def reflector() -> Reflector:
    return Reflector(Playbook())


def test_a_failed_trial_teaches_a_mistake_once_it_is_committed(reflector: Reflector) -> None:
    source = InsightSource(run="r1", study="bracket")
    for trial in (41, 42):
        outcome = OptimizationOutcome(
            trial_number=trial,
            success=False,
            solver_errors=[f"convergence failure after {trial} steps at 1.5e-3\nsecond line"],
            constraint_violations=["stress above the limit"],
            design_variables={"thickness": 0.5},
            source=source,
            egress="local",
        )
        first, second = reflector.analyze_trial(outcome)
    assert first.content == "The solver did not converge: convergence failure after N steps at N"
    assert (first.category, first.tags[0], first.evidence) == (
        MIS,
        "convergence_failure",
        "thickness=0.5",
    )
    assert reflector.analyze_trial(OptimizationOutcome(43, True, 7.0)) == []
    assert not reflector.playbook.items
    assert len(reflector.pending) == 4
    assert reflector.commit_insights(min_confidence=0.6) == 1
    assert reflector.pending == []
    (kept,) = reflector.playbook.items.values()
    assert kept.sources == (
        InsightSource("r1", "", 41, "bracket"),
        InsightSource("r1", "", 42, "bracket"),
    )
    assert (kept.source_trials, kept.egress) == ((41, 42), "local")
    reflector.analyze_trial(outcome)
    assert reflector.commit_insights() == 1
    assert second.content == "A constraint was violated: stress above the limit"
    assert second.confidence < 0.6
