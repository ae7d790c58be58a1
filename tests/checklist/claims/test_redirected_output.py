"""Reports in the output of one command, which begins with what the tool says while it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow

HOLD = """\
 Reset EOS DB
Ignoring AAE DB Resetting ...
**WARN: (IMPSP-410):	The floorplan has rows of two heights.
# Design Stage: PostRoute
Start delay calculation (fullDC) (1 T). (MEM=1100.2)

------------------------------------------------------------
         time_design Summary
------------------------------------------------------------

+--------------------+---------+---------+
|     Hold mode      |   all   | reg2reg |
+--------------------+---------+---------+
|           WNS (ns):|  0.061  |  0.061  |
|           TNS (ns):|  0.000  |  0.000  |
|    Violating Paths:|    0    |    0    |
|          All Paths:|   318   |   290   |
+--------------------+---------+---------+

Density: 62.310%
------------------------------------------------------------
Reported timing to dir ./timingReports
Total CPU time: 4.92 sec
Total Memory Usage: 2146.648438 Mbytes
"""
# What must not pass: a report that breaks off, and trouble before, in and behind it.
BAD = {
    "cut": HOLD.partition("Density")[0],
    "cut in the table": HOLD.partition("|    Violating")[0],
    "crash behind": HOLD + "Innovus terminated by signal 11\n",
    "error before": "**ERROR: (IMPEXT-3530):	The process node is not set.\n" + HOLD,
    "error between": HOLD.replace("Density", "**ERROR: (IMPTS-17):	no paths\nDensity"),
    "no views": HOLD.replace("# Design", "Delay calculation failed for 3 nets\n# Design"),
    "pre route": HOLD.replace("PostRoute", "PreRoute"),
    "nothing looked at": HOLD.replace("  318  ", "   0   ").replace("  290  ", "   0   "),
}


def test_the_stage_and_the_report_behind_the_messages_count(tmp_path: Path) -> None:
    verdict = judge(tmp_path, ClaimRow(name="hold_met"), HOLD, {"description": "Hold post-route"})
    assert verdict.status == "PASS", verdict.capped_by


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_trouble_and_cuts_hold_it_back(tmp_path: Path, text: str) -> None:
    verdict = judge(tmp_path, ClaimRow(name="hold_met"), text, {"description": "Hold post-route"})
    assert verdict.status != "PASS"


LIMITS = """\
#  Command:           timeDesign -postRoute
|     Setup mode     |   all   | reg2reg |
|           WNS (ns):|  0.112  |  0.112  |
|           TNS (ns):|  0.000  |  0.000  |
|    Violating Paths:|    0    |    0    |
|          All Paths:|   318   |   290   |
|                |              Real             |       Total      |
|   max_cap      |      0 (0)       |   0.000    |      0 (0)       |
|   max_tran     |      0 (0)       |   0.000    |      7 (31)      |
|   max_fanout   |      2 (2)       |     -3     |      4 (4)       |
Density: 62.310%
------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("claim", "status"),
    [("capacitance_met", "PASS"), ("transition_met", "NEEDS_REVIEW"), ("fanout_met", "FAIL")],
)
def test_violations_that_only_the_total_counts_hold_it_back(
    tmp_path: Path, claim: str, status: str
) -> None:
    assert judge(tmp_path, ClaimRow(name=claim), LIMITS).status == status


CONGESTION = """\
Report : congestion
Design : blinker
Version: W-2024.09
Layer     |    overflow     |              # GRCs has
Name      |  total  |  max  | overflow (%)      | max overflow
Both Dirs |    1610 |    13 |    1361  ( 4.15%) |       1
H routing |     139 |    13 |      60  ( 0.37%) |       1
V routing |    1471 |     3 |    1301  ( 7.94%) |      14
"""
NO_CONGESTION = CONGESTION.replace("4.15", "0.00").replace("0.37", "0.00").replace("7.94", "0.00")


@pytest.mark.parametrize(
    ("limit", "report", "status"),
    [
        ("at most 5 %", CONGESTION, "NEEDS_REVIEW"),
        ("at most 3 %", CONGESTION, "FAIL"),
        ("at most 5 %", NO_CONGESTION, "PASS"),
    ],
)
def test_a_direction_beyond_the_limit_of_both_is_a_question(
    tmp_path: Path, limit: str, report: str, status: str
) -> None:
    row = ClaimRow(name="number_limit", parameters={"measure": "routing_overflow", "limit": limit})
    assert judge(tmp_path, row, report).status == status


@pytest.mark.parametrize(("report", "status"), [(CONGESTION, "FAIL"), (NO_CONGESTION, "PASS")])
def test_no_overflow_is_of_each_direction(tmp_path: Path, report: str, status: str) -> None:
    assert judge(tmp_path, ClaimRow(name="routing_fits"), report).status == status


COSTS = """\
Report : constraint
{options}Design : blinker
Version: W-2024.09

    Constraint                                       Cost
    -----------------------------------------------------
    max_transition                                   0.00 (MET)
    max_capacitance                                  {cost}
1
"""
VIOLATORS = """\
Report : constraint
{options}Design : blinker
Version: W-2024.09

This design has no violated constraints.

1
"""


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (COSTS.format(options="", cost="0.00 (MET)"), "PASS"),
        (COSTS.format(options="", cost="3.10 (VIOLATED)"), "FAIL"),
        (COSTS.format(options="        -max_transition\n", cost="0.00 (MET)"), ""),
        (VIOLATORS.format(options="        -all_violators\n"), "PASS"),
        (VIOLATORS.format(options="        -all_violators\n        -max_fanout\n"), ""),
    ],
)
def test_a_report_of_one_constraint_proves_nothing_of_all(
    tmp_path: Path, report: str, status: str
) -> None:
    verdict = judge(tmp_path, ClaimRow(name="constraints_met"), report)
    if status:
        assert (verdict.would_be or verdict.status) == status, verdict.errors
    else:
        assert verdict.status not in ("PASS", "FAIL")
