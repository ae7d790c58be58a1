"""What the generated atom reads in logs, netlists and SPEFs, trap by trap."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checklist.rules.support import atom_of, shipped
from tests.fuzzing import examples
from transom.checklist.atoms import ENTRY_KEYS, LOCKED_LAYER, Source
from transom.checklist.rules.extract import Wanted, make_atom

ATOM = atom_of("versions")


def read(text: str, name: str = "run.log") -> list[dict[str, Any]]:
    return ATOM(text, name)


def loads(text: str) -> list[tuple[str, str, bool]]:
    """(kind, path, loaded) of every entry of a log."""
    entries = read(text)
    kinds = [(e, e["parsed_fields"]["reference"]) for e in entries]
    return [(r["kind"], r["path"], e["parsed_fields"][r["kind"]]["loaded"]) for e, r in kinds]


def netlist(text: str, name: str = "top.v") -> dict[str, Any]:
    (entry,) = read(text, name)
    return entry


def fields(entry: dict[str, Any], category: str = "netlist") -> dict[str, Any]:
    found: dict[str, Any] = entry["parsed_fields"][category]
    return found


# -- logs


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("read_verilog top.v", [("netlist", "top.v", True)]),
        ("sta> read_verilog top.v", [("netlist", "top.v", True)]),
        ("openroad> read_spef out/top.spef", [("spef", "out/top.spef", True)]),
        ("% read_spef top.spef", [("spef", "top.spef", True)]),
        ("pt_shell> read_parasitics -format SPEF top.spef.gz", [("spef", "top.spef.gz", True)]),
        ("tempus 12> read_spef -rc_corner slow top.spef", [("spef", "top.spef", True)]),
        ("@tempus 3> read_verilog top.v", [("netlist", "top.v", True)]),
        ("[11/21 10:20:30   5s] <CMD> read_verilog top.v", [("netlist", "top.v", True)]),
        ('read_verilog "my top.v"', [("netlist", "my top.v", True)]),
        ("read_spef -min -path u_core core.spef", [("spef", "core.spef", True)]),
        ("read_spef ${OUT}/top.spef", [("spef", "${OUT}/top.spef", True)]),
        (
            "pt_shell> read_verilog $netlist\nLoading verilog file 'top.v'",
            [("netlist", "top.v", True)],
        ),
        ("read_spef top.spef > spef.out", [("spef", "top.spef", True)]),
        ("Loading verilog file '/proj/x/top.v'", [("netlist", "/proj/x/top.v", True)]),
        ("Reading verilog netlist 'top.v'", [("netlist", "top.v", True)]),
        ("read_liberty x.lib\n# read_spef comes later", []),
    ],
)
def test_read_commands(line: str, expected: list[tuple[str, str, bool]]) -> None:
    assert loads(line) == expected


@pytest.mark.parametrize(
    "message",
    [
        "Error: cannot read file top.spef.",
        "Error: Cannot open file 'top.spef'. (FILE-001)",
        "[ERROR STA-0340] cannot open top.spef",
        "**ERROR: (IMPEXT-1) file not found",
        "0",
        "ERROR: no such file",
    ],
)
def test_an_error_after_a_command_means_that_it_failed(message: str) -> None:
    text = f"read_verilog top.v\nread_spef top.spef\n{message}\nreport_checks\n"
    assert loads(text) == [("netlist", "top.v", True), ("spef", "top.spef", False)]
    assert message in read(text)[1]["value"] or message == "0"


@pytest.mark.parametrize(
    "after",
    [
        "Warning: top.spef line 7, net n1 not found.",
        "*** Message Summary: 0 warning(s), 0 error(s)",
        "Error: 0",
        "1",
        "report_checks -bad\nError: unknown flag -bad",
        "sta> report_checks -bad\nError: unknown flag -bad",
    ],
)
def test_what_is_no_error_of_the_command(after: str) -> None:
    assert loads(f"read_spef top.spef\n{after}\n") == [("spef", "top.spef", True)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("openroad> if { $use } {\n...>   read_spef top.spef\n...> }\n", 2),
        ('openroad> if { [file exists "top.spef"] } { read_spef "top.spef" }\n', 1),
        ("read_liberty x.lib\nif {$spef} {\n  read_spef top.spef\n}\n", 3),
        ("catch {read_spef top.spef}\n", 1),
        ("foreach f $files {\n  read_verilog $f.v\n}\n", 2),
    ],
)
def test_a_command_that_may_not_have_run_is_no_evidence(text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"line {line}: not understood"):
        read(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("read_spef [glob *.spef]", "which file is meant"),
        ("read_verilog a.v b.v", "which file is meant"),
        ("read_verilog {a.v b.v}", "which file is meant"),
        ("read_spef \\\n  top.spef\nexit", "which file is meant"),
        ("read_spef -new_option x top.spef", "a format or an option that is not known"),
        ("read_parasitics -format SBPF top.sbpf", "a format or an option that is not known"),
        (
            'read_liberty x.lib\nputs "read_spef top.spef done"',
            "line 2: it counts what was not seen",
        ),
        ("read_liberty x.lib\n# read_spef top.spef", "line 2: it counts what was not seen"),
        ("read_db top.odb\nread_spef top.spef", "database"),
        ("Yosys 0.40 (git sha1 abc)\nread_verilog top.v", "synthesis"),
        ("12.1. Executing Verilog-2005 frontend: top.v", "synthesis"),
        (
            "read_liberty x.lib\nsource reads.tcl\nreport_checks",
            "line 2: it counts what was not seen",
        ),
        ("A note on the netlist of this month.\nNothing else.", "no line of a kind"),
        ("A note of this month.\nNothing else.", "no line of a kind"),
        ("read_spef $env(OUT)/top.spef", "which file is meant"),
        ("set netlist top.v\nread_verilog $netlist", "which file is meant"),
    ],
)
def test_what_cannot_be_told_is_an_error(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(text)


def test_a_sourced_script_hides_nothing_when_all_was_seen() -> None:
    text = "source setup.tcl\nread_verilog top.v\nread_spef top.spef\n"
    assert len(loads(text)) == 2


def test_a_log_without_parasitics_yields_the_netlist_alone() -> None:
    assert loads("read_liberty x.lib\nread_verilog top.v\nlink_design top\n") == [
        ("netlist", "top.v", True)
    ]


def test_a_log_that_reads_nothing_of_interest_is_empty_and_no_error() -> None:
    assert read("read_liberty x.lib\nreport_checks\n") == []


def test_only_what_the_spec_names_is_read() -> None:
    atom = atom_of("versions", only=("spef",))
    assert [
        e["parsed_fields"]["reference"]["kind"]
        for e in atom("read_verilog a.v\nread_spef a.spef\n", "x.log")
    ] == ["spef"]


# -- netlists


@pytest.mark.parametrize(
    ("header", "tool", "version", "stamp"),
    [
        ("/* Generated by Yosys 0.40 (git sha1 7ce50) */", "Yosys", "0.40", None),
        ("/* Generated by Yosys 0.59+0 (git sha1 7ce50) */", "Yosys", "0.59+0", None),
        (
            (
                "// Generated by Cadence Genus(TM) Synthesis Solution 21.14-s082_1\n"
                "// Generated on: Mar  4 2025 11:52:07 IST (Mar  4 2025 06:22:07 UTC)"
            ),
            "Cadence Genus(TM) Synthesis Solution",
            "21.14-s082_1",
            "Mar  4 2025 11:52:07 IST (Mar  4 2025 06:22:07 UTC)",
        ),
        (
            (
                "/*\n######\n#  Generated by:      Cadence Innovus 21.15-s110_1\n#  OS:      Linux"
                " x86_64\n#  Generated on:      Thu Mar 6 20:04:51 2025\n#  Design:           "
                " top\n######\n*/"
            ),
            "Cadence Innovus",
            "21.15-s110_1",
            "Thu Mar 6 20:04:51 2025",
        ),
        (
            (
                "//////////\n// Created by: Synopsys DC Expert(TM) in wire load mode\n// Version  "
                " : O-2018.06-SP1\n// Date      : Tue Sep  3 12:00:00 2019\n//////////"
            ),
            "Synopsys DC Expert(TM) in wire load mode",
            "O-2018.06-SP1",
            "Tue Sep  3 12:00:00 2019",
        ),
        (
            (
                "// IC Compiler II Version P-2019.03-SP5 Verilog Writer\n// Generated on 11/21/2019"
                " at 10:20:30"
            ),
            "IC Compiler II",
            "P-2019.03-SP5",
            "11/21/2019 at 10:20:30",
        ),
        (
            "// Generator: FooSynth version 3.4\n// Date: 2024-05-06",
            "FooSynth",
            "3.4",
            "2024-05-06",
        ),
        (
            "// Created by BarTool v2.3.1 on 2024-05-06 10:00",
            "BarTool",
            "2.3.1",
            "2024-05-06 10:00",
        ),
        (
            "// Generated with: BarTool, release 7\n// Timestamp: 2024-05-06",
            "BarTool",
            "7",
            "2024-05-06",
        ),
        (
            "// Tool Version: Vivado v.2022.1 (win64) Build 35\n// Date        : Mon Apr 18 2022",
            "Vivado",
            "2022.1",
            "Mon Apr 18 2022",
        ),
        ("// written by hand", None, None, None),
        ("// Copyright 2024 Some Company\n// Version 1.0", None, None, None),
    ],
)
def test_headers(header: str, tool: str | None, version: str | None, stamp: str | None) -> None:
    found = fields(netlist(f"{header}\nmodule top (a);\nendmodule\n"))
    assert "loaded" not in found
    assert found["format"] == "Verilog"
    assert (found["tool_name"], found["tool_version"], found["timestamp"]) == (tool, version, stamp)


@pytest.mark.parametrize(
    "header",
    [
        "// Date: 2024-05-06\n// Generated by Foo 1.0",
        "// Created by J. Smith on 2020-01-02",
        "// Created by Anna",
    ],
)
def test_a_header_of_which_nobody_knows_whose_it_is(header: str) -> None:
    with pytest.raises(ValueError, match=r"line 1: .* cannot be told: // "):
        netlist(f"{header}\nmodule top (a);\nendmodule\n")


def test_the_value_carries_what_people_match_on() -> None:
    assert netlist("// Generator: Foo 1.2\nmodule t;\n")["value"] == "Foo 1.2"


def test_no_header_yields_the_first_line_of_code_and_empty_fields() -> None:
    entry = netlist("\n\nmodule top (clk,\n  a);\n")
    assert (entry["line_number"], entry["matched_content"]) == (3, "module top (clk,")
    assert [fields(entry)[name] for name in ("tool_name", "tool_version", "timestamp")] == [
        None,
        None,
        None,
    ]
    assert entry["value"] == ""


def test_the_topmost_header_counts() -> None:
    text = (
        "// Generated by Outer 2.0\n// Generated by Inner 1.0\n// Generated on: 2020-01-01\nmodule"
        " top;\nendmodule\n"
    )
    entry = netlist(text)
    found = fields(entry)
    assert (found["tool_name"], found["tool_version"], found["timestamp"]) == ("Outer", "2.0", None)
    assert entry["line_number"] == 1


def test_a_header_after_the_code_is_none() -> None:
    assert fields(netlist("module top;\nendmodule\n// Generated by Foo 1.0\n"))["tool_name"] is None


def test_a_netlist_is_known_by_its_contents_too() -> None:
    (entry,) = read("// Generated by Foo 1.0\nmodule top;\nendmodule\n", "netlist_final")
    assert fields(entry)["tool_name"] == "Foo"


# -- SPEF

HEAD = """\
*SPEF "ieee 1481-1999"
*DESIGN "top"
*DATE "11:11:11 Fri 11 11, 1111"
*VENDOR "V"
*PROGRAM "P Q"
*VERSION "1.0"
"""


def test_directives() -> None:
    (entry,) = read(
        HEAD + '*DESIGN_FLOW "NAME_SCOPE LOCAL" "PIN_CAP NONE"\n*D_NET n1 1\n', "top.spef"
    )
    assert fields(entry, "spef") == {
        "tool_name": "P Q",
        "tool_version": "1.0",
        "timestamp": "11:11:11 Fri 11 11, 1111",
        "standard_version": "ieee 1481-1999",
    }
    assert entry["value"] == "P Q 1.0 ieee 1481-1999 11:11:11 Fri 11 11, 1111"
    assert (entry["line_number"], entry["matched_content"]) == (1, '*SPEF "ieee 1481-1999"')


@pytest.mark.parametrize("name", ["PROGRAM", "VERSION", "DATE", "SPEF"])
def test_a_missing_or_empty_directive_is_a_missing_field(name: str) -> None:
    into = {
        "PROGRAM": "tool_name",
        "VERSION": "tool_version",
        "DATE": "timestamp",
        "SPEF": "standard_version",
    }[name]
    lines = HEAD.splitlines()
    without = "\n".join(line for line in lines if not line.startswith(f"*{name} "))
    blank = "\n".join(f'*{name} "  "' if line.startswith(f"*{name} ") else line for line in lines)
    for text in (without, blank):
        (entry,) = read(text, "top.spef")
        assert fields(entry, "spef")[into] is None
        assert sum(value is None for value in fields(entry, "spef").values()) == 1


def test_directives_after_the_head_do_not_count() -> None:
    (entry,) = read('*SPEF "IEEE 1481-1998"\n*NAME_MAP\n*1 x\n*PROGRAM "late"\n', "top.spef")
    assert fields(entry, "spef")["tool_name"] is None


def test_a_short_date_is_a_date_and_a_file_without_head_has_no_entry() -> None:
    (entry,) = read(HEAD.replace("11:11:11 Fri 11 11, 1111", "2026"), "top.spef")
    assert fields(entry, "spef")["timestamp"] == "2026"
    assert read("garbage\nmore\n", "top.spef") == []


def test_crlf_leaves_no_trace() -> None:
    (entry,) = read(HEAD.replace("\n", "\r\n"), "top.spef.gz")
    assert fields(entry, "spef")["tool_version"] == "1.0"


# -- the code itself


def test_the_atom_keeps_its_contract() -> None:
    known = shipped().domain("versions")
    assert known is not None
    code = make_atom(
        known,
        Wanted(
            {"spef": ["loaded", "tool_name"]},
            [Source(kind="spef", rank="primary", files=("*.spef",))],
        ),
    )
    tree = ast.parse(code)
    assert code.endswith(LOCKED_LAYER)
    modules = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    modules += [str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert sorted(modules) == ["json", "re", "typing"]
    assigned = {
        t.id
        for n in tree.body
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    assert {"SCOPE", "SOURCES"} <= assigned


@settings(max_examples=examples(60), deadline=None)
@given(st.text(), st.sampled_from(["a.log", "a.v", "a.spef", "a"]))
def test_whatever_the_text_the_shape_holds(text: str, name: str) -> None:
    try:
        entries = read(text, name)
    except ValueError as error:
        assert str(error)
        return
    lines = text.replace("\r\n", "\n").split("\n")
    for entry in entries:
        assert tuple(entry) == ENTRY_KEYS
        assert (
            entry["line_number"] is None
            or entry["matched_content"] == lines[entry["line_number"] - 1]
        )
