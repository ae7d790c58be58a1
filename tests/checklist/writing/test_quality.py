"""The five metrics of an ItemSpec fall where something is lost, and name the part."""

from __future__ import annotations

import re
from typing import Any

from tests.checklist.writing.test_gate import EXAMPLE, changed
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_spec
from transom.checklist.writing.quality import quality_of

METRICS = ("consistency", "completeness", "practicality", "generality", "traceability")


def measured(text: str) -> dict[str, Any]:
    spec = parse_spec(text)
    return quality_of(spec, check_spec(spec))


def test_a_loss_lowers_its_metric_alone_and_names_the_part() -> None:
    whole = measured(EXAMPLE)
    assert all(whole[name]["score"] >= 9 for name in METRICS), whole
    lines = [line for line in EXAMPLE.splitlines() if re.match(r"\| 2\.1 \| no \|", line)]
    undecided = measured(changed(f"{lines[0]}\n", ""))
    assert undecided["consistency"]["score"] < whole["consistency"]["score"]
    held = whole["consistency"]["parts"]["items with a waiver decision"].split(" of ")[1]
    assert (
        undecided["consistency"]["parts"]["items with a waiver decision"]
        == f"{int(held) - 1} of {held}"
    )
    assert undecided["practicality"] == whole["practicality"]
    absolute = measured(
        changed("### Waiver Decisions\n", "### Waiver Decisions\n\nSee /home/user/waivers.txt.\n")
    )
    assert absolute["generality"]["score"] < whole["generality"]["score"]
