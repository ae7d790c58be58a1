"""Honest reports, each with a claim that it proves, and the edits that take the proof away.

Each base is a form of its own: another tool, another report, or another claim of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.checklist.claims.test_claim_verdicts import (
    ENDPOINTS,
    LIMITS,
    LVS,
    POWER,
    ROUTER,
    SLACKS,
    TABLE,
    YOSYS_END,
    limit,
)
from transom.checklist.atoms import ClaimRow
from transom.formats.reports.loading import SHIPPED, load_format

Edit = tuple[str, str]


@dataclass(frozen=True)
class HonestReport:
    """A report that proves a claim.

    Attributes:
        name: the form.
        bad: an edit that breaks the claim.
        value: a printed number that proves it, with the text around it as `before|number|after`.
        end: the last text that shows that the report is complete, if it shows that.
        tool: a tool that the report names, if any.
        patterns: the listed values, for a claim about a list.
    """

    name: str
    claim: ClaimRow
    text: str
    bad: Edit
    value: str = ""
    end: str = ""
    tool: str = ""
    patterns: tuple[str, ...] = ()

    @property
    def more(self) -> dict[str, object]:
        """Further keys of its item."""
        if not self.patterns:
            return {}
        listed = {"value": len(self.patterns), "pattern_items": [*self.patterns]}
        return {"requirements": listed}

    def with_number(self, number: str) -> str:
        """Return the report with another number in the place of the proof."""
        before, shown, after = self.value.split("|")
        old = before + shown + after
        assert old in self.text, self.name
        return self.text.replace(old, before + number + after)

    def edited(self, edit: Edit) -> str:
        """Return the report with a text replaced."""
        assert edit[0] in self.text, (self.name, edit)
        return self.text.replace(*edit)


STA = "OpenSTA 2.6.0 abc Copyright (c) 2024, Example Software, Inc.\n"
STA_LOG = (
    f"{STA}read_liberty own_tt.lib\nread_verilog a.v\nlink_design a\nread_spef a.spef\n"
    "report_worst_slack -max\nworst slack 0.31\nreport_worst_slack -min\nworst slack 0.05\n"
    "report_tns\ntns 0.00\ncheck_setup -verbose\nexit\n"
)
PATH = """\
Startpoint: r1 (rising edge-triggered flip-flop clocked by clk)
Endpoint: r9/D (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: {kind}

  Delay    Time   Description
---------------------------------------------------------
   0.00    0.00   clock clk (rise edge)
   0.30    0.30 ^ r1/Q (DFF)
           0.30   data arrival time
           1.90   data required time
---------------------------------------------------------
           0.27   slack (MET)

"""
HEADED = """\
****************************************
Report : timing
        -path_type full
        -delay_type min
        -max_paths 20
Design : blinker
Version: U-2022.12-SP3
****************************************

  Startpoint: r1 (rising edge-triggered flip-flop clocked by clk)
  Endpoint: r2 (rising edge-triggered flip-flop clocked by clk)
  Path Group: clk
  Path Type: min

  Point                                    Incr       Path
  -----------------------------------------------------------
  clock clk (rise edge)                    0.00       0.00
  r1/CK (dff1)                             0.00       0.00 r
  data arrival time                                   0.12
  data required time                                  0.05
  -----------------------------------------------------------
  slack (MET)                                         0.07

"""
HOLD_TABLE = TABLE.replace("Setup mode", "Hold mode ")
METRICS = """\
{
  "finish__flow__errors__count": 0,
  "finish__timing__setup__ws": 0.12,
  "finish__timing__hold__ws": 0.03,
  "detailedroute__route__drc_errors": 0,
  "finish__design__instance__count": 451
}
"""
YOSYS = " Yosys 0.40 (git sha1 abcdef0)\n"
LATCHES = (
    f"{YOSYS}2.1. Executing PROC_DLATCH pass (convert process syncs to latches).\n"
    "No latch inferred for signal `\\top.\\q' from process `\\top.$proc$a.v:3$1'.\n" + YOSYS_END
)
EQUIVALENT = (
    f"{YOSYS}Found 7 $equiv cells in eq:\n  Of those cells 7 are proven and 0 are unproven.\n"
    f"  Equivalence successfully proven!\n{YOSYS_END}"
)
CHECKED = (
    f"{YOSYS}3. Executing CHECK pass (checking for obvious problems).\n"
    f"Checking module top...\nFound and reported 0 problems.\n{YOSYS_END}"
)
UVM = """\
--- UVM Report Summary ---

** Report counts by severity
UVM_INFO :   12
UVM_WARNING :    0
UVM_ERROR :    0
UVM_FATAL :    0
** Report counts by id
[RNTST]     1
"""
QUESTA = "".join(f"# {line}\n" for line in UVM.splitlines())
COCOTB = """\
** TEST                          STATUS  SIM TIME (ns)  REAL TIME (s)  RATIO (ns/s) **
**************************************************************************************
** blinker.on                     PASS         120.00           0.01      12000.00  **
**************************************************************************************
** TESTS=1 PASS=1 FAIL=0 SKIP=0                120.00           0.03      12000.00  **
"""
ICARUS = (
    "VCD info: dumpfile a.vcd opened for output.\nALL TESTS PASSED\n"
    "tb.v:41: $finish called at 1200 (1ns)\n"
)
VERILATOR = "TEST PASSED\n- blinker_tb.sv:41: Verilog $finish\n"
VIVADO_NAMES = [
    "no_clock",
    "constant_clock",
    "pulse_width_clock",
    "unconstrained_internal_endpoints",
    "no_input_delay",
    "no_output_delay",
    "multiple_clock",
    "generated_clocks",
    "loops",
    "partial_input_delay",
    "partial_output_delay",
    "latch_loops",
]
VIVADO = "check_timing report\n\nTable of Contents\n-----------------\n" + "".join(
    f"{number}. checking {name} (0)\n" for number, name in enumerate(VIVADO_NAMES, 1)
)
INNOVUS = (
    "Cadence Innovus(TM) Implementation System.\n\nVersion:\tv21.12-s106_1, built Tue Feb  1"
    " 10:00:00 PST 2022\n<CMD> verify_drc -report a.rpt\n *** Starting Verify DRC (MEM: 9.1) ***\n"
    "  Verification Complete : 0 Viols.\n*** Message Summary: 2 warning(s), 0 error(s)\n"
    '--- Ending "Innovus" (totcpu=0:00:31.2, real=0:01:38, mem=1411.3M) ---\n'
)
STA_WARNED = STA_LOG.replace("exit\n", "Warning: a.spef line 7, net n4 has 2 nodes.\nexit\n")
SDC = "create_clock -name core -period 2.0 [get_ports clk]\nset_load 0.1 [all_outputs]\n"
CORNERS = (
    "OpenROAD v2.0-14000\nread_liberty /lib/std__ss_125C_1v60.lib\n"
    "read_liberty -corner fast /lib/std_ff_n40C_1v95.lib.gz\nlink_design a\n"
)
ROWS = """\
Group                    Internal    Switching      Leakage        Total
                            Power        Power        Power        Power (Watts)
------------------------------------------------------------------------
Sequential               2.10e-05     1.00e-06     4.00e-10     2.20e-05  55.0%
Combinational            9.00e-06     9.00e-06     1.00e-10     1.80e-05  45.0%
------------------------------------------------------------------------
Total                    3.00e-05     1.00e-05     5.00e-10     4.00e-05 100.0%
                            75.0%        25.0%         0.0%
"""
AREA = "Design area 5120 u^2 64% utilization.\n"
CHIP = f"{YOSYS}   Chip area for module '\\top': 812.500000\n{YOSYS_END}"


def named(claim: str) -> ClaimRow:
    """Return a claim without parameters."""
    return ClaimRow(name=claim)


ROUTES = """\
Start checking for open nets ...

Total number of nets = 31, of which 0 are not extracted
Total number of open nets = 0, of which 0 are frozen

Check 31 nets, 0 have Errors

Begin full DRC check ...

Checked\t1/1 Partitions, Violations =\t0
DRC-SUMMARY:
\t@@@@@@@ TOTAL VIOLATIONS =\t0

Total number of nets = 31, of which 0 are not extracted
Total number of open nets = 0, of which 0 are frozen
Total number of DRCs = 0
"""
PROOF = """\
SBY 11:02:01 [lamp] engine_0: smtbmc
SBY 11:02:02 [lamp] engine_0.basecase: Status returned by engine for basecase: pass
SBY 11:02:02 [lamp] engine_0.induction: Status returned by engine for induction: pass
SBY 11:02:02 [lamp] summary: engine_0 (smtbmc) returned pass for induction
SBY 11:02:02 [lamp] summary: engine_0 (smtbmc) returned pass for basecase
SBY 11:02:02 [lamp] summary: successful proof by k-induction.
SBY 11:02:02 [lamp] DONE (PASS, rc=0)
"""
FITTER = """\
Fitter Status : Successful - Sun Mar 07 11:00:00 2021
Quartus Prime Version : 20.1.1 Build 720 11/11/2020 SJ Lite Edition
Revision Name : lamp
Top-level Entity Name : lamp
Family : Cyclone V
Device : 5CSEBA6U23I7
Timing Models : Final
Logic utilization (in ALMs) : 812 / 41,910 ( 2 % )
Total registers : 740
Total pins : 12 / 314 ( 4 % )
Total PLLs : 0 / 6 ( 0 % )
"""
ROUTED = (
    "OpenROAD v2.0-14000\n[INFO DRT-0194] Start detail routing.\n[INFO DRT-0199]   Number of violations = 12.\n"
    "[INFO DRT-0199]   Number of violations = 0.\n[INFO DRT-0198] Complete detail routing.\n"
)


def example(name: str, number: int = 0) -> str:
    """Return a good example of a shipped format."""
    return load_format(SHIPPED / f"{name}.yaml").model.examples.good[number].text


HONEST = [
    HonestReport("OpenSTA endpoints", named("setup_met"), ENDPOINTS, ("0.69 (MET)", "-0.69 (VIOLATED)"), "        |0.69| (MET)", "1.31 (MET)\n"),
    HonestReport("OpenSTA slack lines, setup", named("setup_met"), SLACKS, ("max 0.40", "max -0.40"), "slack max |0.40|\n"),
    HonestReport("OpenSTA slack lines, hold", named("hold_met"), SLACKS, ("min 0.12", "min -0.12"), "slack min |0.12|\n"),
    HonestReport("OpenSTA slack lines, both", named("timing_met"), SLACKS, ("min 0.12", "min -0.12"), "slack max |0.40|\n"),
    HonestReport("OpenSTA log, setup", named("setup_met"), STA_LOG, ("slack 0.31", "slack -0.31"), "slack |0.31|\n", "exit\n", "OpenSTA"),
    HonestReport("OpenSTA log, hold", named("hold_met"), STA_LOG, ("slack 0.05", "slack -0.05"), "slack |0.05|\n", "exit\n", "OpenSTA"),
    HonestReport("OpenSTA log, limit", limit("worst_slack", ">= 0", "setup"), STA_LOG, ("slack 0.31", "slack -0.31"), "slack |0.31|\n", "exit\n", "OpenSTA"),
    HonestReport("OpenSTA log, constraints", named("endpoints_constrained"), STA_LOG, ("exit\n", "Warning: There are 4 unconstrained endpoints.\nexit\n"), "", "exit\n", "OpenSTA"),
    HonestReport("OpenSTA log, files", named("files_loaded"), STA_LOG, ("read_spef a.spef\n", "read_spef a.spef\nError: cannot read file a.spef.\n"), "", "exit\n", "OpenSTA"),
    HonestReport("OpenSTA path, setup", named("setup_met"), PATH.format(kind="max"), ("0.27   slack (MET)", "-0.27   slack (VIOLATED)"), "           |0.27|   slack", "0.27   slack (MET)\n\n"),
    HonestReport("OpenSTA path, hold", named("hold_met"), PATH.format(kind="min"), ("0.27   slack (MET)", "-0.27   slack (VIOLATED)"), "           |0.27|   slack", "0.27   slack (MET)\n\n"),
    HonestReport("report_timing with a head, hold", named("hold_met"), HEADED, ("(MET)                                         0.07", "(VIOLATED)                                   -0.07"), "                    |0.07|\n", "  slack (MET)                                         0.07\n\n"),
    HonestReport("Innovus table, setup", named("setup_met"), TABLE, ("|  0.112  |  0.112", "| -0.112  | -0.112"), "", "-" * 60 + "\n"),
    HonestReport("Innovus table, hold", named("hold_met"), HOLD_TABLE, ("|  0.112  |  0.112", "| -0.112  | -0.112"), "", "-" * 60 + "\n"),
    HonestReport("Innovus table, density", limit("density", "below 70 %"), TABLE, ("62.310%", "82.310%"), "Density: |62.310|%", "-" * 60 + "\n"),
    HonestReport("Innovus log, DRC", named("rules_clean"), INNOVUS, ("Complete : 0 Viols", "Complete : 4 Viols"), "Complete : |0| Viols", '--- Ending "Innovus" (totcpu=0:00:31.2, real=0:01:38, mem=1411.3M) ---\n', "Innovus"),
    HonestReport("Innovus log, errors", named("no_errors"), INNOVUS, ("0 error(s)", "3 error(s)"), "warning(s), |0| error", '--- Ending "Innovus" (totcpu=0:00:31.2, real=0:01:38, mem=1411.3M) ---\n', "Innovus"),
    HonestReport("metrics, setup", limit("worst_slack", "at least 0 ns", "setup"), METRICS, ("0.12", "-0.12"), "setup__ws\": |0.12|", "}\n", "OpenROAD"),
    HonestReport("metrics, hold", named("hold_met"), METRICS, ("0.03", "-0.03"), "hold__ws\": |0.03|", "}\n", "OpenROAD"),
    HonestReport("metrics, DRC", named("rules_clean"), METRICS, ("drc_errors\": 0", "drc_errors\": 7"), "drc_errors\": |0|,", "}\n", "OpenROAD"),
    HonestReport("Netgen log", named("netlists_match"), LVS, ("match uniquely", "do not match"), "", "LVS Done.\n", "Netgen"),
    HonestReport("router's log, antennas", named("antenna_clean"), ROUTER, ("Found 0 net", "Found 2 net"), "", "", "OpenROAD"),
    HonestReport("limits, slew", named("transition_met"), LIMITS, ("slew violation count 0", "slew violation count 3"), "slew violation count |0|\n", "max cap violation count 0\n"),
    HonestReport("limits, capacitance", named("capacitance_met"), LIMITS, ("cap violation count 0", "cap violation count 3"), "cap violation count |0|\n", "max cap violation count 0\n"),
    HonestReport("limits, fanout", named("fanout_met"), LIMITS, ("fanout violation count 0", "fanout violation count 3"), "fanout violation count |0|\n", "max cap violation count 0\n"),
    HonestReport("Innovus power", limit("total_power", "below 13 mW"), POWER, ("12.5", "14.5"), "Power = |12.5| (", "Total Power = 12.5 (100.00%)\n"),
    HonestReport("OpenSTA power", limit("total_power", "below 1 mW"), ROWS, ("4.00e-05 100", "4.00e-01 100"), "5.00e-10     |4.00e-05| 100", "Total                    3.00e-05     1.00e-05     5.00e-10     4.00e-05 100.0%\n                            75.0%        25.0%         0.0%\n"),
    HonestReport("floorplan's utilisation", limit("density", "at most 80 %"), AREA, ("64%", "91%"), "u^2 |64|%"),
    HonestReport("Yosys, latches", named("no_latches"), LATCHES, ("No latch", "Latch inferred for signal `\\top.\\r' from process `\\top.$proc$a.v:9$2': $auto$proc_dlatch.cc:427$12\nNo latch"), "", YOSYS_END, "Yosys"),
    HonestReport("Yosys, equivalence", named("equivalent"), EQUIVALENT, ("7 are proven and 0", "5 are proven and 2"), "proven and |0| are", YOSYS_END, "Yosys"),
    HonestReport("Yosys, problems", named("no_problems"), CHECKED, ("reported 0 problems", "reported 3 problems"), "reported |0| problems", YOSYS_END, "Yosys"),
    HonestReport("Yosys, warnings", named("no_warnings"), CHECKED, ("3. Exec", "Warning: wire q has no driver.\n3. Exec"), "", YOSYS_END, "Yosys"),
    HonestReport("Yosys, errors", named("no_errors"), CHECKED, ("3. Exec", "ERROR: syntax error in a.v\n3. Exec"), "", YOSYS_END, "Yosys"),
    HonestReport("Yosys, version", named("versions_approved"), CHECKED, ("Yosys 0.40", "Yosys 0.33"), "", YOSYS_END, "Yosys", ("Yosys 0.40",)),
    HonestReport("OpenSTA, warnings", named("only_listed_warnings"), STA_WARNED, ("Warning: a.spef line 7, net n4 has 2 nodes.", "Warning: library own_tt is old."), "", "exit\n", "OpenSTA", ("*nodes*",)),
    HonestReport("UVM summary", named("simulation_passed"), UVM, ("UVM_ERROR :    0", "UVM_ERROR :    3"), "UVM_FATAL :    |0|\n", "** Report counts by id\n[RNTST]     1\n"),
    HonestReport("UVM summary in a transcript", named("simulation_passed"), QUESTA, ("UVM_FATAL :    0", "UVM_FATAL :    1"), "UVM_ERROR :    |0|\n", "# ** Report counts by id\n# [RNTST]     1\n"),
    HonestReport("cocotb table", named("simulation_passed"), COCOTB, ("PASS=1 FAIL=0", "PASS=0 FAIL=1"), "", "** TESTS=1 PASS=1 FAIL=0 SKIP=0                120.00           0.03      12000.00  **\n"),
    HonestReport("Icarus run", named("simulation_passed"), ICARUS, ("ALL TESTS PASSED", "TEST FAILED"), "", "tb.v:41: $finish called at 1200 (1ns)\n"),
    HonestReport("Verilator run", named("simulation_passed"), VERILATOR, ("TEST PASSED", "TEST FAILED"), "", "- blinker_tb.sv:41: Verilog $finish\n"),
    HonestReport("Vivado constraint checks", named("endpoints_constrained"), VIVADO, ("no_clock (0)", "no_clock (14)"), "", "12. checking latch_loops (0)\n"),
    HonestReport("clocks of an SDC", named("clocks_listed"), SDC, ("core", "other"), "", "", "", ("core",)),
    HonestReport("corners of a run", named("corners_run"), CORNERS, ("ff_n40C", "tt_025C"), "", "", "OpenROAD", ("*ss_125C*", "*ff_n40C*")),
    HonestReport("cell area", limit("cell_area", "below 900 um2"), CHIP, ("812.5", "912.5"), "': |812.500000|\n", YOSYS_END, "Yosys"),
    HonestReport("opens and DRCs of the routes", named("routes_clean"), ROUTES, ("DRCs = 0", "DRCs = 3"), "open nets = |0|, of which", "Total number of DRCs = 0\n"),
    HonestReport("SymbiYosys proof", named("proof_passed"), PROOF, ("DONE (PASS, rc=0)", "DONE (FAIL, rc=2)"), "", "SBY 11:02:02 [lamp] DONE (PASS, rc=0)\n"),
    HonestReport("Quartus fitter", named("run_successful"), FITTER, ("Status : Successful", "Status : Failed"), "", "Total PLLs : 0 / 6 ( 0 % )\n"),
    HonestReport("router's log, violations", named("router_clean"), ROUTED, ("violations = 0.", "violations = 5."), "", "[INFO DRT-0198] Complete detail routing.\n", "OpenROAD"),
    HonestReport("limits, slew and capacitance", named("drv_met"), LIMITS, ("cap violation count 0", "cap violation count 3"), "slew violation count |0|\n", "max cap violation count 0\n"),
    HonestReport("routing of ISE", named("nets_routed"), example("ise.par"), ("All signals are completely routed.", "3 signals are not completely routed."), "", "PAR done!\n"),
    HonestReport("assertions of Questa", named("assertions_passed"), example("questa.assertions"), ("sv(96)                 0", "sv(96)                 4"), "", "Total Coverage By Instance (filtered view): 100.00%\n"),
    HonestReport("scan rules of Genus", named("dft_rules_met"), example("genus.dft_rules"), ("of DFT violations: 0", "of DFT violations: 2"), "of DFT violations: |0|\n", "Percentage of total registers that are scannable: 100%\n"),
    HonestReport("metal density of Innovus", named("density_met"), example("innovus.verification", -1), ("No density violations were found.", "A total of 4 density violations were found."), "", "No density violations were found.\n"),
]  # fmt: skip
