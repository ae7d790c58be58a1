"""Claims on kinds of files that a description names, with "and" or "or" between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from tests.checklist.judging.support import write_files
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.file_kinds import claim_of_row
from transom.checklist.claims.ranking import candidates

TEMPUS = "Tempus Timing Signoff Solution v21.1\n"
NETLIST = "read_netlist lamp.vg\n"
SPEF = "read_spef lamp.spef\n"
GONE = "read_spef gone.spef\nERROR: cannot open file gone.spef\n"

NAMED = [
    ("Verify the netlist and the SPEF both exist.", "netlist and spef"),
    ("Verify netlist/SPEF exists", "netlist and spef"),
    ("Make sure that SPEF, netlist and SDC files are loaded.", "spef and netlist and sdc"),
    ("Confirm either a netlist or a SPEF file is present", "netlist or spef"),
    ("Check that the parasitics or the SDF were read", "spef or sdf"),
    ("Confirm the design database is loaded", "database"),
    ("Is the checkpoint loaded?", "database"),
    ("Ensure all LEF files are available", "lef"),
    ("The gate-level netlist has been read", "netlist"),
]
UNCLEAR = [
    "Verify netlist and SPEF or SDF exist.",
    "Verify the netlist exists when the SPEF was read in the slow corner.",
    "Verify the files exist.",
]


@pytest.mark.parametrize(("description", "kinds"), NAMED)
def test_a_candidate_names_the_kinds_and_leaves_nothing_out(description: str, kinds: str) -> None:
    best = candidates(description, has_patterns=False)[0]
    assert (best.row.name, best.row.parameters) == ("kinds_loaded", {"kinds": kinds})
    assert best.row.left_out == ()


@pytest.mark.parametrize("description", UNCLEAR)
def test_kinds_that_may_be_joined_in_two_ways_are_no_parameter(description: str) -> None:
    names = [each.row.name for each in candidates(description, has_patterns=False)]
    assert "kinds_loaded" not in names


VERDICTS = [
    ("netlist and spef", NETLIST + SPEF, "PASS", []),
    ("netlist and spef", NETLIST, "FAIL", ["2.2"]),
    ("netlist and spef", SPEF, "FAIL", ["2.1"]),
    ("netlist and spef", NETLIST + GONE, "FAIL", ["2.2"]),
    ("netlist or spef", NETLIST, "PASS", []),
    ("netlist or spef", SPEF, "PASS", []),
    ("netlist or spef", NETLIST + GONE, "PASS", []),
    ("netlist or spef", GONE, "FAIL", ["2.1"]),
    ("netlist or spef", "read_lef lamp.lef\n", "FAIL", ["2.1"]),
    ("database", "read_db lamp.odb\n", "PASS", []),
    ("database", "Reading design database runs/lamp.db ... done\n", "PASS", []),
    ("database", NETLIST + SPEF, "FAIL", ["2.1"]),
    (
        "database",
        "read_db lamp.odb\nERROR: lamp.odb was written by a newer release\n",
        "FAIL",
        ["2.1"],
    ),
    ("liberty", "read_lib a.lib\nERROR: cannot open file a.lib\nread_lib b.lib\n", "FAIL", ["2.1"]),
    ("liberty and netlist", "read_liberty lamp.lib\n" + NETLIST, "PASS", []),
]


@pytest.mark.parametrize(("kinds", "lines", "status", "missing"), VERDICTS)
def test_each_named_kind_must_be_loaded_or_one_of_them(
    tmp_path: Path, kinds: str, lines: str, status: str, missing: list[str]
) -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": kinds})
    verdict = judge(tmp_path, row, TEMPUS + lines + "report_units\n")
    assert verdict.status == status, verdict.capped_by
    assert [entry.id for entry in verdict.missing_items] == missing


@pytest.mark.parametrize(
    ("kinds", "lines"),
    [
        # A database may hold a netlist, and a line in other words may read a SPEF.
        ("netlist", "read_db lamp.odb\n"),
        ("netlist and spef", NETLIST + "SPEF of the slow corner annotated\n"),
        ("netlist", "report_units\n"),
        ("database", "restoreDesign lamp.enc.dat lamp\n"),
    ],
)
def test_what_a_log_leaves_open_is_a_question(tmp_path: Path, kinds: str, lines: str) -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": kinds})
    verdict = judge(tmp_path, row, TEMPUS + lines)
    assert verdict.status not in ("PASS", "FAIL")


def test_an_unknown_kind_is_refused() -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": "netlist and gds"})
    with pytest.raises(ValueError, match="no kind of file 'gds'; write netlist"):
        claim_of_row(row)


WAIVED = [
    ("synthesis", "synthesis of lamp done\n", "PASS"),
    ("synthesis", "", "FAIL"),
    ("*other*", "synthesis of lamp done\n", "FAIL"),
]


@pytest.mark.parametrize(("waive", "line", "status"), WAIVED)
def test_a_waiver_of_the_description_holds_where_the_log_shows_its_stage(
    tmp_path: Path, waive: str, line: str, status: str
) -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": "netlist and spef", "waive": waive})
    verdict = judge(tmp_path, row, TEMPUS + NETLIST + line)
    assert verdict.status == status, verdict.capped_by


LIBRARY = 'library (lamp_{name}) {{\n  date : "{date}";\n  revision : "{revision}";\n}}\n'
LIBRARIES = [
    ("lamp_ss.lib", "2026-01-18", "3.2", "", "PASS", []),
    ("lamp_ss.lib", "2026-01-18", "", "", "FAIL", ["2.2"]),
    ("lamp_ss.lib", "", "3.2", "", "FAIL", ["2.2"]),
    ("gone.lib", "2026-01-18", "3.2", "", "FAIL", ["2.2"]),
    (
        "lamp_ss.lib",
        "2026-01-18",
        "3.2",
        "ERROR: lamp_ss.lib:12: no such table\n",
        "FAIL",
        ["2.1", "2.2"],
    ),
    ("old_lamp.lib", "", "", "", "PASS", []),
    ("lamp_ss.lib", "", "", "", "FAIL", ["2.2"]),
]


@pytest.mark.parametrize(("file", "date", "revision", "line", "status", "missing"), LIBRARIES)
def test_a_library_says_its_revision_and_date(
    tmp_path: Path,
    file: str,
    date: str,
    revision: str,
    line: str,
    status: str,
    missing: list[str],
) -> None:
    text = LIBRARY.format(name="ss", date=date, revision=revision)
    write_files(tmp_path, {"lamp_ss.lib": text, "old_lamp.lib": text})
    log = f"{TEMPUS}read_liberty {file}\n{line}report_units\n"
    row = ClaimRow(name="liberty_headers", parameters={"waive": "*old*"})
    verdict = judge(tmp_path, row, log)
    assert verdict.status == status, verdict.capped_by
    assert [entry.id for entry in verdict.missing_items] == missing


def test_a_question_on_libraries_offers_their_heads() -> None:
    best = candidates("Check the liberty files' version", has_patterns=False)[0]
    assert best.row.name == "liberty_headers"


HEADS = [
    ("Confirm the SPEF version is correct.", "headers_complete", {"kinds": "spef"}),
    ("Check the netlist header", "headers_complete", {"kinds": "netlist"}),
    ("Verify netlist/spef version", "headers_complete", {}),
    (
        "Confirm netlist version (tool, date) and spef version (standard) are correct",
        "headers_complete",
        {"fields": "netlist: tool_name, timestamp; spef: standard_version"},
    ),
    (
        "The netlist version is correct, and the SPEF version where available",
        "headers_complete_if_present",
        {},
    ),
    ("Netlist version is correct, optional SPEF", "headers_complete_if_present", {}),
]
# Each calls another file optional than the claim does, or none.
NOT_OPTIONAL = [
    "Confirm the netlist (if present) and spef version are correct.",
    "Optional netlist: the SPEF version is correct.",
    "Confirm the SPEF version is correct.",
    "If the netlist is there, its version and the SPEF version are correct",
    "Netlist and SPEF versions are correct and available",
]


@pytest.mark.parametrize(("description", "name", "parameters"), HEADS)
def test_a_candidate_asks_for_the_named_heads_and_fields_alone(
    description: str, name: str, parameters: dict[str, str]
) -> None:
    best = candidates(description, has_patterns=False)[0]
    assert (best.row.name, best.row.parameters) == (name, parameters)


@pytest.mark.parametrize("description", NOT_OPTIONAL)
def test_no_candidate_makes_optional_what_the_description_does_not(description: str) -> None:
    names = [each.row.name for each in candidates(description, has_patterns=False)]
    assert names
    assert "headers_complete_if_present" not in names


HEAD = "// Generated by Weaver 4.2\nmodule lamp(clk);\n  input clk;\nendmodule\n"
FIELDS = [
    ({}, "FAIL", ["2.2", "2.3", "2.4"]),
    ({"kinds": "netlist"}, "FAIL", ["2.2"]),
    ({"kinds": "netlist", "fields": "netlist: tool_name, tool_version"}, "PASS", []),
    ({"kinds": "spef"}, "FAIL", ["2.1", "2.2"]),
    ({"fields": "netlist: tool_name; spef: timestamp"}, "FAIL", ["2.3", "2.4"]),
]


@pytest.mark.parametrize(("parameters", "status", "missing"), FIELDS)
def test_a_head_must_say_what_the_parameters_list(
    tmp_path: Path, parameters: dict[str, str], status: str, missing: list[str]
) -> None:
    write_files(tmp_path, {"lamp.v": HEAD})
    row = ClaimRow(name="headers_complete", parameters=parameters)
    verdict = judge(tmp_path, row, f"{TEMPUS}read_netlist lamp.v\nreport_units\n")
    assert verdict.status == status, verdict.capped_by
    assert [entry.id for entry in verdict.missing_items] == missing


SCRIPTS = [
    "read_verilog lamp.v\nread_spef lamp.spef\nlink_design lamp\n",
    "# sign-off of the lamp\nset top lamp\nread_netlist lamp.v\nread_parasitics lamp.spef\nexit\n",
    "if {$with_rc} {\n  set corner slow\n}\nread_hdl lamp.v\nread_spef lamp.spef\nreport_timing\n",
]
ANSWERS = ["Timer 1.0\n", "[INFO] start\n", TEMPUS]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_shows_no_file_as_loaded(tmp_path: Path, script: str) -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": "netlist and spef"})
    verdict = judge(tmp_path, row, script)
    assert (verdict.status, verdict.would_be) == ("NEEDS_REVIEW", "PASS")
    assert any("commands alone" in one.text for one in verdict.capped_by)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_log_that_answers_its_commands_shows_them(tmp_path: Path, answer: str) -> None:
    row = ClaimRow(name="kinds_loaded", parameters={"kinds": "netlist and spef"})
    verdict = judge(tmp_path, row, f"{answer}read_netlist lamp.v\nread_spef lamp.spef\n")
    assert verdict.status == "PASS", verdict.capped_by
