from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import InputError
from transom.learning import (
    ErrorPatterns,
    InsightCategory,
    OptimizationOutcome,
    Playbook,
    Reflector,
    Source,
)

STR, MIS, *_ = InsightCategory


@pytest.fixture
def reflector() -> Reflector:
    return Reflector(Playbook())


@pytest.mark.parametrize(
    ("message", "kind", "tag"),
    [
        ("Convergence failure in increment 3", "convergence_failure", "solver"),
        ("the solution DID NOT CONVERGE", "convergence_failure", "convergence"),
        ("negative jacobian in element 4711", "mesh_error", "mesh"),
        ("Meshing failed", "mesh_error", "element"),
        ("pivot ratio too large", "singularity", "boundary"),
        ("the stiffness matrix is singular", "singularity", "singularity"),
        ("std::bad_alloc: allocation of 8 GB failed", "memory_error", "memory"),
        ("out of memory", "memory_error", "performance"),
        ("the model timed out", "timeout", "timeout"),
        ("something odd", "unknown_error", "error"),
        ("", "unknown_error", "error"),
    ],
)
def test_errors_are_told_by_their_words(message: str, kind: str, tag: str) -> None:
    found = ErrorPatterns().classify(message)
    assert found.kind == kind
    assert tag in found.tags


def test_a_product_adds_patterns_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("patterns:\n- {kind: drc, find: ['mesh .* short'], tags: [layout], insight: Metal is too near}\n")
    patterns = ErrorPatterns(path)
    assert patterns.classify("the mesh has a short").kind == "drc"
    assert patterns.classify("the mesh is bad").kind == "mesh_error"
    assert patterns.tags_of(["mesh with a short", "nonsense"]) == {"drc", "layout"}
    assert patterns.tags_in("Coarse meshes need less memory") == ("element", "memory", "mesh", "performance")
    path.write_text("patterns:\n- {kind: drc, find: ['('], insight: x}\n")
    with pytest.raises(InputError, match=r"mine\.yaml:2.*no regular expression"):
        ErrorPatterns(path)


def test_a_failed_trial_teaches_a_mistake_once_it_is_committed(reflector: Reflector) -> None:
    source = Source(run="r1", study="bracket")
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
    assert (first.category, first.tags[0], first.evidence) == (MIS, "convergence_failure", "thickness=0.5")
    assert reflector.analyze_trial(OptimizationOutcome(43, True, 7.0)) == []
    assert not reflector.playbook.items
    assert len(reflector.pending) == 4
    assert reflector.commit_insights(min_confidence=0.6) == 1
    assert reflector.pending == []
    (kept,) = reflector.playbook.items.values()
    assert kept.sources == (Source("r1", "", 41, "bracket"), Source("r1", "", 42, "bracket"))
    assert (kept.source_trials, kept.egress) == ((41, 42), "local")
    reflector.analyze_trial(outcome)
    assert reflector.commit_insights() == 1
    assert second.content == "A constraint was violated: stress above the limit"
    assert second.confidence < 0.6


@pytest.mark.parametrize(("rate", "category"), [(0.85, STR), (0.3, MIS), (0.6, None)])
def test_a_whole_study_teaches_how_its_method_did(
    reflector: Reflector, rate: float, category: InsightCategory | None
) -> None:
    found = reflector.analyze_study_completion(
        study_name="bracket", total_trials=100, best_value=50.2, convergence_rate=rate, method="TPE"
    )
    assert [one.category for one in found] == ([category] if category else [])
    assert all("TPE" in one.content and one.evidence == "100 trials; the best value was 50.2" for one in found)
    assert reflector.analyze_study_completion("none", 0) == []
