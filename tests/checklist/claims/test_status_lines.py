"""Lines that say how a run ended: what is offered, and what becomes of other outcomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.item import parse_item
from transom.checklist.judging import Verdict
from transom.checklist.judging.foreseeing import open_points
from transom.checklist.offered_lines import LineCandidate
from transom.checklist.status_lines import status_candidates
from transom.formats.reports import format_of, read_report
from transom.formats.yaml_files import dump_yaml

LOG = "lamp 3.1 of 2031-05-04\nreading lamp.cfg\nstep 1 of 3\n{line}\nbye at 12:40:07\n"

# The description, the line of a good run, lines of other good runs, and those of bad ones.
STATUSES = [
    (
        "The complete regression passes",
        "Tests: 30 passed, 0 failed, 30 executed",
        ["Tests: 31 passed, 0 failed, 31 executed"],
        [
            "Tests: 29 passed, 1 failed, 30 executed",
            "Tests: 0 passed, 30 failed, 30 executed",
            "Tests: 30 passed, 0 failed, 31 executed",
        ],
    ),
    (
        "All tests pass",
        "12/12 tests passed",
        ["14/14 tests passed"],
        ["11/12 tests passed", "12/14 tests passed"],
    ),
    (
        "All tests of the lamp pass",
        "Ran 12 of 12 tests: OK",
        ["Ran 9 of 9 tests: OK"],
        ["Ran 12 of 12 tests: FAIL", "Ran 11 of 12 tests: OK"],
    ),
    (
        "The lamp's self check passes",
        "[8715000] SELF CHECK PASS",
        ["[17] SELF CHECK PASS"],
        ["[8715000] SELF CHECK FAIL", "[8715000] SELF CHECK FAILED", "[1] SELF CHECK NOT RUN"],
    ),
    (
        "The simulation passes",
        "*** SIMULATION PASSED ***",
        [],
        ["*** SIMULATION FAILED ***", "*** SIMULATION ABORTED ***"],
    ),
    ("The simulation passes", "Simulation result: ok", [], ["Simulation result: error"]),
    (
        "The test run was successful",
        "Test run successful in 12.4 s",
        ["Test run successful in 9 s"],
        ["Test run unsuccessful in 12.4 s", "Test run failed in 12.4 s"],
    ),
    (
        "The lamp flow completed",
        "Lamp flow completed at 12:30:01",
        ["Lamp flow completed at 01:02:03"],
        ["Lamp flow aborted at 12:30:01", "Lamp flow incomplete at 12:30:01"],
    ),
    (
        "No test fails",
        "Tests run: 30, Failures: 0, Errors: 0",
        ["Tests run: 7, Failures: 0, Errors: 0"],
        ["Tests run: 30, Failures: 0, Errors: 2", "Tests run: 30, Failures: 1, Errors: 0"],
    ),
    (
        "The regression passes",
        "Scoreboard: PASS checks=4099 failures=0",
        ["Scoreboard: PASS checks=12 failures=0"],
        ["Scoreboard: FAIL checks=4099 failures=3", "Scoreboard: PASS checks=4099 failures=3"],
    ),
]
GOOD = [(asks, line, other) for asks, line, good, _ in STATUSES for other in (line, *good)]
BAD = [(asks, line, other) for asks, line, _, bad in STATUSES for other in bad]
NOTHING_RUN = [
    ("The complete regression passes", STATUSES[0][1], "Tests: 0 passed, 0 failed, 0 executed"),
    ("All tests pass", "12/12 tests passed", "0/0 tests passed"),
    ("All tests pass", "12/12 tests passed", "tests passed"),
    ("The simulation passes", "*** SIMULATION PASSED ***", "*** SIMULATION PENDING ***"),
    ("The simulation passes", "*** SIMULATION PASSED ***", ""),
    ("The simulation passes", "*** SIMULATION PASSED ***", "*** simulation may have passed ***"),
    ("The lamp's self check passes", STATUSES[3][1], "Segmentation fault"),
    ("The lamp's self check passes", STATUSES[3][1], f"{STATUSES[3][1]}\nFATAL: the lamp broke"),
    ("The lamp's self check passes", STATUSES[3][1], f"{STATUSES[3][1]}\nkilled by signal 9"),
]


def taught(folder: Path, description: str, log: str) -> LineCandidate:
    """Return the first line that is offered for a log."""
    folder.mkdir(exist_ok=True)
    (folder / "a.rpt").write_text(log, "utf-8")
    best, *_ = status_candidates(description, [folder / "a.rpt"])
    return best


def judged(folder: Path, description: str, candidate: LineCandidate, log: str) -> Verdict:
    """Return the verdict of another log after the answer that chose a line."""
    item = parse_item(dump_yaml({"description": description}), folder / "CLAIM-1.yaml")
    row = candidate.row("line.yaml")
    readings = [read_report(folder / "a.rpt", (format_of(candidate.report_format),))]
    taken = open_points(item, row, readings, candidate).accepts
    (folder / "line.yaml").write_text(dump_yaml(candidate.report_format), "utf-8")
    accept = [{"text": text, "by": "Ann Lee"} for text in taken]
    return judge(folder, row, log, {"accept": accept} if accept else {})


@pytest.mark.parametrize(("description", "line", "other"), GOOD)
def test_the_line_of_a_good_run_is_offered_and_holds(
    tmp_path: Path, description: str, line: str, other: str
) -> None:
    candidate = taught(tmp_path, description, LOG.format(line=line))
    assert line in candidate.says, candidate.says
    verdict = judged(tmp_path, description, candidate, LOG.format(line=other))
    assert verdict.status == "PASS", [cap.text for cap in verdict.capped_by]


@pytest.mark.parametrize(("description", "line", "other"), BAD)
def test_the_line_of_a_bad_run_breaks_the_claim(
    tmp_path: Path, description: str, line: str, other: str
) -> None:
    candidate = taught(tmp_path, description, LOG.format(line=line))
    assert judged(tmp_path, description, candidate, LOG.format(line=other)).status == "FAIL"


@pytest.mark.parametrize(("description", "line", "other"), BAD)
def test_a_log_of_a_bad_run_teaches_what_a_good_one_prints(
    tmp_path: Path, description: str, line: str, other: str
) -> None:
    candidates = status_candidates(description, [write(tmp_path / "a.rpt", LOG.format(line=other))])
    # A line whose word nobody knows as an outcome is not offered.
    for candidate in candidates:
        for text, status in ((other, "FAIL"), (line, "PASS")):
            verdict = judged(tmp_path, description, candidate, LOG.format(line=text))
            assert verdict.status in (status, "NEEDS_REVIEW"), text


@pytest.mark.parametrize(("description", "line", "other"), NOTHING_RUN)
def test_what_says_neither_does_not_pass(
    tmp_path: Path, description: str, line: str, other: str
) -> None:
    candidate = taught(tmp_path, description, LOG.format(line=line))
    verdict = judged(tmp_path, description, candidate, LOG.format(line=other))
    assert verdict.status not in ("PASS", "FAIL"), other


NOT_OFFERED = [
    ("The regression passes", "pass 3 of the optimiser: 12 cells"),
    ("The regression passes", "the run is done if all tests passed"),
    ("The regression passes", "expected: PASS"),
    ("The regression passes", "PASS or FAIL is printed below"),
    ("LVS is correct", "LVS PASSED"),
]


@pytest.mark.parametrize(("description", "line"), NOT_OFFERED)
def test_other_lines_are_not_offered(tmp_path: Path, description: str, line: str) -> None:
    assert status_candidates(description, [write(tmp_path / "a.rpt", LOG.format(line=line))]) == []


def test_a_line_of_another_matter_leaves_the_matter_open(tmp_path: Path) -> None:
    description = "LVS and DRC pass"
    candidate = taught(tmp_path, description, LOG.format(line="DRC PASSED"))
    verdict = judged(tmp_path, description, candidate, LOG.format(line="DRC PASSED"))
    assert verdict.status == "NEEDS_REVIEW"
    assert [cap.text for cap in verdict.capped_by] == ['not checked: "LVS"']


def test_each_line_with_an_outcome_of_a_whole_log_is_taught_with_the_last(tmp_path: Path) -> None:
    lines = ["[ OK ] t1_reset", "[ OK ] t2_count", "Tests: 2 passed, 0 failed"]
    log = LOG.format(line="\n".join(lines))
    candidate = taught(tmp_path, "All tests pass", log)
    assert lines[2] in candidate.says
    assert judged(tmp_path, "All tests pass", candidate, log).status == "PASS"
    worse = log.replace("[ OK ] t2", "[ FAIL ] t2")
    assert judged(tmp_path, "All tests pass", candidate, worse).status == "FAIL"
    cut = log.partition("Tests:")[0]
    assert judged(tmp_path, "All tests pass", candidate, cut).status == "NEEDS_REVIEW"


def write(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.write_text(text, "utf-8")
    return path
