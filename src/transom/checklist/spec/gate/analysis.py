"""Round 1's analysis."""

from __future__ import annotations

from collections.abc import Iterator

from transom.checklist.spec.gate.problem import SpecProblem, is_thin
from transom.checklist.spec.shapes import Analysis

STEPS = 7


def analysis_says(analysis: Analysis) -> Iterator[SpecProblem]:
    """The findings of the analysis."""
    yield from _steps(analysis)
    if analysis.capability_type is None:
        yield SpecProblem("spec.analysis.type", analysis.line, "Capability type must be 1, 2, 3 or 4")
    if is_thin(analysis.reason, 3):
        yield SpecProblem(
            "spec.analysis.reason", analysis.line, "Reason must say why the capability type is what it is"
        )
    if is_thin(analysis.reading):
        yield SpecProblem("spec.analysis.notation", analysis.line, "Notation must say how it was read, or: none used")


def _steps(analysis: Analysis) -> Iterator[SpecProblem]:
    numbers = [step.number for step in analysis.steps]
    if numbers != list(range(1, STEPS + 1)):
        found = ", ".join(map(str, numbers)) or "none"
        yield SpecProblem("spec.analysis.steps", 1, f"the analysis has steps {found}; must be 1 to {STEPS}, in order")
    for step in analysis.steps:
        if is_thin(step.text):
            yield SpecProblem("spec.analysis.steps", step.line, f"step {step.number} says nothing")
