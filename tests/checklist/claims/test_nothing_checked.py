"""A report whose own good news says that nothing was looked at is not good news."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.honest_reports import HONEST, HonestReport
from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow

REPORTS = {report.name: report for report in HONEST}

NOTHING = [
    ("OpenSTA log, setup", "Annotated 0 nets."),
    ("OpenSTA log, files", "0 nets annotated"),
    ("OpenSTA log, setup", "read_spef: no parasitics were annotated"),
    ("OpenSTA log, hold", "Endpoints analyzed: 0"),
    ("OpenSTA log, constraints", "check_setup: 0 endpoints checked"),
    ("OpenSTA log, files", "Loaded 0 liberty cells"),
    ("router's log, antennas", "[INFO ANT-0012] Checked 0 nets."),
    ("router's log, antennas", "[INFO ANT-0013] nets checked: 0"),
    ("corners of a run", "[INFO STA-0101] 0 corners were loaded."),
    ("Innovus log, DRC", "  Layers checked = 0"),
    ("Innovus log, DRC", "  0 shapes were checked in 0 areas."),
    ("Innovus log, errors", "**INFO: No instances were verified."),
    ("Netgen log", "Compared 0 devices and 0 nets."),
    ("Yosys, problems", "Checked 0 modules."),
    ("Yosys, equivalence", "0 cells were compared."),
    ("Yosys, warnings", "Cells analysed: none"),
    ("Yosys, latches", "No modules were processed."),
    ("UVM summary", "UVM_INFO @ 900: scoreboard [SB] compared 0 packets"),
    ("UVM summary in a transcript", "# UVM_INFO @ 900: scoreboard [SB] items checked: 0"),
    ("cocotb table", "     120.00ns INFO     cocotb.sb     0 transactions compared"),
    ("Icarus run", "0 vectors applied, 0 words compared"),
    ("Verilator run", "checked 0 words"),
    ("limits, slew", "Pins checked: 0"),
    ("OpenSTA endpoints", "No endpoints were checked"),
    ("OpenSTA log, hold", "Number of timing paths analyzed: 0"),
    ("OpenSTA log, setup", "None of the 318 endpoints were checked"),
    ("OpenSTA log, constraints", "0 of 318 endpoints checked"),
    ("Netgen log", "Compared zero nets."),
    ("Innovus log, DRC", "  Verifying 0 nets ..."),
    # The good count is printed with its whole, in whatever layout.
    ("OpenSTA log, setup", "SPEF nets matched : 0 of 318"),
    ("OpenSTA log, files", "SPEF nets matched 0/318"),
    ("OpenSTA log, hold", "Matched nets ........ 0 out of 318"),
    ("OpenSTA log, constraints", "Constrained endpoints: 0 of 318 (0.0%)"),
    ("OpenSTA log, setup", "| annotated nets | 0 / 318 |"),
    ("OpenSTA log, files", "Annotated: 0 of 318 nets"),
    ("OpenSTA log, setup", "Nets: 318 total, 0 annotated"),
    ("OpenSTA log, setup", "net annotation coverage = 0/318 = 0%"),
    ("router's log, antennas", "[INFO ANT-0014] 0/208 nets checked"),
    ("router's log, antennas", "[INFO ANT-0014] nets checked\t0"),
    ("Innovus log, DRC", "  Nets verified ......... 0 (0.00%)"),
    ("Innovus log, errors", "**INFO: 0 out of 4,120 instances placed."),
    ("Netgen log", "Matched devices: 0 of 12"),
    ("Yosys, equivalence", "Points proven: 0 of 7"),
    ("Yosys, problems", "Modules checked | 0"),
    ("UVM summary", "UVM_INFO @ 900: scoreboard [SB] packets matched: 0 of 128"),
    ("limits, slew", "Pins: 0 checked"),
    # A share, a key of two words, and an assignment.
    ("OpenSTA log, setup", "Nets annotated: 0.00%"),
    ("OpenSTA log, hold", "Annotated nets: 0.0 %"),
    ("OpenSTA log, files", "Annotated 0.00% of all nets"),
    ("OpenSTA log, setup", "annotated 0 (0.0%) nets"),
    ("OpenSTA log, constraints", "checked_endpoints 0"),
    ("router's log, antennas", "[INFO ANT-0015] nets: checked=0 total=208"),
    ("Netgen log", "Nothing was compared."),
    # Good news of zero things without a whole, and a label without a noun.
    ("OpenSTA log, setup", "0 nets matched"),
    ("OpenSTA log, files", "Nets matched 0"),
    ("OpenSTA log, hold", "checked: none"),
    ("OpenSTA log, constraints", "zero endpoints were matched."),
    ("Netgen log", "Devices matched: 0"),
    ("Yosys, equivalence", "0 points passed."),
    ("Innovus log, DRC", "  Verified: nothing"),
    ("Innovus log, errors", "**INFO: Nets annotated   none"),
    ("UVM summary", "UVM_INFO @ 900: scoreboard [SB] 0 packets matched"),
    ("router's log, antennas", "[INFO ANT-0016] Tests passed 0"),
]
SOMETHING = [
    ("OpenSTA log, setup", "Annotated 44 nets."),
    ("OpenSTA log, files", "0 nets not annotated"),
    ("OpenSTA log, hold", "0 nets partially annotated"),
    ("OpenSTA log, constraints", "check_setup: 318 endpoints checked, 0 paths removed"),
    ("router's log, antennas", "[INFO ANT-0012] Checked 208 nets."),
    ("router's log, antennas", "[INFO GRT-0003] nets checked: 208, 0 diodes inserted"),
    ("Innovus log, DRC", "  Layers checked = 10"),
    ("Innovus log, errors", "**INFO: 0 instances were moved."),
    ("Netgen log", "Circuit 1 contains 10 devices, Circuit 2 contains 10 devices."),
    ("Yosys, problems", "Removed 0 unused cells and 3 unused wires."),
    ("Yosys, equivalence", "0 cells were added."),
    ("Yosys, latches", "Converted 0 switches."),
    ("Icarus run", "10 vectors applied, 20 words compared"),
    ("Verilator run", "checked 2000 words"),
    ("OpenSTA log, setup", "Verified no floating inputs."),
    ("OpenSTA log, setup", "Verified no shorts exist"),
    ("OpenSTA log, hold", "Checking no combinational loops ... ok"),
    ("OpenSTA log, files", "Non-equivalent points compared: 0"),
    ("OpenSTA log, files", "0 black boxes loaded"),
    ("OpenSTA log, setup", "Read 0 UPF files"),
    ("OpenSTA log, setup", "INFO: no user init file read."),
    ("OpenSTA log, files", "Info: no checkpoint loaded, starting fresh"),
    ("OpenSTA log, files", "Checksum verified: 0"),
    ("OpenSTA log, hold", "Covered 0 dead branches"),
    ("OpenSTA log, hold", "Loading 0 fF"),
    ("OpenSTA log, hold", "Already loaded: none"),
    ("OpenSTA log, setup", "0 nets annotated by hand"),
    ("OpenSTA log, setup", "0 cached views were loaded"),
    ("Verilator run", "SPEF nets matched : 318 of 318"),
    ("OpenSTA log, files", "Unmatched nets: 0 of 318"),
    ("OpenSTA log, hold", "nets not annotated: 0"),
    ("OpenSTA log, setup", "Nets: 318 annotated, 0 ignored nets"),
    ("OpenSTA log, hold", "Matched nets: 10 of 318, 0 of them twice"),
    ("router's log, antennas", "[INFO ANT-0014] nets checked\t208"),
    ("router's log, antennas", "[INFO GRT-0004] 0/208 nets rerouted"),
    ("Netgen log", "Removed devices: 0 of 12"),
    ("Yosys, equivalence", "Points proven: 7 of 7, added 0"),
    ("Icarus run", "matched 10 of 10 vectors, 0 differ"),
    ("Verilator run", "checked 2000 words, 0 rechecked"),
    ("OpenSTA log, setup", "nets annotated in run 0: 318"),
    ("OpenSTA log, setup", "Nets annotated: 100.00%"),
    ("OpenSTA log, hold", "Unannotated nets: 0.00%"),
    ("OpenSTA log, files", "Annotated 0.05% of nets twice"),
    ("router's log, antennas", "[INFO ANT-0015] nets: checked=208 total=208"),
    ("Netgen log", "Nothing was removed."),
    ("OpenSTA log, setup", "0 nets matched the pattern scan_*"),
    ("OpenSTA log, files", "Nets matched by name: 318"),
    ("OpenSTA log, hold", "0 nets matched by pattern, 318 by name"),
    ("OpenSTA log, constraints", "checked: none is left over"),
    ("Netgen log", "Devices matched 12"),
    ("Yosys, equivalence", "0 points skipped."),
    ("router's log, antennas", "[INFO GRT-0005] Nets rerouted 0"),
]


def with_line(report: HonestReport, line: str) -> str:
    """Return a report with a line in front of its end."""
    if report.end and report.end in report.text:
        before, end, after = report.text.rpartition(report.end)
        return f"{before}{line}\n{end}{after}"
    return f"{report.text}{line}\n"


@pytest.mark.parametrize(("name", "line"), NOTHING)
def test_nothing_that_was_looked_at_proves_nothing(name: str, line: str, tmp_path: Path) -> None:
    report = REPORTS[name]
    assert judge(tmp_path / "honest", report.claim, report.text, report.more).status == "PASS"
    verdict = judge(tmp_path / "nothing", report.claim, with_line(report, line), report.more)
    assert verdict.status not in ("PASS", "FAIL"), verdict.status
    assert any(line.rsplit(maxsplit=1)[-1] in cap.text for cap in verdict.capped_by), (
        verdict.capped_by
    )


@pytest.mark.parametrize(("name", "line"), SOMETHING)
def test_what_was_looked_at_is_no_trouble(name: str, line: str, tmp_path: Path) -> None:
    report = REPORTS[name]
    verdict = judge(tmp_path / "something", report.claim, with_line(report, line), report.more)
    assert verdict.status == "PASS", verdict.capped_by


EMPTY = "Circuit 1 contains 0 devices, Circuit 2 contains 0 devices.\n"
FULL = "Circuit 1 contains 9 devices, Circuit 2 contains 9 devices.\n"
NETS = "Circuit 1 contains 4 nets,    Circuit 2 contains 4 nets.\n"
TABLE = """\
Subcircuit summary:
Circuit 1: {cell:<32}|Circuit 2: {cell:<32}
-------------------------------------------|-------------------------------------------
Number of devices: {count:<24}|Number of devices: {count:<24}
Number of nets: 4                          |Number of nets: 4
---------------------------------------------------------------------------------------
Netlists match uniquely.
Cell pin lists are equivalent.
Device classes {cell} and {cell} are equivalent.
"""
MATCHED = [
    (f"Netgen 1.5.250\n{FULL}{NETS}Result: Circuits match uniquely.\nLVS Done.\n", True),
    # A filler has no device, and neither has an empty top.
    (
        f"Netgen 1.5.250\n{EMPTY}{NETS}{FULL}{NETS}Result: Circuits match uniquely.\nLVS Done.\n",
        True,
    ),
    (
        f"Netgen 1.5.250\n{FULL}{NETS}{EMPTY}{NETS}Result: Circuits match uniquely.\nLVS Done.\n",
        False,
    ),
    (f"Netgen 1.5.250\n{EMPTY}{NETS}Result: Circuits match uniquely.\nLVS Done.\n", False),
    (
        TABLE.format(cell="fill_1", count=0)
        + TABLE.format(cell="lamp", count=7)
        + "Final result: Circuits match uniquely.\n",
        True,
    ),
    (
        TABLE.format(cell="inv", count=2)
        + TABLE.format(cell="lamp", count=0)
        + "Final result: Circuits match uniquely.\n",
        False,
    ),
]


@pytest.mark.parametrize(("text", "is_proof"), MATCHED)
def test_an_empty_top_matches_nothing(text: str, is_proof: bool, tmp_path: Path) -> None:
    verdict = judge(tmp_path, ClaimRow(name="netlists_match"), text)
    assert verdict.status == ("PASS" if is_proof else "NEEDS_REVIEW"), verdict.capped_by
    assert is_proof or any("nothing was looked at" in cap.text for cap in verdict.capped_by)
