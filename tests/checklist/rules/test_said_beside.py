"""What a tool says beside its result, and figures that are not the result, through `check all`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.rules.evidence import agrees, built, run, told

MATCH = "Netgen 1.5.250 compiled on Mon Jan 2 2023\nFinal result: Circuits match uniquely.\n"
END = "LVS Done.\n"
COUNTS = "LVS reports:\n    net count difference = 0\n"
LVS = {
    ".\n\nLVS reports no net, device, pin, or property mismatches.\n\nTotal errors = 0\n": "PASS",
    COUNTS + "    unmatched pins = 0\n    property failures = 0\n\nTotal errors = 0\n": "PASS",
    "Property errors were not found\nNumber of unmatched devices: 0\nNo property errors were found.\n": (
        "PASS"
    ),
    "[INFO]: 0 LVS errors found.\n": "PASS",
    "  Flattening unmatched subcell pin_cell in circuit net (0)(2 instances)\n": "PASS",
    "property failures = 3\n": "FAIL",
    COUNTS + "    unmatched nets = 12\n": "FAIL",
    "unmatched nets = 0, unmatched devices = 4\n": "FAIL",
    "Property errors were found.\n": "FAIL",
    "  There were missing properties.\n": "FAIL",
    "\nTotal errors = 3\n": "FAIL",
    "LVS reports 3 unmatched devices\n": "FAIL",
    "[ERROR]: 3 LVS errors found.\n": "FAIL",
    "Number of unmatched pins: 1\n": "FAIL",
    "Subcell(s) failed matching.\n": "FAIL",
    "\nThe following subcells failed to match:\n inv(1)\n": "FAIL",
    "Netlists match uniquely with port errors.\n": "FAIL",
    "Netlists match uniquely with port and property errors.\nCircuits match uniquely.\n": "FAIL",
    "Some devices are unmatched\n": "OPEN",
    "Total errors: many\n": "OPEN",
    "Property errors: see below\n": "OPEN",
}
DRC = {
    '{"detailedroute__route__drc_errors": 0, "detailedroute__route__drc_errors__iter:1": 40}': (
        "PASS"
    ),
    '{"route__drc_errors__iter:1": 40, "route__drc_errors__iter:2": 3,\n "route__drc_errors": 0}': (
        "PASS"
    ),
    '{"route__drc_errors__iter:1": 40, "route__drc_errors__iter:2": 0, "route__drc_errors": 2}': (
        "FAIL"
    ),
    '{"route__drc_errors": 0, "route__drc_errors__corner:slow": 2}': "FAIL",
    '{"route__drc_errors__iter:1": 40, "route__drc_errors__iter:2": 0}': "OPEN",
    '{"route__drc_errors": 0, "a": {"route__drc_errors__iter:1": 0}}': "OPEN",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "name", "first", "texts"),
    [
        (
            "Confirm LVS is clean.",
            "lvs.log",
            MATCH + END,
            {MATCH + more + END: status for more, status in LVS.items()},
        ),
        (
            "Confirm the flow metrics show no DRC errors.",
            "metrics.json",
            '{"route__drc_errors": 0}',
            DRC,
        ),
    ],
    ids=["lvs", "metrics"],
)
def test_each_line_beside_the_result_counts(
    tmp_path: Path, says: str, name: str, first: str, texts: dict[str, str]
) -> None:
    checker = built(tmp_path, says, {name: first}, [name])
    for text, status in texts.items():
        verdict = run(checker, tmp_path, {name: text}, inputs=[name])
        assert agrees(verdict, status), f"{text}\n{told(verdict)}"


HEAD = (
    "Cadence Innovus(TM) Implementation System.\nCopyright 2021 Cadence Design Systems, Inc.\n\n"
    "Version:\tv21.15-s110_1, built Fri Sep 23 13:08:12 PDT 2022\n"
)
INNOVUS = f'{HEAD}--- Ending "Innovus" (totcpu=0:00:31.2, real=0:01:38, mem=1411.3M) ---\n'
GENUS = HEAD.replace("Innovus(TM) Implementation System", "Genus(TM) Synthesis Solution")
STARS = "*" * 40
REPORT = (
    f"{STARS}\nReport : timing\n        -delay_type max\nDesign : lamp\nVersion:"
    f" T-2022.03-SP5\n{STARS}\n  Startpoint: r1\n  Endpoint: r2\n  slack (MET)   0.10\n"
)
BANNER = (
    "                 PrimeTime (R)\n\n      Version T-2022.03-SP5 for linux64 - Oct 10, 2022\n"
)
VERSIONS = [
    ("*21.15*", INNOVUS, "PASS"),
    ("Innovus*21.15*", INNOVUS, "PASS"),
    ("v21.15-s110_1", INNOVUS, "PASS"),
    ("Innovus*21.15*", GENUS, "FAIL"),
    ("Innovus*21.14*", INNOVUS, "FAIL"),
    ("Innovus*21.15*", INNOVUS + GENUS, "FAIL"),
    ("T-2022.03-SP5", REPORT, "PASS"),
    ("PrimeTime T-2022.03-SP5", "pt_shell> report_timing\n" + REPORT, "PASS"),
    ("PrimeTime*", "dc_shell> report_timing\n" + REPORT, "FAIL"),
    ("PrimeTime T-2022.03*", BANNER, "PASS"),
    ("T-2022.03-SP4", REPORT, "FAIL"),
]  # fmt: skip


@pytest.mark.slow
def test_an_approved_version_may_name_its_tool(tmp_path: Path) -> None:
    needs = "{value: 1, pattern_items: ['*21.15*']}"
    files = {"run.log": INNOVUS}
    checker = built(
        tmp_path,
        "Check that the approved tool versions were used.",
        files,
        [*files],
        requirements=needs,
    )
    for pattern, text, status in VERSIONS:
        item = f"requirements: {{value: 1, pattern_items: ['{pattern}']}}\n"
        verdict = run(checker, tmp_path, {"run.log": text}, item=item, inputs=["run.log"])
        assert agrees(verdict, status), f"{pattern}\n{text}\n{told(verdict)}"
