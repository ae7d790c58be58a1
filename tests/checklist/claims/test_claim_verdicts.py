"""Verdicts of claims over reports: what must not pass, and what must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import shipped_claims
from transom.errors import InputError

ENDPOINTS = """\
max_delay/setup group clk

                                    Required    Actual
Endpoint                            Delay       Delay       Slack
-----------------------------------------------------------------
lamp (output)                        2.00        1.31        0.69 (MET)
r1/D (dff1)                          1.95        0.64        1.31 (MET)

"""
SLACKS = " time 1ns\nwns max 0.00\ntns max 0.00\nworst slack max 0.40\nworst slack min 0.12\n"
LOG = f"OpenSTA 2.6.0\n{SLACKS}"
TABLE = """\
#  Command:           timeDesign -postRoute
|     Setup mode     |   all   | reg2reg |
|           WNS (ns):|  0.112  |  0.112  |
|           TNS (ns):|  0.000  |  0.000  |
|    Violating Paths:|    0    |    0    |
|          All Paths:|   318   |   290   |
Density: 62.310%
------------------------------------------------------------
"""
VIOLATED = """\
Startpoint: r1 (rising edge-triggered flip-flop clocked by clk)
Endpoint: r9/D (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

  Delay    Time   Description
---------------------------------------------------------
   0.00    0.00   clock clk (rise edge)
---------------------------------------------------------
          -0.31   slack (VIOLATED)

"""
LVS = """\
Netgen 1.5.250
Subcircuit summary:
Device classes blinker and blinker are equivalent.

Final result: Circuits match uniquely.
.
LVS Done.
"""
ROUTER = """\
OpenROAD v2.0-14000
[INFO ANT-0002] Found 0 net violations.
[INFO ANT-0001] Found 0 pin violations.
"""
LIMITS = "max slew violation count 0\nmax fanout violation count 0\nmax cap violation count 0\n"
POWER = """\
Power-specific unit information :
    Dynamic Power Units = 1mW
    Leakage Power Units = 1pW

Total Power = 12.5 (100.00%)
"""
CHECKS = "Magic DRC:    Passed\nLayout Vs Schematic:    Passed\nAntenna Check:    Passed\n"
SETUP, HOLD = ClaimRow(name="setup_met"), ClaimRow(name="hold_met")
TIMING, MATCH = ClaimRow(name="timing_met"), ClaimRow(name="netlists_match")
ANTENNA, SLEW = ClaimRow(name="antenna_clean"), ClaimRow(name="transition_met")
CAPACITANCE = ClaimRow(name="capacitance_met")


def limit(measure: str, words: str, check: str = "") -> ClaimRow:
    """Return the claim that a number holds a limit."""
    parameters = {"measure": measure, "limit": words}
    if check:
        parameters["check"] = check
    return ClaimRow(name="number_limit", parameters=parameters)


FAILS = [
    # kind, claim, report, word that the violation must hold
    ("violated", SETUP, ENDPOINTS.replace("1.31 (MET)", "-0.31 (VIOLATED)"), "r1/D"),
    ("violated", SETUP, ENDPOINTS.replace("0.69 (MET)", "0.00 (VIOLATED)"), "lamp"),
    ("violated", SETUP, TABLE.replace("|  0.112  |  0.112", "|  0.112  | -0.112"), "reg2reg"),
    ("violated", HOLD, SLACKS.replace("min 0.12", "min -0.12"), "hold"),
    ("counted", TIMING, SLACKS + "0 setup violations, 5 hold violations\n", "violating paths"),
    ("counted", TIMING, SLACKS + "Setup violating endpoints: 12\n", "violating paths"),
    ("counted", SETUP, TABLE.replace("|    0    |    0", "|    3    |    0"), "violating paths"),
    ("other line", SETUP, TABLE + "Setup WNS in view ss: -0.220 (31 violating paths)\n", "-0.220"),
    ("mismatch", MATCH, LVS.replace("match uniquely", "fail to match"), "fail"),
    ("mismatch", MATCH, LVS + "ERROR : Netlists of top don't match\n", "don't match"),
    ("mismatch", MATCH, CHECKS.replace("Schematic:    Passed", "Schematic:    Failed"), "Failed"),
    ("first of two", ANTENNA, ROUTER.replace("0 net", "3 net") + ROUTER, "3"),
    ("status", ANTENNA, CHECKS.replace("Check:    Passed", "Check:    Failed"), "Failed"),
    ("other limit", CAPACITANCE, LIMITS.replace("cap violation count 0", "cap violation count 2"), "2"),
    ("limit", limit("density", "below 60 %"), TABLE, "62.310"),
    ("negative part", limit("worst_slack", ">= 0", "setup"), " time 1ns\nwns -0.31\n", "-0.31"),
    ("limit", limit("worst_slack", "at least 0.5 ns", "setup"), SLACKS, "0.40"),
    ("limit", limit("worst_slack", "at least 500 ps", "setup"), SLACKS, "0.40"),
    ("contradicted", limit("worst_slack", ">= 0", "setup"), SLACKS + VIOLATED, "r9/D"),
    ("contradicted", limit("worst_slack", "at least 0.1 ns", "setup"), SLACKS + VIOLATED.replace("-0.31", "0.05"), "0.05"),
    ("contradicted", limit("worst_slack", "at least 0 ns", "setup"), SLACKS.replace("tns max 0.00", "tns max -12.40"), "-12.40"),
    ("contradicted", limit("worst_slack", ">= 0", "setup"), TABLE.replace("|    0    |    0", "|    3    |    0"), "violating paths"),
    ("unit", limit("total_power", "below 5 mW"), POWER, "12.5"),
    ("unit", limit("total_power", "below 5 W"), POWER.replace("1mW", "1W"), "12.5"),
]  # fmt: skip
HELD_BACK = [
    # kind, claim, report, rule and word of the cap
    ("not measured", SETUP, SLACKS.replace("max 0.40", "max 1000000015047466219876688855040.00"), "measured", "1000000015"),
    ("not measured", SETUP, SLACKS.replace("max 0.40", "max INF"), "measured", "INF"),
    ("not measured", TIMING, SLACKS.replace("min 0.12", "min INF"), "measured", "INF"),
    ("not measured", TIMING, "wns 0.00\ntns 0.00\n", "measured", "worst slack of hold"),
    ("not measured", TIMING, ENDPOINTS, "measured", "hold"),
    ("nothing looked at", SETUP, TABLE.replace("318", " 0 ").replace("290", " 0 "), "measured", "looked at"),
    ("not read", limit("worst_slack", ">= 0", "setup"), LOG + "\x1b[31mWNS -0.5\x1b[0m\n", "trouble", "WNS"),
    ("not read", limit("worst_slack", ">= 0", "hold"), LOG + "WHS: -0.10\n", "trouble", "WHS"),
    ("rounded", limit("worst_slack", "at least 0 ns", "setup"), SLACKS.replace("0.40", "-0.00"), "measured", "-0.00"),
    ("trouble", SETUP, ENDPOINTS + "Error: cannot read file x.spef.\n", "trouble", "x.spef"),
    ("trouble", MATCH, LVS.replace("Sub", "Warning: cell ram treated as a black box.\nSub"), "trouble", "black box"),
    ("trouble", ANTENNA, ROUTER + "[ERROR GRT-0118] Routing congestion too high.\n", "trouble", "congestion"),
    ("trouble", SLEW, LIMITS + "Segmentation fault (core dumped)\n", "trouble", "Segmentation"),
    ("cut", MATCH, LVS.replace("LVS Done.\n", ""), "measured", "end"),
    ("cut", SETUP, TABLE.replace("-" * 60 + "\n", ""), "measured", "end"),
    ("cut", SLEW, LIMITS.replace("max cap violation count 0\n", ""), "measured", "end"),
    ("words", ClaimRow(name="setup_met", left_out=("in the scan mode",)), ENDPOINTS, "words", "scan mode"),
]  # fmt: skip
UNREAD = [
    # kind, claim, report, word of the unread line or of the reason
    ("no unit", limit("worst_slack", "at least 0.1 ns", "setup"), SLACKS.replace(" time 1ns\n", ""), "without a unit"),
    ("no unit", limit("total_power", "below 5 mW"), POWER.replace("1mW", "large"), "without a unit"),
    ("only the negative part", limit("worst_slack", "at least 0.1 ns", "setup"), " time 1ns\nwns 0.00\n", "zero for any"),
    ("unknown format", SETUP, "all endpoints are met\n", "no report format"),
    ("unknown format", MATCH, "the layout is the schematic\n", "no report format"),
    ("no number", limit("density", "below 60 %"), TABLE.replace("62.310%", "most%"), "most"),
]  # fmt: skip
WRONG_FILES = [
    (SETUP, LVS), (SETUP, LIMITS), (SETUP, POWER), (SETUP, ROUTER), (SETUP, CHECKS),
    (HOLD, ENDPOINTS), (HOLD, TABLE), (MATCH, ENDPOINTS), (MATCH, ROUTER), (MATCH, POWER),
    (ANTENNA, LVS), (ANTENNA, SLACKS), (SLEW, TABLE), (SLEW, SLACKS), (TIMING, LVS),
    (limit("density", "below 60 %"), SLACKS), (limit("total_power", "below 5 mW"), TABLE),
]  # fmt: skip
PASSES = [
    (SETUP, ENDPOINTS), (SETUP, TABLE), (SETUP, SLACKS), (HOLD, SLACKS), (TIMING, SLACKS),
    (MATCH, LVS), (MATCH, CHECKS), (ANTENNA, ROUTER), (ANTENNA, CHECKS), (SLEW, LIMITS),
    (CAPACITANCE, LIMITS), (limit("density", "below 70 %"), TABLE),
    (limit("worst_slack", "at least 0.1 ns", "hold"), SLACKS),
    (limit("worst_slack", ">= 0", "hold"), SLACKS),
    (limit("worst_slack", "at least 100 ps", "hold"), SLACKS),
    (limit("total_power", "below 13 mW"), POWER), (limit("total_power", "below 1 W"), POWER),
    (CAPACITANCE, LIMITS.replace("fanout violation count 0", "fanout violation count 1")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "claim", "report", "word"), FAILS)
def test_bad_news_of_the_claim_fails(
    kind: str, claim: ClaimRow, report: str, word: str, tmp_path: Path
) -> None:
    verdict = judge(tmp_path, claim, report)
    assert verdict.status == "FAIL", (kind, verdict.capped_by, verdict.errors)
    shown = [f"{entry.value} {entry.matched_content}" for entry in verdict.missing_items]
    assert any(word in text for text in shown), shown


@pytest.mark.parametrize(("kind", "claim", "report", "rule", "word"), HELD_BACK)
def test_what_the_evidence_lacks_holds_a_pass_back(
    kind: str, claim: ClaimRow, report: str, rule: str, word: str, tmp_path: Path
) -> None:
    verdict = judge(tmp_path, claim, report)
    assert verdict.status == "NEEDS_REVIEW", (kind, verdict.missing_items, verdict.errors)
    caps = [(cap.rule, cap.text) for cap in verdict.capped_by]
    assert any(cap_rule == rule and word in text for cap_rule, text in caps), caps


@pytest.mark.parametrize(("kind", "claim", "report", "word"), UNREAD)
def test_what_nobody_could_read_is_no_pass_that_a_person_may_let_through(
    kind: str, claim: ClaimRow, report: str, word: str, tmp_path: Path
) -> None:
    verdict = judge(tmp_path, claim, report)
    assert (verdict.status, verdict.capped_by) == ("NEEDS_MODEL", ()), (kind, verdict.errors)
    said = [f"{row.text} {row.where}" for row in verdict.needs_model]
    assert any(word in text for text in said), said


@pytest.mark.parametrize(
    ("measure", "words"), [("density", "below 5 mW"), ("worst_slack", "at least 0.1")]
)
def test_a_limit_of_another_quantity_is_refused(measure: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write the limit with its unit"):
        judge(tmp_path, limit(measure, words), TABLE)


@pytest.mark.parametrize(("claim", "report"), WRONG_FILES)
def test_a_report_of_another_check_is_the_wrong_file(
    claim: ClaimRow, report: str, tmp_path: Path
) -> None:
    verdict = judge(tmp_path, claim, report)
    assert verdict.status == "ERROR", verdict.capped_by
    assert verdict.errors[0].message.startswith("wrong file: ")


@pytest.mark.parametrize(("claim", "report"), PASSES)
def test_an_honest_report_passes(claim: ClaimRow, report: str, tmp_path: Path) -> None:
    verdict = judge(tmp_path, claim, report)
    assert (verdict.status, verdict.capped_by) == ("PASS", ()), verdict.missing_items


def test_waivers_and_lists_apply_as_for_any_checker(tmp_path: Path) -> None:
    bad = ENDPOINTS.replace("1.31 (MET)", "-0.31 (VIOLATED)")
    waivers = {"value": 1, "waive_items": ["r1/D*"], "waive_reasons": ["ECO 12"]}
    verdict = judge(tmp_path, SETUP, bad, {"waivers": waivers})
    assert (verdict.status, len(verdict.waived)) == ("PASS", 1)
    allowed = {"requirements": {"value": 1, "pattern_items": ["*DRT-0349*"]}}
    log = "OpenROAD v2.0\n[WARNING DRT-0349] LEF58_ENCLOSURE is ignored\n"
    only = ClaimRow(name="only_listed_warnings")
    assert judge(tmp_path, only, log, allowed).status == "PASS"
    more = log + "[WARNING DRT-0120] Large net n1 has 121 pins\n"
    verdict = judge(tmp_path, only, more, allowed)
    assert (verdict.status, len(verdict.extra_items)) == ("FAIL", 1)


def test_the_code_of_each_claim_is_short_enough_to_read(tmp_path: Path) -> None:
    for name, claim in shipped_claims().claims.items():
        parameters = {}
        if "limit" in claim.parameters:
            parameters = {"measure": "density", "limit": "below 60 %"}
        if name == "kinds_loaded":
            parameters = {"kinds": "netlist and spef and sdc and lef and def and upf"}
        listed = {"requirements": {"value": 1, "pattern_items": ["a"]}} if claim.list else {}
        judge(tmp_path, ClaimRow(name=name, parameters=parameters), LVS, listed)
        code = (tmp_path / "checker" / "atoms.py").read_text()
        assert len(code.splitlines()) <= 120, name


CLOCKS = {"requirements": {"value": 1, "pattern_items": ["lamp_clk"]}}
DEFINED = "create_clock -name lamp_clk -period 2.0 [get_ports clk]"


@pytest.mark.parametrize(
    ("status", "commands"),
    [
        ("PASS", f"{DEFINED}\n"),
        ("PASS", f"{DEFINED};\nset_load 0.1 [all_outputs]\n"),
        ("FAIL", f"{DEFINED}; create_clock -name own_clk -period 9.0 [get_ports tck]\n"),
        ("FAIL", f"create_clock -name own_clk -period 9.0 [get_ports tck]; {DEFINED}\n"),
        ("FAIL", f"{DEFINED}\ncreate_generated_clock -name half -source clk -divide_by 2 r1/Q\n"),
        ("NEEDS_REVIEW", f"{DEFINED}; create_clock -period 3.0 [get_ports jtag]\n"),
        ("NEEDS_REVIEW", f"{DEFINED}\ncreate_clock -name $name -period 3.0 [get_ports jtag]\n"),
        ("NEEDS_REVIEW", f"{DEFINED}; source more.sdc\n"),
    ],
)
def test_each_clock_of_a_line_counts(status: str, commands: str, tmp_path: Path) -> None:
    verdict = judge(tmp_path, ClaimRow(name="clocks_listed"), commands, CLOCKS)
    assert verdict.status == status, (verdict.capped_by, verdict.extra_items, verdict.errors)


@pytest.mark.parametrize(
    ("claim", "report", "listed", "status"),
    [
        # A name is compared as a whole, and not with the words around it.
        ("clocks_listed", DEFINED.replace("lamp_clk", "clk_fast"), "clk", "FAIL"),
        ("clocks_listed", DEFINED.replace("lamp_clk", "clk_fast"), "clk*", "PASS"),
        ("clocks_listed", DEFINED, "clock", "FAIL"),
        ("netlists_approved", "// Generated by Weaver 21.14-s082\nmodule a ();\n", "21.1", "FAIL"),
        ("netlists_approved", "// Generated by Weaver 21.14-s082\nmodule a ();\n", "21.14", "PASS"),
        ("netlists_approved", "// Generated by Weaver 1.21.14\nmodule a ();\n", "21.14", "FAIL"),
        ("spef_standards", '*SPEF "IEEE 1481-1998"\n', "IEEE 1481-199", "FAIL"),
    ],
)
def test_a_listed_value_is_no_part_of_a_longer_one(
    claim: str, report: str, listed: str, status: str, tmp_path: Path
) -> None:
    more = {"requirements": {"value": 1, "pattern_items": [listed]}}
    verdict = judge(tmp_path, ClaimRow(name=claim), report, more)
    status = "NEEDS_REVIEW" if status == "PASS" and verdict.would_be else status
    assert verdict.status == status, (verdict.capped_by, verdict.extra_items, verdict.errors)


APPROVED_VERSIONS = [
    (["Yosys 0.40"], "PASS"),
    # A list of what is approved names more than one log has.
    (["Yosys 0.40", "Yosys 0.33", "OpenSTA 2.6.0"], "PASS"),
    (["Yosys 0.33", "OpenSTA 2.6.0"], "FAIL"),
    (["Yosys 0.4"], "FAIL"),
    (["0.40.1"], "FAIL"),
]


@pytest.mark.parametrize(("approved", "status"), APPROVED_VERSIONS)
def test_each_version_is_on_the_list_of_approved_ones(
    tmp_path: Path, approved: list[str], status: str
) -> None:
    log = "Yosys 0.40 (git sha1 a1b2c3)\n1. Executing CHECK pass.\nEnd of script.\n"
    more = {"requirements": {"value": len(approved), "pattern_items": approved}}
    verdict = judge(tmp_path, ClaimRow(name="versions_approved"), log, more)
    assert (verdict.would_be or verdict.status) == status, verdict.missing_items


CLOCK_TABLE = """\
Report : clocks
Design : blinker
Version: O-2018.06-SP1
Date   : Tue Dec 10 17:12:13 2024

Clock          Period   Waveform            Attrs     Sources
--------------------------------------------------------------------------------
lamp_clk       100.00   {0 50}              d         {clk_i}
--------------------------------------------------------------------------------
1
"""


@pytest.mark.parametrize(("listed", "status"), [("lamp_clk", "PASS"), ("100.00", "FAIL")])
def test_the_name_of_a_clock_is_compared_and_not_its_period(
    listed: str, status: str, tmp_path: Path
) -> None:
    more = {"requirements": {"value": 1, "pattern_items": [listed]}}
    verdict = judge(tmp_path, ClaimRow(name="clocks_listed"), CLOCK_TABLE, more)
    assert verdict.status == status, (verdict.capped_by, verdict.extra_items, verdict.errors)


CORNERS = {"requirements": {"value": 2, "pattern_items": ["*ss_125C*", "*ff_n40C*"]}}
READ = """\
OpenROAD v2.0-14000
read_liberty /own/lib/std__ss_125C_1v60.lib
read_liberty -corner fast /own/lib/std_ff_n40C_1v95.lib.gz
read_liberty /own/lib/ram.lib
link_design blinker
"""


@pytest.mark.parametrize(
    ("status", "word", "log"),
    [
        ("PASS", "", READ),
        ("PASS", "", READ.replace("OpenROAD v2.0-14000", "OpenSTA 2.5.0") + "exit\n"),
        ("PASS", "", READ + "[WARNING STA-0441] set_input_delay relative to a clock\n"),
        ("FAIL", "ff_n40C", READ.replace("std_ff_n40C_1v95.lib.gz", "ram2.lib")),
        ("FAIL", "tt_025C", READ.replace("ram.lib", "std_tt_025C_1v80.lib")),
        ("FAIL", "ff_n40C", READ + "[ERROR STA-0340] cannot open '/own/lib/std_ff_n40C_1v95.lib'.\n"),
        ("FAIL", "ss_125C", READ + "[ERROR STA-0340] cannot open /own/lib/std__ss_125C_1v60.lib.gz\n"),
        ("NEEDS_REVIEW", "congestion", READ + "[ERROR GRT-0118] Routing congestion too high.\n"),
        ("NEEDS_REVIEW", "blk.spef", READ + "[ERROR STA-0340] cannot open 'blk.spef'.\n"),
        ("NEEDS_REVIEW", "end", READ.replace("OpenROAD v2.0-14000", "OpenSTA 2.5.0")),
        ("NEEDS_MODEL", "corner library", "OpenROAD v2.0-14000\n"),
    ],
)  # fmt: skip
def test_each_required_corner_was_run_and_its_library_read(
    status: str, word: str, log: str, tmp_path: Path
) -> None:
    verdict = judge(tmp_path, ClaimRow(name="corners_run"), log, CORNERS)
    assert verdict.status == status, (verdict.capped_by, verdict.missing_items, verdict.errors)
    entries = (*verdict.missing_items, *verdict.extra_items)
    shown = [f"{entry.value} {entry.matched_content}" for entry in entries]
    shown += [cap.text for cap in verdict.capped_by]
    shown += [f"{row.text} {row.where}" for row in verdict.needs_model]
    assert any(word in text for text in shown) or not word, shown


YOSYS_END = (
    "End of script. Logfile hash: 0a1b2c3d4e, CPU: user 0.02s system 0.00s, MEM: 12.31 MB peak\n"
)


@pytest.mark.parametrize(
    ("status", "log"),
    [
        ("PASS", "\n Yosys 0.40 (git sha1 abcdef0)\n\n" + YOSYS_END),
        ("FAIL", " Yosys 0.40 (git sha1 abcdef0)\nWarning: wire lamp has no driver.\n" + YOSYS_END),
        ("NEEDS_REVIEW", " Yosys 0.40 (git sha1 abcdef0)\nERROR: syntax error in lamp.v\n" + YOSYS_END),
        ("NEEDS_MODEL", " Yosys 0.40 (git sha1 abcdef0)\n"),
    ],
)  # fmt: skip
def test_a_log_without_warnings_has_shown_its_end(status: str, log: str, tmp_path: Path) -> None:
    verdict = judge(tmp_path, ClaimRow(name="no_warnings"), log)
    assert verdict.status == status, (verdict.capped_by, verdict.missing_items, verdict.errors)


def test_an_error_is_not_excused_where_warnings_are_asked_about(tmp_path: Path) -> None:
    listed = {"requirements": {"value": 1, "pattern_items": ["*DRT-0349*"]}}
    log = (
        "OpenROAD v2.0\n[WARNING DRT-0349] LEF58_ENCLOSURE is ignored\n[ERROR GRT-0118] Too high.\n"
    )
    verdict = judge(tmp_path, ClaimRow(name="only_listed_warnings"), log, listed)
    assert (verdict.status, verdict.would_be) == ("NEEDS_REVIEW", "PASS"), verdict.capped_by


ITERATION = "[INFO DRT-0195] Start {number}th optimization iteration.\n[INFO DRT-0199]   Number of violations = {count}.\n"
LAST_STEP = "[INFO DRT-0198] Complete detail routing.\n"
ITERATIONS = [
    ("ends at zero", [24, 3, 0], LAST_STEP, "PASS"),
    ("ends above zero", [24, 3, 3], LAST_STEP, "FAIL"),
    ("grows at the end", [24, 0, 2], LAST_STEP, "FAIL"),
    ("has one iteration", [0], LAST_STEP, "PASS"),
    ("does not come to its end", [24, 0], "", "NEEDS_REVIEW"),
    ("is routed once more and breaks off", [3, 0], LAST_STEP + ITERATION.format(number=1, count=0), "NEEDS_REVIEW"),
    ("crashes", [24, 0], LAST_STEP + "Segmentation fault (core dumped)\n", "NEEDS_REVIEW"),
    ("counts nothing", [], LAST_STEP, "ERROR"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "counts", "end", "status"), ITERATIONS)
def test_the_last_iteration_of_a_router_counts(
    tmp_path: Path, kind: str, counts: list[int], end: str, status: str
) -> None:
    log = "OpenROAD v2.0-14000\n[INFO ODB-0128] Design: lamp\n"
    for number, count in enumerate(counts):
        log += ITERATION.format(number=number, count=count)
    verdict = judge(tmp_path, ClaimRow(name="router_clean"), log + end)
    assert verdict.status == status, kind


FREQUENCIES = [
    (["283.37", "290.00"], "at least 280 MHz", "PASS"),
    (["283.37", "273.75"], "at least 280 MHz", "FAIL"),
    (["273.75"], "above 280 MHz", "FAIL"),
    (["0.30 G"], "at least 280 MHz", "ERROR"),
]


@pytest.mark.parametrize(("values", "limit", "status"), FREQUENCIES)
def test_each_frequency_of_a_clock_must_hold_the_limit(
    tmp_path: Path, values: list[str], limit: str, status: str
) -> None:
    log = "Info: Packing constants..\nInfo: Checksum: 0x1a2b3c4d\nInfo: Routing..\n"
    for value in values:
        log += f"Info: Max frequency for clock 'clk': {value} MHz (PASS at 12.00 MHz)\n"
    log += "Info: Program finished normally.\n"
    row = ClaimRow(name="number_limit", parameters={"measure": "max_frequency", "limit": limit})
    verdict = judge(tmp_path, row, log)
    assert verdict.status == status, [cap.text for cap in verdict.capped_by]
