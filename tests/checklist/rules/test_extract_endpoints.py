"""What the generated atom reads in timing reports: tables and paths."""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import atom_of

ATOM = atom_of("sta_endpoints")
SETUP = atom_of("sta_endpoints", {"endpoint.check": "setup"})

TABLE = """\
max_delay/setup group clk

                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
u1/q_reg[3]/D (DFFX1)                   4.84    4.81    0.03 (MET)
out[15] (output)                        0.80    3.73   -2.93 (VIOLATED)
u2/D (DFFX1)                            1.00    1.00    0.00 (VIOLATED)
u3/D (DFFX1)                            1.00    1.00    0.00 (MET)

"""

PATH = """\
Startpoint: u0 (rising edge-triggered flip-flop clocked by clk)
Endpoint: {name} (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: {kind}

  Delay    Time   Description
---------------------------------------------------------
   0.00    0.00   clock clk (rise edge)
           4.81   data arrival time
---------------------------------------------------------
          {slack}   slack ({flag})

"""


def shown(text: str, name: str = "a.rpt") -> list[tuple[str, int, object, object]]:
    found = []
    for entry in ATOM(text, name):
        fields = entry["parsed_fields"]["endpoint"]
        assert entry["value"].startswith(f"{fields['name']} ")
        found.append((fields["name"], entry["line_number"], fields["status"], fields["check"]))
    return found


def test_a_table() -> None:
    assert shown(TABLE) == [
        ("u1/q_reg[3]/D", 6, "MET", "setup"),
        ("out[15]", 7, "VIOLATED", "setup"),
        ("u2/D", 8, "VIOLATED", "setup"),
        ("u3/D", 9, "MET", "setup"),
    ]


def test_slack_is_a_number_and_the_value_is_the_line_without_its_gaps() -> None:
    entry = ATOM(TABLE, "a.rpt")[1]
    assert entry["parsed_fields"]["endpoint"]["slack"] == -2.93
    assert entry["value"] == "out[15] (output) 0.80 3.73 -2.93 (VIOLATED)"


def test_paths() -> None:
    text = PATH.format(name="u1", kind="max", slack="0.27", flag="MET") + PATH.format(
        name="out[3]", kind="min", slack="-3.64e-08", flag="VIOLATED"
    )
    assert shown(text) == [("u1", 11, "MET", "setup"), ("out[3]", 23, "VIOLATED", "hold")]


def test_a_path_with_names_on_lines_of_their_own_and_slack_behind() -> None:
    text = "Startpoint: a\n     (rising)\nEndpoint: core.x[9]$_DFF_\n    (rising)\nPath Type: min\n"
    text += "  slack (MET)   0.35\n"
    assert shown(text) == [("core.x[9]$_DFF_", 6, "MET", "hold")]


def test_a_violation_that_rounding_hides() -> None:
    text = PATH.format(
        name="u1", kind="max", slack="0.00", flag="VIOLATED: increase significant digits"
    )
    assert [status for _, _, status, _ in shown(text)] == ["VIOLATED"]


def test_a_report_without_a_group_does_not_say_which_check_it_is() -> None:
    assert shown("u1/D (DFF)   1.0   0.9   0.1 (MET)\n") == [("u1/D", 1, "MET", None)]
    with pytest.raises(ValueError, match="line 1: nothing says whether this is of setup"):
        SETUP("u1/D (DFF)   1.0   0.9   0.1 (MET)\n", "a.rpt")


def test_the_other_check_does_not_count_where_the_check_is_narrowed() -> None:
    hold = TABLE.replace("max_delay/setup", "min_delay/hold")
    assert len(SETUP(TABLE, "a.rpt")) == 4
    with pytest.raises(ValueError, match="no endpoint that this check understands"):
        SETUP(hold, "a.rpt")
    assert SETUP(TABLE + hold, "a.rpt") == SETUP(TABLE, "a.rpt")


@pytest.mark.parametrize(
    "line",
    [
        "u9/Z   0.5   0.8   -0.3 (VIOLATED)",
        "Path 1: VIOLATED Setup Check with Pin u1/CK",
        "max slew   -0.3 (VIOLATED)",
    ],
)
def test_a_flagged_line_that_is_no_endpoint_is_not_overlooked(line: str) -> None:
    with pytest.raises(ValueError, match=r"not understood|whose flags stand at the head"):
        ATOM(TABLE + line + "\n", "a.rpt")


def test_a_path_that_breaks_off_is_an_error() -> None:
    whole = PATH.format(name="u1", kind="max", slack="0.27", flag="MET")
    with pytest.raises(ValueError, match="line 13: what begins here has no end"):
        ATOM(whole + "\n".join(whole.splitlines()[:6]), "a.rpt")
    with pytest.raises(ValueError, match="has no end"):
        ATOM("\n".join(whole.splitlines()[:6]) + "\n" + whole, "a.rpt")


def test_a_report_without_an_endpoint() -> None:
    with pytest.raises(ValueError, match="not understood: clk"):
        ATOM("Group      Slack\n-----\nclk   -0.12\n", "a.rpt")
    with pytest.raises(ValueError, match="no endpoint"):
        ATOM("worst slack 0.10\n", "a.rpt")
    with pytest.raises(
        ValueError, match="line 1: no line of a kind that is known for sta_report: nothing"
    ):
        ATOM("nothing of the kind\n", "a.rpt")
    assert ATOM("", "a.rpt") == []
