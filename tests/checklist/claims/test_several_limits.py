"""Several limits in one description: alternatives are asked, and limits joined by "and" all count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.claims.several_limits import alternatives_of, limits_apart
from transom.checklist.item import parse_item
from transom.checklist.joined_lines import MOST, candidates_of_all, candidates_of_each
from transom.checklist.manner import Places
from transom.checklist.offers import offers_of
from transom.checklist.taught_format import NO_END
from transom.formats.yaml_files import dump_yaml


@pytest.mark.parametrize(
    ("description", "limits"),
    [
        ("Verify clock frequency matches 1.2GHz or 1.5GHz", ["exactly 1.2 GHz", "exactly 1.5 GHz"]),
        ("The frequency is at least 90 or 95 MHz.", ["at least 90 MHz", "at least 95 MHz"]),
        ("The frequency equals either 90 MHz or 95 MHz", ["exactly 90 MHz", "exactly 95 MHz"]),
        ("Slack of at least 1 ns, or at least 2 ns", ["at least 1 ns", "at least 2 ns"]),
        ("Delay below 1, 2 or 3 ns", ["below 1 ns", "below 2 ns", "below 3 ns"]),
        ("No path has a slack below 1 ns or 2 ns", ["at least 1 ns", "at least 2 ns"]),
    ],
)
def test_each_alternative_is_a_description_of_its_own(description: str, limits: list[str]) -> None:
    found = alternatives_of(description)
    assert [each.limit for each in found] == limits
    for each in found:
        assert each.description.count(each.limit) == 1


@pytest.mark.parametrize(
    "description",
    [
        "The slack is at least 5 ns",
        "The slack is at least 5 ns at 1.2 V or 1.5 V",
        "The slack is below 5 ns or above 7 ns",
        "The drop is below 5 ns or 3 %",
        "The skew is 0.5 ns or less",
        "It runs at 1.2 GHz or 1.5 GHz",
        "Block 3 or 4 is clean",
    ],
)
def test_other_numbers_are_no_alternatives_of_a_limit(description: str) -> None:
    assert alternatives_of(description) == ()


@pytest.mark.parametrize(
    ("description", "parts"),
    [
        (
            "Skew is below 40 ps, latency is below 0.5 ns, and slew is at most 80 ps",
            ["Skew is below 40 ps", "latency is below 0.5 ns", "slew is at most 80 ps"],
        ),
        (
            "Skew below 40 ps and setup and hold slack above 0 ns in all corners",
            ["Skew below 40 ps", "setup and hold slack above 0 ns in all corners"],
        ),
        ("Skew and latency are below 40 ps", ["Skew below 40 ps", "latency are below 40 ps"]),
        ("Setup and hold slack is at least 1 ns", []),
        ("Skew and insertion delay below 40 ps", []),
        ("No opens and no shorts", []),
    ],
)
def test_each_limit_has_a_part_of_its_own(description: str, parts: list[str]) -> None:
    assert limits_apart(description) == parts


TREE = "tree p: skew {skew} ns\ntree p: mean latency {latency} ns\nWorst slew of p: 0.05 ns\n"
TREE_LIMITS = "Skew is below 40 ps and the latency is below 0.5 ns; slew at most 80 ps"


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (TREE.format(skew="0.039", latency="0.49"), "PASS"),
        (TREE.format(skew="0.041", latency="0.49"), "FAIL"),
        (TREE.format(skew="0.039", latency="0.51"), "FAIL"),
        # What is missing is not passed by what is there.
        (
            TREE.format(skew="0.039", latency="0.49").replace("mean latency", "depth"),
            "NEEDS_REVIEW",
        ),
        ("tree p: skew 0.039 ns\n", "NEEDS_REVIEW"),
    ],
)
def test_each_limit_of_a_line_counts(tmp_path: Path, report: str, status: str) -> None:
    path = tmp_path / "a.rpt"
    path.write_text(TREE.format(skew="0.02", latency="0.3") + "Done.\n", "utf-8")
    (candidate,) = candidates_of_all(TREE_LIMITS, [path])
    assert candidate.left_out == ()
    (tmp_path / "line.yaml").write_text(dump_yaml(candidate.report_format), "utf-8")
    verdict = judge(tmp_path, candidate.row("line.yaml"), f"{report}Done.\n")
    assert verdict.status == status, [cap.text for cap in verdict.capped_by]


def test_a_part_without_a_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.rpt"
    path.write_text("tree p: skew 0.03 ns\nWorst slew of p: 0.05 ns\n", "utf-8")
    (candidate,) = candidates_of_all(TREE_LIMITS, [path])
    assert candidate.left_out == ("the latency is below 0.5 ns", NO_END)
    assert 'not checked: "the latency is below 0.5 ns"' in candidate.says


def test_limits_of_one_line_are_not_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.rpt"
    path.write_text("the skew and the latency of p: 0.03 ns\n", "utf-8")
    assert candidates_of_all("Skew is below 40 ps and latency is below 50 ps", [path]) == []


MODES = "mode func: frequency {func} GHz\nmode scan: frequency {scan} GHz\nDone.\n"
EITHER = "The frequency is at least 1.2GHz or 1.5GHz."


def test_an_alternative_is_asked_for_all_lines_and_for_each(tmp_path: Path) -> None:
    path = tmp_path / "a.rpt"
    path.write_text(MODES.format(func="1.3", scan="1.6"), "utf-8")
    found = candidates_of_each(alternatives_of(EITHER), [path])
    assert len(found) == 4
    outcomes = []
    for candidate in found:
        (tmp_path / "line.yaml").write_text(dump_yaml(candidate.report_format), "utf-8")
        row = candidate.row("line.yaml")
        for func, scan in (("1.3", "1.6"), ("1.6", "1.3"), ("1.3", "1.3"), ("1.1", "1.6")):
            verdict = judge(tmp_path, row, MODES.format(func=func, scan=scan))
            outcomes.append(verdict.status)
    assert outcomes == [
        *("PASS", "PASS", "PASS", "FAIL"),  # at least 1.2 for both
        *("FAIL", "FAIL", "FAIL", "FAIL"),  # at least 1.5 for both
        *("PASS", "FAIL", "FAIL", "FAIL"),  # 1.2 for func, 1.5 for scan
        *("FAIL", "PASS", "FAIL", "FAIL"),  # 1.5 for func, 1.2 for scan
    ]


def test_ten_alternatives_are_not_tried_in_each_of_their_orders(tmp_path: Path) -> None:
    path = tmp_path / "a.rpt"
    lines = [f"Mode m{number}: clock frequency {number}.1 GHz\n" for number in range(10)]
    path.write_text("".join(lines), "utf-8")
    several = ", ".join(f"{number}.0" for number in range(1, 10))
    alternatives = alternatives_of(f"The clock frequency is at least {several} or 10.0 GHz")
    assert len(alternatives) == 10
    assert len(candidates_of_each(alternatives, [path])) <= MOST


ROUTED = """\
Info: Packing constants..
Info: Max frequency for clock 'clk': {value} MHz (PASS at 50.00 MHz)
0 warnings, 0 errors

Info: Program finished normally.
"""


def test_each_alternative_of_a_known_measure_is_offered(tmp_path: Path) -> None:
    (tmp_path / "a.rpt").write_text(ROUTED.format(value="1253.49"), "utf-8")
    data = {"description": f"Clock {EITHER[4:]}", "input_files": ["a.rpt"]}
    item = parse_item(dump_yaml(data), tmp_path / "ITEM-1.yaml")
    offers = offers_of(item, Places(), tmp_path)
    parameters = [offer.row.reads_as["parameters"] for offer in offers]
    assert parameters == [
        {"measure": "max_frequency", "limit": "at least 1.2 GHz"},
        {"measure": "max_frequency", "limit": "at least 1.5 GHz"},
    ]
    assert all("left_out" not in offer.row.reads_as for offer in offers)
    assert 'instead of "at least 1.5 GHz"' in offers[0].row.says
