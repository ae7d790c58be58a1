"""Round 1's analysis."""

from __future__ import annotations

from typing import Final

from transom.checklist.spec.gate.problems import Problems, comma_list
from transom.checklist.spec.shapes import Analysis

STEPS: Final = 7


def check_steps(found: Problems, analysis: Analysis) -> None:
    """The findings of the analysis."""
    numbers = [step.number for step in analysis.steps]
    what = f"the analysis has steps {comma_list([str(one) for one in numbers])}; must be 1 to {STEPS}, in order"
    found.unless(numbers == list(range(1, STEPS + 1)), "spec.analysis.steps", 1, what)
    for step in analysis.steps:
        found.thin(step.text, "spec.analysis.steps", step.line, f"step {step.number}")
    wanted = "Capability type must be 1, 2, 3 or 4"
    found.unless(analysis.capability_type, "spec.analysis.type", analysis.line, wanted)
    found.thin(analysis.reason, "spec.analysis.reason", analysis.line, "Reason (why the capability type is so)", 3)
    found.thin(analysis.reading, "spec.analysis.notation", analysis.line, "Notation (how it was read, or: none used)")
