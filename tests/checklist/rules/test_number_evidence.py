"""Slack, power and utilization through build and run: every number that a report states of them
counts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.rules.evidence import agrees, built, run, told
from transom.checklist.judging import LoadedChecker

STA = "OpenSTA 2.5.0\ntime 1ns\ncapacitance 1pF\nworst slack max 0.12\nworst slack min 0.30\n"
TABLE = """\
+--------------------+---------+---------+
|     {mode} mode     |   all   | reg2reg |
+--------------------+---------+---------+
|           WNS (ns):|  {wns}  |  0.900  |
|           TNS (ns):|  {tns}  |  0.000  |
|    Violating Paths:|    {count}    |    0    |
|          All Paths:|   102   |   80    |
+--------------------+---------+---------+
"""
PATH = """\
Startpoint: r1 (rising edge-triggered flip-flop clocked by clk)
Endpoint: r2 (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: {kind}

            0.100    0.000    0.000   clock clk (rise edge)
---------------------------------------------------------
           {slack}   slack ({flag})

"""
VIVADO = """\
| Design Timing Summary
    WNS(ns)      TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints      WHS(ns)      THS(ns)
    -------      -------  ---------------------  -------------------      -------      -------
      {wns}        {tns}                      {count}                 1204        0.031        0.000
"""


def table(mode: str = "Setup", wns: str = "0.010", tns: str = "0.000", count: int = 0) -> str:
    return TABLE.format(mode=mode, wns=wns, tns=tns, count=count)


def path(slack: str, flag: str = "MET", kind: str = "max") -> str:
    return PATH.format(slack=slack, flag=flag, kind=kind)


def setup(number: str) -> str:
    return STA.replace("max 0.12", f"max {number}")


SETUP: list[tuple[str, str, str]] = [
    ("good", STA, "PASS"),
    ("negative", setup("-0.12"), "FAIL"),
    ("zero", setup("0.00"), "PASS"),
    ("minus zero", setup("-0.00"), "OPEN"),
    ("minus zero of three digits", setup("-0.000"), "OPEN"),
    ("minus zero in a table", table(wns="-0.000", tns="-0.003", count=4), "FAIL"),
    ("zero although paths fail", table(wns="0.000", tns="-0.003", count=4), "FAIL"),
    ("table", table(), "PASS"),
    ("negative table", table(wns="-0.310", tns="-4.200", count=12), "FAIL"),
    ("positive and a negative sum", table(tns="-0.003"), "FAIL"),
    ("positive and violating paths", table(count=3), "FAIL"),
    ("another column is worse", table().replace("0.900", "-0.900"), "FAIL"),
    ("no column of all paths", table().replace("  all  ", "reg2out"), "OPEN"),
    ("no value for all paths", table(wns=" N/A "), "OPEN"),
    ("rows of views", table() + "| func_ss            | -0.200  | -0.200  |\n", "OPEN"),
    ("table of hold alone", table("Hold "), "OPEN"),
    ("two tables", table() + "\n" + table("Hold ", wns="-0.020", tns="-0.1", count=2), "PASS"),
    ("second corner by wns", STA + "=== corner ss\nwns max -0.85\ntns max -12.4\n", "FAIL"),
    ("second corner by tns", STA + "=== corner ss\ntns max -12.4\n", "FAIL"),
    ("second corner", STA + "=== corner ss\nworst slack max -0.85\n", "FAIL"),
    (
        "three corners",
        STA + "=== corner ss\nworst slack max 0.01\n=== corner ff\nworst slack max 0.40\n",
        "PASS",
    ),
    ("wns and tns agree", setup("-0.85") + "wns max -0.85\ntns max -12.4\n", "FAIL"),
    ("wns is worse", setup("-0.15") + "wns max -0.85\n", "FAIL_OR_OPEN"),
    ("wns and tns are zero", STA + "wns max 0.00\ntns max 0.00\n", "PASS"),
    ("tns is minus zero", STA + "tns max -0.00\n", "OPEN"),
    ("the sum of hold", STA + "tns min -3.10\n", "PASS"),
    ("a sum of unknown kind", STA + "tns -3.10\n", "FAIL"),
    ("sentinel", setup("1000000015047466219876688855040.00"), "OPEN"),
    ("sentinel with exponent", setup("1e+30"), "OPEN"),
    ("infinity", setup("INF"), "OPEN"),
    ("not a number", setup("nan"), "OPEN"),
    ("greatest integer", setup("2147483.647"), "OPEN"),
    ("no paths", STA + "No paths found.\n", "OPEN"),
    ("no constrained paths", STA + "No constrained paths.\n", "OPEN"),
    ("unconstrained", STA + "Warning: 12 unconstrained endpoints\n", "OPEN"),
    ("unit in picoseconds", "time 1ps\nworst slack max -4\n", "FAIL"),
    ("bare", STA + "worst slack -0.20\n", "OPEN"),
    ("bare and alone", "worst slack 0.20\n", "OPEN"),
    (
        "bare after its command",
        "report_worst_slack\nworst slack 0.20\nreport_tns\ntns 0.00\n",
        "PASS",
    ),
    ("negative after its command", "report_worst_slack -max\nworst slack -0.20\n", "FAIL"),
    (
        "bare after the command of hold",
        STA + "report_worst_slack -min\nworst slack -0.20\n",
        "PASS",
    ),
    ("WNS with colon", STA + "  WNS: -0.35\n", "OPEN"),
    ("positive WNS with colon", STA + "  WNS: 0.35\n", "OPEN"),
    ("critical path slack", STA + "Critical Path Slack:          -0.35\n", "OPEN"),
    ("slack without worst", STA + "slack max -0.4\n", "OPEN"),
    ("violating paths", STA + "No. of Violating Paths:       12\n", "OPEN"),
    ("no violating paths", STA + "No. of Violating Paths:        0\n", "PASS"),
    ("violations in words", STA + "Setup violations: 3 paths, worst -0.9\n", "OPEN"),
    ("no violations", STA + "No setup violations found.\n", "PASS"),
    ("worst negative slack", STA + "Worst Negative Slack (WNS): -0.2\n", "OPEN"),
    (
        "PrimeTime qor",
        STA + "  Timing Path Group 'clk'\n  Critical Path Slack:         -0.12\n",
        "OPEN",
    ),
    ("Tempus summary", STA + "Setup  all  WNS -0.12  TNS -3.4  Violating 12\n", "OPEN"),
    ("Vivado", VIVADO.format(wns="0.412", tns="0.000", count=0), "OPEN"),
    ("Vivado beside", STA + VIVADO.format(wns="-0.412", tns="-9.200", count=31), "OPEN"),
    (
        "Quartus",
        STA + "; Slow 1100mV 85C Model Setup Summary ;\n; Clock ; Slack  ; End Point TNS ;\n",
        "OPEN",
    ),
    ("Quartus row", STA + "Worst-case setup slack is -0.231\n", "OPEN"),
    ("both in one line", STA + "Setup: WNS = -3.6e-8, TNS = -1.5e-5\n", "OPEN"),
    ("coloured", STA + "\x1b[31mworst slack max -0.5\x1b[0m\n", "FAIL_OR_OPEN"),
    ("coloured WNS", STA + "\x1b[31mWNS -0.5\x1b[0m\n", "OPEN"),
    ("capitals", STA + "WORST SLACK MAX -0.5\n", "OPEN"),
    ("a comma for the point", STA + "worst slack max -0,5\n", "OPEN"),
    ("a unit behind it", STA + "worst slack max -0.5 ns\n", "OPEN"),
    ("path is met", STA + path("0.12"), "PASS"),
    ("path is worse than the worst", setup("0.40") + path("0.12"), "PASS"),
    ("path is violated", STA + path("-0.12", "VIOLATED"), "FAIL"),
    ("path of hold is violated", STA + path("-0.12", "VIOLATED", "min"), "PASS"),
    (
        "path of no type",
        STA + path("-0.12", "VIOLATED", "max").replace("Path Type: max\n", ""),
        "OPEN",
    ),
    ("path violated by a hair", STA + path("0.00", "VIOLATED"), "FAIL"),
    (
        "initial is bad, final is good",
        "Initial:\nworst slack max -0.3\nFinal:\nworst slack max 0.1\n",
        "FAIL",
    ),
    (
        "after placement and routing",
        "placement\nworst slack max 0.3\nrouting done\nworst slack max -0.1\n",
        "FAIL",
    ),
    (
        "good at every stage",
        "Initial:\nworst slack max 0.3\nFinal:\nworst slack max 0.1\n",
        "OPEN",
    ),
    (
        "bad at every stage",
        "Initial:\nworst slack max -0.3\nFinal:\nworst slack max -0.1\n",
        "FAIL",
    ),
    ("one corner alone", "report_worst_slack -max -corner tt\n" + STA, "OPEN"),
    ("one group alone", "report_worst_slack -max -group clk\n" + STA, "OPEN"),
    ("dots behind a step", STA + "Repairing antennas...\n", "PASS"),
    ("slews", STA + "max slew violation count 3\n", "PASS"),
    (
        "a pin that a library lacks",
        STA + "Pin 'VSS' is defined in LEF but not in the timing library.\n",
        "OPEN",
    ),
    ("timing in words", STA + "Setup timing is not met.\n", "OPEN"),
    ("cut off", STA + "... output truncated\n", "OPEN"),
    (
        "one line with carriage returns",
        STA + "worst slack max 0.1\rworst slack max -0.5\n",
        "OPEN",
    ),
]
HOLD: list[tuple[str, str, str]] = [
    ("good", STA, "PASS"),
    ("negative", STA.replace("min 0.30", "min -0.30"), "FAIL"),
    ("minus zero", STA.replace("min 0.30", "min -0.00"), "OPEN"),
    ("bare", STA + "worst slack -0.20\n", "OPEN"),
    ("setup is negative", setup("-0.5") + "wns max -0.5\ntns max -4.1\n", "PASS"),
    ("the sum of hold", STA + "tns min -3.10\n", "FAIL"),
    ("WHS", STA + "WHS: -0.10\n", "OPEN"),
    ("table of setup alone", table(), "OPEN"),
    ("table", table("Hold ", wns="-0.020", tns="-0.100", count=2), "FAIL"),
    ("worst of setup by its command", STA + "report_worst_slack\nworst slack -0.20\n", "PASS"),
]
TENTH: list[tuple[str, str, str]] = [
    ("good", STA, "PASS"),
    ("below", setup("0.09"), "FAIL"),
    ("printed as the limit", setup("0.10"), "PASS"),
    ("a little above", setup("0.1001"), "PASS"),
    ("a little below", setup("0.0999"), "FAIL"),
    ("picoseconds", STA.replace("time 1ns", "time 1ps"), "FAIL"),
    ("no unit", STA.replace("time 1ns\n", ""), "OPEN"),
    ("unit behind the number", "worst slack max 0.12\ntime 1ns\n", "OPEN"),
    ("path is worse than the worst", STA + path("0.05"), "FAIL"),
    ("zero wns", STA + "wns max 0.00\n", "PASS"),
]
ROWS = """\
Group                  Internal  Switching    Leakage      Total
                          Power      Power      Power      Power (Watts)
----------------------------------------------------------------
Sequential             1.08e-03   1.59e-04   4.26e-10   1.24e-03  59.9%
----------------------------------------------------------------
Total                  1.51e-03   5.69e-04   1.04e-09   2.08e-03 100.0%
"""
LINE = "Power Units = 1mW\nTotal Power:   1.2   100.0000%\n"
POWER: list[tuple[str, str, str]] = [
    ("rows", ROWS, "PASS"),
    ("rows above", ROWS.replace("2.08e-03", "2.08e-02"), "FAIL"),
    ("line", LINE, "PASS"),
    ("line above", LINE.replace("1.2", "7.1"), "FAIL"),
    ("at the limit", LINE.replace("1.2", "5.0"), "PASS"),
    ("second corner", LINE + "corner ff\nTotal Power:   9.3   100.0000%\n", "FAIL"),
    ("other spelling", LINE + "Scenario: ff\nTotal  Power = 9.3 (100.00%)\n", "OPEN"),
    (
        "row without decimals",
        ROWS + "Total     1.0e-03   2.0e-04 2.0e-02   2.2e-02 100%\n",
        "OPEN",
    ),
    ("not a number", ROWS + "Total     1.0e-03   2.0e-04 2.0e-09   nan 100.0%\n", "OPEN"),
    ("on-chip", LINE + "| Total On-Chip Power (W)  | 9.312        |\n", "OPEN"),
    ("in words", LINE + "Total power dissipation is 9.3 mW\n", "OPEN"),
    ("power of the design", LINE + "Design power: 9.3 mW\n", "OPEN"),
    (
        "parts",
        LINE + "Total Internal Power:   0.7   55.0000%\nTotal Leakage Power:   0.1   5.0000%\n",
        "PASS",
    ),
    ("thermal", LINE + "; Total Thermal Power Dissipation ; 93.12 mW ;\n", "OPEN"),
    ("no unit", LINE.replace("Power Units = 1mW\n", ""), "OPEN"),
    ("one instance", "report_power -instances u_core\n" + ROWS, "OPEN"),
    ("one corner", "report_power -corner tt\n" + ROWS, "OPEN"),
    ("its command", "report_power\n" + ROWS, "PASS"),
    ("its digits", "report_power -digits 4\n" + ROWS, "PASS"),
    (
        "stages",
        "Before optimization\n" + LINE + "After optimization\nTotal Power:   9.3   100.0000%\n",
        "OPEN",
    ),
]
AREA = "Design area 5120 u^2 64% utilization.\n"
USED: list[tuple[str, str, str]] = [
    ("good", AREA, "PASS"),
    ("above", AREA.replace("64%", "91%"), "FAIL"),
    ("at the limit", AREA.replace("64%", "80%"), "PASS"),
    ("a decimal", AREA.replace("64%", "79.9%"), "PASS"),
    ("core", "Core utilization: 64.1 %\n", "PASS"),
    ("both", AREA + "Core utilization: 91 %\n", "FAIL"),
    ("a share", AREA + "Core utilization = 0.91\n", "OPEN"),
    ("joined by an underscore", AREA + "core_utilization 91\n", "OPEN"),
    ("in front", AREA + "91% utilization in region r1\n", "OPEN"),
    ("British", AREA + "Core utilisation: 91 %\n", "FAIL_OR_OPEN"),
    ("short", AREA + "Core Util (%): 91.2\n", "OPEN"),
    ("effective", AREA + "Effective Utilization: 9.1200e-01\n", "OPEN"),
    (
        "rows",
        AREA + "| Site Type | Used | Available | Util% |\n| LUT | 900 | 1000 | 90.00 |\n",
        "OPEN",
    ),
    ("floorplan command", "initialize_floorplan -utilization 91 -core_space 2\n" + AREA, "PASS"),
    (
        "stages",
        "global_placement\n" + AREA + "detailed_placement\n" + AREA.replace("64%", "91%"),
        "OPEN",
    ),
    ("above a hundred", AREA.replace("64%", "364%"), "FAIL_OR_OPEN"),
]
CHECKS: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "setup": ("Confirm that the worst setup slack is at least 0.", STA, SETUP),
    "hold": ("Confirm that the worst hold slack is at least 0.", STA, HOLD),
    "tenth": ("Confirm that the worst setup slack is at least 0.1 ns.", STA, TENTH),
    "above": (
        "WNS > 0",
        STA,
        [("zero", setup("0.00"), "FAIL"), ("minus zero", setup("-0.00"), "OPEN")],
    ),
    "power": ("The total power does not exceed 5 mW.", ROWS, POWER),
    "used": ("Utilization must not exceed 80 %.", AREA, USED),
}


@pytest.fixture(scope="module")
def checkers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadedChecker]:
    return {
        name: built(tmp_path_factory.mktemp(name), text, {"r.rpt": report}, ["r.rpt"])
        for name, (text, report, _) in CHECKS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "report", "truth"),
    [
        pytest.param(name, *case[1:], id=f"{name}: {case[0]}")
        for name, (_, _, cases) in CHECKS.items()
        for case in cases
    ],
)
def test_every_number_counts(
    checkers: dict[str, LoadedChecker], tmp_path: Path, check: str, report: str, truth: str
) -> None:
    verdict = run(checkers[check], tmp_path, {"r.rpt": report}, inputs=["r.rpt"])
    assert agrees(verdict, truth), told(verdict)
