"""How much a description asks, and the prompts that follow from it."""

from __future__ import annotations

import pytest

from transom.checklist.complexity import BEYOND, Complexity, complexity_of
from transom.checklist.writing.views import make_role


@pytest.mark.parametrize(
    ("description", "complexity"),
    [
        ("Confirm the design is loaded.", "simple"),
        ("Confirm that netlist and SPEF are loaded (waive for synthesis).", "simple"),
        ("Verify the netlist/spef version.", "medium"),
        ("Confirm that netlist, SPEF, SDC and UPF are loaded.", "medium"),
        ("Validate the clock tree's quality metrics.", "complex"),
        ("Confirm that netlist, SPEF, SDC, UPF and liberty are loaded.", "complex"),
    ],
)
def test_many_things_or_many_readings_are_complex(description: str, complexity: Complexity) -> None:
    assert complexity_of(description) == complexity


def test_the_more_a_line_asks_the_more_its_rounds_are_shown() -> None:
    shown = {
        complexity: [
            {block.name for block in make_role(role, beyond=beyond).prompt}
            for role in ("checklist.analysis", "checklist.section4")
        ]
        for complexity, beyond in BEYOND.items()
    }
    assert shown["medium"][0] - shown["simple"][0] == {"example_reasoning"}
    assert shown["medium"][1] - shown["simple"][1] == {"quality_criteria", "worked_answer"}
    assert shown["complex"][0] - shown["medium"][0] == {"many_questions"}
