"""Endpoints through build and run: whatever a report says of timing counts, or there is no
verdict.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.rules.evidence import agrees, built, run, told
from transom.checklist.judging import LoadedChecker

TABLE = """\
{heading}
                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
r0/D (DFF)                              0.50    0.40    0.10 (MET)
r1/D (DFF)                              0.50    0.50    0.00 (MET)
"""
SETUP = TABLE.format(heading="max_delay/setup group core\n")
HOLD = TABLE.format(heading="min_delay/hold group core\n")
BARE = TABLE.format(heading="")
PATH = """\
Startpoint: r1 (rising edge-triggered flip-flop clocked by clk)
Endpoint: {name} (rising edge-triggered flip-flop clocked by clk)
Path Group: {group}
Path Type: {kind}

     Cap     Slew    Delay     Time   Description
---------------------------------------------------------
            0.100    0.000    0.000   clock clk (rise edge)
            0.100   -0.070    0.430   library {check} time
---------------------------------------------------------
           {slack}   slack ({flag})

"""


def path(
    slack: str = "0.12", flag: str = "MET", *, kind: str = "max", name: str = "r2/D", check: str = "setup",
    group: str = "clk",
) -> str:  # fmt: skip
    return PATH.format(slack=slack, flag=flag, kind=kind, name=name, check=check, group=group)


def ended(report: str) -> str:
    """Return a report with the empty line that OpenSTA prints behind a table and a path.

    A report that stops within a line is cut off, and stays so.
    """
    return report + "\n" if report.endswith("\n") else report


def row(slack: str, flag: str = "", name: str = "r2/D") -> str:
    return (
        f"{name} (DFF)                              0.50    0.57   {slack} {flag}".rstrip() + "\n"
    )


PT = "Report : timing\n        -path_type end\n        -delay_type {kind}\nDesign : top\n\n"
SUMMARY = "Endpoint    Path Delay   Path Required   CRP   Slack\n---\n"
HEADER = "Endpoint                   Slack\n--------------------------------\n"


def head(*options: str) -> str:
    """The head of a report that says how it was asked for."""
    lines = "".join(f"\t{option}\n" for option in ("-path_type full", "-delay_type max", *options))
    return f"{'*' * 40}\nReport : timing\n{lines}Design : top\nVersion: T-2022.03\n{'*' * 40}\n\n"


EVERY: list[tuple[str, str, str]] = [
    ("table", SETUP, "PASS"),
    ("violated", SETUP + row("-0.07", "(VIOLATED)"), "FAIL"),
    ("two tables", SETUP + "\n" + HOLD, "PASS"),
    ("path", path(), "PASS"),
    ("violated path", path("-0.12", "VIOLATED"), "FAIL"),
    ("zero met", SETUP + row("0.00", "(MET)"), "PASS"),
    ("zero violated", SETUP + row("0.00", "(VIOLATED)"), "FAIL"),
    ("minus zero violated", SETUP + row("-0.00", "(VIOLATED)"), "FAIL"),
    ("hidden by rounding", SETUP + row("0.00", "(VIOLATED: increase significant digits)"), "FAIL"),
    ("capitalised flag", SETUP + row("-0.07", "(Violated)"), "FAIL"),
    ("lower flag", SETUP + row("-0.07", "(violated)"), "FAIL"),
    ("lower met", SETUP + row("0.07", "(met)"), "PASS"),
    ("capitalised flag of a path", path("-0.12", "Violated"), "FAIL"),
    ("star for a flag", SETUP + row("-0.07", "*"), "OPEN"),
    ("no flag", SETUP + row("-0.07"), "OPEN"),
    ("no flag after a gap", SETUP + "\n" + row("-0.07"), "OPEN"),
    ("no flag, positive", SETUP + row("0.07"), "OPEN"),
    ("met although negative", SETUP + row("-0.07", "(MET)"), "OPEN"),
    ("another flag", SETUP + row("-0.07", "(VIOL)"), "OPEN"),
    ("flag in words", SETUP + row("-0.07", "VIOLATED"), "OPEN"),
    ("wns", path(kind="min") + "tns -3.21\nwns -0.45\n", "OPEN"),
    ("wns alone", path() + "wns -0.45\n", "OPEN"),
    ("worst slack", path() + "worst slack min -0.45\n", "OPEN"),
    ("WNS in capitals", path() + "WNS: -0.45\n", "OPEN"),
    ("worst negative slack", path() + "Worst negative slack: -0.450\n", "OPEN"),
    ("worst slack in words", path() + "The worst slack of all is -0.45 ns\n", "OPEN"),
    (
        "no negative slack",
        path() + "report_worst_slack\nworst slack 0.12\nreport_tns\ntns 0.00\nwns 0.00\n",
        "PASS",
    ),
    (
        "its own worst slack",
        path("-0.12", "VIOLATED") + "worst slack -0.1\nwns -0.12\ntns -0.12\n",
        "FAIL",
    ),
    ("a larger sum", path("-0.12", "VIOLATED") + "wns -0.12\ntns -5.61\n", "FAIL"),
    ("end format", path() + HEADER + "r7/D      -0.45\nr8/D       0.05\n", "OPEN"),
    ("end format, positive", path() + HEADER + "r8/D       0.05\n", "OPEN"),
    ("slack only", path() + "Group                      Slack\n-----\nclk       -0.45\n", "OPEN"),
    ("summary rows", path() + SUMMARY + "r2_reg/D (DFFX1)   4.30 r  4.00  0.00  -0.30\n", "OPEN"),
    (
        "start and end",
        path() + "Startpoint    Endpoint     Slack\n-----\nr1/Q   r2/D  -0.3\n",
        "OPEN",
    ),
    ("picoseconds", path() + "r7/D   -45\n", "OPEN"),
    ("typographic minus", path() + "r7/D   −0.45\n", "OPEN"),
    ("scientific", path() + "r7/D   -4.5e-11\n", "OPEN"),
    ("more not listed", SETUP + "... 34 more violating endpoints not listed\n", "OPEN"),
    ("more rows", SETUP + "\n(12 more rows)\n", "OPEN"),
    ("more paths, after a gap", SETUP + "\n(output truncated)\n", "OPEN"),
    ("interrupted", SETUP + "Error: report_checks interrupted after 2 of 40 endpoints\n", "OPEN"),
    ("killed", SETUP + "\nKilled\n", "OPEN"),
    ("error", SETUP + "\nError: no more licences\n", "OPEN"),
    ("dots", SETUP + "\n...\n", "OPEN"),
    ("half a row", SETUP + "r2/D (DFF)                         0.5", "OPEN"),
    ("half a path", SETUP + "\n" + path()[:250], "OPEN"),
    (
        "wrapped name",
        SETUP + "u_core/a_name_that_is_too_long_for_its_column/r2/D\n  (DFF)   0.50  0.57  -0.07"
        " (VIOLATED)\n",
        "OPEN",
    ),
    ("violations counted", SETUP + "\n3 violations found\n", "OPEN"),
    ("violation count", SETUP + "\nsetup violation count 2\n", "OPEN"),
    ("no violations", SETUP + "\nNo violations found.\n", "PASS"),
    ("violation count zero", SETUP + "\nsetup violation count 0\n", "PASS"),
    ("timing not met", SETUP + "\nTiming is NOT met.\n", "OPEN"),
    ("unconstrained", SETUP + "Startpoint: a\nEndpoint: b\n(Path is unconstrained)\n", "OPEN"),
    ("unconstrained in words", SETUP + "\nThere are 3 unconstrained endpoints.\n", "OPEN"),
    (
        "paths with their flag in front",
        SETUP + "\nPath 1: VIOLATED Setup Check with Pin r2/CK\n= Slack Time  -0.1\n",
        "OPEN",
    ),
    (
        "max slew",
        SETUP + "\nmax slew\n\nPin Limit Slew Slack\n----\nu1/Z (BUF) 0.5 0.6 -0.1 (VIOLATED)\n",
        "OPEN",
    ),
    (
        "max slew in columns of endpoints",
        "max slew\n\n" + BARE + row("-0.1", "(VIOLATED)"),
        "OPEN",
    ),
    (
        "pulse width",
        SETUP + "\nmin_pulse_width ('clk' group)\n\nr2/CK (DFF) 0.5 0.6 -0.1 (VIOLATED)\n",
        "OPEN",
    ),
    (
        "recovery path",
        path(check="recovery", group="asynchronous", flag="VIOLATED", slack="-0.1"),
        "OPEN",
    ),
    ("empty second table", SETUP + "\nmin_delay/hold group core\n\n" + HEADER, "OPEN"),
    ("no paths", SETUP + "\nNo paths found.\n", "OPEN"),
    (
        "banner",
        "OpenSTA 2.4.0\nThis program comes with ABSOLUTELY NO WARRANTY\nread_verilog top.v\n"
        + SETUP
        + "\nexit\n",
        "PASS",
    ),
    ("neither", BARE, "PASS"),
    ("only what is better than", head("-slack_greater_than 0.00") + path(), "OPEN"),
    (
        "only what is worse than something negative",
        head("-slack_lesser_than -0.10") + path(),
        "OPEN",
    ),
    ("only what is worse than something", head("-slack_lesser_than 0.50") + path(), "PASS"),
    ("the worst ones", head("-max_paths 10", "-nworst 2", "-sort_by slack") + path(), "PASS"),
    ("one start", head("-from r1") + path(), "OPEN"),
    ("one end", head("-to [get_pins r2/D]") + path(), "OPEN"),
    ("one way", head("-through u1/Z") + path(), "OPEN"),
    ("one rising end", head("-rise_to r2/D") + path(), "OPEN"),
    ("one group", head("-group clk") + path(), "OPEN"),
    ("without a group", head("-exclude {io*}") + path(), "OPEN"),
    ("an option that is not known", head("-some_filter 3") + path(), "OPEN"),
    ("two options in a line", head("-path_type full -to r2/D") + path(), "OPEN"),
    ("violators alone", head("-all_violators") + path("-0.12", "VIOLATED"), "FAIL"),
    ("command from a point", "report_checks -path_delay max -from r1\n" + path(), "OPEN"),
    (
        "command to a point, with a prompt",
        "opensta> report_checks -to r2/D -path_delay max\n" + path(),
        "OPEN",
    ),
    (
        "command through a net",
        "pt_shell> report_timing -delay_type max -through {n1 n2}\n" + path(),
        "OPEN",
    ),
    ("command with a minimum", "report_checks -path_delay max -slack_min 0.0\n" + path(), "OPEN"),
    ("command with a negative maximum", "report_checks -slack_max -0.1\n" + path(), "OPEN"),
    ("command with a maximum", "report_checks -slack_max 0.1\n" + path(), "PASS"),
    ("command for a corner", "report_checks -path_delay max -corner tt\n" + path(), "OPEN"),
    ("command for a group", "report_timing -path_group reg2reg\n" + path(), "OPEN"),
    ("command over two lines", "report_checks -path_delay max \\\n  -to r2/D\n" + path(), "OPEN"),
    ("quoted command", "# Command: report_timing -to r2/D\n" + path(), "OPEN"),
    (
        "harmless command",
        "report_checks -path_delay max -fields {slew cap} -digits 3 -group_count 9\n" + path(),
        "PASS",
    ),
]

NARROW: list[tuple[str, str, str, str]] = [
    # report, truth of the setup check, truth of the hold check
    ("setup table", SETUP, "PASS", "OPEN"),
    ("hold table", HOLD, "OPEN", "PASS"),
    ("violated", SETUP + row("-0.1", "(VIOLATED)"), "FAIL", "OPEN"),
    ("both", SETUP + "\n" + HOLD, "PASS", "PASS"),
    ("no heading", BARE, "OPEN", "OPEN"),
    ("max paths", path(), "PASS", "OPEN"),
    ("min paths", path(kind="min", check="hold"), "OPEN", "PASS"),
    ("both paths", path() + path(kind="min", check="hold"), "PASS", "PASS"),
    ("path without a type", path().replace("Path Type: max\n", ""), "OPEN", "OPEN"),
    ("path of another type", path(kind="max_min"), "OPEN", "OPEN"),
    ("path, then rows without a heading", path() + BARE, "OPEN", "OPEN"),
    ("head says max", PT.format(kind="max") + BARE, "PASS", "OPEN"),
    ("head says min", PT.format(kind="min") + BARE, "OPEN", "PASS"),
    ("head says both", PT.format(kind="min_max") + BARE, "OPEN", "OPEN"),
    (
        "a second head",
        PT.format(kind="max") + BARE + "\nReport : timing\n\n" + BARE,
        "OPEN",
        "OPEN",
    ),
    (
        "heading in brackets",
        "   max_delay/setup ('clk' group)\n\n" + BARE + row("-0.07", "(VIOLATED)"),
        "FAIL",
        "OPEN",
    ),
    ("hold in brackets", "   min_delay/hold ('clk' group)\n\n" + BARE, "OPEN", "PASS"),
    (
        "recovery group",
        SETUP + "\nrecovery group core\nr9/R (DFFR) 0.5 0.6 -0.1 (VIOLATED)\n",
        "OPEN",
        "OPEN",
    ),
    (
        "recovery in brackets",
        SETUP + "\nrecovery ('clk' group)\nr9/R (DFFR) 0.5 0.6 0.1 (MET)\n",
        "OPEN",
        "OPEN",
    ),
    ("removal path", path(kind="min", check="removal"), "OPEN", "OPEN"),
    (
        "clock gating group",
        SETUP + "\nclock_gating_setup group core\nr9/E (ICG) 0.5 0.6 -0.1 (VIOLATED)\n",
        "OPEN",
        "OPEN",
    ),
    ("echoed command is no heading", "report_checks -path_delay min\n" + BARE, "OPEN", "OPEN"),
]


@pytest.fixture(scope="module")
def checkers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadedChecker]:
    told_of = {
        "every": ("Confirm that every endpoint in the report meets timing.", SETUP),
        "setup": ("Confirm that every endpoint in the setup report meets setup timing.", SETUP),
        "hold": ("Confirm that every endpoint in the hold report meets hold timing.", HOLD),
    }
    return {
        name: built(tmp_path_factory.mktemp(name), text, {"r.rpt": ended(report)}, ["r.rpt"])
        for name, (text, report) in told_of.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "truth"), [pytest.param(*case[1:], id=case[0]) for case in EVERY]
)
def test_every_endpoint(
    checkers: dict[str, LoadedChecker], tmp_path: Path, report: str, truth: str
) -> None:
    verdict = run(checkers["every"], tmp_path, {"r.rpt": ended(report)}, inputs=["r.rpt"])
    assert agrees(verdict, truth), told(verdict)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "setup", "hold"), [pytest.param(*case[1:], id=case[0]) for case in NARROW]
)
def test_setup_and_hold(
    checkers: dict[str, LoadedChecker], tmp_path: Path, report: str, setup: str, hold: str
) -> None:
    for name, truth in (("setup", setup), ("hold", hold)):
        verdict = run(checkers[name], tmp_path, {"r.rpt": ended(report)}, inputs=["r.rpt"])
        assert agrees(verdict, truth), (name, told(verdict))
