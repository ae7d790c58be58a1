"""Names that people give files, modules and registers are no messages; what speaks of the matter
still is.
"""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import atom_of

STEP = "2.4. Executing PROC_DLATCH pass (convert process syncs to latches).\n"
DONE = "End of script. Logfile hash: 010d6e46c1\n"
YOSYS = " Yosys 0.23 (git sha1 7ce5011c24b)\n"

NAMED = [
    (
        "-- Running command `read_verilog -sv latch.v; synth -top latch_bank; write_verilog"
        " latch_net.v' --"
    ),
    "1. Executing Verilog-2005 frontend: latch.v",
    "Parsing Verilog input from `rtl/latch.v' to AST representation.",
    "Marked 1 switch rules as full_case in process $proc$latch.v:17$8 in module latch_bank.",
    "     1/1: $0\\latch_data[3:0]",
    "     5/6: $0\\frame_error_reg[0:0]",
    "     2/6: $2\\error[7:0]",
    "Removing empty process `latch_bank.$proc$latch.v:17$8'.",
    (
        "Creating register for signal `\\uart_rx.\\frame_error_reg' using process"
        " `\\uart_rx.$proc$rtl/uart.v:7$1'."
    ),
    "      Old ports: A=2'00, B=2'11, Y=$0\\parity_error[1:0]",
    (
        "Adding EN signal on $procdff$36 ($dff) from module latch_bank (D = \\d, Q ="
        " \\u_latch.latch_data)."
    ),
    "Removed top 28 bits (of 32) from wire uart_rx.$add$latch.v:6$2_Y.",
    "=== latch_bank ===",
    "Deleting now unused module latch_bank.",
    "Startpoint: u_rx/frame_error_reg$_DFF_P_ (rising edge-triggered flip-flop clocked by clk)",
    "   0.04    0.31    0.31 v u_rx/frame_error_reg/Q (DFFX1)",
    "u_rx/parity_error_q_reg[0]/D (DFFX1)        0.95    0.29    0.66 (MET)",
]


@pytest.mark.parametrize("line", NAMED)
def test_a_name_is_no_message(line: str) -> None:
    """A file `latch.v` in an echoed command, a register `frame_error_reg`: they say nothing of
    latches or errors.
    """
    assert [
        list(one["parsed_fields"]) for one in LATCHES(f"{STEP}{line}\n{DONE}", "synth.log")
    ] == [["elaboration"]]
    assert [
        list(one["parsed_fields"]) for one in ERRORS(f"{YOSYS}{line}\n{DONE}", "synth.log")
    ] == [["log"]]


@pytest.mark.parametrize(
    "line",
    [
        "     $_DLATCH_P_                     4",
        "     latch_cell                      4",
        "Mapping latch_bank.$auto$proc_dlatch.cc:427:proc_dlatch$12 using $dlatch rules.",
        "Found 2 latches in module latch_bank.",
        "'latch_en' became a latch",
        "core.$procdff$3 is a latch now: \\latch_en",
    ],
)
def test_what_speaks_of_latches_is_not_taken_for_a_name(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not understood"):
        LATCHES(f"{STEP}{line}\n{DONE}", "synth.log")


@pytest.mark.parametrize(
    "line",
    [
        "u_rx/frame_error_reg/Q: error while it was routed",
        "$1\\nERROR in the run",
        "frame_error_reg/D failed",
        "uart.v failed",
    ],
)
def test_what_speaks_of_errors_is_not_taken_for_a_name(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not understood"):
        ERRORS(f"{YOSYS}{line}\n{DONE}", "synth.log")


HEADS = """\
worst slack max 0.66
report_checks -group_count 2 -format end
max_delay/setup group clk

                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
_197_/D (DFF)                           0.95    0.29    0.66 (MET)

Startpoint                           Endpoint                               Slack
--------------------------------------------------------------------------------
_204_/Q (DFF)                        _197_/D (DFF)                           0.66

Group                                  Slack
--------------------------------------------
clk                                     0.66
"""


def test_heads_of_opensta_tables_are_known() -> None:
    """The rows below them are looked at: one that is below zero, where nothing that was read is,
    is an error.
    """
    endpoints, worst = atom_of("sta_endpoints"), atom_of("worst_slack", only=("setup",))
    assert [one["parsed_fields"]["endpoint"]["status"] for one in endpoints(HEADS, "sta.log")] == [
        "MET"
    ]
    assert [one["line_number"] for one in worst(HEADS, "sta.log")] == [1, 8]
    for good, bad in (
        ("(DFF)                           0.66\n", "(DFF)  -0.50\n"),
        ("clk                                     0.66", "clk   -0.50"),
    ):
        assert good in HEADS
        text = HEADS.replace(good, bad)
        with pytest.raises(ValueError, match="not understood"):
            endpoints(text, "sta.log")
        with pytest.raises(ValueError, match="a violation that no number here has"):
            worst(text, "sta.log")


LATCHES, ERRORS = atom_of("inferred_latches"), atom_of("log_messages")
