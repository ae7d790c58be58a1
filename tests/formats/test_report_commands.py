"""Echoed commands: which of their options leave something out of a report."""

from __future__ import annotations

import pytest

from transom.formats.reports.report_commands import command_of


@pytest.mark.parametrize(
    ("line", "narrowing"),
    [
        ("#  Command:           verifyGeometry", ()),
        ("#  Command:           verifyGeometry -error 50000 -report geo.rpt", ()),
        ("#  Command:  verifyGeometry -noWiring -area 0 0 9 9", ("-nowiring", "-area 0")),
        ("#  Command:           verifyConnectivity -type all -error 1000", ()),
        ("#  Command:           verifyConnectivity -type special", ("-type special",)),
        ("verify_connectivity -nets {VDD VSS}", ("-nets {VDD VSS}",)),
        ("innovus 12> verifyProcessAntenna -reportfile a.rpt -net clk", ("-net clk",)),
        ("check_drc -limit 100000", ()),
        ("check_drc -check_only special", ("-check_only special",)),
        ("report_checks -path_delay max -digits 4", ()),
        ("report_checks -to r2/D", ("-to r2/D",)),
    ],
)
def test_options_that_leave_something_out(line: str, narrowing: tuple[str, ...]) -> None:
    command = command_of(line)
    assert command is not None
    assert command.narrowing[: len(narrowing)] == narrowing
    assert bool(command.narrowing) == bool(narrowing)
