"""A description that the rules do not understand: readings are shown, a person decides, the item
keeps it.
"""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.checks import Desk
from tests.cli.helpers import COMMAND, clean_environment

ITEM = """\
# Ours; the order of the keys is ours, too.
input_files: ['${CHECKLIST_ROOT}/updown/setup_signoff.rpt']   # of today
description: The static timing analysis of the design
  is clean of negative setup slack
requirements: {value: N/A, pattern_items: []}
"""
ODD = ITEM.replace("The static timing analysis of the design", "The bonding diagram agrees")
ODD = ODD.replace("  is clean of negative setup slack\n", "")
CHOSEN = """\
reads_as:
  claim: setup_met
"""


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    (here / "CLEAN.yaml").write_text(ITEM, "utf-8")
    return Desk.at(here, capfd)


BARE = """\
OpenSTA 2.6.0 1f7d7e6a4b Copyright (c) 2024, Parallax Software, Inc.
worst slack -0.53
"""
BARE_ITEM = """\
description: Confirm that hold timing is met.
input_files: [sta.log]
"""


@pytest.mark.slow
def test_a_value_without_its_check_is_asked_about_once(desk: Desk) -> None:
    item = desk.here / "BARE.yaml"
    item.write_text(BARE_ITEM, "utf-8")
    (desk.here / "sta.log").write_text(BARE, "utf-8")
    first = desk.check("all", "BARE.yaml", "-q")
    assert first.code == 3, first
    assert "are of hold; evidence: sta.log:2 worst slack -0.53" in first.out
    run = desk.run_of("BARE").name
    assert desk("answer", run, "--choose", "1", "--by", "Ann\nLee").code == 0
    second = desk.check("all", "BARE.yaml", "-q")
    assert second.code == 1, second
    assert "Ann Lee states that it is hold" in second.out
    assert item.read_text("utf-8") == f"{BARE_ITEM}stated:\n  check: hold\n  by: Ann Lee\n"


@pytest.mark.slow
def test_a_person_decides_and_the_item_keeps_it(desk: Desk) -> None:
    item = desk.here / "CLEAN.yaml"
    first = desk.check("all", "CLEAN.yaml", "-q")
    assert first.code == 3, first
    assert "1: Setup timing is met [setup_met]; evidence" in first.out
    assert "evidence: setup_signoff.rpt:6 count_reg[7]/D" in first.out
    assert "--model" in first.out
    assert item.read_text("utf-8") == ITEM, "nothing is chosen by the program"
    (question,) = desk("waiting", "--format", "json").document["questions"]
    assert question["options"][-1] == "none of these"
    run = desk.run_of("CLEAN").name
    assert question["command"].startswith(f"transom answer {run} ")
    assert f"choose with: transom answer {run} --choose N --by NAME" in first.out
    assert desk("answer", run, "--choose", "1", "--by", "Ann\nLee").code == 0
    again = desk("resume", run, "--format", "json", "-q")
    assert (again.code, again.document["status"], again.document["item_id"]) == (0, "PASS", "CLEAN")
    assert item.read_text("utf-8") == f"{ITEM}# chosen by Ann Lee\n{CHOSEN}"
    assert desk("waiting", "--format", "json").document["questions"] == []
    assert desk.check("all", "CLEAN.yaml", "-q").code == 0
    assert desk.check("run", "CLEAN.yaml", "-q").code == 0
    item.write_text(f"{ITEM}{CHOSEN.replace('setup', 'timing')}", "utf-8")
    assert "its description or its ItemSpec changed" in desk.check("run", "CLEAN.yaml", "-q").line()


NARROWED = ITEM.replace("negative setup slack", "negative setup slack at all places")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--choose", "1", "--by", "Ann Lee"], 0),
        (["--choose", "1"], 3),
        (["--choose", "3", "--by", "Ann"], 3),
    ],
    ids=["by name", "without a name", "alone"],
)
def test_one_answer_by_name_takes_over_what_its_text_says(
    desk: Desk, arguments: list[str], code: int
) -> None:
    item = desk.here / "CLEAN.yaml"
    item.write_text(NARROWED, "utf-8")
    first = desk.check("all", "CLEAN.yaml", "-q")
    assert '; and accepts: not checked: "at all places"; evidence' in first.out
    assert "3: as 1, and accepts nothing else" in first.out
    run = desk.run_of("CLEAN").name
    assert desk("answer", run, *arguments).code == 0
    assert desk.check("all", "CLEAN.yaml", "-q").code == code
    written = item.read_text("utf-8")
    assert "claim: setup_met" in written
    assert ("by: Ann Lee" in written) == (code == 0)


def test_none_of_these_is_an_answer_and_asked_once(desk: Desk) -> None:
    desk("check", "spec", "CLEAN.yaml", "-q")
    assert desk("answer", "CLEAN", "none of these").code == 0
    again = desk("check", "spec", "CLEAN.yaml", "--format", "json", "-q")
    assert (again.code, again.document["status"], again.document["choose"]) == (
        3,
        "NEEDS_MODEL",
        None,
    )
    assert 1 <= len(again.document["readings"]) <= 3
    assert desk("waiting", "--format", "json").document["questions"] == []
    assert (desk.here / "CLEAN.yaml").read_text("utf-8") == ITEM


@pytest.mark.slow
def test_a_script_chooses_a_reading_from_the_json_of_several_items(desk: Desk) -> None:
    """It needs no text: the readings are a list, and the command to choose stands beside it."""
    (desk.here / "OTHER.yaml").write_text(ODD, "utf-8")
    first = desk.check("batch", "CLEAN.yaml", "OTHER.yaml", "--format", "json", "-q")
    clean, other = first.document["checks"]
    assert (first.code, other["readings"], "choose" in other) == (3, [], False)
    assert clean["warnings"] == []
    wanted = [
        number
        for number, reading in enumerate(clean["readings"], 1)
        if reading["reads_as"] == {"claim": "setup_met"}
    ]
    assert "setup_signoff.rpt:6" in clean["readings"][wanted[0] - 1]["evidence"]
    command = clean["choose"].replace(" N ", f" {wanted[0]} ").replace("NAME", "nightly")
    assert desk(*command.split()[1:]).code == 0
    document = desk.check("all", "CLEAN.yaml", "--format", "json", "-q").document
    assert document["status"] == "PASS"
    assert "readings" not in document, "a judged item has none"


def test_nothing_comes_near_is_said(desk: Desk) -> None:
    (desk.here / "CLEAN.yaml").write_text(ODD, "utf-8")
    assert "nothing that the rules know comes near" in desk("check", "spec", "CLEAN.yaml", "-q").out
    assert desk("waiting", "--format", "json").document["questions"] == []


def test_a_slip_in_reads_as_is_one_line(desk: Desk) -> None:
    (desk.here / "CLEAN.yaml").write_text(f"{ITEM}{CHOSEN.replace('met', 'mett')}", "utf-8")
    line = "CLEAN.yaml:7: there is no claim 'setup_mett'; did you mean setup_met?"
    assert desk.check("all", "CLEAN.yaml", "-q").line() == line
    lint = desk("check", "lint", "CLEAN.yaml")
    assert (lint.code, lint.out) == (1, f"{line} [readable]\n")


@pytest.mark.slow
def test_a_terminal_is_asked(desk: Desk) -> None:
    """Also after a word that is no number; then on to the ItemSpec, in one command."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, "check", "spec", "CLEAN.yaml", "-o", "out"]
    environ = clean_environment(USER="ann", NO_COLOR="1")
    with subprocess.Popen(
        command, cwd=desk.here, env=environ, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        os.write(ours, b"yes\n1\n")
        assert process.stderr
        told = process.stderr.read()
        assert process.wait() == 0
        printed = (os.read(ours, 100_000) + told).decode()
    assert printed.count("1 to 3 (empty: later)") == 2, printed
    assert (desk.here / "CLEAN.yaml").read_text("utf-8") == f"{ITEM}# chosen by ann\n{CHOSEN}"
