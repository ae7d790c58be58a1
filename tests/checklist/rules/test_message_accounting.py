"""Every line of a log is accounted for: a message, provably harmless, or the reason why there is no verdict."""

from __future__ import annotations

import functools
from typing import Literal

import pytest

from tests.checklist.rules.support import Extract, atom_of

Word = Literal["clean", "fails", "no guess"]

FRAMES = {
    "yosys": (" Yosys 0.38 (git sha1 543faed9c8c)", "End of script. Logfile hash: 1f2e, CPU: user 0.1s"),
    "openroad": ("OpenROAD v2.0-17598-ga008522d8", ""),
    "opensta": ("OpenSTA 2.6.0 GITDIR Copyright (c) 2024, Parallax Software, Inc.", ""),
    "innovus": (
        "Innovus v20.14-s095_1 04/07/2021",
        '--- Ending "Innovus" (totcpu=0:00:46, real=0:01:30, mem=1298.9M) ---',
    ),
    "tempus": ("Tempus v21.1-s108_1", '--- Ending "Tempus Timing Signoff Solution" (totcpu=0:00:04) ---'),
    "genus": ("Cadence Genus 21.14-s082_1", "Normal exit."),
    "vivado": ("# Vivado v2022.2 (64-bit)", "INFO: [Common 17-206] Exiting Vivado at Mon Mar  4 11:52:07 2024..."),
    "dc": ("Design Compiler (R) 2022.03", "Thank you..."),
    "primetime": ("PrimeTime (R) Version T-2022.03", "Thank you for using pt_shell!"),
    "verilator": ("Verilator 5.020 2024-01-01", ""),
}

# The tool said so, in a form that is its own.
CERTAIN = [
    ("innovus", "#ERROR (NRIG-34) routing failed on net a"),
    ("innovus", "#ERROR (NRIF-17) cannot read design"),
    ("innovus", "**FATAL: (IMPSYT-1): stop"),
    ("innovus", "**ERROR: (TCLCMD-917):\tCannot find 'pins' that match 'a'"),
    ("tempus", "<TMSC-ERROR> cannot read design"),
    ("tempus", "<TA-ERROR-12> no clock"),
    ("openroad", "[ERROR ORD-2010] no technology has been read."),
    ("openroad", "[ERROR] no technology"),
    ("openroad", "\x1b[31m[ERROR GRT-0118]\x1b[0m Routing congestion too high."),
    ("yosys", "\x1b[1;31mERROR: No such command: snyth\x1b[0m"),
    ("yosys", "a.v:12: ERROR: syntax error, unexpected TOK_ID"),
    ("yosys", "Segmentation fault (core dumped)"),
    ("yosys", "Aborted (core dumped)"),
    ("yosys", "Killed"),
    ("yosys", "terminate called after throwing an instance of 'std::out_of_range'"),
    ("yosys", "Assert `ok' failed in kernel/rtlil.cc:12."),
    ("yosys", "make: *** [Makefile:5: synth] Error 1"),
    ("yosys", "Command terminated by signal 9"),
    ("openroad", "Traceback (most recent call last):"),
    ("openroad", "RuntimeError: DRT-0085 no valid pattern"),
    ("openroad", 'invalid command name "globl_route"'),
    ("openroad", "Signal 11 received"),
    ("openroad", "Command exited with non-zero status 137"),
    ("genus", "Abnormal exit."),
    ("genus", "Encountered problems processing file: run.tcl"),
    ("genus", "Error   : Could not find an HDL design. [CDFG-210] [elaborate]"),
    ("vivado", "ERROR: [Common 17-69] Command failed: Synthesis failed"),
    ("vivado", "FATAL_ERROR: Vivado Simulator kernel has encountered an exception"),
    ("dc", "Error: Current design is not defined. (UID-4)"),
    ("dc", "Error-[SE] Syntax"),
    ("verilator", "%Error: Cannot continue"),
]

# Nobody can call these clean.
DOUBTFUL = [
    ("yosys", "killed by somebody"),
    ("yosys", "  what():  dict::at()", "terminate called without an active exception in a thread"),
    ("yosys", "ERR: bad netlist"),
    ("yosys", "fatal: not a repository"),
    ("yosys", "PANIC in thread 3"),
    ("yosys", "ABC: Error: The network is empty"),
    ("yosys", "sh: 1: abc: not found"),
    ("yosys", "sh: yosys-abc: Permission denied"),
    ("yosys", "/bin/run.sh: line 3: 1234 Illegal instruction     yosys -c x.tcl"),
    ("yosys", "Found and reported 3 problems."),
    ("yosys", "step 0 error: the solver died"),
    ("yosys", "maximum error count exceeded"),
    ("yosys", "No errors in a.v, but b.v failed"),
    ("yosys", "a fatal_error occurred"),
    ("yosys", "wor\u200bd of er\u200bror"),
    ("yosys", "E\x00R\x00R\x00O\x00R"),
    ("yosys", "progress 10%\rERROR: bad thing\r"),
    ("yosys", "progress 10%\rit failed"),
    ("openroad", "| ERROR: the design is not loaded"),
    ("openroad", "   | Error | 3 | what the router said |"),
    ("openroad", "INFO: step failed, fatal error: 'grt' died"),
    ("openroad", "[INFO GRT-0101] could not route 3 nets"),
    ("openroad", "child> internal error: solver failed"),
    ("openroad", "openroad> no such net"),
    ("openroad", "openroad> read_db failed"),
    ("openroad", 'couldn\'t open "a.lef": no such file or directory'),
    ("openroad", 'can\'t read "x": no such variable'),
    ("openroad", "    while executing"),
    ("openroad", "terminate"),
    ("openroad", 'the router says "ERROR: congestion"'),
    ("openroad", "std::bad_alloc"),
    ("openroad", "Out of memory: process 1234"),
    ("openroad", "Stack trace:"),
    ("openroad", "[WARNING GRT-0001] caught signal 11, core dumped"),
    ("opensta", "Exception: file a.lib is corrupted"),
    ("opensta", 'puts "ok"; Segmentation fault'),
    ("opensta", "two errors were seen"),
    ("opensta", "12 errors"),
    ("opensta", "Errors found: 3"),
    ("innovus", "*** Message Summary: 0 warning(s), 5 error(s)"),
    ("innovus", "ERROR     IMPLF-223          3  The LEF via '%s' has been defined and fo..."),
    ("innovus", "innovus 1> source x.tcl", "internal error: solver died"),
    ("innovus", "Unable to check out a license for Innovus_Impl_System"),
    ("innovus", "#Number of fails = 2"),
    ("genus", "Failed on report area"),
    ("genus", "       : Info=5, Warn=2, Error=1, Fatal=0"),
    ("genus", "License checkout was denied"),
    ("vivado", "synth_design failed"),
    ("vivado", "[Synth 8-439] module 'x' not found"),
    ("vivado", "12 Infos, 3 Warnings, 0 Critical Warnings and 2 Errors encountered."),
    ("vivado", "Abnormal program termination (11)"),
    ("vivado", "segfault in /lib/libc.so"),
    ("dc", "Diagnostics summary: 2 errors, 26 warnings"),
    ("dc", "The tool has just encountered a fatal error."),
    ("primetime", "Information: the update was interrupted"),
    ("verilator", "%Error: Exiting due to 2 error(s)"),
]

CLEAN = [
    ("yosys", "12. Executing CHECK pass (checking for obvious problems).", "Found and reported 0 problems."),
    ("yosys", "Warning: Found unsupported expression 'D&!E' in pin attribute of cell 'x' - skipping."),
    ("yosys", r"Removing unused \core.\error_flag.", "Reading /proj/error/fail.v and err_pkg.sv"),
    ("yosys", "Warnings: 4 unique messages, 4 total", "Errors: 0, Warnings: 4"),
    ("yosys", "dead port 2/2 on $mux $procmux$12.", "yosys> stat"),
    ("openroad", "[INFO RSZ-0098] No setup violations found", "Completing 100% with 0 violations."),
    ("openroad", "[WARNING STA-0366] port 'x' not found."),
    ("openroad", "This program is licensed under the BSD-3 license. See the LICENSE file for details."),
    ("openroad", 'openroad> if {$bad} { puts "ERROR: x" }', 'puts "ERROR: net $n"'),
    ("openroad", "openroad> set_false_path -through u_error/q", "openroad> exit"),
    ("openroad", "[INFO EST-0001] relative error 0.02, error rate = 1.5%"),
    ("openroad", "\x1b[32m[INFO GPL-0002]\x1b[0m DBU: 1000"),
    ("openroad", "10%\r20%\r30%\r100%"),
    ("opensta", "Warning: gcd.v, line 3 module tap_1 not found.  Creating black box for T_1."),
    ("opensta", "read_spef gcd.spef", "report_checks -path_delay max", "wns 0.00", "exit"),
    ("innovus", "*** Message Summary: 6 warning(s), 0 error(s)"),
    (
        "innovus",
        "Severity  ID               Count  Summary",
        "WARNING   IMPEXT-2766          9  The resistance is missing",
    ),
    ("innovus", "#WARNING (NRIG-39) cannot route to pin PIN/a. To fix the problem, check the pin."),
    ("innovus", "#Number of fails = 0", "#Total number of DRC violations = 0"),
    ("innovus", "<CMD> setAddStripeMode -ignore_block_check false", "**WARN: (IMPSR-1): Unable to find pins"),
    ("tempus", "tempus 1> set_db timing_report_fields {error x}", "Exceptions: none"),
    (
        "genus",
        "| Id       |  Sev   |Count |          Message Text                    |",
        "| CDFG-372 |Info    |    2 |Bitwidth mismatch in assignment.          |",
        "|          |        |      | Genus can issue an error in such a case.  |",
        "| LBR-9    |Warning |   12 |Library cell: missing output pins.        |",
        "--------------------------------------------------------------------",
    ),
    ("genus", "Warning : Timing problems have been detected in this design. [TIM-11]"),
    ("genus", "Info    : An attribute. [LBR-41]", "        : Could not find an attribute in the library."),
    ("genus", "       : Info=5, Warn=2, Error=0, Fatal=0", "Checking out license: Genus_Synthesis"),
    ("vivado", "45 Infos, 3 Warnings, 0 Critical Warnings and 0 Errors encountered."),
    (
        "vivado",
        "Synthesis finished with 0 errors, 0 critical warnings and 3 warnings.",
        "synth_design completed successfully",
    ),
    (
        "vivado",
        "INFO: [Vivado_Tcl 4-198] DRC finished with 0 Errors",
        "INFO: [Common 17-83] Releasing license: Synthesis",
    ),
    ("vivado", "CRITICAL WARNING: [Timing 38-282] The design failed to meet the timing requirements."),
    ("vivado", "(Failed Nets = 0)", "  Number of Failed Nets               = 0"),
    ("dc", "Diagnostics summary: 3 warnings, 2 informational", "Presto compilation completed successfully."),
    ("dc", "Warning: Unable to resolve reference 'x' in 'top'. (LINK-5)", "0 error(s)"),
    ("primetime", "No errors were reported.", "Timing exceptions: 3"),
    ("verilator", "- V e r i l a t i o n   R e p o r t: Verilator 5.020 2024-01-01"),
]


def log(tool: str, *lines: str, cut: bool = False) -> str:
    head, end = FRAMES[tool]
    return "\n".join([head, *lines, *([end] if end and not cut else []), ""])


def word(atom: Extract, text: str, category: str = "error") -> Word:
    try:
        made = atom(text, "run.log")
    except ValueError:
        return "no guess"
    return "fails" if any(category in entry["parsed_fields"] for entry in made) else "clean"


@functools.cache
def errors() -> Extract:
    return atom_of("log_messages", only=("error", "log"))


@functools.cache
def both() -> Extract:
    return atom_of("log_messages")


@functools.cache
def finished() -> Extract:
    return atom_of("log_messages", {"log.end": "complete"}, only=("error", "log"))


def table(words: set[Word], cases: list[tuple[str, ...]], atom: Extract) -> list[tuple[str, ...]]:
    """The cases that are read otherwise."""
    found = [(word(atom, log(*case)), *case) for case in cases]
    return [case for case in found if case[0] not in words]


def test_what_a_tool_calls_an_error_is_one() -> None:
    assert table({"fails"}, CERTAIN, errors()) == []
    assert table({"fails"}, CERTAIN, both()) == []


def test_what_may_tell_of_a_failure_is_never_clean() -> None:
    assert table({"no guess", "fails"}, DOUBTFUL, errors()) == []
    assert table({"no guess", "fails"}, DOUBTFUL, both()) == []


def test_doubt_about_one_line_is_not_drowned_by_good_ones() -> None:
    good = [line for tool, *lines in CLEAN if tool == "openroad" for line in lines]
    for _, *lines in (case for case in DOUBTFUL if case[0] == "openroad"):
        assert word(errors(), log("openroad", *good, *lines, *good)) == "no guess", lines


def test_clean_logs_stay_clean() -> None:
    assert table({"clean"}, CLEAN, errors()) == []


def test_an_error_in_a_clean_log_is_seen_whatever_stands_around() -> None:
    for tool, *lines in CLEAN:
        text = log(tool, lines[0], "ERROR: it is wrong", *lines[1:])
        assert word(errors(), text) != "clean", (tool, lines)
        text = log(tool, *(f"{line} and it crashed" for line in lines))
        assert word(errors(), text) != "clean" or "WARN" in lines[0].upper(), (tool, lines)


@pytest.mark.parametrize("tool", ["yosys", "innovus", "tempus", "genus", "vivado", "dc", "primetime"])
def test_a_tool_that_says_when_it_ends_must_have_said_so(tool: str) -> None:
    assert word(errors(), log(tool, "all is well")) == "clean"
    assert word(errors(), log(tool, "all is well", cut=True)) == "no guess"
    assert word(errors(), log(tool, "ERROR: it is wrong", cut=True)) == "fails"
    # Accepting the one message would otherwise accept what was cut off.
    assert word(errors(), log(tool, "ERROR: it is wrong", "and so on", cut=True)) == "no guess"
    assert word(errors(), log(tool) + log(tool, "all is well", cut=True)) == "no guess"


def test_who_asks_whether_it_finished_needs_to_see_that() -> None:
    for tool in ("openroad", "opensta"):
        assert word(errors(), log(tool, "all is well")) == "clean"
        assert word(finished(), log(tool, "all is well")) == "no guess"
        assert word(finished(), log(tool, "all is well", "exit")) == "clean"
        assert word(finished(), log(tool, "Elapsed time: 0:02.14[h:]min:sec. CPU time: user 2.34 sys 0.32")) == "clean"
        assert word(finished(), log(tool, "exit", "and yet more")) == "no guess"
    assert word(finished(), log("yosys", "all is well")) == "clean"
    assert word(finished(), log("yosys", "ERROR: no", cut=True)) == "fails"


def test_a_count_of_more_than_was_seen_is_no_guess() -> None:
    one = "**ERROR: (IMPLF-40): x"
    summary = "*** Message Summary: 0 warning(s), {} error(s)"
    assert word(errors(), log("innovus", one, summary.format(1))) == "fails"
    assert word(errors(), log("innovus", one, summary.format(2))) == "no guess"
    # One for each command, and one for the whole session.
    assert word(errors(), log("innovus", one, summary.format(1), one, summary.format(1), summary.format(2))) == "fails"
    assert word(errors(), log("innovus", one, one, summary.format(2), one, summary.format(2))) == "no guess"
    row = "ERROR     IMPLF-40             {}  x"
    assert word(errors(), log("innovus", one, "**ERROR: (IMPLF-41): y", row.format(1))) == "fails"
    assert word(errors(), log("innovus", one, "**ERROR: (IMPLF-41): y", row.format(2))) == "no guess"
    limit = "Message <IMPLF-40> has exceeded the message display limit of 1"
    assert word(errors(), log("innovus", one, limit)) == "no guess"
    assert word(errors(), log("innovus", one, limit.replace("40", "41"))) == "fails"


def test_a_table_of_messages_is_compared_with_the_messages() -> None:
    head = "| Id     |  Sev   |Count | Message Text |"
    row = "| CDFG-1 |Error   |    {} | Bad mismatch. |"
    error = "Error   : Bad mismatch. [CDFG-1] [elaborate]"
    assert word(errors(), log("genus", head, row.format(2))) == "no guess"
    assert word(errors(), log("genus", error, head, row.format(1))) == "fails"
    assert word(errors(), log("genus", error, head, row.format(2))) == "no guess"
    assert word(errors(), log("genus", head, "| CDFG-1 |Grave   |    1 | It failed. |")) == "no guess"
    assert word(errors(), log("genus", head, "-----", "", "| CDFG-1 |Info   |    1 | It failed. |")) == "no guess"


def test_evidence_is_the_line_as_it_stands() -> None:
    line = "\x1b[31mERROR: it is wrong\x1b[0m"
    made = [entry for entry in errors()(log("yosys", line), "run.log") if "error" in entry["parsed_fields"]]
    assert [(entry["line_number"], entry["matched_content"]) for entry in made] == [(2, line)]
    assert made[0]["value"] == "ERROR: it is wrong"


def test_a_file_of_lone_carriage_returns_is_no_guess() -> None:
    assert word(errors(), log("yosys", "ERROR: bad thing").replace("\n", "\r")) == "no guess"


SYNTHESIS = {
    "yosys": ("7.3. Executing PROC_DLATCH pass (convert process syncs to latches).", FRAMES["yosys"][1]),
    "vivado": ("Starting RTL Elaboration : Time (s): cpu = 00:00:03", FRAMES["vivado"][1]),
    "dc": ("Presto compilation completed successfully.", FRAMES["dc"][1]),
    "verilator": ("- V e r i l a t i o n   R e p o r t: Verilator 5.020", ""),
}

# Nobody can say of these that there is no latch.
LATCHES = [
    ("yosys", "     $_DLATCH_P_                     3"),
    ("yosys", "     $dlatch                         2"),
    ("yosys", "        2   1.2e+01 $_DLATCH_N_"),
    ("yosys", "     $_DLATCHSR_PPP_                 1"),
    ("yosys", "     $adlatch                        1"),
    ("yosys", "     $sr                             1"),
    ("yosys", "     sky130_fd_sc_hd__dlxtp_1        4"),
    ("yosys", "        4   60.06 sky130_fd_sc_hd__dlrtn_2"),
    ("yosys", "     DLH_X1                          4"),
    ("yosys", "     DHLx1_ASAP7_75t_R               4"),
    ("yosys", "     gf180mcu_fd_sc_mcu7t5v0__latq_1 4"),
    ("yosys", "  mapped 3 $_DLATCH_P_ cells to \\my_cell cells."),
    ("yosys", "Creating a latch for \\q."),
    ("vivado", "|1     |LDCE |     4|"),
    ("vivado", "|3     |LDPE |     1|"),
    ("vivado", "|   Register as Latch     |    3 |     0 | 41600 |  0.01 |"),
    ("vivado", "WARNING: [Synth 8-327] inferring latches of some kind"),
    ("dc", "Number of latches:                 3"),
    ("dc", "TLATX1             tech      20.1      4       80.4"),
    ("dc", "Information: 3 latches were made."),
    ("dc", "LATCH_X2             tech      20.1      4       80.4"),
    ("verilator", "%Warning-LATCH: a.sv:4:3: Latch of an unknown kind"),
]

NO_LATCHES = [
    ("yosys", r"No latch inferred for signal `\core.\next' from process `\core.$proc$a.v:3$1'."),
    ("yosys", "     $_DFF_P_                        3", "     $_DLATCH_P_                     0"),
    ("yosys", 'ABC: Scl_LibertyReadGenlib() skipped sequential cell "sky130_fd_sc_hd__dlxtn_1".'),
    ("yosys", "     sky130_fd_sc_hd__dlclkp_1       4", "Reading /pdk/cells_latch_hd.v"),
    ("yosys", r"Removing unused module `\latch_wrapper'."),
    ("vivado", "|1     |FDCE |     4|", "|   Register as Latch     |    0 |     0 | 41600 |  0.00 |"),
    ("dc", "Number of latches:                 0"),
    ("verilator", "- Verilator: Walltime 0.012 s"),
]


@functools.cache
def latches() -> Extract:
    return atom_of("inferred_latches")


def synthesis(tool: str, *lines: str, cut: bool = False) -> str:
    step, end = SYNTHESIS[tool]
    return "\n".join([FRAMES[tool][0], step, *lines, *([end] if end and not cut else []), ""])


def test_a_latch_cell_is_a_latch_whatever_the_messages_say() -> None:
    found = [(word(latches(), synthesis(*case), "latch"), *case) for case in LATCHES]
    assert [case for case in found if case[0] == "clean"] == []


def test_logs_without_latches() -> None:
    found = [(word(latches(), synthesis(*case), "latch"), *case) for case in NO_LATCHES]
    assert [case for case in found if case[0] != "clean"] == []


@pytest.mark.parametrize("tool", ["yosys", "vivado", "dc"])
def test_a_synthesis_log_that_was_cut_is_no_guess(tool: str) -> None:
    assert word(latches(), synthesis(tool), "latch") == "clean"
    assert word(latches(), synthesis(tool, cut=True), "latch") == "no guess"
    assert word(latches(), synthesis(tool) + synthesis(tool, cut=True), "latch") == "no guess"


def test_colours_hide_no_latch() -> None:
    line = "\x1b[31mLatch inferred for signal `\\a.q' from process `x': y\x1b[0m"
    assert word(latches(), synthesis("yosys", line), "latch") == "fails"
    line = "progress\rLatch inferred for signal `\\a.q' from process `x': y"
    assert word(latches(), synthesis("yosys", line), "latch") == "no guess"
