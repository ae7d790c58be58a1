"""Messages of a log, and inferred latches: what counts, what only looks like it, and what is no
guess but an error.
"""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import Extract, atom_of

LOG = "OpenROAD v2.0-17598\nread_db block.odb\n"
SYNTHESIS = "7.3. Executing PROC_DLATCH pass (convert process syncs to latches).\n"
DONE = "End of script. Logfile hash: 010d6e46c1\n"

ERRORS = [
    ("[ERROR GRT-0118] Routing congestion too high.", "bracketed", "GRT-0118"),
    ("[CRITICAL FLW-0001] stop", "bracketed", "FLW-0001"),
    ("Error: run.tcl, 12 no such net", "plain", None),
    ("Error   : Cannot resolve reference. [CDFG-428]", "plain", None),
    ("ERROR: [Synth 8-439] module 'fifo' not found", "plain", "Synth 8-439"),
    ("Error: Current design is not defined. (UID-4)", "plain", None),
    ("Error (10161): Verilog HDL error", "plain", None),
    ("Error-[IND] Identifier not declared", "plain", "IND"),
    ("**ERROR: (IMPSYT-16038): The specified file is not found", "starred", "IMPSYT-16038"),
    ("[03/11 09:15:02     12s] **ERROR: (IMPEXT-1234): no", "starred", "IMPEXT-1234"),
    ("# ** Error: (vsim-3033) Instantiation failed", "starred", None),
    ("%Error: top.sv:3:5: syntax error", "percent", None),
    ("%Error-PINMISSING: top.sv:9: Cell has missing pin", "percent", "PINMISSING"),
    ("FATAL ERROR: out of memory", "plain", None),
    ("fifo.v:12: ERROR: syntax error, unexpected ';'", "fifo.v:12: ", None),
    ("fifo.v:3: syntax error", "fifo.v:3: ", None),
]

WARNINGS = [
    ("[WARNING ODB-0220] obsolete", "bracketed", "ODB-0220"),
    ("Warning: wire is used but has no driver", "plain", None),
    ("Warning : Unusable clock gate. [LIB-101]", "plain", None),
    ("CRITICAL WARNING: [Timing 38-282] not met", "plain", "Timing 38-282"),
    ("**WARN: (IMPOPT-801): Genus executable not found", "starred", "IMPOPT-801"),
    ("%Warning-WIDTH: top.sv:4: Operator", "percent", "WIDTH"),
]

LOOK_ALIKES = [
    "*** Message Summary: 0 warning(s), 0 error(s)",
    "Errors: 0, Warnings: 0",
    "No errors or warnings",
    "Found 0 errors.",
    'puts "ERROR: net $n has no driver"',
    'openroad> puts "Error: $n"',
    '@genus:root: 7> puts "Error : x"',
    'openroad> if {$bad} { puts "ERROR: x" }',
    'if {![file exists $f]} { error "Error: $f" }',
    '   12 |    $display("ERROR: mismatch");',
    "\\error_flag[3] is constant",
    "Info: error limit is 20",
    "Reading /proj/error/fifo.v and warnings.txt",
]

STRANGE = [
    "A warning of some kind",
    "The extractor reports error: no layer",
    "ERRORS were found",
    "error in module fifo",
    "The run had an error of some kind.",
    "openroad> Error: no such net",
]


def lines(atom: Extract, category: str, *text: str) -> list[dict[str, object]]:
    made = atom(LOG + "\n".join(text) + "\n", "run.log")
    return [
        entry["parsed_fields"][category] for entry in made if category in entry["parsed_fields"]
    ]


@pytest.fixture(scope="module")
def both() -> Extract:
    return atom_of("log_messages")


@pytest.fixture(scope="module")
def errors() -> Extract:
    return atom_of("log_messages", only=("error", "log"))


@pytest.fixture(scope="module")
def latches() -> Extract:
    return atom_of("inferred_latches")


def test_errors_in_every_form_that_tools_have(both: Extract) -> None:
    for line, start, code in ERRORS:
        assert lines(both, "error", line) == [{"line": line, "start": start, "code": code}], line
        assert lines(both, "warning", line) == [], line


def test_warnings_in_every_form_that_tools_have(both: Extract) -> None:
    for line, start, code in WARNINGS:
        assert lines(both, "warning", line) == [{"line": line, "start": start, "code": code}], line
        assert lines(both, "error", line) == [], line


def test_look_alikes_are_passed_over(both: Extract) -> None:
    for line in LOOK_ALIKES:
        assert (lines(both, "error", line), lines(both, "warning", line)) == ([], []), line


def test_a_form_that_is_not_known_is_no_guess(both: Extract) -> None:
    for line in STRANGE:
        with pytest.raises(ValueError, match="line 3: not understood"):
            both(f"{LOG}{line}\n", "run.log")


@pytest.mark.parametrize(
    "line", ["2 errors found", "%Error: Exiting due to 2 error(s)", "Warnings: 4 unique messages"]
)
def test_a_count_of_what_cannot_be_seen_is_an_error(both: Extract, line: str) -> None:
    with pytest.raises(ValueError, match="it counts what was not seen"):
        both(f"{LOG}{line}\n", "run.log")


def test_who_asks_for_errors_alone_is_not_troubled_by_warnings(errors: Extract) -> None:
    text = [line for line, _, _ in WARNINGS]
    assert lines(errors, "error", *text, "Warnings: 4 unique messages", ERRORS[0][0]) != []
    assert lines(errors, "error", *text, "*** Message Summary: 6 warning(s), 0 error(s)") == []


def test_a_log_of_nobody_is_an_error(both: Extract) -> None:
    with pytest.raises(ValueError, match="no line tells which tool"):
        both("all is well\n", "run.log")


def test_the_tool_that_was_named_must_be_the_log_s() -> None:
    atom = atom_of("log_messages", {"log.tool": "yosys"})
    with pytest.raises(ValueError, match="tool is openroad, this check reads yosys only"):
        atom(LOG, "run.log")
    made = atom(f" Yosys 0.38 (git sha1 543faed9c8c)\n{DONE}", "run.log")
    assert made[0]["parsed_fields"]["log"]["tool"] == "yosys"


def test_each_line_by_itself_gives_the_same_entries(both: Extract) -> None:
    """No rule of this domain carries anything from line to line; only the checks of the whole
    text do.
    """
    text = [line for line, _, _ in (*ERRORS, *WARNINGS)]
    whole = [
        entry["value"] for entry in both(LOG + "\n".join([*text, *LOOK_ALIKES]) + "\n", "run.log")
    ]
    single = [
        entry["value"]
        for line in text
        for entry in both(f"OpenROAD v2.0\n{line}\n", "run.log")[:-1]
    ]
    assert single == whole[:-1]


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        (
            r"Latch inferred for signal `\core.\next' from process `\core.$proc$a.v:3$1': $auto$2",
            r"\core.\next",
        ),
        ("WARNING: [Synth 8-327] inferring latch for variable 'q_reg' [/rtl/a.v:12]", "q_reg"),
        (
            (
                "%Warning-LATCH: a.sv:4:3: Latch inferred for signal 'top.q' (not all control paths"
                " assign)"
            ),
            "top.q",
        ),
        (
            "|       state_reg     | Latch |   3   |  Y  | N  | N  | N  | -  | -  | -  |",
            "state_reg",
        ),
    ],
)
def test_latches(latches: Extract, line: str, signal: str) -> None:
    made = latches(SYNTHESIS + line + "\n" + DONE, "synth.log")
    assert [
        entry["parsed_fields"]["latch"]["signal"]
        for entry in made
        if "latch" in entry["parsed_fields"]
    ] == [signal]


@pytest.mark.parametrize(
    "line",
    [
        r"No latch inferred for signal `\core.\next' from process `\core.$proc$a.v:3$1'.",
        "|       state_reg     | Flip-flop |   3   |  Y  | N  | N  | N  | -  | -  | -  |",
        "Mapping DFF cells and latches to the library.",
        "skipped sequential cell dlatch_1",
    ],
)
def test_no_latches(latches: Extract, line: str) -> None:
    assert len(latches(SYNTHESIS + line + "\n" + DONE, "synth.log")) == 1


def test_an_unknown_report_of_a_latch_is_no_guess(latches: Extract) -> None:
    with pytest.raises(ValueError, match="not understood"):
        latches(f"{SYNTHESIS}Info: Inferred latch for q\n", "synth.log")
    with pytest.raises(ValueError, match="looked for latches"):
        latches("all is well\n", "synth.log")
